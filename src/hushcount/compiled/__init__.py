"""Machine code for the passes that take longest, where it could be compiled when the package was built."""
