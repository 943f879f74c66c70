"""The k most held items."""
