"""Record and replay: a run on one data set, and the same run on its neighbour with every draw's outcome frozen.

A mechanism that is private because of its draws shows on the neighbour, given the same outcomes, exactly the same. Its
calls are the same in number, kind and law, and their values differ by no more than their reach says. The idea is that
of Re:cord-play (Cebere, Erb, Desfontaines, Bellet and Fitzsimons 2026).

Items that only one of the runs has are the part that delta pays for. They are hidden in both runs: their coin says no,
their noise is the lowest, they come after all others in an order. How likely that is, is summed up where the call alone
decides it (`alone`); where a threshold outside the call does, the exact step looks at it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from hushcount.audit.pricing import shown_alone
from hushcount.errors import HushcountError
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Int64s, Items
from hushcount.model.outcomes import Outcome
from hushcount.model.texts import SortedTexts, objects
from hushcount.noise.calls import AddTruncated, AnyCall, Call, Peel, Reach, items_of
from hushcount.noise.source import Draws, ItemKeys, NoiseSource

# An item, or, for a value that belongs to none, its place behind the items.
Label: TypeAlias = str | int
_T = TypeVar("_T")

# The outcome of noise for a hidden item: far below any value and threshold, and far from where an int64 ends.
_LOWEST = -(2**61)
_NOT_THE_LAW = {"purpose", "keys", "values", "reach"}


class Leak(HushcountError):
    """What a replay found: something on the neighbour differs that the outcomes of the draws do not account for."""


class Novel(HushcountError):
    """An item that the neighbour does not have was shown: the recording must be made again with the item hidden."""

    def __init__(self, number: int, items: Collection[str]) -> None:
        self.number, self.items = number, frozenset(items)
        super().__init__("an item that only one of the runs has must be hidden")


@frozen
class Recorded:
    """One draw of a run: the call and its outcome."""

    call: AnyCall
    outcome: npt.NDArray[Any]


@frozen
class Move:
    """How far the values of a call moved in one of the measures of its reach; in "l2" both numbers are squares."""

    purpose: str
    measure: str
    moved: int
    declared: int

    @property
    def share(self) -> float:
        """The move as a share of what was declared."""
        ratio = self.moved / self.declared if self.declared else float(self.moved > 0)
        return ratio**0.5 if self.measure == "l2" else ratio

    @property
    def words(self) -> str:
        """The move in words."""
        return f"{self.measure} of the values of '{self.purpose}' moved by {self.share:.4g} times what is declared"


class Recorder:
    """A noise source that notes every call and its outcome; some items can be told to stay hidden in some calls."""

    private = False

    def __init__(self, inner: NoiseSource, hidden: Mapping[int, Collection[str]]) -> None:
        self.recorded: list[Recorded] = []
        self._inner, self._hidden = inner, hidden
        self._drawn: set[tuple[str, Label]] = set()

    def perform(self, call: Call[_T]) -> _T:
        """The inner source's outcome, with the items hidden that are to be.

        Raises:
            Leak: words are used that were used before: both draws are then one, and tell more together.
        """
        words = {(call.purpose, label) for label in labels(call)}
        if words & self._drawn:
            raise Leak(f"'{call.purpose}' is drawn twice from the same words")
        self._drawn |= words
        hidden = set(self._hidden.get(len(self.recorded), ()))
        rows = np.array([row for row, label in enumerate(labels(call)) if label in hidden], dtype=np.int64)
        any_call: Any = call
        if isinstance(any_call, Peel):
            outcome: Any = _order(any_call, rows, self._inner)
        else:
            outcome = np.array(call.draw(self._inner))
            outcome[rows] = _lowest(call, outcome.dtype)[rows]
        self.recorded.append(Recorded(call=call, outcome=outcome))
        return cast("_T", outcome)

    def identify(self, items: Items | SortedTexts) -> ItemKeys:
        """As the inner source."""
        return self._inner.identify(items)

    def salt(self, purpose: str) -> bytes:
        """As the inner source: the same on both neighbours."""
        return self._inner.salt(purpose)

    def item_draws(self, purpose: str, keys: ItemKeys) -> Draws:  # noqa: ARG002  the protocol's parameters
        """Nobody may: a draw that does not pass `perform` declares nothing.

        Raises:
            Leak: always.
        """
        raise Leak(f"'{purpose}' draws outside the hook")

    def draws(self, purpose: str, rows: int) -> Draws:  # noqa: ARG002  the protocol's parameters
        """Nobody may, as `item_draws`.

        Raises:
            Leak: always.
        """
        raise Leak(f"'{purpose}' draws outside the hook")


class Replayer(Recorder):
    """A noise source that gives the outcomes of a recording, and compares each call with the recorded one."""

    def __init__(self, inner: NoiseSource, recording: Sequence[Recorded]) -> None:
        super().__init__(inner, {})
        self.moves: list[Move] = []
        self.alone: list[float] = []
        self._recording = recording

    def perform(self, call: Call[_T]) -> _T:
        """The frozen outcome for the items that both runs have; the others are hidden.

        Raises:
            Leak: the call is another than the recorded one, or its values moved further than it declares.
            Novel: the recording shows an item that is not in this call.
        """
        number = len(self.recorded)
        if number >= len(self._recording):
            raise Leak(f"control flow: '{call.purpose}' is a draw that the neighbour does not make")
        was = self._recording[number]
        self._compare(was.call, call)
        here = set(labels(call))
        self.alone.append(
            shown_alone(was.call, [row for row, label in enumerate(labels(was.call)) if label not in here])
        )
        any_call: Any = call
        freeze: Any = _frozen_order if isinstance(any_call, Peel) else _frozen
        outcome: Any = freeze(was, call, number)
        self.recorded.append(Recorded(call=call, outcome=outcome))
        return cast("_T", outcome)

    def finish(self) -> None:
        """Refuse a run that made fewer draws than were recorded, or whose calls moved too far together.

        Raises:
            Leak: it did.
        """
        if len(self.recorded) < len(self._recording):
            missing = self._recording[len(self.recorded)].call.purpose
            raise Leak(f"control flow: '{missing}' is a draw that the neighbour does not make")
        before, after = ([one.call for one in run] for run in (self._recording, self.recorded))
        for was, call in zip(joined(before), joined(after), strict=True):
            self._measure(was, call)

    def _compare(self, was: AnyCall, call: AnyCall) -> None:
        if (type(was), was.purpose) != (type(call), call.purpose):
            raise Leak(f"control flow: '{was.purpose}' on one side is '{call.purpose}' on the other")
        common = set(labels(was)) & set(labels(call))
        if len(was.values) - len(items_of(was)) != len(call.values) - len(items_of(call)):
            raise Leak(f"control flow: '{call.purpose}' has another number of values that belong to no item")
        for name, one in law_of(was, common).items():
            if one != law_of(call, common)[name]:
                raise Leak(f"control flow: the {name} of '{call.purpose}' depends on the data")
        if was.reach != call.reach:
            raise Leak(f"control flow: the reach of '{call.purpose}' depends on the data")
        self._measure(was, call)

    def _measure(self, was: AnyCall, call: AnyCall) -> None:
        for move in moves(was, call):
            self.moves.append(move)
            if move.moved > move.declared:
                raise Leak(move.words)


def labels(call: AnyCall) -> list[Label]:
    """What each value of a call belongs to: an item, or its place behind the items."""
    items = items_of(call)
    return [*items, *range(len(call.values) - len(items))]


def law_of(call: AnyCall, common: Collection[Label]) -> dict[str, object]:
    """The parameters of a call's law, with rows named by what they belong to, as far as that is common."""
    law = {field.name: getattr(call, field.name) for field in fields(cast("Any", call))}
    if isinstance(call, Peel):
        names = labels(call)
        law["priors"] = {names[row]: prior for row, prior in call.priors.items() if names[row] in common}
        law["last"] = None if call.last is None else names[call.last]
    return {name: value for name, value in law.items() if name not in _NOT_THE_LAW}


