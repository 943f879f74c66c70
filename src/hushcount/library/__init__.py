"""The Python surface: the questions as functions, and the one place that looks at the surroundings."""
