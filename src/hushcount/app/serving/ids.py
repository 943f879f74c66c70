"""Names of things that are handed out: random, since a counter would tell one caller how much the others ask."""

from __future__ import annotations

import base64

from hushcount.noise.source import new_secret

_BYTES = 15


def new_id(prefix: str) -> str:
    """A new name, such as q_k3mz…, that nobody can guess: 120 random bits."""
    return f"{prefix}_{base64.b32encode(new_secret()[:_BYTES]).decode().lower()}"


def with_prefix(name: str, prefix: str) -> str:
    """The name of what belongs to another thing: the release r_x of the query q_x."""
    return f"{prefix}_{name.partition('_')[2]}"
