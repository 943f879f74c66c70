"""Which items may be named."""
