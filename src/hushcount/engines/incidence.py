"""The in-memory engine: two arrays, or encoded pairs, in; bounded inputs out. The reference for every other engine.

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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from hushcount.engines import bounding, clipping
from hushcount.engines.hashing import Role, role_keys, role_seed
from hushcount.engines.xxh64 import hash_integers, hash_texts, item_words, person_starts
from hushcount.errors import InvalidInput, InvalidParameter
from hushcount.model.amounts import whole
from hushcount.model.inputs import (
    LARGEST,
    Bound,
    Clip,
    Histogram,
    Int64s,
    Items,
    LengthWeights,
    Ranked,
    SummedItems,
    UniformWeights,
    UserLists,
    WeightedHistogram,
)

Column: TypeAlias = Sequence[Any] | npt.NDArray[Any]
_Bools: TypeAlias = npt.NDArray[np.bool_]
_Integers: TypeAlias = npt.NDArray[np.integer[Any]]

if TYPE_CHECKING:
    from hushcount.model.inputs import Incidence

_T = TypeVar("_T")
# From here on a second core saves more than it costs to ask it.
_MANY_PAIRS = 1_000_000
# Up to here a dictionary of all items is kept; among more, those that are looked for are found by bisection.
_FEW_ITEMS = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryIncidence:
    """Who has what, as compressed rows. Build it with `incidence` or `encoded_incidence`; they establish the below.

    Attributes:
        users: the people, distinct, in any order; nobody without items. Texts, or integers that stand for their text.
        items: texts of the items, distinct, sorted.
        offsets: person j holds ids[offsets[j]:offsets[j + 1]].
        ids: positions in `items`, ascending within a person.
        times: how often each pair was seen.
    """

    users: Items | Int64s
    items: Items
    offsets: Int64s
    ids: npt.NDArray[np.int32]
    times: Int64s
    # Where each item stands, once that was asked for.
    _standing: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def weights(self, rule: UniformWeights) -> WeightedHistogram:
        """Sum of everyone's uniform weights after bounding, in text order; a weight that rounds to zero is listed."""
        unit = 1 << whole("bits", rule.bits, most=61)
        if rule.norm not in {1, 2}:
            raise InvalidParameter("norm", rule.norm, "1 or 2")
        if rule.share not in {"held", "bound"}:
            raise InvalidParameter("share", rule.share, '"held" or "bound"')
        keep, held = self._bounded(rule.bound)
        occurring = np.flatnonzero(np.bincount(held))
        shares = occurring if rule.share == "held" else np.full_like(occurring, rule.bound.max_items)
        table = np.zeros((int(held.max(initial=0)) + 1, 1), dtype=np.int64)
        table[occurring, 0] = [_step(unit, share, rule.norm) for share in shares.tolist()]
        if len(self.users) * int(table.max()) >= LARGEST:
            raise InvalidInput("weights on so fine a grid could reach 2^62 for this many people; use fewer bits")
        total, seen = self._added(keep, held, table)
        return WeightedHistogram(items=self.items[seen], weights=total[seen, 0], unit=unit)

    def sums(self, rule: LengthWeights) -> SummedItems:
        """Sums of what everyone adds after bounding, in text order."""
        keep, held = self._bounded(rule.bound)
        # Who holds nothing adds nothing, to nothing.
        weights = np.zeros((rule.bound.max_items + 1, len(rule.columns)), dtype=np.int64)
        weights[1:] = np.array(rule.columns, dtype=np.int64).T
        if len(self.users) * int(weights.max()) >= LARGEST:
            raise InvalidInput("sums of such weights could reach 2^62 for this many people; use smaller ones")
        total, seen = self._added(keep, held, weights)
        return SummedItems(items=self.items[seen], sums=total[seen])

    def counts(self, bound: Bound) -> Histogram:
        """How many people hold each item after bounding, in text order. Always complete."""
        keep, _ = self._bounded(bound)
        count = np.bincount(self.ids[keep], minlength=len(self.items)).astype(np.int64, copy=False)
        seen = count > 0
        return Histogram(items=self.items[seen], counts=count[seen], complete=True)

    def lists(self, bound: Bound, order: Literal["key", "frequency"]) -> UserLists:
        """Bounded lists of all who keep an item, in text order, or ("frequency") each person's most frequent first."""
        if order not in {"key", "frequency"}:
            raise InvalidParameter("order", order, '"key" or "frequency"')
        keep, held = self._bounded(bound)
        people = np.flatnonzero(held)
        people = people[_order(self.users[people], _hashed(self.users[people], bound.salt, b"order"))]
        if order == "key":
            starts, ids = bounding.gather(self.offsets, keep, held=held, order=people, values=self.ids)
        else:
            pairs = np.arange(len(self.ids))
            starts, places = bounding.gather(self.offsets, keep, held=held, order=people, values=pairs)
            bounding.sort_by_frequency(starts, places, self.times)
            ids = self.ids[places]
        seen = np.zeros(len(self.items), dtype=np.bool_)
        seen[ids] = True
        if not seen.all():
            ids = (np.cumsum(seen, dtype=np.int32) - np.int32(1))[ids]
        return UserLists(items=self.items[seen], offsets=starts, ids=ids)

    def histogram(self, top: int | None = None, *, bound: Bound | None = None, cap: int = 1) -> Histogram:
        """People per item: the `top` largest counts (all if None), ties by item text.

        Without a bound everybody's items count. A cap above one counts how often, up to the cap, instead of whether.
        """
        kept = slice(None) if bound is None else self._bounded(bound)[0]
        # Sums of float64 weights are exact: they stay below the number of rows, so far below 2^53.
        often = None if cap == 1 else np.minimum(self.times[kept], whole("cap", cap))
        count = np.bincount(self.ids[kept], weights=often, minlength=len(self.items)).astype(np.int64, copy=False)
        rows = np.argsort(-count, kind="stable")[: np.count_nonzero(count)]
        shown = rows if top is None else rows[: whole("top", top)]
        return Histogram(items=self.items[shown], counts=count[shown], complete=len(shown) == len(rows))

    def everyone(self, rule: UniformWeights) -> int:
        """What an item would weigh that everybody had."""
        unit = 1 << whole("bits", rule.bits, most=61)
        held = np.minimum(np.diff(self.offsets), rule.bound.max_items)
        shares = held if rule.share == "held" else np.full_like(held, rule.bound.max_items)
        lengths, people = np.unique(shares, return_counts=True)
        steps = [_step(unit, length, rule.norm) for length in lengths.tolist()]
        return sum(step * many for step, many in zip(steps, people.tolist(), strict=True))

    def held(self, listed: Items) -> int:
        """How many pairs of a person and a listed item there are."""
        wanted = np.zeros(len(self.items), dtype=np.bool_)
        places = self._places(listed)
        wanted[places[places >= 0]] = True
        return int(np.count_nonzero(wanted[self.ids]))

    def losses(self, ranked: Ranked, clips: Sequence[Clip], *, unit: int) -> Int64s:
        """What each clip takes away, in units of one person."""
        tables = clipping.segments(ranked, clips, self._ranks(ranked), unit=unit)
        parts = self._in_parts(lambda _, rows: clipping.losses(rows, self.ids, tables))
        total: Int64s = np.sum(parts, axis=0)
        return total

    def clipped(self, ranked: Ranked, clip: Clip) -> Int64s:
        """For each of the first ranked items, the sum of what people add to it under a clip."""
        clipping.check_clip(ranked, clip)
        clipping.check_sums(ranked, len(self.users))
        ranks = self._ranks(ranked)
        counts = (ranks >= 0) & (ranks < clip.first)
        amplitudes = np.where(counts, ranked.amplitudes[ranks], 0)
        parts = self._in_parts(lambda _, rows: clipping.clipped(rows, self.ids, amplitudes, radius=clip.radius))
        total = np.sum(parts, axis=0)
        sums = np.zeros(clip.first, dtype=np.int64)
        sums[ranks[counts]] = total[counts]
        return sums

    def largest(self, top: int) -> Histogram:
        """People per item, nobody bounded: the `top` largest counts, ties by item."""
        return self.histogram(top)

    def _ranks(self, ranked: Ranked) -> Int64s:
        """For each item which of the ranked ones it is; -1 for none."""
        ranks = np.full(len(self.items), -1, dtype=np.int64)
        places = self._places(ranked.items)
        ranks[places[places >= 0]] = np.flatnonzero(places >= 0)
        return ranks

    def _places(self, listed: Items) -> Int64s:
        """Where each of some items stands; -1 if nobody has it."""
        if len(self.items) <= _FEW_ITEMS:
            if not self._standing:
                self._standing.update(zip(self.items.tolist(), range(len(self.items)), strict=True))
            return np.fromiter((self._standing.get(item, -1) for item in listed.tolist()), np.int64, count=len(listed))
        places = np.minimum(np.searchsorted(self.items, listed), len(self.items) - 1)
        return np.where(self.items[places] == listed, places, -1)

    def _bounded(self, bound: Bound) -> tuple[_Bools, Int64s]:
        """Which pairs stay under the bound, and how many for each person."""
        limit = min(whole("max_items", bound.max_items, most=LARGEST), len(self.items) + 1)
        role_keys(bound.salt, b"person")  # refuses a salt that is none, also where nobody is over the bound
        keep, held = np.ones(len(self.ids), dtype=np.bool_), np.diff(self.offsets)
        allowed = _allowed(self.items, bound)
        if not bool(allowed.all()):
            held = np.concatenate(
                self._in_parts(lambda _, rows: bounding.keep_allowed(rows, self.ids, allowed=allowed, keep=keep))
            )
        over = np.flatnonzero(held > limit)
        if not len(over):
            return keep, held
        wanted = bounding.items_of(self.offsets, self.ids, people=over, n_items=len(self.items))
        people = np.zeros(len(held), dtype=np.uint64)
        people[over] = person_starts(_hashed(self.users[over], bound.salt, b"person"))
        things = np.zeros(len(wanted), dtype=np.uint64)
        things[wanted] = item_words(_hashed(self.items[wanted], bound.salt, b"item"))

        def drop(part: slice, rows: Int64s) -> None:
            hashes = people[part], things
            bounding.keep_smallest(rows, self.ids, held=held[part], limit=limit, hashes=hashes, keep=keep)

        self._in_parts(drop)
        return keep, np.minimum(held, limit)

    def _added(self, keep: _Bools, held: Int64s, weights: Int64s) -> tuple[Int64s, _Bools]:
        """For each item the sum of the rows of `weights` for how many items each of its people holds; who is seen."""
        found = self._in_parts(
            lambda part, rows: bounding.add_rows(
                rows, self.ids, keep=keep, held=held[part], weights=weights, n_items=len(self.items)
            )
        )
        total = np.sum([sums for sums, _ in found], axis=0)
        return total, np.logical_or.reduce([items for _, items in found])

    def _in_parts(self, work: Callable[[slice, Int64s], _T]) -> list[_T]:
        """Do something with all people, given their offsets: at once, or two halves on two cores where pairs are many.

        NumPy lets go of the interpreter's lock, and what is written for one person concerns nobody else.
        """
        everybody = len(self.offsets) - 1
        if len(self.ids) < _MANY_PAIRS:
            return [work(slice(0, everybody), self.offsets)]
        middle = int(np.searchsorted(self.offsets, len(self.ids) // 2))
        halves = (slice(0, middle), slice(middle, everybody))
        with ThreadPoolExecutor(max_workers=2) as pool:
            return list(pool.map(work, halves, (self.offsets[: middle + 1], self.offsets[middle:])))


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


def _encode(name: str, values: Column, types: tuple[type, ...]) -> tuple[Items, Int64s]:
    """The distinct texts of a column (items sorted), and for each row the position of its text, -1 where missing."""
    distinct, code = _factorised(values)
    kinds = set(map(type, distinct)) - {type(None)}
    if bool in kinds or not all(issubclass(kind, types) for kind in kinds):
        wanted = "str" if name == "items" else "str or int"
        raise InvalidInput(f"{name} must be {wanted}, or None where unknown; NaN is not a value")
    spelled = [None if value is None else str(value) for value in distinct]
    texts = list(dict.fromkeys(text for text in spelled if text is not None))
    if name == "items":
        texts.sort()
    position: dict[str | None, int] = {text: n for n, text in enumerate(texts)}
    position[None] = -1
    recode = np.fromiter(map(position.__getitem__, spelled), dtype=np.int64, count=len(spelled))
    return _objects(texts), recode[code]


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


def _deduplicated(users: Items, items: Items, person: Int64s, item: Int64s) -> MemoryIncidence:
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
    return MemoryIncidence(
        users=users[held > 0],
        items=items[used],
        offsets=np.concatenate((np.zeros(1, np.int64), np.cumsum(held[held > 0], dtype=np.int64))),
        ids=recode[item],
        times=np.diff(np.append(starts, len(pairs))).astype(np.int64, copy=False),
    )


def _step(unit: int, share: int, norm: Literal[1, 2]) -> int:
    """floor(unit / share^(1/norm)), exactly: floor(sqrt(x)) = isqrt(floor(x)). A share of 0 is never used."""
    share = max(share, 1)
    return unit // share if norm == 1 else math.isqrt(unit * unit // share)


def _hashed(texts: Items | Int64s, salt: bytes, role: Role) -> Int64s:
    """The keyed hash of each text, as `engines.hashing` says."""
    seed = role_seed(salt, role)
    if texts.dtype == np.int64:
        return hash_integers(texts, seed=seed)
    strings = list(map(str, texts.tolist()))
    joined = "".join(strings)
    if joined.isascii():
        # One byte for each character: nothing has to be encoded text by text.
        buffer, lengths = joined.encode("ascii"), np.fromiter(map(len, strings), dtype=np.int64, count=len(strings))
    else:
        encoded = [text.encode("utf-8", "surrogatepass") for text in strings]
        buffer, lengths = b"".join(encoded), np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    return hash_texts(np.frombuffer(buffer, dtype=np.uint8), np.cumsum(lengths) - lengths, lengths, seed=seed)


def _order(texts: Items | Int64s, hashes: Int64s) -> Int64s:
    """Positions by hash, equal hashes by text, so that not even a collision lets the order of rows in."""
    order = np.argsort(hashes)
    if bool(np.any(np.diff(hashes[order]) == 0)):
        order = np.array(sorted(range(len(texts)), key=lambda n: (hashes[n], str(texts[n]))), dtype=np.int64)
    return order


def _allowed(items: Items, bound: Bound) -> _Bools:
    """Which items may stay, whatever the bound on their number."""
    allowed = np.ones(len(items), dtype=np.bool_)
    if bound.only is not None:
        allowed &= _among(items, bound.only)
    if bound.without is not None:
        allowed &= ~_among(items, bound.without)
    return allowed


def _among(items: Items, named: Items) -> _Bools:
    wanted = set(named.tolist())
    return np.array([item in wanted for item in items.tolist()], dtype=np.bool_)


def _objects(texts: list[str]) -> Items:
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


if TYPE_CHECKING:
    _is_incidence: type[Incidence] = MemoryIncidence
