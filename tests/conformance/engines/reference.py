"""The reference engine: the whole engine port in plain Python, slow and obvious, to hold every other engine against."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Literal

import numpy as np

from hushcount.engines.checking import check_selection
from hushcount.engines.columns import text_of
from hushcount.engines.filters.filter import holds
from hushcount.engines.hashing import FIRST_SEED, Role, hash_word, role_seed
from hushcount.engines.identities import rows_identity, see_frame
from hushcount.engines.parts import dressed, text_of_part
from hushcount.engines.text import grams
from hushcount.errors import InvalidParameter
from hushcount.model.columns import Column, Kind
from hushcount.model.identities import Identity, Sighting
from hushcount.model.inputs import (
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
from hushcount.model.queries import Description, Part, Selection, TextItems, TupleItems
from hushcount.model.tuples import join
from tests.conformance.engines.xxh64 import hash_bytes, signed

if TYPE_CHECKING:
    from hushcount.engines.engine import Engine
    from hushcount.model.inputs import Incidence


@dataclass(frozen=True, slots=True)
class ReferenceEngine:
    """Columns of equal length, in memory: name to values, None where missing."""

    columns: Mapping[str, Sequence[object]]

    def describe(self) -> Description:
        """Kinds are those of the values: a column of several kinds is text."""
        return Description(
            columns=tuple(Column(name=name, kind=_kind(values)) for name, values in self.columns.items())
        )

    def validate(self, selection: Selection) -> None:
        """Against these columns."""
        check_selection(selection, self.describe())

    def fingerprint(self, key: bytes) -> str:
        """A keyed digest of columns and sorted rows."""
        rows = sorted(repr(row) for row in zip(*self.columns.values(), strict=True))
        told = repr((self.describe(), rows)).encode("utf-8", "surrogatepass")
        return f"reference-{hashlib.blake2b(told, key=key, digest_size=16).hexdigest()}"

    def sighting(self, key: bytes) -> Sighting:
        """Rows in memory lie nowhere."""
        return see_frame()

    def rows_identity(self, key: bytes) -> Identity:
        """Of every cell's text one hash, all added up."""
        texts = [text_of(value) for values in self.columns.values() for value in values]
        hashes = [hashlib.md5(text.encode(), usedforsecurity=False).digest() for text in texts if text is not None]
        total = sum(int.from_bytes(each[:8], "big") for each in hashes)
        n_rows = len(next(iter(self.columns.values())))
        return rows_identity(key, rows=n_rows, total=total, version=lambda: self.fingerprint(key))

    def histogram(self, selection: Selection, *, bound: Bound | None = None, top: int | None = None) -> Histogram:
        """Each person's kept items, each with as many rows as there are up to the cap, added up and sorted."""
        incidence = self._incidence(selection)
        held = incidence.lists_of if bound is None else incidence.bounded(bound)
        total: Counter[str] = Counter()
        for own in held.values():
            for item, times in own.items():
                total[item] += min(times, selection.per_item_cap)
        ranked = sorted(total.items(), key=lambda row: (-row[1], row[0]))
        shown = ranked if top is None else ranked[:top]
        return Histogram(
            items=_objects([item for item, _ in shown]),
            counts=np.array([count for _, count in shown], dtype=np.int64),
            complete=len(shown) == len(ranked),
        )

    def incidence(self, selection: Selection) -> ReferenceIncidence:
        """Who has what, and how often."""
        if selection.per_item_cap != 1:
            raise InvalidParameter("per_item_cap", selection.per_item_cap, "1 where people's lists are weighed")
        return self._incidence(selection)

    def close(self) -> None:
        """Nothing is held."""

    def _incidence(self, selection: Selection) -> ReferenceIncidence:
        held: dict[str, Counter[str]] = {}
        for person, item in self._pairs(selection):
            held.setdefault(person, Counter())[item] += 1
        return ReferenceIncidence(held)

    def _pairs(self, selection: Selection) -> Iterator[tuple[str, str]]:
        """The rows that count, as person and item."""
        self.validate(selection)
        kinds = {column.name: column.kind for column in self.describe().columns}
        item, condition = selection.item, selection.where
        for values in zip(*self.columns.values(), strict=True):
            row = {
                name: text_of(value) if kinds[name] == "text" else value
                for name, value in zip(self.columns, values, strict=True)
            }
            person, own = text_of(row[selection.user]), _items(item, row)
            if person is not None and (condition is None or holds(condition, row, kinds)):
                yield from ((person, one) for one in own)


