"""Refusals of stores, in words: too much is asked at once, or it takes too long."""

from __future__ import annotations

from hushcount.errors import Busy, StoreTimeout

# Seconds after which it is worth to come again, where nothing else tells.
_AGAIN = 2.0
# How many is not told: they are others' questions.
FULL = "as many questions wait for it as may"


def busy(store: str, why: str) -> Busy:
    """Nobody has read anything yet."""
    return Busy(
        f"the store {store!r} is busy: {why}. Nothing was read and nothing was charged; ask again in a while.",
        after=_AGAIN,
    )


def no_turn(store: str, seconds: float) -> Busy:
    """Whoever reads took too long for whoever waits."""
    return busy(store, f"there was no turn within {seconds:g} s")


def late(store: str, seconds: float) -> StoreTimeout:
    """Whether it was charged depends on how far it came, which others add."""
    return StoreTimeout(
        f"the store {store!r} did not answer within {seconds:g} s, so the question was given up. Ask about fewer rows, "
        "or let the operator raise its timeout."
    )
