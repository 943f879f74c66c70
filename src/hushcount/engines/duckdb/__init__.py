"""The DuckDB engine: one process, any file, frame or table."""
