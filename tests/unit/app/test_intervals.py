"""Intervals: 95 %, checked by coverage of repeated releases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushcount.app.answer import answer
from hushcount.app.intervals import intervals
from hushcount.app.request import make_request
from hushcount.app.setting import passing_setting
from hushcount.engines.incidence import MemoryIncidence, incidence
from hushcount.mechanisms.table import find
from hushcount.model.budgets import rho_budget
from hushcount.model.facts import Facts
from hushcount.noise.source import SeededSource
from hushcount.noise.widths import half_width
from tests.unit.app.made_engine import made_engine
from tests.unit.mechanisms.made_inputs import as_items, histogram


@pytest.mark.parametrize(
    ("question", "kinds", "options"),
    [
        # As many items as a release of these two can show: each takes long, whatever it shows.
        ("count", 20, {}),
        ("count", 8, {"max_items_per_user": 8}),
        ("count", 8, {"max_items_per_user": 8, "keys": [f"item-{j}" for j in range(8)]}),
        ("count", 8, {"max_items_per_user": 8, "method": "unknown-laplace", "rho": 2}),
        ("top", 20, {"k": 15}),
    ],
)
def test_coverage(question, kinds, options):
    """Over repeated releases of known data, the true count is inside about 95 times in 100."""
    engine, nobody = made_engine(people=500 * kinds, kinds=kinds), passing_setting()
    truth = {f"item-{j}": 500 * (kinds - j) for j in range(kinds)}
    inside, rows = 0, 0
    while rows < 2500:
        request = make_request(question, user="user", item="item", options={**options, "fresh": True})
        release = answer(request, engine, nobody)
        for item, low, high in zip(release.items, release.low, release.high, strict=True):
            inside += low <= truth[item] <= high
            rows += 1

    # Whole numbers cover a little more than 95 %, up to 96. Of 2500 rows 97.5 % is then four standard deviations away,
    # while intervals that are a fifth too wide (98.1 %) or too narrow (88 %) are found 98 times in 100 or more.
    assert 0.93 <= inside / rows <= 0.975 + (0.01 if math.isclose(inside, rows) else 0)


# Thresholded mechanisms: all but the last find their items and count them with the same noise.
THRESHOLDED = {
    "gaussian-threshold": Facts(max_items=3),
    "tsgd": Facts(max_items=2),
    "tsgd-public": Facts(max_items=2, public_items=as_items(["item 0"])),
    "unknown-laplace": Facts(max_items=1),
}


@pytest.mark.parametrize("name", THRESHOLDED)
def test_counts_near_the_threshold_are_covered(name):
    """Twenty thousand items just under the threshold: of those shown, at least 95 in 100 intervals hold the true count.

    The plain width holds fewer than six in ten, and nearly none where the threshold is far above them.
    """
    mechanism = find(name)
    plan = mechanism.plan(rho_budget("0.05", "1e-4"), THRESHOLDED[name])
    cutoff = int(mechanism.expect(plan).cutoff)
    # `unknown-laplace` looks at the first thousand and has its boundary behind them, so few are shown in a run.
    people = cutoff * 2 // 3 if name == "unknown-laplace" else cutoff // 2
    items = [f"item {n}" for n in range(900 if name == "unknown-laplace" else 20_000)]
    rows, inside, plain = 0, 0, 0
    for seed in range(300 if name == "unknown-laplace" else 3):
        outcome = mechanism.run(histogram(items, [people] * len(items)), plan, SeededSource(seed))
        low, high = intervals(outcome)
        width = half_width(outcome.noise, float(outcome.noise_scale[0])) if len(outcome.items) else 0
        rows += len(outcome.items)
        inside += int(((low <= people) & (people <= high)).sum())
        plain += int((np.abs(outcome.counts - people) <= width).sum())

        assert ((low <= outcome.counts) & (outcome.counts <= high)).all()

    assert rows >= 100
    # Three standard deviations of luck.
    assert inside / rows >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / rows)
    assert plain / rows < 0.6


def test_rows_that_are_dropped_by_their_counts_are_covered_too():
    """`plume-threshold` drops rows below a level: those shown just above it were helped by their noise."""
    mechanism = find("plume-threshold")
    plan = mechanism.plan(rho_budget("0.1", "1e-4"), Facts(max_items=1, relative_error=0.2))
    outcome = mechanism.run(_crowd(int(plan.least) - 5), plan, SeededSource(1))
    low, high = intervals(outcome)
    people = int(plan.least) - 5

    assert len(outcome.items) > 20
    assert ((low <= people) & (people <= high)).mean() >= 0.9
    assert (np.abs(outcome.counts - people) <= half_width("discrete-gaussian", plan.gaussian_stddev)).mean() < 0.5


def _crowd(people: int) -> MemoryIncidence:
    """Two thousand items, each of so many people who have nothing else."""
    rows = [(f"{item}/{person}", f"item {item}") for item in range(2000) for person in range(people)]
    return incidence([user for user, _ in rows], [item for _, item in rows])


def test_a_released_number_is_inside_its_own_interval():
    """Also one below zero, which noise around nobody gives; the other end still reaches up to what may be."""
    mechanism = find("known-gaussian")
    facts = Facts(max_items=1, public_items=as_items(["a", "b", "c"]))
    plan = mechanism.plan(rho_budget("0.01", "1e-6"), facts)
    for seed in range(40):
        outcome = mechanism.run(histogram(["a"], [4]), plan, SeededSource(seed))
        low, high = intervals(outcome)

        assert (low <= outcome.counts).all(), seed
        assert (outcome.counts <= high).all(), seed
        assert (low >= np.minimum(outcome.counts, 0)).all(), seed
        if (outcome.counts < 0).any():
            return
    pytest.fail("noise around nobody is below zero half of the time")
