"""The use cases of the live service: who calls, what they may, what they ask for and what they are told."""
