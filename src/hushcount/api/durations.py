"""Durations: those of which routes tell nothing of the data, so that metrics and traces may hold them."""

from __future__ import annotations

# Pages for browsers ask questions too: whatever is not of the interface itself is taken to.
_INTERFACE = ("/v1/", "/healthz", "/readyz", "/problems/", "/openapi.json")
# How long these take depends on questions, and so on data.
_OF_QUESTIONS = ("/v1/queries", "/v1/batches", "/v1/questions/{question}/release", "/v1/datasets/{dataset}/check")


def is_telling(route: str) -> bool:
    """Whether the duration of a request to this route, as it is written in the code, may depend on data."""
    return route.startswith(_OF_QUESTIONS) or not route.startswith(_INTERFACE)
