"""Small made-up data for every mechanism: one set of people and items, as a histogram or as an incidence."""

from __future__ import annotations

import random
from dataclasses import fields

import numpy as np

from hushcount.app.bounded import Reading
from hushcount.audit.small_table import ITEM, USER, SmallTable
from hushcount.engines.incidence import MemoryIncidence, incidence
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.model.facts import Facts
from hushcount.model.inputs import Histogram, Items
from hushcount.model.outcomes import Outcome
from hushcount.model.queries import Selection

NAMES = [f"item {n:02}" for n in range(30)]
# Item n has this many people: some equal, some far above every threshold, some of one person alone.
PEOPLE = [400, 400, 390, 350, 350, 350, 300, 250, 200, 150, 120, 90, 70, 50, 50, 50, 30, 20, 10, 10, 5, 5, 3, 2] + [
    1
] * 6


def as_items(texts: list[str]) -> Items:
    """Texts as an array of items."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


PUBLIC = as_items([*NAMES[:8], "nobody has this"])


def rows_of_people(shuffle: int = 0) -> tuple[list[str], list[str]]:
    """Two columns, user and item; person p has item n if p is below its number of people, so lists are nested."""
    rows = [(f"user {person}", name) for name, people in zip(NAMES, PEOPLE, strict=True) for person in range(people)]
    if shuffle:
        random.Random(shuffle).shuffle(rows)
    return [user for user, _ in rows], [item for _, item in rows]


def made_histogram(shuffle: int = 0) -> Histogram:
    """People per item, in an order that `shuffle` chooses."""
    order = list(range(len(NAMES)))
    if shuffle:
        random.Random(shuffle).shuffle(order)
    return histogram([NAMES[n] for n in order], [PEOPLE[n] for n in order])


def histogram(items: list[str], counts: list[int], *, complete: bool = True) -> Histogram:
    """A histogram of plain lists."""
    return Histogram(items=as_items(items), counts=np.array(counts, dtype=np.int64), complete=complete)


def made_incidence(shuffle: int = 0) -> MemoryIncidence:
    """Who has what, from rows in an order that `shuffle` chooses."""
    return incidence(*rows_of_people(shuffle))


def holdings(held: MemoryIncidence, *, cap: int = 1) -> Reading:
    """Both views of who has what."""
    return Reading(
        data=SmallTable(held), selection=Selection(user=USER, item=ITEM, per_item_cap=cap), salt=b"a salt of 16 byt"
    )


def input_for(mechanism: Mechanism, shuffle: int = 0) -> Histogram | MemoryIncidence | Reading:
    """The input that the mechanism wants."""
    match mechanism.wants:
        case "histogram":
            return made_histogram(shuffle)
        case "incidence":
            return made_incidence(shuffle)
        case "holdings":
            return holdings(made_incidence(shuffle))


def of_rows(mechanism: Mechanism, users: list[str], items: list[str]) -> Histogram | MemoryIncidence | Reading:
    """The input that the mechanism wants, made of these rows."""
    held = incidence(users, items)
    match mechanism.wants:
        case "histogram":
            return held.histogram()
        case "incidence":
            return held
        case "holdings":
            return holdings(held)


def empty_for(mechanism: Mechanism) -> Histogram | MemoryIncidence | Reading:
    """The input that the mechanism wants, without any data."""
    return of_rows(mechanism, [], [])


def facts_for(mechanism: Mechanism) -> Facts:
    """Facts that the mechanism can be planned from."""
    return mechanism.fitting(Facts(max_items=2, public_items=PUBLIC, k=4))


def same_release(one: Outcome, two: Outcome) -> bool:
    """Whether two outcomes are equal in every field."""
    return all(_same(getattr(one, field.name), getattr(two, field.name)) for field in fields(Outcome))


def _same(one: object, two: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        return bool(one.shape == two.shape and (one == two).all())
    return bool(one == two)
