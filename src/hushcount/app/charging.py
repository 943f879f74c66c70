"""Whether anything was charged: every error of a question says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hushcount.errors import HushcountError

UNCHARGED = "Nothing was charged."
HELD = "What was held for this question stays charged, since data was read for it."


@contextmanager
def noting(sentence: str, kind: type[BaseException] = BaseException) -> Iterator[None]:
    """Let every error say whether anything was charged, also an interruption, unless it says so itself."""
    try:
        yield
    except kind as error:
        # The words of others may quote data, so they decide nothing.
        own = str(error) if isinstance(error, HushcountError) else ""
        if "charged" not in own and not {UNCHARGED, HELD} & set(getattr(error, "__notes__", ())):
            error.add_note(sentence)
        raise