@dataclass(frozen=True, slots=True)
class ReferenceIncidence:
    """Person to item to how often."""

    lists_of: Mapping[str, Counter[str]]

    def bounded(self, bound: Bound) -> dict[str, Counter[str]]:
        """Each person's allowed items with the smallest hashes, in text order; people in the order of their hash."""
        kept = {}
        for person in sorted(self.lists_of, key=lambda person: (_hash(person, bound.salt, b"order"), person)):
            own = self.lists_of[person]
            ranked = sorted((_pair_hash(person, item, bound.salt), item) for item in own if _is_allowed(item, bound))
            chosen = sorted(item for _, item in ranked[: bound.max_items])
            kept[person] = Counter({item: own[item] for item in chosen})
        return kept

    def weights(self, rule: UniformWeights) -> WeightedHistogram:
        """One person after another, in unbounded integers."""
        unit = 2**rule.bits
        total: dict[str, int] = {}
        for own in self.bounded(rule.bound).values():
            share = len(own) if rule.share == "held" else rule.bound.max_items
            for item in own:
                step = unit // share if rule.norm == 1 else math.isqrt(unit * unit // share)
                total[item] = total.get(item, 0) + step
        names = sorted(total)
        return WeightedHistogram(
            items=_objects(names), weights=np.array([total[name] for name in names], dtype=np.int64), unit=unit
        )

    def sums(self, rule: LengthWeights) -> SummedItems:
        """One person after another, column by column."""
        total: dict[str, list[int]] = {}
        for own in self.bounded(rule.bound).values():
            for item in own:
                sums = total.setdefault(item, [0] * len(rule.columns))
                for column, weights in enumerate(rule.columns):
                    sums[column] += weights[len(own) - 1]
        names = sorted(total)
        rows = np.array([total[name] for name in names], dtype=np.int64).reshape(len(names), len(rule.columns))
        return SummedItems(items=_objects(names), sums=rows)

    def counts(self, bound: Bound) -> Histogram:
        """How many people keep each item."""
        total = Counter(item for own in self.bounded(bound).values() for item in own)
        names = sorted(total)
        return Histogram(
            items=_objects(names), counts=np.array([total[name] for name in names], dtype=np.int64), complete=True
        )

    def lists(self, bound: Bound, order: Literal["key", "frequency"]) -> UserLists:
        """The kept items of all who keep any."""
        owns = [own for own in self.bounded(bound).values() if own]
        # most_common leaves equally frequent items in their order, which is that of their texts.
        lists = [[item for item, _ in own.most_common()] if order == "frequency" else list(own) for own in owns]
        names = sorted({item for own in lists for item in own})
        position = {name: n for n, name in enumerate(names)}
        return UserLists(
            items=_objects(names),
            offsets=np.cumsum([0, *map(len, lists)], dtype=np.int64),
            ids=np.array([position[item] for own in lists for item in own], dtype=np.int32),
        )

    def everyone(self, rule: UniformWeights) -> int:
        """One person after another."""
        unit = 2**rule.bits
        lengths = [min(len(own), rule.bound.max_items) for own in self.lists_of.values()]
        shares = lengths if rule.share == "held" else [rule.bound.max_items] * len(lengths)
        return sum(unit // share if rule.norm == 1 else math.isqrt(unit * unit // share) for share in shares)

    def held(self, listed: Items) -> int:
        """How many pairs have a listed item."""
        return sum(item in set(listed) for own in self.lists_of.values() for item in own)

    def losses(self, ranked: Ranked, clips: Sequence[Clip], *, unit: int) -> Int64s:
        """One clip after another, one person after another."""
        grain = -(-unit // min(ranked.amplitudes.tolist()))
        lost = []
        for clip in clips:
            factors = [factor for _, factor in self._people(ranked, clip) if factor is not None]
            lost.append(sum(min(unit, unit - math.floor(unit * factor) + grain) for factor in factors))
        return np.array(lost, dtype=np.int64)

    def clipped(self, ranked: Ranked, clip: Clip) -> Int64s:
        """One person after another."""
        total = [0] * clip.first
        for held, factor in self._people(ranked, clip):
            for rank, step in held.items():
                total[rank] += step if factor is None else math.floor(step * factor)
        return np.array(total, dtype=np.int64)

    def _people(self, ranked: Ranked, clip: Clip) -> Iterator[tuple[dict[int, int], float | None]]:
        """Of each person the amplitudes by rank, and the factor by which they are clipped; None if they are not."""
        steps = list(zip(ranked.items.tolist(), ranked.amplitudes.tolist(), strict=True))[: clip.first]
        for own in self.lists_of.values():
            held = {rank: step for rank, (item, step) in enumerate(steps) if item in own}
            square = sum(step * step for step in held.values())
            over = square > clip.radius**2
            yield held, math.sqrt(float(clip.radius**2) / float(square)) * (1 - 2.0**-40) if over else None

    def largest(self, top: int) -> Histogram:
        """As the engine's histogram."""
        total = Counter(item for own in self.lists_of.values() for item in own)
        shown = sorted(total.items(), key=lambda row: (-row[1], row[0]))[:top]
        counts = np.array([count for _, count in shown], dtype=np.int64)
        return Histogram(items=_objects([item for item, _ in shown]), counts=counts, complete=len(total) <= top)


def _items(item: str | TextItems | TupleItems, row: Mapping[str, object]) -> list[str]:
    """The items of one row."""
    if isinstance(item, TupleItems):
        parts = [_part(row[part.column], part, item) for part in item.parts]
        return [] if None in parts else [join([part for part in parts if part is not None])]
    value = text_of(row[item.column if isinstance(item, TextItems) else item])
    if value is None:
        return []
    return grams(item, value) if isinstance(item, TextItems) else [value]


def _part(value: object, part: Part, items: TupleItems) -> str | None:
    if part.unit is not None:
        return text_of_part(value, part, items)
    text = text_of(value)
    return None if text is None else dressed(text, items)


_KINDS: dict[type, Kind] = {
    bool: "boolean",
    int: "integer",
    float: "real",
    str: "text",
    date: "date",
    datetime: "moment",
}


def _kind(values: Sequence[object]) -> Kind:
    types = {type(value) for value in values} - {type(None)}
    if not types <= _KINDS.keys():
        return "nested"
    return _KINDS[types.pop()] if len(types) == 1 else "text"


def _is_allowed(item: str, bound: Bound) -> bool:
    named = bound.without is not None and item in set(bound.without)
    return not named and (bound.only is None or item in set(bound.only))


def _hash(text: str, salt: bytes, role: Role) -> int:
    return signed(hash_bytes(text.encode("utf-8", "surrogatepass"), role_seed(salt, role)))


def _pair_hash(person: str, item: str, salt: bytes) -> int:
    start = hash_word(_hash(person, salt, b"person"), FIRST_SEED)
    return signed(hash_word(_hash(item, salt, b"item"), start))


def _objects(texts: list[str]) -> Items:
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


if TYPE_CHECKING:
    _is_engine: type[Engine] = ReferenceEngine
    _is_incidence: type[Incidence] = ReferenceIncidence
