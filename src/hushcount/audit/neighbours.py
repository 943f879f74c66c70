"""Neighbours: small made-up tables and the one person who is taken out of them, the worst cases first.

By hand: one person alone, items that only this person has, ties, places around a rank, counts around a threshold, more
items than are allowed, repeated rows, people who follow one another. Then all tables of a few people and items. A
family is made from the public numbers of a plan (its rows, thresholds, bounds), since that is where mechanisms break.
Where a row may count several times, the person has each of their rows so often, and then once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeAlias

from hushcount.model.frozen import frozen

Table: TypeAlias = tuple[tuple[str, str], ...]  # (person, item), in any order, repeats allowed

PERSON = "the person"
# Counts beyond this make no new case for plans that are meant to be enumerated.
_MOST_PEOPLE = 40


@frozen
class Neighbours:
    """A table and the same table without one person.

    Attributes:
        rows: the larger table.
        person: who is taken out of it.
        where: what is special about it, in plain words.
    """

    rows: Table
    person: str
    where: str

    @property
    def without(self) -> Table:
        """The smaller table."""
        return tuple(row for row in self.rows if row[0] != self.person)

    @property
    def items(self) -> int:
        """How many different items there are."""
        return len({item for _, item in self.rows})

    def repeated(self, times: int) -> Neighbours:
        """The same with each of the person's rows so many times: a count that may move by that much does."""
        if times == 1:
            return self
        own = tuple(row for row in self.rows if row[0] == self.person)
        return replace(self, rows=self.rows + own * (times - 1), where=f"{self.where}; the person's rows {times} times")


@frozen
class Sizes:
    """The public numbers that a family is built around.

    Attributes:
        held: the most items of one person that are taken.
        places: ranks and list lengths: how many rows are looked at, how many are asked for.
        levels: numbers of people around which something changes.
        most_items: no table has more different items.
        cap: how often a repeated row counts.
    """

    held: int
    places: tuple[int, ...]
    levels: tuple[int, ...]
    most_items: int
    cap: int = 1


def sizes_of(plan: object, *, most_items: int, cutoff: float | None = None, cap: int = 1) -> Sizes:
    """The numbers of a plan, whatever its kind: all of its fields that could be a rank or a number of people.

    Args:
        plan: any frozen plan.
        most_items: no table gets more different items.
        cutoff: how many people an item needs, if the plan itself does not say.
        cap: how often a repeated row counts.
    """
    numbers = dict(_numbers(plan)) | ({} if cutoff is None else {"cutoff": cutoff})
    held = numbers.get("max_items") or 2
    places = sorted({int(numbers[name]) for name in ("rows", "k") if 0 < numbers.get(name, 0) <= most_items})
    levels = {1, 2}
    for name, value in numbers.items():
        if name not in {"max_items", "per_item_cap", "rows", "k"} and 1 <= value <= _MOST_PEOPLE:
            levels |= {math.floor(value) - 1, math.floor(value), math.floor(value) + 1, math.floor(value) + 2}
    return Sizes(
        held=min(int(held), most_items),
        places=tuple(places) or (1, 2),
        levels=tuple(sorted(level for level in levels if level > 0)),
        most_items=most_items,
        cap=cap,
    )


def _numbers(plan: object) -> Iterator[tuple[str, float]]:
    """Every number in a plan with the name of its field; rounds and other parts of a plan included."""
    if not is_dataclass(plan):
        return
    for field in fields(plan):
        value: Any = getattr(plan, field.name)
        if isinstance(value, tuple) and value and all(isinstance(entry, int) for entry in value):
            yield field.name, float(len(value))
        elif isinstance(value, tuple):
            for number, part in enumerate(value):
                yield from ((f"{field.name}/{number}/{name}", inner) for name, inner in _numbers(part))
        elif is_dataclass(value):
            yield from ((f"{field.name}/{name}", inner) for name, inner in _numbers(value))
        elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            yield field.name, float(value)


def family(sizes: Sizes) -> Iterator[Neighbours]:
    """All neighbours to try: by hand first, then all small tables; none twice."""
    seen: set[frozenset[tuple[tuple[str, str], int]]] = set()
    small = itertools.chain(small_tables(people=3, items=2), small_tables(people=3, items=3))
    for pair in itertools.chain(_by_hand(sizes), _both_ways(small, sizes.cap)):
        times: dict[tuple[str, str], int] = {}
        for row in pair.rows:
            times[row] = times.get(row, 0) + 1
        form = frozenset(times.items()) | {((pair.person, "removed"), 0)}
        if pair.items <= sizes.most_items and form not in seen:
            seen.add(form)
            yield pair


def _by_hand(sizes: Sizes) -> Iterator[Neighbours]:
    """In turn, so that whoever stops early has seen some of each; with a cap, rows that count once are one kind."""
    kinds = (_alone, _at_levels, _at_ranks, _over_the_bound, _following)
    all_once = [kind(sizes) for kind in kinds]
    turns: list[Iterator[Neighbours]] = all_once
    if sizes.cap > 1:
        capped = [(pair.repeated(sizes.cap) for pair in kind(sizes)) for kind in kinds]
        turns = [*capped, _in_turn(all_once)]
    return _in_turn(turns)


def _in_turn(kinds: Sequence[Iterator[Neighbours]]) -> Iterator[Neighbours]:
    return (pair for turn in itertools.zip_longest(*kinds) for pair in turn if pair is not None)


def _both_ways(pairs: Iterator[Neighbours], cap: int) -> Iterator[Neighbours]:
    for pair in pairs:
        yield pair.repeated(cap)
        if cap > 1:
            yield pair


