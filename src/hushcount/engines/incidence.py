"""Who has what, in portions of people: bounded inputs in memory. The reference for every other engine.

Rules, all of them functions of values alone, never of the order of rows or of internal codes:

* A row whose person or item is None (or masked) is dropped. NaN and other types are refused: they are neither.
* A person is known by their text: 7 and "7" are the same person. Items are str, the empty text included.
* Repeated (person, item) rows are one pair (erratum 38). How often a pair was seen is kept only to order a person's
  own items.
* A person over the bound keeps the items with the smallest keyed hash of (person, item), so their choice does not
  depend on anybody else (errata 28, 34). `without` and `only` act before the bound.
* People stand in the order of a keyed hash of their identifier, items in the order of their texts (code points).
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.compiled import passes
from hushcount.compiled import texts as compiled
from hushcount.compiled.cores import MANY_ROWS
from hushcount.compiled.passes import once
from hushcount.compiled.texts import those
from hushcount.engines import bounding, clipping
from hushcount.engines.hashing import role_keys
from hushcount.engines.pairs import count_pairs
from hushcount.engines.portions import Bools, Portion, Users, added_up, hashed
from hushcount.errors import InvalidInput, InvalidParameter
from hushcount.model.amounts import whole
from hushcount.model.frozen import frozen
from hushcount.model.inputs import (
    LARGEST,
    Bound,
    Clip,
    Histogram,
    Int64s,
    LengthWeights,
    Ranked,
    SummedItems,
    UniformWeights,
    UserLists,
    WeightedHistogram,
)
from hushcount.model.texts import Items, SortedTexts, Texts, edges_of, encoded, in_order

if TYPE_CHECKING:
    from hushcount.model.inputs import Incidence

Column: TypeAlias = Sequence[Any] | npt.NDArray[Any]
_Integers: TypeAlias = npt.NDArray[np.integer[Any]]

# What is looked up of so many items stays in a cache.
_FEW_ITEMS = 1 << 15


@frozen
class MemoryIncidence:
    """Who has what. Build it with `incidence` or `encoded_incidence`; they establish the below.

    Attributes:
        items: texts of the items; each is held by somebody.
        portions: everybody with their items, each person in one portion; one portion at least. They may be read from
            a disk one after the other: no more than one is needed at a time, but for `lists`.
        people: how many people there are.
        narrow: at most one list of items, and who has what of them alone; see `_narrowed`.
        sizes: at most one array: how many people have each item.
    """

    items: SortedTexts
    portions: Sequence[Portion]
    people: int
    narrow: list[tuple[frozenset[str], MemoryIncidence]] = field(default_factory=list, repr=False, compare=False)
    sizes: list[Int64s] = field(default_factory=list, repr=False, compare=False)

    def weights(self, rule: UniformWeights) -> WeightedHistogram:
        """Sum of everyone's uniform weights after bounding, in text order; a weight that rounds to zero is listed."""
        unit = 1 << whole("bits", rule.bits, most=61)
        if rule.norm not in {1, 2}:
            raise InvalidParameter("norm", rule.norm, "1 or 2")
        if rule.share not in {"held", "bound"}:
            raise InvalidParameter("share", rule.share, '"held" or "bound"')

        def table(held: Int64s) -> Int64s:
            occurring = np.flatnonzero(np.bincount(held))
            shares = occurring if rule.share == "held" else np.full_like(occurring, rule.bound.max_items)
            steps = np.zeros((int(held.max(initial=0)) + 1, 1), dtype=np.int64)
            steps[occurring, 0] = [_step(unit, share, rule.norm) for share in shares.tolist()]
            if self.people * int(steps.max()) >= LARGEST:
                raise InvalidInput("weights on so fine a grid could reach 2^62 for this many people; use fewer bits")
            return steps

        total, seen = self._added(rule.bound, table)
        return WeightedHistogram(items=those(self.items, seen), weights=_rows(total, seen)[:, 0], unit=unit)

    def sums(self, rule: LengthWeights) -> SummedItems:
        """Sums of what everyone adds after bounding, in text order."""
        # Who holds nothing adds nothing, to nothing.
        weights = np.zeros((rule.bound.max_items + 1, len(rule.columns)), dtype=np.int64)
        weights[1:] = np.array(rule.columns, dtype=np.int64).T
        if self.people * int(weights.max()) >= LARGEST:
            raise InvalidInput("sums of such weights could reach 2^62 for this many people; use smaller ones")
        total, seen = self._added(rule.bound, lambda _: weights)
        return SummedItems(items=those(self.items, seen), sums=_rows(total, seen))

    def counts(self, bound: Bound) -> Histogram:
        """How many people hold each item after bounding, in text order. Always complete."""
        total, seen = self._added(bound, lambda held: np.ones((int(held.max(initial=0)) + 1, 1), dtype=np.int64))
        return Histogram(items=those(self.items, seen), counts=_rows(total, seen)[:, 0], complete=True)

    def lists(self, bound: Bound, order: Literal["key", "frequency"]) -> UserLists:
        """Bounded lists of all who keep an item, in text order, or ("frequency") each person's most frequent first."""
        if order not in {"key", "frequency"}:
            raise InvalidParameter("order", order, '"key" or "frequency"')
        everybody = self.whole()
        limit, allowed = _limit(self.items, bound), _allowed(self.items, bound)
        keep, held = everybody.bounded(bound, limit, items=self.items, allowed=allowed)
        people = np.flatnonzero(held)
        people = people[
            _order(everybody.users, people, hashed(everybody.users, people, salt=bound.salt, role=b"order"))
        ]
        if order == "key":
            starts, ids = bounding.gather(everybody.offsets, keep, held=held, order=people, values=everybody.ids)
        else:
            pairs = np.arange(len(everybody.ids))
            starts, places = bounding.gather(everybody.offsets, keep, held=held, order=people, values=pairs)
            bounding.sort_by_frequency(starts, places, everybody.times)
            ids = everybody.ids[places]
        seen = np.zeros(len(self.items), dtype=np.bool_)
        seen[ids] = True
        if not seen.all():
            ids = (np.cumsum(seen, dtype=np.int32) - np.int32(1))[ids]
        return UserLists(items=self.items.those(seen), offsets=starts, ids=ids)

    def histogram(self, top: int | None = None, *, bound: Bound | None = None, cap: int = 1) -> Histogram:
        """People per item: the `top` largest counts (all if None), ties by item text.

        Without a bound everybody's items count. A cap above one counts how often, up to the cap, instead of whether.
        """
        whole("cap", cap)
        count = np.zeros(len(self.items), dtype=np.int64)
        for portion in self.portions:
            kept: slice | Bools = slice(None)
            if bound is not None:
                limit, allowed = _limit(self.items, bound), _allowed(self.items, bound)
                kept, _ = portion.bounded(bound, limit, items=self.items, allowed=allowed)
            # Sums of float64 weights are exact: they stay below the number of rows, so far below 2^53.
            often = None if cap == 1 else np.minimum(portion.times[kept], cap)
            found = np.bincount(portion.ids[kept], weights=often, minlength=len(self.items))
            count += found.astype(np.int64, copy=False)
        rows = np.argsort(-count, kind="stable")[: np.count_nonzero(count)]
        shown = rows if top is None else rows[: whole("top", top)]
        return Histogram(items=self.items[shown], counts=count[shown], complete=len(shown) == len(rows))

    def everyone(self, rule: UniformWeights) -> int:
        """What an item would weigh that everybody had."""
        unit = 1 << whole("bits", rule.bits, most=61)
        total = 0
        for portion in self.portions:
            held = np.minimum(np.diff(portion.offsets), rule.bound.max_items)
            people = np.bincount(held)
            for length in np.flatnonzero(people).tolist():
                share = length if rule.share == "held" else rule.bound.max_items
                total += _step(unit, share, rule.norm) * int(people[length])
        return total

    def held(self, listed: Items) -> int:
        """How many pairs of a person and a listed item there are."""
        if not self.sizes:
            width = len(self.items)
            parts = (count_pairs(portion.ids, once(len(portion.ids)), cap=1, width=width) for portion in self.portions)
            self.sizes.append(added_up(parts))
        return int(self.sizes[0][_on(listed, self.items)].sum())

    def losses(self, ranked: Ranked, clips: Sequence[Clip], *, unit: int) -> Int64s:
        """What each clip takes away, in units of one person."""
        few = self._narrowed(ranked.items)
        tables = clipping.segments(ranked, clips, _ranks(ranked, few.items), unit=unit)
        return added_up(portion.losses(tables) for portion in few.portions)

    def clipped(self, ranked: Ranked, clip: Clip) -> Int64s:
        """For each of the first ranked items, the sum of what people add to it under a clip."""
        clipping.check_clip(ranked, clip)
        clipping.check_sums(ranked, self.people)
        few = self._narrowed(ranked.items)
        ranks = _ranks(ranked, few.items)
        counts = (ranks >= 0) & (ranks < clip.first)
        amplitudes = np.where(counts, ranked.amplitudes[ranks], 0)
        total = added_up(portion.clipped(amplitudes, clip.radius) for portion in few.portions)
        sums = np.zeros(clip.first, dtype=np.int64)
        sums[ranks[counts]] = total[counts]
        return sums

    def _narrowed(self, listed: Items) -> MemoryIncidence:
        """Where pairs and items are many and in memory: those of the listed items alone, or of a list that has them.

        Of millions of items few are listed: then what is looked up for each pair stays in a cache.
        """
        in_memory = isinstance(self.portions, tuple) and len(self.portions) == 1
        if in_memory and len(self.items) > _FEW_ITEMS and len(self.portions[0].ids) >= MANY_ROWS:
            names = frozenset(listed.tolist())
            if not self.narrow or not names <= self.narrow[0][0]:
                self.narrow.clear()
                wanted = _on(listed, self.items)
                portion = self.portions[0].narrowed(wanted)
                few = replace(self, items=those(self.items, wanted), portions=(portion,), narrow=[], sizes=[])
                self.narrow.append((names, few))
            return self.narrow[0][1]
        return self

    def largest(self, top: int) -> Histogram:
        """People per item, nobody bounded: the `top` largest counts, ties by item."""
        return self.histogram(top)

    def whole(self) -> Portion:
        """Everybody in one portion, which memory must hold."""
        if len(self.portions) == 1:
            return self.portions[0]
        parts = list(self.portions)
        return Portion(
            users=_joined([part.users for part in parts]),
            offsets=edges_of(np.concatenate([np.diff(part.offsets) for part in parts])),
            ids=np.concatenate([part.ids for part in parts]),
            times=np.concatenate([part.times for part in parts]),
        )

    def _added(self, bound: Bound, table: Callable[[Int64s], Int64s]) -> tuple[Int64s, Bools]:
        """For each item the sum of what its people add, a row of a table of the lengths of their bounded lists."""
        limit, allowed = _limit(self.items, bound), _allowed(self.items, bound)
        totals, seen = list[Int64s](), np.zeros(len(self.items), dtype=np.bool_)
        for portion in self.portions:
            keep, held = portion.bounded(bound, limit, items=self.items, allowed=allowed)
            total, found = portion.added(keep, held, table(held), n_items=len(self.items))
            totals = [added_up([*totals, total])]
            seen |= found
        return totals[0], seen


