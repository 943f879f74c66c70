"""The guarantees of NTM, each with a broken twin: the range of its choice, and what its intervals miss."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from hushcount.accounting.normal import tail
from hushcount.engines.incidence import encoded_incidence
from hushcount.mechanisms.counts import ntm_estimates
from hushcount.mechanisms.counts.ntm_choice import UNIT, Ladder, candidates
from hushcount.mechanisms.counts.ntm_course import Measured
from hushcount.mechanisms.counts.ntm_estimates import deviations, estimate, lower_end
from hushcount.mechanisms.counts.ntm_shape import shape_of
from tests.unit.mechanisms.made_inputs import as_items


def losses_with_and_without(seed):
    """Losses of all candidates on random lists, and on the same without their first person."""
    chance = np.random.default_rng(seed)
    n_items, people = int(chance.integers(2, 30)), int(chance.integers(2, 12))
    items = as_items([f"item {number:02}" for number in range(n_items)])
    predictions = chance.uniform(5, 500, n_items)
    shape = shape_of(items, predictions, rho=1, finest=12)
    lengths = chance.integers(1, n_items + 1, people)
    lengths[0] = n_items
    lists = [chance.choice(n_items, length, replace=False) for length in lengths]

    def held(first):
        offsets = np.concatenate(([0], np.cumsum(lengths[first:])))
        return encoded_incidence(items=items, offsets=offsets, ids=np.concatenate(lists[first:]))

    clips = candidates(shape, float(chance.uniform(1e-6, 1e-3)), Ladder())
    return [held(first).losses(shape.ranked, clips, unit=UNIT) for first in (0, 1)]


def spread(moves):
    """The largest move less the smallest, in people; zero counts as a move."""
    return (max(0, moves.max()) - min(0, moves.min())) / UNIT


def test_one_person_moves_all_losses_one_way_by_one_at_most():
    """Each loss rises by something from 0 to 1 with a person more: the choice has range epsilon, to the full."""
    spreads = []
    for seed in range(60):
        more, fewer = losses_with_and_without(seed)
        assert ((more - fewer) >= 0).all()
        spreads.append(spread(more - fewer))

    assert max(spreads) <= 1
    assert max(spreads) > 0.8


def test_a_score_to_both_sides_has_a_wider_range():
    """Broken twin: by how near a loss is to a goal, one person moves scores apart by far more than one."""
    widest = 0.0
    for seed in range(60):
        more, fewer = losses_with_and_without(seed)
        for goal in np.unique(more):
            widest = max(widest, spread(np.abs(more - goal) - np.abs(fewer - goal)))

    assert widest > 1.3


def missed(lost, noise_of_lost, *, reach, steps=400):
    """The most that an interval is missed, over all true biases from 0 to `lost`; in units of the count's deviation.

    The released loss is `lost` with noise, not below zero; its noise is summed over by Gauss-Hermite's midpoints.
    """
    points = np.linspace(-6, 6, steps + 1)
    weights = np.exp(-(points**2) / 2)
    weights /= weights.sum()
    released = np.maximum(lost + noise_of_lost * points, 0)
    wide = math.sqrt(1 + noise_of_lost**2)
    z = reach(released, np.ones_like(released))
    worst = 0.0
    for bias in np.linspace(0, lost, 9):
        low = [tail(one + bias) for one in z]
        high = [tail(one * wide + more - bias) for one, more in zip(z, released, strict=True)]
        worst = max(worst, float(weights @ (np.array(low) + np.array(high))))
    return worst


GRID = list(itertools.product((0.0, 0.1, 0.3, 0.6, 1.0, 2.0, 4.0), (0.0, 0.2, 0.5, 1.0, 2.0)))


@pytest.mark.parametrize(("lost", "noise_of_lost"), GRID)
def test_intervals_miss_five_per_cent_at_most(lost, noise_of_lost):
    """Whatever a clip took and whatever noise its release has, both ends together are missed with 5 % at most."""
    assert missed(lost, noise_of_lost, reach=deviations) <= 0.05 + 1e-4


def test_intervals_that_go_to_one_side_only_miss_more():
    """Broken twin: 1.645 deviations where nothing is lost are missed twice as often as is said."""
    assert missed(0.0, 0.0, reach=lambda lost, _: np.full_like(lost, 1.645)) > 0.09


def test_upper_ends_without_the_loss_miss_more():
    """Broken twin: the interval of the noise alone misses the true count where a clip takes much."""
    assert max(tail(1.96 + bias) + tail(1.96 - bias) for bias in (0.0, 1.0, 2.0)) > 0.5


def missed_below(true, bar, reach, end):
    """P[the lower end is above the true count, given that the count is at or above the bar]; all in deviations."""
    counts = np.arange(bar, bar + 12, 0.01) + 0.005
    density = np.exp(-((counts - true) ** 2) / 2)
    over = np.array([end(count, bar, reach) > true for count in counts])
    return float(density[over].sum() / density.sum())


def with_bar(count, bar, reach):
    """The lower end as the mechanism has it, on a scale where a deviation is a thousand people."""
    return lower_end(1000 * count, 1000 * bar, 1000.0, reach=reach) / 1000


@pytest.mark.parametrize("above", [-3.0, -1.0, 0.0, 0.5, 1.0, 2.0, 4.0, 6.0])
def test_lower_ends_hold_given_that_a_row_is_shown(above):
    """Wherever the true count stands to the bar, a shown row's lower end is above it with 2.5 % at the most."""
    assert missed_below(14 + above, 14.0, 1.959964, with_bar) <= 0.025 + 2e-3


