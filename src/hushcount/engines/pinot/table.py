"""A table under question: every statement is asked between two looks at its state, and held against the checklist.

Three kinds of statements are asked. Groups: how many people have each item, counted by Pinot. Listed groups: the same
for the items of a public list. Rows: who has what, as it stands in the segments, page after page, counted here. Rows
are not grouped, so no limit of groups and no trimming can touch them, and each page must have as many as were counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final

from hushcount.engines.pinot import complete
from hushcount.engines.pinot.address import Address
from hushcount.engines.pinot.complete import Row
from hushcount.engines.pinot.schema import PinotColumn
from hushcount.engines.pinot.sql import Truth, all_of, among, quoted, spelled
from hushcount.engines.pinot.state import Segment
from hushcount.engines.pinot.watch import TableWatch
from hushcount.engines.pinot.web import Web, WebRequest
from hushcount.model.frozen import frozen

# Items of a list that one statement names, and rows that one page has at most.
LISTED: Final = 1000
PAGE: Final = 250_000


@frozen
class PeopleByItem:
    """What is counted: people (a column) for each item (another), in the rows of a filter that some may pass."""

    person: PinotColumn
    item: PinotColumn
    where: Truth


@frozen
class Groups:
    """Items as Pinot writes them, each with its number of people, and how many items there are in all."""

    rows: list[Row]
    total: int


class Table:
    """One table in one version: any other is refused."""

    def __init__(self, web: Web, address: Address) -> None:
        self._web, self._address = web, address
        self.watch = TableWatch(web, address)
        self._most = dict[str, int]()
        self._met = False

    @contextmanager
    def held(self, *, later: bool = False) -> Iterator[None]:
        """All statements of one answer, of a broker that was met; as `TableWatch.held`."""
        self._meet()
        with self.watch.held(later=later):
            yield

    def groups(self, asked: PeopleByItem, wanted: int | None, *, most: int | None = None) -> Groups:
        """The largest groups: so many that those wanted are among them, whoever goes first among the tied.

        Pinot breaks ties by numbers and by Java's order of texts, others by the order of code points. How many groups
        there are is asked beside them: there are no more than the column has values, and that decides the LIMIT.

        Args:
            asked: what is counted.
            wanted: how many; None for all.
            most: how many groups there can be; None for as many as the column has values.
        """
        most = self._items(asked.item) if most is None else most
        if not most:
            return Groups(rows=[], total=0)
        # One more than there are: groups that were not counted would come, too.
        limit = 1 + (most if wanted is None else min(most, complete.least_limit(most, wanted)))
        found = self._grouped(asked, limit)
        rows = found.rows
        if wanted is not None and limit < found.total:
            tied = [item for item, people in rows if people == rows[wanted - 1][1]]
            if rows[-1][1] == rows[wanted - 1][1] and not _goes_first(asked.item, tied):
                return self._grouped(asked, found.total + 1)
        return found

    def listed(self, asked: PeopleByItem, texts: Sequence[str]) -> list[Row]:
        """The groups of the items of a public list that occur."""
        found = list[Row]()
        for start in range(0, len(texts), LISTED):
            part = texts[start : start + LISTED]
            named = all_of([asked.where, among(asked.item, part)])
            if named is not False:
                named_alone = PeopleByItem(person=asked.person, item=asked.item, where=named)
                found += self.groups(named_alone, None, most=len(part)).rows
        return found

    def rows(self, columns: Sequence[PinotColumn], where: Truth) -> Iterator[list[Row]]:
        """The rows of a filter, in pages. While one is looked at, Pinot is about the next."""
        pages = [all_of([where, page]) for page in _pages(self.watch.state.segments)]
        total, *expected = self._counts([where, *pages])
        if sum(expected) != total or (where is True and total != self.watch.state.docs):
            raise complete.torn("its pages do not add up to all of its rows")
        names, types = [column.name for column in columns], [column.type_name for column in columns]
        wanted = [(page, rows) for page, rows in zip(pages, expected, strict=True) if rows]
        # One more than there are: a statement that could stop early would.
        chosen = ", ".join(map(quoted, names))
        statements = [f"SELECT {chosen}{self._from(page)} LIMIT {rows + 1}" for page, rows in wanted]
        with closing(self._web.each(map(self._request, statements))) as answers:
            for answer, (_, rows) in zip(answers, wanted, strict=True):
                told = self._checked(answer.told())
                complete.check_columns(told, names, types)
                yield complete.check_rows(told, rows, types)

    def _meet(self) -> None:
        """Find out, once, whether broker and controller know the same table (point 6).

        Neither statement has to look at rows: of all rows their number is known, and each segment knows its own name.
        """
        if self._met:
            return
        held = {segment.name: segment.docs for segment in self.watch.state.segments}
        named = f'SELECT DISTINCT "$segmentName"{self._from(where=True)} ORDER BY "$segmentName" LIMIT {len(held) + 1}'
        told, names = map(self._checked, self._ask(f"SELECT COUNT(*){self._from(where=True)}", named))
        complete.check_met(_counted(told), names, held)
        self._met = True

    def _counts(self, filters: Sequence[Truth]) -> list[int]:
        """How many rows pass each filter."""
        told = self._ask(*(f"SELECT COUNT(*){self._from(one)}" for one in filters))
        return [_counted(self._checked(one)) for one in told]

    def _items(self, column: PinotColumn) -> int:
        """How many values a column has in all; it is counted once, since any other state of the table is refused."""
        if column.name not in self._most:
            found = _distinct(column, self._answer(self._distinct(column, where=True)))
            if not min(1, self.watch.state.docs) <= found <= self.watch.state.docs:
                raise complete.torn("a column has more values than there are rows, or none")
            self._most[column.name] = found
        return self._most[column.name]

    def _grouped(self, asked: PeopleByItem, limit: int) -> Groups:
        """The first groups under a LIMIT, how many there are in all, and the plan: asked at the same time."""
        item, people = quoted(asked.item.name), f"DISTINCTCOUNT({quoted(asked.person.name)})"
        sql = (
            f"SELECT {item}, {people}{self._from(asked.where)} GROUP BY {item} "
            f"ORDER BY {people} DESC, {item} LIMIT {limit}"
        )
        named = f"distinctcount({asked.person.name})"
        root = f"BROKER_REDUCE(sort:[{named} DESC, {asked.item.name} ASC],limit:{limit})"
        # The one that takes longest is sent first.
        told, number, plan = self._ask(sql, self._distinct(asked.item, asked.where), f"EXPLAIN PLAN FOR {sql}")
        for answer in (number, told):
            self._checked(answer)
        total = _distinct(asked.item, number)
        complete.check_limit(limit, total)
        complete.check_plan(plan, root)
        types = [asked.item.type_name, "INT"]
        if total:
            # Of nothing Pinot does not know the types.
            complete.check_columns(told, [asked.item.name, named], types)
        rows = complete.check_rows(told, min(limit, total), types)
        complete.check_groups(rows, self.watch.state.docs)
        return Groups(rows=rows, total=total)

    def _distinct(self, column: PinotColumn, where: Truth) -> str:
        return f"SELECT DISTINCTCOUNT({quoted(column.name)}){self._from(where)}"

    def _from(self, where: Truth) -> str:
        filtered = f" WHERE {where}" if isinstance(where, str) else ""
        return f" FROM {quoted(self._address.table)}{filtered}"

    def _answer(self, sql: str) -> dict[str, Any]:
        [told] = self._ask(sql)
        return self._checked(told)

    def _checked(self, told: dict[str, Any]) -> dict[str, Any]:
        complete.check_answer(told, segments=len(self.watch.state.segments), docs=self.watch.state.docs)
        return told

    def _ask(self, *statements: str) -> list[dict[str, Any]]:
        """What the broker answers to statements that are sent at the same time."""
        return [answer.told() for answer in self._web.ask([self._request(sql) for sql in statements])]

    def _request(self, sql: str) -> WebRequest:
        body = {"sql": sql, "queryOptions": complete.options(self._address.timeout)}
        return WebRequest(machine=self._address.broker, path="/query/sql", body=body)


def _counted(told: dict[str, Any]) -> int:
    complete.check_columns(told, ["count(*)"], ["LONG"])
    return int(complete.check_rows(told, 1, ["LONG"])[0][0])


def _distinct(column: PinotColumn, told: dict[str, Any]) -> int:
    complete.check_columns(told, [f"distinctcount({column.name})"], ["INT"])
    return int(complete.check_rows(told, 1, ["INT"])[0][0])


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
