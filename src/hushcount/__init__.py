"""hushcount: which items are there, and how many people have each, without exposing any person."""
