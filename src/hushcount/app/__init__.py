"""Use cases: the only place where mechanisms and engines meet."""
