"""What the auditor found: for each thing it looked at, the claim beside the largest privacy loss that it could show."""

from __future__ import annotations

from typing import Literal, TypeAlias

from hushcount.model.frozen import frozen

Step: TypeAlias = Literal["exact", "replay", "black box", "system"]


@frozen
class Point:
    """A place on a privacy curve: at this epsilon, this delta."""

    epsilon: float
    delta: float


@frozen
class Finding:
    """One step's verdict on one subject. Everything here is about made-up data and may be shown.

    Attributes:
        subject: the mechanism's name in `mechanisms.table`, the name of a broken twin, or what part of the system.
        step: which step looked.
        holds: False if the claim is broken, with certainty ("exact", "replay", "system") or beyond reasonable doubt
            ("black box": a false alarm has the probability that the report states).
        claimed: the claim in plain words, such as "(1, 0.05)-DP".
        measured: the largest loss that was shown, in the same words, such as "delta 0.0499 at epsilon 1".
        where: one sentence: on which neighbours, or at which call, that loss was seen.
        looked: how much was looked at, such as "214 neighbours, 18,332 outputs".
        claim: the claimed curve, for the picture; empty where the claim is not a curve.
        points: measured points of the same curve.
        seconds: how long it took.
    """

    subject: str
    step: Step
    holds: bool
    claimed: str
    measured: str
    where: str
    looked: str
    claim: tuple[Point, ...] = ()
    points: tuple[Point, ...] = ()
    seconds: float = 0.0
