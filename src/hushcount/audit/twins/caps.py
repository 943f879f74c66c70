"""Twins that lose the cap: one person may add several to a count, and what protects one row protects several less.

They are made of every mechanism that takes a cap, by its record: one that is added tomorrow has its twins by that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from hushcount.audit.subject import Subject, make_subject
from hushcount.audit.twins.altered import altered
from hushcount.audit.twins.twin import Twin
from hushcount.audit.variants import Circumstances, variants_of
from hushcount.mechanisms import table
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.model.outcomes import Outcome
from hushcount.noise.calls import AddGaussian, AddLaplace, AddTruncated, AnyCall, KeepGaussian, KeepLaplace, Peel
from hushcount.noise.source import NoiseSource

_RULE = "rule: noise, odds and thresholds for what one person can add to a count"


def noise_for_one(call: AnyCall, cap: int) -> AnyCall:
    """The same call with noise for somebody who adds one to a count, though its reach says cap."""
    match call:
        case AddLaplace() | AddTruncated():
            return replace(call, rate=call.rate * cap)
        case AddGaussian():
            return replace(call, variance=call.variance / cap**2)
        case KeepGaussian():
            return replace(call, stddev=call.stddev / cap)
        case KeepLaplace():
            return replace(call, scale=call.scale / cap)
        case _:
            return call


def order_for_one(call: AnyCall, cap: int) -> AnyCall:
    """The same order with epsilon where epsilon / cap must be."""
    return replace(call, rate=call.rate * cap) if isinstance(call, Peel) else call


def bottom_for_one(call: AnyCall, cap: int) -> AnyCall:
    """Bottom one above the boundary, where it must be cap above: an item of one person alone stands that high."""
    if isinstance(call, Peel) and call.last is not None:
        values = call.values.copy()
        values[call.last] -= cap - 1
        return replace(call, values=values)
    return call


def bar_for_one(call: AnyCall, cap: int) -> AnyCall:
    """Every item as far above the bar as if it were cap - 1 lower."""
    if isinstance(call, AddLaplace | AddGaussian):
        items = 0 if call.keys is None else len(call.keys)
        return replace(call, values=call.values + np.where(np.arange(len(call.values)) < items, cap - 1, 0))
    return call


def draws_for_one(call: AnyCall, cap: int) -> AnyCall:
    """Whatever it draws, for somebody who adds one."""
    return order_for_one(noise_for_one(call, cap), cap)


_CHANGES: dict[str, tuple[Callable[[Any, int], AnyCall], str]] = {
    "draws": (draws_for_one, "All that is drawn is for a person who adds one to a count, where one may add more."),
    "noise": (noise_for_one, "The noise of a count is for a person who adds one to it, where one may add more."),
    "selection": (order_for_one, "A selection has epsilon where it must have epsilon / cap."),
    "bottom": (bottom_for_one, "Bottom stands one above the boundary, where one person's item can be as high as cap."),
    "bar": (bar_for_one, "The bar stands where an item of one person is counted once."),
}
# Where a mechanism can lose it, one by one; one that is not named here loses it in all its draws. (The bar of
# unknown-laplace has a factor e^epsilon + 1 to spare, which hides one step: "Appendix A's constant" is its twin.)
_PARTS: dict[str, tuple[str, ...]] = {
    "pcr": ("selection", "noise", "bottom"),
    "known-gumbel": ("selection", "noise"),
    "unknown-gumbel": ("selection", "noise", "bottom"),
    "known-laplace": ("noise",),
    "unknown-laplace": ("noise",),
    "gaussian-threshold": ("noise", "bar"),
}


def cap_twins(mechanism: Mechanism) -> Iterator[Twin]:
    """A mechanism planned as if the cap were one, and with the cap left out of each of its draws."""
    one = _capped(mechanism)
    sound = make_subject(mechanism, one)
    forgot = replace(one, facts=replace(one.facts, per_item_cap=1))
    yield Twin(
        name=f"{mechanism.name} planned without its cap",
        erratum=_RULE,
        what="It is calibrated as if nobody added more than one to a count.",
        caught_by="exact",
        broken=replace(sound, plan=make_subject(mechanism, forgot).plan),
        sound=sound,
    )
    for part in _PARTS.get(mechanism.name, ("draws",)):
        change, words = _CHANGES[part]
        yield Twin(
            name=f"{mechanism.name}, cap lost in its {part}",
            erratum=_RULE,
            what=words,
            caught_by="exact",
            broken=replace(sound, run=_losing(sound, change)),
            sound=sound,
        )


def _capped(mechanism: Mechanism) -> Circumstances:
    """The first of its variants in which a row may count twice, with counts where it can have them."""
    found = [one for one in variants_of(mechanism, quick=True) if one.facts.per_item_cap > 1]
    return max(found, key=lambda one: one.facts.with_counts)


def _losing(subject: Subject, change: Callable[[Any, int], AnyCall]) -> Callable[[Any, Any, NoiseSource], Outcome]:
    cap = subject.facts.per_item_cap
    return altered(subject.run, lambda call: change(call, cap))


CAP_TWINS: tuple[Twin, ...] = tuple(
    twin for mechanism in table.MECHANISMS if "per_item_cap" in mechanism.takes for twin in cap_twins(mechanism)
)
