"""What is served: offers, the stores that they lie in, and engines that stay open."""
