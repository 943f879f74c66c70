"""The auditor: evidence that the privacy is real. It attacks the build and compares what it finds with what is claimed."""
