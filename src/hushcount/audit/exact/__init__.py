"""The exact step: whole output laws on both of two neighbours."""
