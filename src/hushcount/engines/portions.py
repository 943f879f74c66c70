"""Portions: some people with all their items, as compressed rows, and what passes over them add up to.

What is added up for one person depends on nobody else, and sums are of integers: so portions may be taken one after the
other, or two halves of one on two cores, with the same result. Items are numbered alike in all portions of one
incidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from hushcount.compiled.cores import MANY_ROWS, on_two_cores
from hushcount.compiled.passes import once
from hushcount.compiled.segments import Segments
from hushcount.engines import bounding, clipping
from hushcount.engines.hashing import Role, role_seed
from hushcount.engines.xxh64 import hash_integers, hash_texts, item_words, person_starts
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Bound, Int64s
from hushcount.model.texts import SortedTexts, Texts, edges_of

Bools: TypeAlias = npt.NDArray[np.bool_]
Users: TypeAlias = Texts | Int64s
_T = TypeVar("_T")


@frozen
class Portion:
    """Some people, everything they hold, and nobody without items.

    Attributes:
        users: the people, distinct, in any order. Texts, or integers that stand for their text.
        offsets: person j holds ids[offsets[j]:offsets[j + 1]].
        ids: numbers of items, ascending within a person.
        times: how often each pair was seen.
    """

    users: Users
    offsets: Int64s
    ids: npt.NDArray[np.int32]
    times: Int64s

    def bounded(self, bound: Bound, limit: int, *, items: SortedTexts, allowed: Bools) -> tuple[Bools, Int64s]:
        """Which pairs stay if everybody keeps `limit` items at most, and how many each person has then."""
        keep, held = np.ones(len(self.ids), dtype=np.bool_), np.diff(self.offsets)
        if not bool(allowed.all()):
            held = np.concatenate(
                self.in_halves(lambda _, rows: bounding.keep_allowed(rows, self.ids, allowed=allowed, keep=keep))
            )
        over = np.flatnonzero(held > limit)
        if not len(over):
            return keep, held
        wanted = np.flatnonzero(bounding.items_of(self.offsets, self.ids, people=over, n_items=len(items)))
        people, things = np.zeros(len(held), dtype=np.uint64), np.zeros(len(items), dtype=np.uint64)
        people[over] = person_starts(hashed(self.users, over, salt=bound.salt, role=b"person"))
        things[wanted] = item_words(hashed(items, wanted, salt=bound.salt, role=b"item"))

        def drop(part: slice, rows: Int64s) -> None:
            hashes = people[part], things
            bounding.keep_smallest(rows, self.ids, held=held[part], limit=limit, hashes=hashes, keep=keep)

        self.in_halves(drop)
        return keep, np.minimum(held, limit)

    def added(self, keep: Bools, held: Int64s, weights: Int64s, *, n_items: int) -> tuple[Int64s, Bools]:
        """For each item the sum of the rows of `weights` for how many items each of its people holds; who is seen."""
        return bounding.add_rows(self.offsets, self.ids, keep=keep, held=held, weights=weights, n_items=n_items)

    def narrowed(self, wanted: Bools) -> Portion:
        """The people who have some of the wanted items, with these alone, which are numbered among themselves."""
        keep = np.empty(len(self.ids), dtype=np.bool_)
        held = np.concatenate(
            self.in_halves(lambda _, rows: bounding.keep_allowed(rows, self.ids, allowed=wanted, keep=keep))
        )
        edges, people = edges_of(held), np.flatnonzero(held)
        numbers = np.cumsum(wanted, dtype=np.int32) - np.int32(1)
        ids = np.empty(int(edges[-1]), dtype=np.int32)

        def number(part: slice, rows: Int64s) -> None:
            pairs = slice(rows[0], rows[-1])
            bounding.keep_ids(self.ids[pairs], keep[pairs], numbers, kept=ids[edges[part.start] : edges[part.stop]])

        self.in_halves(number)
        return Portion(
            users=self.users.taken(people) if isinstance(self.users, Texts) else self.users[people],
            offsets=np.append(edges[people], edges[-1:]),
            ids=ids,
            times=once(len(ids)) if self.times.strides == (0,) else self.times[keep],
        )

    def losses(self, tables: Segments) -> Int64s:
        """What each clip takes away."""
        return added_up(self.in_halves(lambda _, rows: clipping.losses(rows, self.ids, tables)))

    def clipped(self, amplitudes: Int64s, radius: int) -> Int64s:
        """For each item the sum of what people add to it under a clip."""
        halves = self.in_halves(lambda _, rows: clipping.clipped(rows, self.ids, amplitudes, radius=radius))
        return added_up(halves)

    def in_halves(self, work: Callable[[slice, Int64s], _T]) -> list[_T]:
        """Do something with all people, given their offsets: at once, or two halves on two cores where pairs are many.

        What is written for one person concerns nobody else.
        """
        everybody = len(self.offsets) - 1
        if len(self.ids) < MANY_ROWS:
            return [work(slice(0, everybody), self.offsets)]
        middle = int(np.searchsorted(self.offsets, len(self.ids) // 2))
        halves = slice(0, middle), slice(middle, everybody)
        return list(on_two_cores(lambda part: work(part, self.offsets[part.start : part.stop + 1]), *halves))


def added_up(parts: Iterable[Int64s]) -> Int64s:
    """The sum of some arrays, of which there is one at least, added to the first; no more than two are held."""
    each = iter(parts)
    total = next(each)
    for part in each:
        total += part
    return total


def hashed(texts: Users, places: Int64s, *, salt: bytes, role: Role) -> Int64s:
    """The keyed hash of the texts at some places, as `engines.hashing` says."""
    seed = role_seed(salt, role)
    if not isinstance(texts, Texts):
        return hash_integers(texts[places], seed=seed)
    starts = texts.edges[places]
    return hash_texts(texts.buffer, starts, texts.edges[places + 1] - starts, seed=seed)
