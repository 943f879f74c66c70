"""How a service is set up: its configuration, and the files of its keys."""