def moves(one: AnyCall, two: AnyCall) -> Iterator[Move]:
    """How far the values moved over what both calls have, in each measure that the reach limits. In integers."""
    if one.reach.by_length is not None:
        yield _moved_by_length(one, two, one.reach.by_length)
        return
    before = dict(zip(labels(one), one.values.tolist(), strict=True))
    after = dict(zip(labels(two), two.values.tolist(), strict=True))
    moved = [after[label] - value for label, value in before.items() if label in after]
    measured = {
        "each": max(map(abs, moved), default=0),
        "rows": sum(move != 0 for move in moved),
        "l1": sum(map(abs, moved)),
        "l2": sum(move * move for move in moved),
        "spread": max([0, *moved]) - min([0, *moved]),
    }
    for field in fields(Reach):
        declared = getattr(one.reach, field.name)
        if declared is not None:
            limit = declared**2 if field.name == "l2" else declared
            yield Move(purpose=one.purpose, measure=field.name, moved=measured[field.name], declared=limit)


def _moved_by_length(one: AnyCall, two: AnyCall, by_length: Sequence[Sequence[int]]) -> Move:
    """How many rows moved, beside the longest list whose weights explain the move of each, in all columns."""
    after = dict(zip(labels(two), two.values.tolist(), strict=True))
    pairs = [(row, after[label]) for label, row in zip(labels(one), one.values.tolist(), strict=True) if label in after]
    moved = [tuple(abs(to - was) for was, to in zip(*pair, strict=True)) for pair in pairs if pair[0] != pair[1]]
    explaining = [length for length, weights in enumerate(zip(*by_length, strict=True), 1) if set(moved) <= {weights}]
    longest = max(explaining, default=0)
    return Move(purpose=one.purpose, measure="rows by length", moved=len(moved), declared=longest)


