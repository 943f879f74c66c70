"""What leaves a mechanism: released rows, their noise, and what they cost."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.model.costs import Cost
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Int64s, Items

Law: TypeAlias = Literal["none", "discrete-gaussian", "discrete-laplace", "truncated-geometric"]


@frozen
class Outcome:
    """The output of one mechanism run. Everything here is released; nothing else may leave the run.

    Attributes:
        mechanism: the name in `mechanisms.table`.
        items: released items, sorted by released value (largest first, ties by item) or by item where there are no
            values.
        counts: noisy integer counts, or None where only names are released.
        noise: the law of the noise on each count.
        noise_scale: for each count, its noise parameter (standard deviation of a discrete Gaussian, scale b of the
            others).
        noise_bound: the noise is never further from zero than this; None if it has no bound.
        shown_above: for each count, the threshold that it had to exceed to be shown, where its own noise decided that;
            None if something else did.
        low: lower ends of the 95 % intervals, where a mechanism knows more than the law of its noise; None if not.
        high: upper ends, likewise.
        cutoff: items held by fewer people than about this many are unlikely to be named; from public facts or released
            values. Where people's lists are weighed, in people who hold nothing else: others count less. Where only the
            largest counts are looked at, in people more than the first item behind them has, which stays private.
        cost: what the run actually cost, at most what was reserved for it.
        private: False if the randomness was a fixed test seed.
        remark: what a reader of the counts should know of them, from released values; None if nothing.
    """

    mechanism: str
    items: Items
    counts: Int64s | None
    noise: Law
    noise_scale: npt.NDArray[np.float64] | None
    cutoff: float | None
    cost: Cost
    private: bool
    noise_bound: int | None = None
    shown_above: Int64s | None = None
    low: Int64s | None = None
    high: Int64s | None = None
    remark: str | None = None
