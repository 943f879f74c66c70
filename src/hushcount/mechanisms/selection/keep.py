"""Keep primitives: from an integer weight to the exact probability of naming its item, and the coin that decides it.

A mechanism that adds noise to a weight only to compare it with a threshold needs no noise: it names the item with
probability P[weight + noise > threshold]. That coin is tossed exactly (see `hushcount.noise`), for continuous noise on
integer weights, so there is no floating-point noise to leak, no tail of a discrete law to bound, and the guarantee is
that of the continuous mechanism by post-processing.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from hushcount.model.inputs import Items, WeightedHistogram
from hushcount.noise import decimals
from hushcount.noise.bernoulli import Bools, Floats, accept
from hushcount.noise.source import NoiseSource

_erfc = np.frompyfunc(math.erfc, 1, 1)


def keep_gaussian(
    histogram: WeightedHistogram, *, stddev: float, threshold: float, source: NoiseSource, purpose: str
) -> Items:
    """Items whose weight plus N(0, stddev²) exceeds the threshold, both in units of weight one.

    Guarantee: post-processing of the Gaussian mechanism: with l2-sensitivity one and no novel item named, 1/(2
    stddev²)-zCDP and (1/stddev)-GDP, exactly. What novel items cost is the threshold's business (`threshold.py`).
    """
    unit, sigma, cut = histogram.unit, Fraction(stddev), Fraction(threshold)

    def judge(row: int, digits: int) -> decimals.Interval:
        return decimals.normal_tail((cut - Fraction(int(histogram.weights[row]), unit)) / sigma, digits)

    gap = (threshold - histogram.weights / unit) / stddev
    return _named(histogram, _normal_tail(gap), judge, source, purpose)


def keep_laplace(
    histogram: WeightedHistogram, *, scale: float, threshold: float, source: NoiseSource, purpose: str
) -> Items:
    """Items whose weight plus Laplace(scale) noise exceeds the threshold, both in units of weight one.

    Guarantee: post-processing of the Laplace mechanism: with l1-sensitivity one and no novel item named, (1/scale)-DP,
    exactly.
    """
    unit, width, cut = histogram.unit, Fraction(scale), Fraction(threshold)

    def judge(row: int, digits: int) -> decimals.Interval:
        distance = (cut - Fraction(int(histogram.weights[row]), unit)) / width
        low, high = decimals.exp(-abs(distance), digits)
        return (low / 2, high / 2) if distance >= 0 else (1 - high / 2, 1 - low / 2)

    gap = (threshold - histogram.weights / unit) / scale
    half = np.exp(-np.abs(gap)) / 2
    return _named(histogram, np.where(gap >= 0, half, 1 - half), judge, source, purpose)


def _named(
    histogram: WeightedHistogram, probability: Floats, judge: object, source: NoiseSource, purpose: str
) -> Items:
    draws = source.item_draws(purpose, source.identify(histogram.items))
    kept: Bools = accept(draws, probability, judge)  # type: ignore[arg-type]
    return histogram.items[kept]


def _normal_tail(gap: Floats) -> Floats:
    tail = np.zeros(len(gap))
    # Beyond nine standard deviations the tail is below 2^-62, where the coin's judge takes over anyway.
    near = gap < 9
    tail[near] = np.asarray(_erfc(gap[near] / math.sqrt(2)), dtype=np.float64) / 2
    return tail