def incidence(users: Column, items: Column) -> MemoryIncidence:
    """The incidence of two columns of equal length: row r says that person `users[r]` has item `items[r]`.

    Args:
        users: str or int, or None where unknown; a list, an array or a masked array.
        items: str, or None where unknown.

    Raises:
        InvalidInput: the columns differ in length, or hold another type (NaN included).
    """
    if np.ndim(users) != 1 or np.ndim(items) != 1 or len(users) != len(items):
        raise InvalidInput("users and items must be one-dimensional and of the same length")
    people, person = _encode("users", users, (str, int, np.integer))
    things, item = _encode("items", items, (str,))
    known = (person >= 0) & (item >= 0)
    return _deduplicated(people, things, person[known], item[known])


def encoded_incidence(*, items: Items, offsets: Int64s, ids: _Integers, users: Column | None = None) -> MemoryIncidence:
    """The incidence of already encoded rows: person j holds `items[ids[offsets[j]:offsets[j + 1]]]`.

    Args:
        items: distinct texts, in any order.
        offsets: non-decreasing, from 0 to the number of ids.
        ids: positions in `items`; a repeated pair counts once, as everywhere.
        users: distinct identifiers, as in `incidence`; None names people by their position.

    Raises:
        InvalidInput: the arrays contradict each other.
    """
    if len(offsets) < 1 or offsets[0] != 0 or offsets[-1] != len(ids) or bool(np.any(np.diff(offsets) < 0)):
        raise InvalidInput("offsets must rise from 0 to the number of ids")
    if len(ids) and (int(ids.min()) < 0 or int(ids.max()) >= len(items)):
        raise InvalidInput("ids must be positions in items")
    n_people = len(offsets) - 1
    people, person = _encode("users", np.arange(n_people) if users is None else users, (str, int, np.integer))
    things, item = _encode("items", items, (str,))
    if len(person) != n_people or len(people) != n_people or len(things) != len(items) or bool(np.any(item < 0)):
        raise InvalidInput("users and items must be known and distinct, with one user for each list")
    return _deduplicated(people, things, np.repeat(person, np.diff(offsets)), item[ids])