def table(others: Mapping[str, int], held: Sequence[str], where: str, *, nested: bool = False) -> Neighbours:
    """A table in which `others` tells how many other people have each item, and the person holds `held`.

    Args:
        others: for each item, how many other people have it.
        held: the person's rows; repeats are repeated rows.
        where: what is special about it.
        nested: whether the other people hold all the items that they can, instead of one each.
    """
    rows: list[tuple[str, str]] = [(PERSON, item) for item in held]
    for item, people in others.items():
        rows += [(f"{number}" if nested else f"{item}{number}", item) for number in range(people)]
    return Neighbours(rows=tuple(rows), person=PERSON, where=where)


def small_tables(*, people: int, items: int) -> Iterator[Neighbours]:
    """Every table of at most so many people and items up to the names of people; each kind of person is taken out."""
    names = _items(items)
    sets = [held for size in range(1, items + 1) for held in itertools.combinations(names, size)]
    for number in range(1, people + 1):
        for holdings in itertools.combinations_with_replacement(sets, number):
            rows = tuple((f"p{place}", item) for place, held in enumerate(holdings) for item in held)
            words = "; ".join(" ".join(held) for held in holdings)
            for place, held in enumerate(holdings):
                # People with equal items differ in their names alone.
                if held not in holdings[:place]:
                    where = f"people who hold {words}: the one with {' '.join(held)} is taken out"
                    yield Neighbours(rows=rows, person=f"p{place}", where=where)


def _n(number: int, one: str = "item", many: str = "items") -> str:
    return f"{number} {one if number == 1 else many}"


def _people(number: int) -> str:
    return _n(number, "other person", "other people")


def _items(number: int) -> tuple[str, ...]:
    return tuple("abcdefghijklmnopqrstuvwxyz"[:number])


def _alone(sizes: Sizes) -> Iterator[Neighbours]:
    """One person holds everything there is; the table without them is empty."""
    for number in sorted({1, sizes.held, *sizes.places, max(sizes.places) + 1}):
        held = _items(number)
        yield table({}, held, f"one person alone holds {_n(number)} that nobody else has")
    yield table({}, ("a",) * 3, "one person alone holds one item, in three equal rows")


def _at_levels(sizes: Sizes) -> Iterator[Neighbours]:
    """Counts around every threshold of the plan: one item, then two, then with an item of this person alone."""
    for level in reversed(sizes.levels):
        yield table({"a": level}, ("a",), f"an item of {_people(level)}")
    for level in sizes.levels:
        own = _items(sizes.held)
        yield table(dict.fromkeys(own, level), own, f"{_n(len(own))} of {_people(level)} each")
        where = f"an item of {_people(level)} and {len(own) - 1} of this person alone"
        yield table({"a": level}, own, where)
        yield table({"a": level, "b": level}, ("b",), f"two items of {_people(level)} each, one of them held")
        yield table(dict.fromkeys(own, level), own, f"{_n(len(own))} of the same {level} people", nested=True)
    for one, two in itertools.combinations(sizes.levels, 2):
        where = f"items of {one} and of {two} other people, {_n(min(2, sizes.held))} held"
        yield table({"a": one, "b": two}, ("a", "b")[: sizes.held], where)


def _at_ranks(sizes: Sizes) -> Iterator[Neighbours]:
    """Ties and near-ties around each rank that the plan looks at, and the item that one person lifts over it."""
    levels = sorted({0, 1, 2, sizes.levels[-1]})
    for place, level in itertools.product(sizes.places, levels):
        for number in (place + 1, place, place + 2, 2 * place):
            names = _items(number)
            tied = dict.fromkeys(names, level)
            yield table(tied, names, f"{_n(number)} tie at {_people(level)}, all held")
            yield table(tied, names[:place], f"{_n(number)} tie at {_people(level)}, {place} of them held")
            yield table(tied, names[-1:], f"{_n(number)} tie at {_people(level)}, the last one held")
            lifted = {**tied, **dict.fromkeys(names[:place], level + 1)}
            where = f"{_n(place)} of {_people(level + 1)} and {number - place} of {level}"
            yield table(lifted, names[-1:], f"{where}, the last one held")
            yield table(lifted, names[:1], f"{where}, the first one held")
            yield table(lifted, names[place:] or names, f"{where}, the smaller ones held")


def _over_the_bound(sizes: Sizes) -> Iterator[Neighbours]:
    """People who hold more than is taken of them, alone and among others, and rows that are there many times."""
    for more in (1, 2):
        names = _items(sizes.held + more)
        yield table({}, names, f"one person alone holds {len(names)} items, {more} over the bound")
        yield table(dict.fromkeys(names, 2), names, f"{len(names)} items of two others each, all held, over the bound")
        yield table(dict.fromkeys(names, 2), names, f"three people hold the same {len(names)} items", nested=True)
    yield table({"a": 2}, ("a",) * 5 + ("b",), "an item of two others, which the person has in five equal rows")


def _following(sizes: Sizes) -> Iterator[Neighbours]:
    """Chains: others share an item with the person and hold one of their own, so that what one takes moves the next."""
    for people in (1, 2, *sizes.levels[-1:]):
        rows: list[tuple[str, str]] = [(PERSON, "a")]
        for number in range(people):
            rows += [(f"{number}", "a"), (f"{number}", "b")]
        yield Neighbours(
            rows=tuple(rows), person=PERSON, where=f"{_people(people)} with an item of the person's and one more"
        )
        chain: list[tuple[str, str]] = [
            *rows,
            (PERSON, "b"),
            *((f"{n} later", item) for n in range(2) for item in "bc"),
        ]
        where = f"{_people(people)} with all that the person holds, and two with one of these items and another"
        yield Neighbours(rows=tuple(chain), person=PERSON, where=where)
