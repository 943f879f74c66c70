"""Use cases of the service: what is offered, who may ask it, and the stores that are read for it."""
