"""Filters: which rows count, from a text to a tree to a decision."""
