"""Wanted accuracy: which released rows are as sharp as was asked, and in words. Free: nothing is read for it.

`--error 5%` asks for rows of which half of the 95 % interval is at most 5 % of the count, `--error 50` for at most 50
people. No mechanism can leave out exactly the rows that miss it: a row that was let in for its large count may owe that
to its noise, and an interval that allows for this reaches down to nobody. So a mechanism leaves out what it can foresee
without looking at the noise of what it releases; rows that came out wider all the same are shown and told apart.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from hushcount.app.words import price_words
from hushcount.errors import InvalidParameter
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Int64s
from hushcount.noise.widths import half_width


@frozen
class Aim:
    """What half of a 95 % interval may be at most: a share of the count, or a number of people; one of the two."""

    share: float | None = None
    people: float | None = None

    def met(self, counts: Int64s, ends: tuple[Int64s, Int64s]) -> npt.NDArray[np.bool_]:
        """For each row, whether its interval is so narrow."""
        found: npt.NDArray[np.bool_] = ends[1] - ends[0] <= 2 * self.allowed(counts)
        return found

    def allowed(self, counts: Int64s) -> npt.NDArray[np.float64]:
        """What half of each interval may be."""
        if self.share is not None:
            return counts.astype(np.float64) * self.share
        return np.full(len(counts), self.people, dtype=np.float64)

    def __str__(self) -> str:
        return share_words(self.share) if self.share is not None else f"{self.people:,.6g} people"


def read_aim(error: str | float | None) -> Aim | None:
    """What was typed: 10%, or a number of people; None if nothing was."""
    if error is None:
        return None
    text = str(error).strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = float("nan")
    if not 0 < number < float("inf"):
        raise InvalidParameter("error", error, "a share such as 10%, or a number of people such as 50")
    return Aim(share=number / 100) if text.endswith("%") else Aim(people=number)


def aim_sentence(aim: Aim, counts: Int64s, ends: tuple[Int64s, Int64s], *, rho: Decimal) -> str:
    """How many rows are as sharp as was asked; if none is, about what it would take.

    Args:
        aim: what was asked.
        counts: the released counts.
        ends: of their intervals.
        rho: what might be spent at most.
    """
    sharp = aim.met(counts, ends)
    said = f"Asked for {aim}, that is, half of an interval is at most {aim}{' of its number' if aim.share else ''}:"
    if not len(counts):
        takes = (
            ""
            if aim.share is None
            else f" For this price a row needs {needed(aim.share, float(rho)):,} people or more."
        )
        return f"{said} nothing could be counted so well.{takes}"
    if sharp.all():
        return f"{said} so it is in every row."
    if not sharp.any():
        ratio = float(((ends[1] - ends[0]) / (2 * aim.allowed(np.maximum(counts, 1)))).min())
        # Noise goes by the root of what is spent.
        return f"{said} no row is so sharp. The best would need about {price_words(float(rho) * ratio**2)}."
    above = int(counts[~sharp].max()) + 1
    throughout = f", and in every row from {above:,} people on" if (counts >= above).any() else ""
    return f"{said} so it is in {sharp.sum():,} of {len(counts):,} rows{throughout}. The others are wider."


def needed(share: float, rho: float) -> int:
    """How many people a row must have for an interval of this share, if all of a price went into that row alone."""
    return math.ceil(half_width("discrete-gaussian", 1 / math.sqrt(2 * rho)) / share)


def share_words(share: float) -> str:
    """A share as it is read: 5 %."""
    return f"{100 * share:.6g} %"
