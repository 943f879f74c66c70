"""The replay step: a run recorded on one table and repeated on its neighbour."""