def _rows(total: Int64s, wanted: Bools) -> Int64s:
    """Rows of sums that are wanted; the others are gone."""
    if bool(wanted.all()):
        return total
    found = passes.keep_rows(total, wanted)
    return total[wanted] if found is None else found


def _ranks(ranked: Ranked, items: SortedTexts) -> Int64s:
    """For each item which of the ranked ones it is; -1 for none."""
    ranks = np.full(len(items), -1, dtype=np.int64)
    places = places_of(ranked.items, items)
    ranks[places[places >= 0]] = np.flatnonzero(places >= 0)
    return ranks


def _on(listed: Items, items: SortedTexts) -> Bools:
    """Which items are on a list."""
    found = np.zeros(len(items), dtype=np.bool_)
    places = places_of(listed, items)
    found[places[places >= 0]] = True
    return found


def _allowed(items: SortedTexts, bound: Bound) -> Bools:
    """Which items may stay, whatever the bound on their number."""
    allowed = np.ones(len(items), dtype=np.bool_)
    if bound.only is not None:
        allowed &= _on(bound.only, items)
    if bound.without is not None:
        allowed &= ~_on(bound.without, items)
    return allowed


def _limit(items: SortedTexts, bound: Bound) -> int:
    role_keys(bound.salt, b"person")  # refuses a salt that is none, also where nobody is over the bound
    return min(whole("max_items", bound.max_items, most=LARGEST), len(items) + 1)


