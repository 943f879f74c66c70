"""Pure mathematics over costs: no input or output, no clock, no randomness."""
