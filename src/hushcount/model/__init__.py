"""The vocabulary: frozen values, no behaviour beyond validation."""
