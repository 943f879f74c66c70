"""A table under question: every statement is asked between two looks at its state, and held against the checklist.

Three kinds of statements are asked. Groups: how many people have each item, counted by Pinot. Listed groups: the same
for the items of a public list. Rows: who has what, as it stands in the segments, page after page, counted here. Rows
are not grouped, so no limit of groups and no trimming can touch them, and each page must have as many as were counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from hushcount.engines.pinot import complete
from hushcount.engines.pinot.address import Address
from hushcount.engines.pinot.schema import PinotColumn
from hushcount.engines.pinot.sql import Truth, all_of, among, quoted, spelled
from hushcount.engines.pinot.state import Observer, Segment
from hushcount.engines.pinot.web import Web

Row: TypeAlias = list[Any]

# Items of a list that one statement names, and rows that one page has at most.
LISTED: Final = 1000
PAGE: Final = 250_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is counted: people (a column) for each item (another), in the rows of a filter that some may pass."""

    person: PinotColumn
    item: PinotColumn
    where: Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Items as Pinot writes them, each with its number of people, and how many items there are in all."""

    rows: list[Row]
    total: int


class Table:
    """One table as it was when it was opened: any other state of it is refused."""

    def __init__(self, web: Web, address: Address) -> None:
        self._web, self._address = web, address
        self._observer = Observer(web, address)
        self.state = self._observer.read()

    def look(self) -> None:
        """Refuse if the table is not what it was when it was opened (point 11)."""
        complete.check_same(self.state, self._observer.read())

    @contextmanager
    def held(self) -> Iterator[None]:
        """All statements of one answer: the table is the same before and after (point 11).

        Before is when it was opened. Whatever is pushed, and be it the same again, leaves another time on its segment:
        if all times and checksums are what they were then, no segment was another one in between.
        """
        yield
        self.look()

    def groups(self, asked: Asked, wanted: int | None) -> Groups:
        """The largest groups: so many that those wanted are among them, whoever goes first among the tied.

        Pinot breaks ties by numbers and by Java's order of texts, others by the order of code points.
        """
        total = self._distinct(asked)
        if not total:
            return Groups(rows=[], total=0)
        limit = total if wanted is None else min(total, complete.least_limit(total, wanted))
        rows = self._grouped(asked, limit, total)
        if wanted is not None and limit < total:
            tied = [item for item, people in rows if people == rows[wanted - 1][1]]
            if rows[-1][1] == rows[wanted - 1][1] and not _goes_first(asked.item, tied):
                rows = self._grouped(asked, total, total)
        return Groups(rows=rows, total=total)

    def listed(self, asked: Asked, texts: Sequence[str]) -> list[Row]:
        """The groups of the items of a public list that occur."""
        found = list[Row]()
        for start in range(0, len(texts), LISTED):
            named = all_of([asked.where, among(asked.item, texts[start : start + LISTED])])
            if named is not False:
                found += self.groups(Asked(person=asked.person, item=asked.item, where=named), None).rows
        return found

    def rows(self, columns: Sequence[PinotColumn], where: Truth) -> Iterator[list[Row]]:
        """The rows of a filter, in pages."""
        total, met = self._count(where), 0
        for page in _pages(self.state.segments):
            there = all_of([where, page])
            expected = self._count(there)
            met += expected
            if expected:
                yield self._page(columns, there, expected)
        if met != total:
            raise complete.torn("its pages do not add up to all of its rows")

    def _page(self, columns: Sequence[PinotColumn], where: Truth, expected: int) -> list[Row]:
        names = [column.name for column in columns]
        # One more than there are: a statement that could stop early would.
        told = self._answer(f"SELECT {', '.join(map(quoted, names))}{self._from(where)} LIMIT {expected + 1}")
        complete.check_columns(told, names, [column.type_name for column in columns])
        return complete.check_rows(told, expected)

    def _count(self, where: Truth) -> int:
        told = self._answer(f"SELECT COUNT(*){self._from(where)}")
        complete.check_columns(told, ["count(*)"], ["LONG"])
        return int(complete.check_rows(told, 1)[0][0])

    def _distinct(self, asked: Asked) -> int:
        """How many items there are."""
        name = asked.item.name
        told = self._answer(f"SELECT DISTINCTCOUNT({quoted(name)}){self._from(asked.where)}")
        complete.check_columns(told, [f"distinctcount({name})"], ["INT"])
        return int(complete.check_rows(told, 1)[0][0])

    def _grouped(self, asked: Asked, limit: int, total: int) -> list[Row]:
        complete.check_limit(limit, total)
        item, people = quoted(asked.item.name), f"DISTINCTCOUNT({quoted(asked.person.name)})"
        sql = (
            f"SELECT {item}, {people}{self._from(asked.where)} GROUP BY {item} "
            f"ORDER BY {people} DESC, {item} LIMIT {limit}"
        )
        named = f"distinctcount({asked.person.name})"
        root = f"BROKER_REDUCE(sort:[{named} DESC, {asked.item.name} ASC],limit:{limit})"
        plan, told = self._web.together(
            [lambda: self._ask(f"EXPLAIN PLAN FOR {sql}"), lambda: self._answer(sql)],
        )
        complete.check_plan(plan, root)
        complete.check_columns(told, [asked.item.name, named], [asked.item.type_name, "INT"])
        return complete.check_rows(told, min(limit, total))

    def _from(self, where: Truth) -> str:
        filtered = f" WHERE {where}" if isinstance(where, str) else ""
        return f" FROM {quoted(self._address.table)}{filtered}"

    def _answer(self, sql: str) -> dict[str, Any]:
        told = self._ask(sql)
        complete.check_answer(told, segments=len(self.state.segments), docs=self.state.docs)
        return told

    def _ask(self, sql: str) -> dict[str, Any]:
        body = {"sql": sql, "queryOptions": complete.options(self._address.timeout)}
        found: dict[str, Any] = self._web.post(self._address.broker, "/query/sql", body)
        return found


def _goes_first(column: PinotColumn, tied: Sequence[Any]) -> bool:
    """Whether no item that comes after some in Pinot's order comes before one of them in that of code points.

    Numbers may ("10" is before "9"). Java compares UTF-16 words: a text without a character beyond U+FFFF that is
    smaller there is smaller by code points too, since where the other has a surrogate, it has a larger character.
    """
    if column.kind != "text":
        return column.kind == "boolean"
    return all(sign <= "\uffff" for text in tied for sign in text)


def _pages(segments: Sequence[Segment]) -> Iterator[str]:
    """Filters that part all rows: small segments are read together, and large ones in parts."""
    small, docs = list[Segment](), 0
    for segment in segments:
        if segment.docs > PAGE:
            for start in range(0, segment.docs, PAGE):
                yield f'{_within([segment])} AND "$docId" >= {start} AND "$docId" < {start + PAGE}'
            continue
        if docs + segment.docs > PAGE:
            yield _within(small)
            small, docs = [], 0
        small.append(segment)
        docs += segment.docs
    if small:
        yield _within(small)


def _within(segments: Sequence[Segment]) -> str:
    return f'"$segmentName" IN ({", ".join(spelled(segment.name) for segment in segments)})'
