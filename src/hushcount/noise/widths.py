"""Give or take: how far from zero noise stays with 95 % probability, from its law alone."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hushcount.model.outcomes import Law

CONFIDENCE = 0.95
_EXACT_UP_TO = 200.0


@lru_cache(maxsize=1024)
def half_width(law: Law, scale: float) -> int:
    """The least whole number w with P[|noise| <= w] >= 0.95."""
    match law:
        case "none":
            return 0
        case "discrete-gaussian":
            return _gaussian_width(scale)
        case "discrete-laplace" | "truncated-geometric":
            # P[|X| > w] = 2 q^(w+1) / (1 + q), q = e^(-1/scale); truncation only makes it smaller.
            share = (1 - CONFIDENCE) * (1 + math.exp(-1 / scale)) / 2
            return max(0, math.ceil(-scale * math.log(share) - 1 - 1e-9))


def _gaussian_width(stddev: float) -> int:
    if stddev > _EXACT_UP_TO:
        # 1.96 standard deviations; the whole numbers from -w to w cover w + 1/2 on the continuous scale.
        return math.ceil(1.959964 * stddev - 0.5)
    reach = math.ceil(12 * stddev) + 2
    mass = np.exp(-0.5 * (np.arange(reach) / stddev) ** 2)
    inside = (2 * np.cumsum(mass) - mass[0]) / (2 * mass.sum() - mass[0])
    return int(np.argmax(inside >= CONFIDENCE))
