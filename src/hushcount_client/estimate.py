"""An estimate: what a question would cost at most and how accurate its answer would be. It costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Price and accuracy of a question.

    Attributes:
        question: the question as the server understood it, in words.
        releases: what it costs at most, in standard releases.
        give_or_take: how far a count is off at most, 95 times in 100; None where that has no single number.
        cutoff: items held by fewer people than about this many are unlikely to be shown, counted from the first item
            that is not looked at, if any; None if all listed items are shown.
        fits: whether it fits into what is left; None if the server does not say.
        left: what is left, in numbers and in a sentence.
        free: why it would cost nothing, such as a stored answer; None if it would.
        cheaper: cheaper ways to ask, each with its change, price and accuracy.
        method: the mechanism's name, and why it was chosen.
        told: all that the server said.
    """

    question: str
    releases: float
    give_or_take: float | None
    cutoff: float | None
    fits: bool | None
    left: Mapping[str, Any]
    free: Any
    cheaper: tuple[Mapping[str, Any], ...]
    method: Mapping[str, Any]
    told: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """All that the server said."""
        return dict(self.told)


def read_estimate(form: Mapping[str, Any]) -> Estimate:
    """The estimate of a reply.

    Raises:
        KeyError, TypeError, ValueError: it is none.
    """
    expected = form.get("expected") or {}
    return Estimate(
        question=str(form.get("question") or ""),
        releases=float(form["cost"]["releases"]),
        give_or_take=_number(expected.get("give_or_take")),
        cutoff=_number(expected.get("cutoff")),
        fits=form.get("fits"),
        left=dict(form.get("left") or {}),
        free=form.get("free"),
        cheaper=tuple(dict(one) for one in form.get("cheaper") or ()),
        method=dict(form.get("method") or {}),
        told=form,
    )


def _number(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("no number")
    return value
