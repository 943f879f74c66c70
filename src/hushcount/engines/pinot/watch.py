"""Watching a table: one version of it, looked at before and after whatever is asked (point 11 of the checklist)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

from hushcount.engines.pinot import complete
from hushcount.engines.pinot.address import Address
from hushcount.engines.pinot.state import Observer, State, TableLook
from hushcount.engines.pinot.web import Web


class _Unsure(threading.local):
    """Looks that are under way, each with the state that must be found; None in a thread that does not confirm."""

    looks: list[tuple[State, TableLook]] | None = None


class TableWatch:
    """The version that a table had when it was opened; `state` is what it was last seen as. Any other is refused."""

    def __init__(self, web: Web, address: Address) -> None:
        self._observer = Observer(web, address)
        self.state = self._observer.read()
        # For each thread that stands in `confirming` what is still to be confirmed.
        self._unsure = _Unsure()

    def look(self) -> None:
        """Refuse if the table is not the version that was opened; the same may have been pushed again."""
        state = self._observer.read()
        complete.check_same(self.state.version, state.version)
        self.state = state

    @contextmanager
    def held(self, *, later: bool = False) -> Iterator[None]:
        """All statements of one answer: the table is the same before and after.

        Before is when it was last looked at. Whatever is pushed, and be it the same again, leaves another time on its
        segment: if all times and checksums are what they were then, no segment was another one in between.

        Args:
            later: within `confirming`, what is told of the table afterwards is read on leaving that. It is asked for
                here in any case, so it is for what takes no longer than a machine waits for somebody to listen.
        """
        before = self.state
        yield
        look = self._observer.begin()
        if later and self._unsure.looks is not None:
            self._unsure.looks.append((before, look))
            return
        with closing(look):
            complete.check_same(before, self._observer.end(look))

    @contextmanager
    def confirming(self) -> Iterator[None]:
        """What this thread does with answers, until it is sure that they were about one state of the table."""
        outer, looks = self._unsure.looks, list[tuple[State, TableLook]]()
        self._unsure.looks = looks
        try:
            yield
            for before, look in looks:
                complete.check_same(before, self._observer.end(look))
        finally:
            self._unsure.looks = outer
            for _, look in looks:
                look.close()