def places_of(listed: Items, among: SortedTexts) -> Int64s:
    """Where each of some texts stands among others; -1 where it does not."""
    buffer, lengths = encoded(listed.tolist())
    found = compiled.places_of(buffer, edges_of(lengths), among)
    if found is None:
        standing = dict(zip(among.tolist(), range(len(among)), strict=True))
        found = np.fromiter((standing.get(item, -1) for item in listed.tolist()), np.int64, count=len(listed))
    return found


def _encode(name: str, values: Column, types: tuple[type, ...]) -> tuple[list[str], Int64s]:
    """The distinct texts of a column, sorted, and for each row the position of its text, -1 where missing."""
    distinct, code = _factorised(values)
    kinds = set(map(type, distinct)) - {type(None)}
    if bool in kinds or not all(issubclass(kind, types) for kind in kinds):
        wanted = "str" if name == "items" else "str or int"
        raise InvalidInput(f"{name} must be {wanted}, or None where unknown; NaN is not a value")
    spelled = [None if value is None else str(value) for value in distinct]
    texts = sorted({text for text in spelled if text is not None})
    position: dict[str | None, int] = {text: n for n, text in enumerate(texts)}
    position[None] = -1
    recode = np.fromiter(map(position.__getitem__, spelled), dtype=np.int64, count=len(spelled))
    return texts, recode[code]


def _factorised(values: Column) -> tuple[list[Any], Int64s]:
    """The distinct values of a column, in any order, and for each row the position of its value among them."""
    if isinstance(values, np.ndarray) and not np.ma.isMaskedArray(values) and values.dtype.kind in "iu":
        numbers = np.unique(values)
        return numbers.tolist(), np.searchsorted(numbers, values).astype(np.int64, copy=False)
    # A masked value becomes None.
    plain: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    # One pass, since it touches every text in memory: a value that was not met before takes the next number.
    met: defaultdict[Any, int] = defaultdict(itertools.count().__next__)
    code = np.fromiter(map(met.__getitem__, plain), dtype=np.int64, count=len(plain))
    return list(met), code


def _deduplicated(users: list[str], items: list[str], person: Int64s, item: Int64s) -> MemoryIncidence:
    width = max(len(items), 1)
    pairs = person * np.int64(width)
    pairs += item
    pairs.sort()
    first = np.ones(len(pairs), dtype=np.bool_)
    np.not_equal(pairs[1:], pairs[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    person, item = np.divmod(pairs[starts], np.int64(width))
    held = np.bincount(person, minlength=len(users))
    used = np.zeros(len(items), dtype=np.bool_)
    used[item] = True
    recode = np.cumsum(used, dtype=np.int32) - np.int32(1)
    everybody = Portion(
        users=in_order(users).those(held > 0),
        offsets=edges_of(held[held > 0]),
        ids=recode[item],
        times=np.diff(np.append(starts, len(pairs))).astype(np.int64, copy=False),
    )
    return MemoryIncidence(items=in_order(items).those(used), portions=(everybody,), people=len(everybody.users))


def _joined(users: list[Users]) -> Users:
    if all(isinstance(part, Texts) for part in users):
        texts = [part for part in users if isinstance(part, Texts)]
        lengths = np.concatenate([part.lengths for part in texts])
        return Texts(np.concatenate([part.buffer for part in texts]), edges_of(lengths))
    return np.concatenate([part for part in users if not isinstance(part, Texts)])


def _step(unit: int, share: int, norm: Literal[1, 2]) -> int:
    """floor(unit / share^(1/norm)), exactly: floor(sqrt(x)) = isqrt(floor(x)). A share of 0 is never used."""
    share = max(share, 1)
    return unit // share if norm == 1 else math.isqrt(unit * unit // share)


def _order(users: Users, people: Int64s, hashes: Int64s) -> Int64s:
    """Positions of people by hash, equal hashes by text, so that not even a collision lets the order of rows in."""
    order = np.argsort(hashes)
    if bool(np.any(np.diff(hashes[order]) == 0)):
        texts = list(map(str, users[people].tolist()))
        order = np.array(sorted(range(len(texts)), key=lambda n: (hashes[n], texts[n])), dtype=np.int64)
    return order


if TYPE_CHECKING:
    _is_incidence: type[Incidence] = MemoryIncidence
