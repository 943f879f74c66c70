"""The Pinot engine: the same integers as every other engine from an OFFLINE table, or a refusal.

People per item are counted by Pinot and fetched as groups. What a bound, a cap, words or people's lists need is counted
here, from rows that are fetched in pages, up to `MOST_ROWS` rows in the table: larger ones are for Spark, which reads
what the segments were made of.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final

from hushcount.engines.checking import check_selection
from hushcount.engines.columns import text_of
from hushcount.engines.identities import host_name, keyed, rows_identity, see_table
from hushcount.engines.incidence import MemoryIncidence
from hushcount.engines.pinot.address import Address, parse
from hushcount.engines.pinot.counts import PinotCounts, largest
from hushcount.engines.pinot.gathering import Gathered
from hushcount.engines.pinot.schema import PinotColumn
from hushcount.engines.pinot.sql import Truth, all_of, among, present, where_true
from hushcount.engines.pinot.table import LISTED, PeopleByItem, Table
from hushcount.engines.pinot.web import Web
from hushcount.errors import InvalidInput, InvalidParameter
from hushcount.model.amounts import whole
from hushcount.model.identities import Identity, Sighting
from hushcount.model.inputs import Bound, Histogram
from hushcount.model.queries import Description, Selection, TextItems

if TYPE_CHECKING:
    from hushcount.engines.engine import Confirming, Engine, Paged

# Tables of more rows are not read row by row.
MOST_ROWS: Final = 2_000_000
_COUNTED = {"text", "integer", "boolean"}
_HASHED = 8


def open_pinot(source: str, *, table: str | None = None) -> PinotEngine:
    """Open a table by its address; `address.parse` says how one is written.

    Raises:
        InvalidParameter: it is no address.
        StoreIncomplete: the table cannot be asked so that answers are provably complete.
        StoreFailed: its controller cannot be reached.
        UnreadableSource: the file of the password or of certificates cannot be read.
    """
    address = parse(source, table)
    web = Web(address)
    try:
        return PinotEngine(web, address)
    except BaseException:
        web.close()
        raise


class PinotEngine:
    """One table, opened by `open_pinot`. Any number of threads may ask at once."""

    def __init__(self, web: Web, address: Address) -> None:
        self._address, self._table = address, Table(web, address)
        self._columns = {column.name: column for column in self._table.watch.state.columns}
        # Also if nobody closes it.
        self._finalizer = weakref.finalize(self, web.close)
        # The state that was read by opening is as good as one that is read now, once.
        self._is_new = True

    def describe(self) -> Description:
        """The columns."""
        return Description(columns=tuple(column.plain for column in self._columns.values()))

    def validate(self, selection: Selection) -> None:
        """Refuse what these columns cannot answer."""
        check_selection(selection, self.describe())
        words = isinstance(selection.item, TextItems)
        for name in (selection.user, *(() if words else selection.item_columns)):
            if self._columns[name].kind not in _COUNTED:
                raise InvalidInput(
                    f"column {name!r} of the Pinot table is neither STRING, INT, LONG nor BOOLEAN, so its values have "
                    "no text that is the same everywhere; make a STRING column of it when it is ingested"
                )
        if selection.where is not None:
            where_true(selection.where, self._columns)
        if not isinstance(selection.item, str) or selection.per_item_cap != 1:
            self.validate_lists()

    def validate_lists(self) -> None:
        """Refuse a question that needs rows, if there are too many of them.

        Raises:
            InvalidParameter: so it is.
        """
        if self._table.watch.state.docs > MOST_ROWS:
            raise InvalidParameter(
                "method",
                "one that looks at people's lists",
                f"one that Pinot can count alone: this table has more than {MOST_ROWS:,} rows",
                "Write method='pcr' for counts, or 'unknown-gumbel' for a top list; or read what the table was made of "
                "with engine='spark'.",
            )

    def fingerprint(self, key: bytes) -> str:
        """The digest of all segments; the table must still be what it was."""
        del key
        if not self._is_new:
            self._table.watch.look()
        self._is_new = False
        return self._table.watch.state.version

    def sighting(self, key: bytes) -> Sighting:
        """The table at its controller and at its broker."""
        del key
        table, machines = self._address.table, (self._address.controller, self._address.broker)
        places = [f"pinot://{host_name(one.host)}:{one.port}/{table}" for one in machines]
        return see_table(table, tuple(dict.fromkeys(places)))

    def rows_identity(self, key: bytes) -> Identity:
        """The identity of all rows; of a table that is too large to be read, the identity of its segments.

        Columns of types that have no text of their own are left out: a copy of such a table is not recognised.
        """
        columns = [column for column in self._columns.values() if column.kind in _COUNTED]
        if self._table.watch.state.docs > MOST_ROWS or not columns:
            return Identity(kind="rows", value=keyed(key, b"rows", self._table.watch.state.version.encode()))
        rows, total = 0, 0
        with self._table.held():
            for page in self._table.rows(columns, where=True):
                rows += len(page)
                total += sum(_hash(column, value) for row in page for column, value in zip(columns, row, strict=True))
        return rows_identity(key, rows=rows, total=total, version=lambda: self._table.watch.state.version)

    def histogram(
        self, selection: Selection, *, bound: Bound | None = None, top: int | None = None
    ) -> Histogram | PinotCounts:
        """People per item, or rows up to the cap, largest first, ties by item; after bounding, if there is a bound."""
        if top is not None:
            whole("top", top)
        self.validate(selection)
        if bound is None and selection.per_item_cap == 1 and isinstance(selection.item, str):
            where = self._where(selection)
            person, item = self._columns[selection.user], self._columns[selection.item]
            asked = None if where is False else PeopleByItem(person=person, item=item, where=where)
            return PinotCounts(table=self._table, asked=asked) if top is None else largest(self._table, asked, top)
        held = self._incidence(selection, None if bound is None else bound.only)
        return held.histogram(top, bound=bound, cap=selection.per_item_cap)

    def incidence(self, selection: Selection) -> MemoryIncidence:
        """Who has what, in memory."""
        if selection.per_item_cap != 1:
            raise InvalidParameter("per_item_cap", selection.per_item_cap, "1 where people's lists are weighed")
        self.validate(selection)
        return self._incidence(selection, None)

    def confirming(self) -> AbstractContextManager[None]:
        """As `Confirming.confirming`: while groups are used, the table is looked at for the second time."""
        return self._table.watch.confirming()

    def close(self) -> None:
        """Close the connections."""
        self._finalizer()

    def _where(self, selection: Selection) -> Truth:
        """The rows that count, as SQL: nothing is missing, and the filter is true."""
        named = [present(self._columns[name]) for name in (selection.user, *selection.item_columns)]
        return all_of([*named, *(() if selection.where is None else (where_true(selection.where, self._columns),))])

    def _incidence(self, selection: Selection, only: Iterable[object] | None) -> MemoryIncidence:
        """Who has what; of a short public list, those who have something on it."""
        self.validate_lists()
        names = tuple(dict.fromkeys(selection.item_columns))
        columns = [self._columns[name] for name in (selection.user, *names)]
        where, listed = self._where(selection), None if only is None else list(map(str, only))
        if listed is not None and len(listed) <= LISTED and isinstance(selection.item, str):
            where = all_of([where, among(columns[1], listed)])
        gathered = Gathered(columns, selection.item)
        if where is not False:
            with self._table.held():
                for page in self._table.rows(columns, where):
                    gathered.add(page)
        return gathered.incidence()


def _hash(column: PinotColumn, value: object) -> int:
    """The hash of a cell's text, as `engines.identities` says; of a missing one none."""
    if column.missing is not None and value == column.missing:
        return 0
    digest = hashlib.md5(str(text_of(value)).encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()
    return int.from_bytes(digest[:_HASHED], "big")


if TYPE_CHECKING:
    _is_engine: type[Engine] = PinotEngine
    _is_paged: type[Paged] = PinotEngine
    _is_confirming: type[Confirming] = PinotEngine
