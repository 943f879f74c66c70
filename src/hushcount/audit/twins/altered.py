"""Altered draws: a source that changes calls on their way to the hook, as a mistake in the mechanism would."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from hushcount.audit.subject import Run
from hushcount.model.inputs import Items
from hushcount.model.outcomes import Outcome
from hushcount.model.texts import SortedTexts
from hushcount.noise.calls import (
    AddGaussian,
    AddLaplace,
    AddTruncated,
    AnyCall,
    Call,
    KeepByLadders,
    KeepGaussian,
    KeepKs,
    KeepLaplace,
    Peel,
    Reach,
)
from hushcount.noise.source import Draws, ItemKeys, NoiseSource

_T = TypeVar("_T")
Change: TypeAlias = Callable[[Any], AnyCall]


class Altered:
    """A source that makes another call of each call."""

    def __init__(self, noise: NoiseSource, change: Change) -> None:
        self.private = noise.private
        self._noise, self._change = noise, change

    def perform(self, call: Call[_T]) -> _T:
        """The outcome of the changed call."""
        return cast("_T", self._noise.perform(self._change(call)))

    def identify(self, items: Items | SortedTexts) -> ItemKeys:
        """As the source that it stands before."""
        return self._noise.identify(items)

    def item_draws(self, purpose: str, keys: ItemKeys) -> Draws:
        """As the source that it stands before."""
        return self._noise.item_draws(purpose, keys)

    def draws(self, purpose: str, rows: int) -> Draws:
        """As the source that it stands before."""
        return self._noise.draws(purpose, rows)

    def salt(self, purpose: str) -> bytes:
        """As the source that it stands before."""
        return self._noise.salt(purpose)


def altered(run: Run, change: Change) -> Run:
    """A run whose calls are changed."""

    def changed(data: Any, plan: Any, noise: NoiseSource) -> Outcome:  # noqa: ANN401  any input and plan
        return run(data, plan, Altered(noise, change))

    return changed


def with_less_noise(call: AnyCall) -> AnyCall:
    """The same call with noise that is a fifth narrower."""
    match call:
        case AddLaplace() | AddTruncated() | Peel():
            return replace(call, rate=call.rate * Fraction(5, 4))
        case AddGaussian():
            return replace(call, variance=call.variance * Fraction(16, 25))
        case KeepGaussian() | KeepKs():
            return replace(call, stddev=call.stddev * 0.8)
        case KeepLaplace():
            return replace(call, scale=call.scale * 0.8)
        case KeepByLadders():
            return replace(call, values=call.values * 5 // 4)
        case _:
            return call


def draw_from(noise: NoiseSource, purpose: str, law: Mapping[int, float]) -> int:
    """One number from any law: an order of one place whose priors are the probabilities."""
    numbers = [number for number, chance in law.items() if chance > 0]
    return numbers[int(noise.perform(order_by_law(purpose, [law[number] for number in numbers]))[0])]


def order_by_law(purpose: str, chances: list[float]) -> Peel:
    """The call that picks row i with probability proportional to chances[i]."""
    return Peel(
        purpose=purpose,
        keys=None,
        values=np.zeros(len(chances), dtype=np.int64),
        reach=Reach(spread=0),
        rate=Fraction(1),
        priors={row: Fraction(chance) for row, chance in enumerate(chances)},
        most=1,
    )
