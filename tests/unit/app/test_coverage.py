"""What intervals hold: the true count, at every preset; or, under a bound, what was counted, and then they say so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.coverage import cases
from benchmarks.coverage import covered as covered_by
from benchmarks.coverage import skewed as skewed_log
from hushcount.app.answer import answer
from hushcount.app.receipt import interval_sentence
from hushcount.app.request import make_request
from hushcount.app.secret import Secret
from hushcount.app.setting import passing_setting
from hushcount.mechanisms.table import MECHANISMS
from hushcount.model.budgets import PRESETS
from tests.unit.app.made_engine import MadeEngine

RUNS = 40


@pytest.fixture(scope="module")
def skewed():
    """Four thousand people with one item or dozens, of which few are held by most and many by few; and the truth."""
    rng = np.random.default_rng(7)
    lengths = np.minimum(rng.zipf(1.6, 4000), 60)
    people = np.repeat(np.arange(4000), lengths)
    items = np.minimum(rng.zipf(1.5, len(people)), 3000)
    pairs = np.unique(np.stack([people, items]), axis=1)
    names = np.array([f"i{item}" for item in pairs[1]], dtype=object)
    held, counts = np.unique(pairs[1], return_counts=True)
    truth = {f"i{item}": int(count) for item, count in zip(held, counts, strict=True)}
    return MadeEngine(pairs[0].tolist(), names.tolist()), truth


def covered(skewed, **options):
    """Of all rows of all runs: the share whose interval holds the true count; that of low ends at or below it; rows."""
    held, truth = skewed
    inside, above, rows, last = 0, 0, 0, None
    # The same noise in every run of this test, and another for each version of the data.
    setting = replace(passing_setting(), secret=Secret(bytes(32)))
    for run in range(RUNS):
        request = make_request("count", user="user", item="item", options=options)
        last = answer(request, replace(held, version=f"v{run}"), setting)
        true = np.array([truth.get(item, 0) for item in last.items])
        inside += int(((last.low <= true) & (true <= last.high)).sum())
        above += int((last.low <= true).sum())
        rows += len(last)
    return inside / rows, above / rows, rows, last


# Rows of one run share nothing but their threshold, so this is three standard errors below 95 % of two hundred rows.
LEAST = 0.95 - 3 * (0.95 * 0.05 / 200) ** 0.5


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("options", [{}, {"keys": ["i1", "i2", "i3", "i2999", "nobody"]}], ids=["alone", "listed"])
def test_without_a_bound_the_truth_is_inside(skewed, preset, options):
    """And the answer says so."""
    inside, _, rows, last = covered(skewed, preset=preset, **options)

    assert rows >= 100
    assert inside >= LEAST
    assert not last.receipt.left_out
    assert interval_sentence(last.receipt).startswith("Each true number is between")


@pytest.mark.parametrize("preset", ["standard", "generous"])
def test_under_a_bound_the_answer_says_of_what_it_is_an_interval(skewed, preset):
    """The truth is outside most of them, as the sentence says; never below them more often than it should be."""
    inside, above, rows, last = covered(skewed, preset=preset, max_items_per_user=2)

    assert rows >= 100
    assert inside < LEAST
    assert above >= 0.975 - 3 * (0.025 / 200) ** 0.5
    assert last.receipt.left_out
    assert "may well be above 'at most'" in interval_sentence(last.receipt)
    assert "the true numbers are larger" in last.receipt.to_text()


# People and runs. In `ntm` the upper ends allow for all that a clip may have taken, which few rows have lost: they hold
# more than 95 %, and it takes more rows to find a twin out; tests/unit/mechanisms/test_ntm_intervals.py does it by the
# law of the noise alone.
USUAL, SIZES = (4000, 30), {"ntm": (20_000, 80)}


@pytest.mark.parametrize(("name", "bound"), cases())
def test_every_count_mechanism_holds_what_it_says(name, bound):
    """What was counted, and without a bound that is the truth; intervals a fifth too narrow are found out."""
    people, runs = SIZES.get(name, USUAL)
    log, asked = skewed_log(people), {"rho": "0.1", "bound": bound, "runs": runs}
    found, narrow = (covered_by(log, name, **asked, narrowed=part) for part in (1.0, 0.8))
    least = 0.95 - 3 * (0.95 * 0.05 / found.rows) ** 0.5

    assert found.rows > 250
    assert found.counted >= least > narrow.counted
    assert found.true == found.counted if bound is None else found.true < 0.1


def test_all_count_mechanisms_are_looked_at():
    """None is left out, and those that can do without a bound are looked at without."""
    counting = {mechanism.name for mechanism in MECHANISMS if mechanism.question == "count"}

    assert {name for name, _ in cases()} == counting
    assert {"ntm", "ntm-unclipped", "pcr", "pcr-batched", "known-laplace"} <= {
        name for name, bound in cases() if bound is None
    }


def test_a_bound_that_nobody_can_reach_leaves_nothing_out(skewed):
    """Of a list of three nobody has more than three."""
    _, _, _, last = covered(skewed, keys=["i1", "i2", "i3"], max_items_per_user=3)

    assert not last.receipt.left_out
