"""When an answer becomes visible: on a public grid of moments, so that how long it took tells next to nothing.

An observer of a question's delay learns which of some twenty moments it was (grid), or only whether it was in time
(fixed). Random delays alone average out, so they are not offered (API part 5.7).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

# From here on the grid doubles: a long answer has few moments to show itself too.
_DOUBLING_FROM = timedelta(seconds=8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How delays are hidden.

    Attributes:
        kind: "off"; "grid": the next multiple of `step` since the question was accepted, doubling beyond eight
            seconds; "fixed": exactly `step` after it, and what takes longer has no answer.
        step: the grid's width, or the fixed delay.
    """

    kind: Literal["off", "grid", "fixed"] = "off"
    step: timedelta = timedelta(0)


def visible(timing: Timing, accepted: datetime, ended: datetime) -> datetime:
    """The moment from which on the end of a question may be seen."""
    if timing.kind == "off":
        return ended
    if timing.kind == "fixed":
        return accepted + timing.step
    took = ended - accepted
    if took <= _DOUBLING_FROM:
        return accepted + _next_multiple(took, timing.step)
    tick = _DOUBLING_FROM
    while tick < took:
        tick *= 2
    return accepted + tick


def in_time(timing: Timing, accepted: datetime, ended: datetime) -> bool:
    """Whether an answer may be shown at all: with a fixed delay one that took longer may not, and stays charged."""
    return timing.kind != "fixed" or ended - accepted <= timing.step


def _next_multiple(took: timedelta, step: timedelta) -> timedelta:
    return step * max(1, math.ceil(took / step))