def test_plain_lower_ends_miss_rows_that_were_helped_over_the_bar():
    """Broken twin: 1.96 deviations below the count, for an item whose true count is below the bar."""
    assert missed_below(11.0, 14.0, 1.959964, lambda count, _, reach: count - reach) > 0.9


def test_a_count_far_above_the_bar_is_as_without():
    """The bar changes nothing for a row that needed no help."""
    for above in (5.0, 8.0, 20.0):
        assert with_bar(14 + above, 14.0, 1.96) == pytest.approx(14 + above - 1.96, abs=2e-3)


# Skewed: a few that many people have, and many that are alike, of which rough counts pick some.
SKEWED = np.concatenate([np.full(20, 5000.0), np.full(380, 200.0)])
PICKED = 40


def picked_and_counted(chance):
    """Rough counts with a tenth of noise, the highest of them counted again; true and rough counts beside."""
    counts = SKEWED + SKEWED * 0.1 * chance.normal(size=len(SKEWED))
    names = as_items([f"{row:03}" for row in range(len(SKEWED))])
    rough = Measured(items=names, counts=counts, stddevs=SKEWED * 0.1, smallest=1.0)
    first = np.argsort(-counts)[:PICKED]
    stddevs = 0.05 * counts[first]
    final = Measured(
        items=names[first],
        counts=SKEWED[first] + stddevs * chance.normal(size=PICKED),
        stddevs=stddevs,
        smallest=1.0,
    )
    return SKEWED[first], rough, final


def share_covered(estimated, runs=150):
    """How many true counts are within intervals that come from final and rough counts."""
    chance, inside = np.random.default_rng(1), []
    for _ in range(runs):
        true, rough, final = picked_and_counted(chance)
        found = estimated(final, rough)
        truth = dict(zip(final.items.tolist(), true.tolist(), strict=True))
        counts = np.array([truth[item] for item in found.items.tolist()])
        inside += ((found.low <= counts) & (counts <= found.high)).tolist()
    return float(np.mean(inside)), len(inside)


def test_counts_that_were_picked_for_their_rough_counts_are_covered():
    """The final noise is fresh, so an item that its rough noise has helped is covered like any other: 95 % or more."""
    covered, rows = share_covered(lambda final, rough: estimate(final, rough, most_noise=0.07))

    assert covered > 0.95 - 2 * math.sqrt(0.05 * 0.95 / rows)
    assert rows > 4000


def test_intervals_around_both_counts_are_covered_less():
    """Broken twin: the interval of the weighted mean, as if the rough count had not chosen the item."""

    def combined(final, rough):
        rows = np.array([int(item) for item in final.items.tolist()])
        first, second = 1 / rough.stddevs[rows] ** 2, 1 / final.stddevs**2
        counts = (first * rough.counts[rows] + second * final.counts) / (first + second)
        return estimate(replace(final, counts=counts, stddevs=1 / np.sqrt(first + second)), most_noise=0.07)

    covered, rows = share_covered(combined)

    assert covered < 0.95 - 5 * math.sqrt(0.05 * 0.95 / rows)


def share_by_distance(estimated, *, distance, ratio, rows=6000):
    """Of items so many rough deviations above the last one that is measured: the share that intervals hold."""
    rng, last, stddev = np.random.default_rng(round(100 * distance + 10 * ratio)), 800.0, 20.0
    true = last + distance * stddev
    rough = np.append(true + stddev * rng.standard_normal(rows), last)
    chosen = np.flatnonzero(rough >= last)
    final = true + ratio * stddev * rng.standard_normal(len(chosen))
    items = np.array([f"{n:05}" for n in chosen], dtype=object)
    found = estimated(
        Measured(items=items, counts=final, stddevs=np.full(len(chosen), ratio * stddev), smallest=last),
        Measured(items=items, counts=rough[chosen], stddevs=np.full(len(chosen), stddev), smallest=last),
    )
    held = (found.low <= true) & (true <= found.high)
    # The last item itself is only there to be the last.
    return float(held[found.items != f"{rows:05}"].mean())


