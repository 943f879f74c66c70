"""Person-item incidence to a weighted histogram of known sensitivity."""
