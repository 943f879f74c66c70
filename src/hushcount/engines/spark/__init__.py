"""The Spark engine: the same integers from many machines."""
