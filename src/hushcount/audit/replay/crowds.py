"""Crowds: made-up tables of some dozen people for the replay, where a run costs little and is not enumerated.

They are the same every time: their numbers come from a test seed. Rows stand twice now and then, some items are far
more popular than others, and many counts tie, since a boundary between ties is where mistakes show.
"""

from __future__ import annotations

from collections.abc import Iterator

from hushcount.audit.neighbours import PERSON, Neighbours, Table
from hushcount.noise.source import SeededSource

_CROWDS = 8
_QUICK = 2


def crowds(*, quick: bool, cap: int = 1) -> Iterator[Neighbours]:
    """Random tables that lose an ordinary person, or one who holds everything and some items of their own.

    Args:
        quick: fewer of them.
        cap: how often a row counts: so often it is there for those whose rows are not at random.
    """
    for seed in range(_QUICK if quick else _CROWDS):
        rows, items = _random_rows(seed)
        people = sorted({person for person, _ in rows})
        longest = max(people, key=lambda person: len({item for who, item in rows if who == person}))
        where = f"{len(people)} people and {len(items)} items at random"
        yield Neighbours(rows=rows, person=people[0], where=f"{where}, any one taken out")
        yield Neighbours(rows=rows, person=longest, where=f"{where}, the one with most items taken out")
        everything = tuple((PERSON, item) for item in [*items, "own 1", "own 2", "own 3"] * cap)
        yield Neighbours(rows=rows + everything, person=PERSON, where=f"{where}, one who holds all taken out")
        repeated = tuple((PERSON, item) for item in items[:3] * 3)
        yield Neighbours(rows=repeated + rows, person=PERSON, where=f"{where}, one with repeated rows taken out")
    yield from (pair.repeated(cap) for pair in _level_crowds())


def _random_rows(seed: int) -> tuple[Table, list[str]]:
    """Rows of 20 to 200 people and up to 50 items, of which the first are the popular ones; and the items."""
    seeded = SeededSource(seed)
    shape = seeded.draws("audit/shape", 3).words(0)
    n_people, n_items, most = 20 + int(shape[0] % 181), 10 + int(shape[1] % 41), 1 + int(shape[2] % 8)
    lengths = seeded.draws("audit/lengths", n_people).words(0)
    rows = []
    for person in range(n_people):
        words = seeded.draws(f"audit/person {person}", 1 + int(lengths[person] % most)).words(0)
        # The cube of a uniform number is mostly small.
        rows += [(f"p{person}", f"item {int(n_items * (int(word) / 2**64) ** 3):02d}") for word in words]
    return tuple(rows), sorted({item for _, item in rows})


def _level_crowds() -> Iterator[Neighbours]:
    """Counts that all tie: whoever is taken out moves the boundary, or everything but the boundary."""
    for n_items, holders in ((4, 3), (8, 12), (12, 40)):
        level = tuple((f"{item}.{person}", f"item {item:02d}") for item in range(n_items) for person in range(holders))
        for held in (1, n_items // 2, n_items):
            own = tuple((PERSON, f"item {item:02d}") for item in range(held))
            where = f"{n_items} items of {holders} other people each, {held} of them held"
            yield Neighbours(rows=level + own, person=PERSON, where=where)