def joined(calls: Sequence[AnyCall]) -> list[AnyCall]:
    """Calls of one purpose, law and reach, each for other items, as one call: their reach is that of all together."""
    whole: dict[str, AnyCall] = {}
    for number, call in enumerate(calls):
        alone = isinstance(call, Peel) or call.keys is None or len(call.keys) != len(call.values)
        key = f"{number}" if alone else f"{type(call)} {call.purpose} {law_of(call, ())} {call.reach}"
        whole[key] = _both(whole[key], call) if key in whole else call
    return list(whole.values())


def _both(one: AnyCall, two: AnyCall) -> AnyCall:
    assert one.keys is not None, "only calls for items are joined"  # noqa: S101  for the type checker
    assert two.keys is not None, "only calls for items are joined"  # noqa: S101  for the type checker
    items = objects([*items_of(one), *items_of(two)])
    keys = ItemKeys(items, np.concatenate([one.keys.digests, two.keys.digests], axis=1))
    return cast("AnyCall", replace(cast("Any", one), keys=keys, values=np.concatenate([one.values, two.values])))


def compare_outcomes(one: Outcome, two: Outcome) -> None:
    """Refuse two releases that differ although the outcomes of all draws were the same, and numbers that tell.

    Raises:
        Leak: naming the part that differs, and no value.
    """
    for field in fields(one):
        parts = [getattr(side, field.name) for side in (one, two)]
        if len({repr(part.tolist() if isinstance(part, np.ndarray) else part) for part in parts}) > 1:
            raise Leak(f"the {field.name} of the release differ though every draw came out the same")
    if one.private:
        raise Leak("the release says that it is private though its draws came from a fixed seed")
    if one.counts is not None and one.counts.dtype.kind != "i":
        raise Leak("the counts of the release are not integers: their low bits tell the true count")


def _order(call: Peel, hidden: Int64s, noise: NoiseSource) -> Int64s:
    """The order of a peel with some rows put behind all others."""
    order = replace(call, most=None, last=None).draw(noise)
    order = order[~np.isin(order, hidden)]
    if call.last is not None:
        order = order[: int(np.flatnonzero(order == call.last)[0]) + 1]
    return order[: call.most]


def _frozen_order(was: Recorded, call: Peel, number: int) -> Int64s:
    names, place = labels(was.call), {label: row for row, label in enumerate(labels(call))}
    picked = [names[row] for row in was.outcome.tolist()]
    _hide(number, [label for label in picked if label not in place])
    return np.array([place[label] for label in picked], dtype=np.int64)


def _frozen(was: Recorded, call: AnyCall, number: int) -> npt.NDArray[Any]:
    place = {label: row for row, label in enumerate(labels(was.call))}
    here = labels(call)
    gone = np.array([place[label] for label in place.keys() - set(here)], dtype=np.int64)
    shown = was.outcome != _lowest(was.call, was.outcome.dtype)
    _hide(number, [labels(was.call)[row] for row in gone[shown[gone]]])
    frozen = _lowest(call, was.outcome.dtype)
    common = [(row, place[label]) for row, label in enumerate(here) if label in place]
    for row, recorded in common:
        frozen[row] = was.outcome[recorded]
    return frozen


def _hide(number: int, found: list[Label]) -> None:
    if found:
        raise Novel(number, [label for label in found if isinstance(label, str)])


def _lowest(call: AnyCall, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """The outcome that shows least, for each value: no, the lowest noise, or what no threshold is below."""
    if isinstance(call, AddTruncated):
        return call.values - call.bound
    return np.full(len(call.values), 0 if dtype == np.bool_ else _LOWEST, dtype=dtype)
