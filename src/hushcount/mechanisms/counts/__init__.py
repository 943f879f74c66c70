"""How many people have each item."""