@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.5])
def test_intervals_hold_at_every_distance_from_the_last_item(ratio):
    """Near it, far above it, and at the borders between, whichever of the two counts is the sharper one."""
    least = 0.95 - 3.5 * math.sqrt(0.95 * 0.05 / 6000)
    for distance in (0, 2, 4, 5, 6, 8, 10, 11, 12, 16, 25):
        held = share_by_distance(
            lambda final, rough: estimate(final, rough, most_noise=0.07), distance=distance, ratio=ratio
        )

        assert held >= least, (distance, held)


def test_without_a_space_between_the_borders_they_would_not(monkeypatch):
    """The twin: by both counts as soon as the final one alone is not needed, where the noise itself decides which."""
    monkeypatch.setattr(ntm_estimates, "_FAR", 3.0)
    monkeypatch.setattr(ntm_estimates, "_FARTHER", 3.0)
    held = share_by_distance(lambda final, rough: estimate(final, rough, most_noise=0.07), distance=1.2, ratio=2.5)

    assert held < 0.95 - 3.5 * math.sqrt(0.95 * 0.05 / 6000)


ASKED = 0.05


def share_foreseen(estimated, *, distance, ratio, rows=6000):
    """Of items so many rough deviations above where a row is foreseen to be as sharp as asked: the share held."""
    rng, stddev = np.random.default_rng(round(100 * distance + 10 * ratio) + 1000), 20.0
    true = 1.96 * ratio * stddev / ASKED + distance * stddev
    rough = np.append(true + stddev * rng.standard_normal(rows), 1.0)
    final = np.append(true + ratio * stddev * rng.standard_normal(rows), 1.0)
    items = np.array([f"{n:05}" for n in range(rows + 1)], dtype=object)
    first = Measured(items=items, counts=rough, stddevs=np.full(rows + 1, stddev), smallest=1.0)
    found = estimated(replace(first, counts=final, stddevs=ratio * first.stddevs, predicted=rough), first)
    return float(((found.low <= true) & (true <= found.high)).mean()), len(found.items)


def as_asked(final, rough):
    """As rows are made where a share was asked for."""
    return estimate(final, rough, most_noise=ASKED / 1.5, asked=ASKED)


@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.5])
def test_intervals_hold_though_rows_that_would_be_wide_were_left_out(ratio):
    """What is foreseen by rough counts leaves the final noise alone, near the place where it decides and far above."""
    for distance in (-1, 0, 2, 4, 5, 6, 8, 10, 11, 12, 16, 25):
        held, rows = share_foreseen(as_asked, distance=distance, ratio=ratio)

        assert held >= 0.95 - 3.5 * math.sqrt(0.95 * 0.05 / rows), (distance, held)


@pytest.mark.parametrize("distance", [-1.5, -2])
def test_left_out_by_the_count_itself_they_would_not(distance):
    """The twin: rows are dropped by the count that is released, with the interval of before."""

    def dropped(final, rough):
        found = estimate(final, rough, most_noise=ASKED / 1.5)
        kept = np.flatnonzero(found.high - found.low <= 2 * ASKED * found.counts)
        return replace(found, items=found.items[kept], low=found.low[kept], high=found.high[kept])

    held, rows = share_foreseen(dropped, distance=distance, ratio=0.5)

    assert held < 0.95 - 3.5 * math.sqrt(0.95 * 0.05 / rows)


def test_the_largest_counts_have_the_intervals_of_both():
    """Where rough counts are sharper, far above the last item the interval is that of the sharper one."""
    items = np.array(["a", "b"], dtype=object)
    rough = Measured(items=items, counts=np.array([9000.0, 300.0]), stddevs=np.array([20.0, 20.0]), smallest=300.0)
    final = Measured(items=items, counts=np.array([9050.0, 310.0]), stddevs=np.array([200.0, 12.0]), smallest=300.0)
    found = estimate(final, rough, most_noise=0.07)

    assert found.high[0] - found.low[0] < 90
    assert abs(int(found.counts[0]) - 9000) < 5
    # The last one goes by its final count alone.
    assert found.high[1] - 310 == math.ceil(1.96 * math.sqrt(12**2 + 1 / 12))
