"""Whether anything was charged: every error of a question says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hushcount.errors import HushcountError

UNCHARGED = "Nothing was charged."
HELD = "What was held for this question stays charged, since data was read for it."


@contextmanager
def noting(sentence: str, kind: type[HushcountError] = HushcountError) -> Iterator[None]:
    """Let every error of ours say whether anything was charged, unless it says so itself."""
    try:
        yield
    except kind as error:
        if "charged" not in str(error) and not getattr(error, "__notes__", None):
            error.add_note(sentence)
        raise
