"""When an answer becomes visible: on a public grid of moments, so that how long it took tells next to nothing.

An observer of a question's delay learns which of some twenty moments it was (grid), or only whether it was in time
(fixed). Random delays alone average out, so they are not offered (API part 5.7).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hushcount.app.serving.setup.config import Privacy, Timing
from hushcount.ledger.ledger import Shows

# From here on the grid doubles: a long answer has few moments to show itself too.
_DOUBLING_FROM = timedelta(seconds=8)
_NEVER = datetime.max.replace(tzinfo=UTC)


def visible(timing: Timing, accepted: datetime, ended: datetime) -> datetime:
    """The moment from which on the end of a question may be seen."""
    if timing.kind == "off":
        return ended
    if timing.kind == "fixed":
        return accepted + timing.every
    took = ended - accepted
    if took <= _DOUBLING_FROM:
        return accepted + _next_multiple(took, timing.every)
    tick = _DOUBLING_FROM
    while tick < took:
        tick *= 2
    return accepted + tick


def remaining(timing: Timing, took: timedelta) -> timedelta:
    """How much longer the end of what took so long must not be seen."""
    start = datetime.min.replace(tzinfo=UTC)
    return max(timedelta(0), visible(timing, start, start + took) - (start + took))


def veils(privacy: Privacy) -> bool:
    """Whether an answer shows later than it is there, so that accounts must not tell of it before."""
    return privacy.timing.kind != "off" or privacy.analysts == "separate"


def shows_at(timing: Timing, accepted: datetime, *, several: bool) -> Shows:
    """When the answers to a question, or to several that were asked together, become visible.

    What was there already takes as long as its first run did. Several are answered one after the other, so of these it
    adds up.
    """

    def moment(now: datetime, firsts: Sequence[timedelta]) -> datetime:
        missed = sum(firsts, timedelta(0))
        ended = now + missed if several else max(now, accepted + missed)
        # What is too late is not told when: it ends with its reservation.
        return visible(timing, accepted, ended) if in_time(timing, accepted, ended) else _NEVER

    return moment


def in_time(timing: Timing, accepted: datetime, ended: datetime) -> bool:
    """Whether an answer may be shown at all: with a fixed delay one that took longer may not, and stays charged."""
    return timing.kind != "fixed" or ended - accepted <= timing.every


def _next_multiple(took: timedelta, step: timedelta) -> timedelta:
    return step * max(1, math.ceil(took / step))
