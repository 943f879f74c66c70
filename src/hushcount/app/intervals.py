"""Intervals: for each released count the ends between which the true one lies with 95 % probability."""

from __future__ import annotations

import numpy as np

from hushcount.model.inputs import Int64s
from hushcount.model.outcomes import Outcome
from hushcount.noise.widths import ShownCounts, half_width


def intervals(outcome: Outcome) -> tuple[Int64s, Int64s] | None:
    """Lower and upper ends for each count, or None where there are no counts. Post-processing: costs nothing.

    Each row on its own holds the true (bounded) count with probability 95 %, whatever that count is. Where a row is
    there because its own noisy count passed a threshold, that is the probability given that it passed: near the
    threshold the interval reaches further down than up. The released count is always inside.
    """
    if outcome.counts is None or outcome.noise_scale is None:
        return None
    if outcome.low is not None and outcome.high is not None:
        return outcome.low, outcome.high
    down, up = np.zeros_like(outcome.counts), np.zeros_like(outcome.counts)
    for scale in np.unique(outcome.noise_scale).tolist():
        rows = np.flatnonzero(outcome.noise_scale == scale)
        down[rows], up[rows] = _reaches(outcome, float(scale), rows)
    # There are never fewer than nobody; a released number that is, by noise, stays in its own interval all the same.
    low = np.maximum(outcome.counts - down, np.minimum(outcome.counts, 0))
    return low, np.maximum(outcome.counts + up, low)


def _reaches(outcome: Outcome, scale: float, rows: Int64s) -> tuple[Int64s, Int64s]:
    """How far below and above its rows of this scale the true counts may be."""
    reach = half_width(outcome.noise, scale)
    # Noise within a bound is never further away than that.
    width = np.full(len(rows), reach if outcome.noise_bound is None else min(reach, outcome.noise_bound))
    if outcome.shown_above is None or outcome.counts is None:
        return width, width
    counts = outcome.counts[rows]
    gaps, which = np.unique(counts - outcome.shown_above[rows], return_inverse=True)
    shown = ShownCounts(law=outcome.noise, scale=scale, gaps=gaps, bound=outcome.noise_bound)
    # Rows far above the threshold have the interval that they would have without.
    far = shown.far()[which]
    up, down = shown.up()[which], shown.down(np.full(len(gaps), np.iinfo(np.int64).max))[which]
    return np.where(far, width, np.minimum(down, counts)), np.where(far, width, up)
