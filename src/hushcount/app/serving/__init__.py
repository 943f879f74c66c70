"""The service: what a live HTTP API does, without HTTP."""
