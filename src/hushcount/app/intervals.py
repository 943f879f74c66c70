"""Intervals: for each released count the ends between which the true one lies with 95 % probability."""

from __future__ import annotations

import numpy as np

from hushcount.model.inputs import Int64s
from hushcount.model.outcomes import Outcome
from hushcount.noise.widths import half_width


def intervals(outcome: Outcome) -> tuple[Int64s, Int64s] | None:
    """Lower and upper ends for each count, or None where there are no counts. Post-processing: costs nothing.

    Each row on its own holds the true (bounded) count with probability 95 %. Where names and counts come from one noise
    (thresholded releases), rows just above the threshold were helped over it by their noise, and hold it less often.
    """
    if outcome.counts is None or outcome.noise_scale is None:
        return None
    if outcome.low is not None and outcome.high is not None:
        return outcome.low, outcome.high
    scales, which = np.unique(outcome.noise_scale, return_inverse=True)
    widths = np.array([half_width(outcome.noise, float(scale)) for scale in scales], dtype=np.int64)[which]
    low = np.maximum(outcome.counts - widths, 0)
    return low, np.maximum(outcome.counts + widths, low)
