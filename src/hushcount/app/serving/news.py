"""News of a ledger: the entries of its log since the last time. What is old is not read again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hushcount.ledger.ledger import Entry, Ledger, Page

_PAGE: Final = 1000


class News:
    """A place in every book, from which one reads on.

    Args:
        back: how many entries of each book before the newest count as new at the first time.
    """

    def __init__(self, *, back: int = 0) -> None:
        self._back = back
        self._read: dict[str, int] | None = None

    def since(self, ledger: Ledger, *, by: str) -> Iterator[Entry]:
        """What is new in every book; whoever breaks off reads on from there."""
        heads = {head.entity: head.seq for head in ledger.heads()}
        if self._read is None:
            self._read = {entity: max(0, newest - self._back) for entity, newest in heads.items()}
        for entity, newest in heads.items():
            if self._read.get(entity, 0) > newest:
                # Somebody put an older ledger back: what is in it is news again, as at the first time.
                self._read[entity] = max(0, newest - self._back)
            while self._read.get(entity, 0) < newest:
                found = ledger.history(Page(entity=entity, after=self._read.get(entity, 0), size=_PAGE), by=by)
                if not found:
                    # The same, just now.
                    break
                for entry in found:
                    yield entry
                    self._read[entity] = entry.seq
