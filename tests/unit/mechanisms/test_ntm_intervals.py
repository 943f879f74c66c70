"""What NTM's intervals hold by the law of their noise alone, at the worst of what a clip may have taken.

A whole run cannot tell intervals that are a fifth too narrow: what was bought of the loss is that of all rows together,
no row lost all of it, and the ends allow for it. Here each row has lost nothing, or as much as can be.
"""

from __future__ import annotations

import itertools

import numpy as np

from hushcount.mechanisms.counts.ntm_course import Measured
from hushcount.mechanisms.counts.ntm_estimates import estimate
from tests.unit.mechanisms.made_inputs import as_items

DRAWS = 6000
LEAST = 0.95 - 3 * (0.95 * 0.05 / DRAWS) ** 0.5
# The true count and the noise of its final measurement; that of the rough one, if there is one; what was lost, and the
# noise with which that was bought.
TRUE, STDDEV = 3000, 30.0
GRID = tuple(itertools.product((None, 45.0, 90.0), ((0.0, 0.0), (15.0, 10.0), (30.0, 20.0), (200.0, 20.0))))


def held(rough, lost, *, share, low=1.0, high=1.0):
    """How often the true count is inside, if a clip took this share of what it may take; ends drawn in for a twin."""
    random = np.random.default_rng(11)
    items = as_items([f"{number:05}" for number in range(DRAWS)])

    def measured(stddev):
        bought = lost[0] + lost[1] * random.standard_normal(DRAWS)
        return Measured(
            items=items,
            counts=TRUE - share * lost[0] + stddev * random.standard_normal(DRAWS),
            stddevs=np.full(DRAWS, stddev),
            smallest=1.0,
            lost=np.maximum(0.0, bought),
            lost_stddev=np.full(DRAWS, lost[1]),
        )

    found = estimate(measured(STDDEV), None if rough is None else measured(rough), most_noise=0.07)
    down = np.floor(low * (found.counts - found.low))
    up = np.floor(high * (found.high - found.counts))
    return float(((found.counts - down <= TRUE) & (found.counts + up >= TRUE)).mean())


def test_the_truth_is_inside_whatever_a_clip_took():
    """At both ends of what it may have taken, and between."""
    for (rough, lost), share in itertools.product(GRID, (0.0, 0.5, 1.0)):
        assert held(rough, lost, share=share) >= LEAST, (rough, lost, share)


def test_a_lower_end_a_fifth_too_near_is_found_out():
    """Broken twin, where a clip took nothing."""
    for rough, lost in GRID:
        assert held(rough, lost, share=0.0, low=0.8) < LEAST, (rough, lost)


def test_an_upper_end_a_fifth_too_near_is_found_out():
    """Broken twin, where a clip took all that it may."""
    for rough, lost in GRID:
        assert held(rough, lost, share=1.0, high=0.8) < LEAST, (rough, lost)


def test_intervals_a_fifth_too_narrow_are_found_out():
    """Broken twin, at either end of what a clip may have taken."""
    for (rough, lost), share in itertools.product(GRID, (0.0, 1.0)):
        assert held(rough, lost, share=share, low=0.8, high=0.8) < LEAST, (rough, lost, share)


def test_where_little_of_the_allowance_is_used_more_is_held():
    """Why whole runs cannot tell: halfway, intervals a fifth too narrow hold more than 95 %."""
    assert held(None, (200.0, 20.0), share=0.5, low=0.8, high=0.8) > 0.99
