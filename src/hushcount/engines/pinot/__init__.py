"""Private answers from a table of Apache Pinot: complete and proven so, or refused."""
