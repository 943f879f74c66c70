"""The only source of randomness; no privacy claims here."""
