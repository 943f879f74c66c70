"""Tails: the logarithm of P[noise >= x] for whole numbers x, as far out as an interval may ask.

In doubles, for intervals only: no guarantee rests on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.model.outcomes import Law

Floats: TypeAlias = npt.NDArray[np.float64]
LogTail: TypeAlias = Callable[[Floats], Floats]

# Below, a discrete Gaussian is summed; above, the integral from half a step before x is as good as the sum.
EXACT_UP_TO = 200.0
# So many deviations out sums end; no interval asks further.
_FARTHEST = 60
# Beyond so many deviations the error function vanishes in doubles, and its asymptotic series is exact to 1e-8.
_ASYMPTOTIC_FROM = 20.0
_erfc = np.frompyfunc(math.erfc, 1, 1)


def log_tail(law: Law, scale: float, bound: int | None = None) -> LogTail:
    """From whole numbers x to ln P[noise >= x].

    Args:
        law: that of the noise, which is symmetric.
        scale: standard deviation of a discrete Gaussian, scale b of the others.
        bound: where a truncated law ends.
    """
    match law:
        case "none":
            return lambda x: np.where(x <= 0, 0.0, -np.inf)
        case "discrete-gaussian":
            return _summed(scale) if scale <= EXACT_UP_TO else lambda x: _log_normal((x - 0.5) / scale)
        case "discrete-laplace" | "truncated-geometric":
            return _mirrored(lambda x: _log_geometric(x, scale, bound))


def _mirrored(right: LogTail) -> LogTail:
    """From x >= 1 to all x: P[X >= x] = 1 - P[X >= 1 - x] by symmetry."""

    def both(x: Floats) -> Floats:
        near = right(np.where(x >= 1, x, 1 - x))
        return np.where(x >= 1, near, np.log1p(-np.exp(near)))

    return both


def _log_geometric(x: Floats, scale: float, bound: int | None) -> Floats:
    """Ln of (q^x - q^(k+1)) / (1 + q - 2 q^(k+1)) for x >= 1, q = e^(-1/scale); k is infinite without a bound."""
    last = math.exp(-(bound + 1) / scale) if bound is not None else 0.0
    whole = math.log(1 + math.exp(-1 / scale) - 2 * last)
    if bound is None:
        return -x / scale - whole
    # Where the law has ended there is nothing left.
    rest = -np.expm1(np.minimum((x - bound - 1) / scale, 0.0))
    with np.errstate(divide="ignore"):
        return -x / scale + np.log(rest) - whole


def _summed(stddev: float) -> LogTail:
    """By adding up, outermost first."""
    reach = math.ceil(_FARTHEST * stddev) + 2
    logs = -0.5 * (np.arange(-reach, reach + 1) / stddev) ** 2
    tails = np.logaddexp.accumulate(logs[::-1])[::-1]
    tails -= tails[0]

    def tail(x: Floats) -> Floats:
        found: Floats = tails[np.clip(x, -reach, reach).astype(np.int64) + reach]
        return found

    return tail


def _log_normal(z: Floats) -> Floats:
    """Ln P[Z >= z] for a standard normal Z."""
    far = np.maximum(z, _ASYMPTOTIC_FROM)
    series = -0.5 * far**2 - np.log(far * math.sqrt(2 * math.pi)) + np.log1p(-(far**-2) + 3 * far**-4 - 15 * far**-6)
    near = np.asarray(_erfc(np.minimum(z, _ASYMPTOTIC_FROM) / math.sqrt(2)), dtype=np.float64) / 2
    return np.where(z > _ASYMPTOTIC_FROM, series, np.log(near))
