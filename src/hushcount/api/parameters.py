"""Parameters: pages of lists, and the headers that say how a request is meant."""

from __future__ import annotations

import re
from typing import Annotated, TypeAlias

from fastapi import Header, Path, Query

from hushcount.api.problems import Refused, refused_parameter

MOST_ENTRIES = 1000
LONGEST_WAIT = 60.0
# Whoever says nothing gets their answer, if it does not take long.
USUAL_WAIT = 10.0
_KEY = re.compile(r"[!-~]{1,255}")

Limit: TypeAlias = Annotated[int, Query(ge=1, le=MOST_ENTRIES, description="At most so many entries.")]
After: TypeAlias = Annotated[str, Query(max_length=400, description="`next` of the page before.")]
Named: TypeAlias = Annotated[str, Path(min_length=1, max_length=400)]
# The name of a reservation holds its key and two names, in letters of which each counts for less.
Held: TypeAlias = Annotated[str, Path(min_length=1, max_length=16_000)]
Key: TypeAlias = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="Names this attempt: the same key joins the same request and never pays twice.",
        max_length=255,
    ),
]
Prefer: TypeAlias = Annotated[
    str | None,
    Header(description="RFC 7240: `wait=10` waits so many seconds for an answer, `respond-async` not at all."),
]
Match: TypeAlias = Annotated[str | None, Header(alias="If-None-Match")]
Accept: TypeAlias = Annotated[str | None, Header(description="The format, where the name has no suffix.")]


def require_key(key: str | None) -> str:
    """The key of a request that may cost something."""
    if key is None:
        raise Refused(
            "invalid-parameter",
            "The header Idempotency-Key is needed for what may cost something: any text that you never used before, so "
            "that a repeated request is not paid twice.",
            parameter="Idempotency-Key",
        )
    if _KEY.fullmatch(key) is None:
        raise refused_parameter("Idempotency-Key", "1 to 255 letters, digits and signs without spaces")
    return key


def seconds_to_wait(prefer: str | None) -> float:
    """How long a request waits for its answer. What cannot be read is no preference, as the RFC says."""
    for part in (prefer or "").replace(";", ",").split(","):
        name, _, value = part.strip().partition("=")
        if name.strip().lower() == "respond-async":
            return 0.0
        text = value.strip().strip('"')
        if name.strip().lower() == "wait" and text.isascii() and text.isdigit():
            return min(float(text[:6]), LONGEST_WAIT)
    return USUAL_WAIT
