"""Ladders: tables of keep probabilities that climb as fast as a budget allows, with the proof that they do."""
