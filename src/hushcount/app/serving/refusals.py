"""Refusals of stores, in words: too much is asked at once, or it takes too long."""

from __future__ import annotations

from hushcount.errors import HushcountError, UnreadableSource


def busy(store: str, why: str) -> HushcountError:
    """Nobody has read anything yet."""
    return UnreadableSource(
        f"the store {store!r} is busy: {why}. Nothing was read and nothing was charged; ask again in a while."
    )


def late(store: str, seconds: float) -> HushcountError:
    """Whether it was charged depends on how far it came, which others add."""
    return UnreadableSource(
        f"the store {store!r} did not answer within {seconds:g} s, so the question was given up. Ask about fewer rows, "
        "or let the operator raise its timeout."
    )
