"""Private Count Release where the paper is wrong or silent: ours passes, what is printed fails the same check."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushcount.accounting import zcdp
from hushcount.accounting.filters import Filter
from hushcount.audit.twins import formulas
from hushcount.errors import InvalidInput
from hushcount.mechanisms.counts import pcr
from hushcount.mechanisms.counts.pcr import clamped_stddev, level_epsilon, plan_pcr, run_pcr
from hushcount.mechanisms.ranking import bottom_odds, rank
from hushcount.model.budgets import rho_budget
from hushcount.model.costs import BoundedRange, DiscreteGaussian, Failure
from hushcount.noise.calls import AddGaussian, Peel
from hushcount.noise.source import SeededSource
from tests import broken_twins
from tests.privacy.exact import as_histogram, hockey_stick, normalised, top_of

# ln(kbar/delta*) with the paper's kbar = 1e4 and delta* = 1e-11.
LOG_ODDS = math.log(1e4 / 1e-11)


def paper_plan(**changes):
    """The paper's parameters."""
    return plan_pcr(rho_budget("0.1", "1e-6"), **changes)


def small_plan(*, rho="0.5", calls=12, rows=3, first="0.2"):
    """A plan that ends after a few steps."""
    plan = plan_pcr(rho_budget(rho, "1e-2"), rows=rows, epsilon_first=first)
    return replace(plan, delta_step=plan.delta / calls)


def release_of(counts, plan, seed=0):
    """One run on plain counts."""
    return run_pcr(as_histogram(counts), plan, SeededSource(seed))


class Watched(SeededSource):
    """A source that writes down the calls that it performs."""

    def __init__(self, seed):
        super().__init__(seed)
        self.calls = []

    def perform(self, call):
        """Pass on, and write down."""
        self.calls.append(call)
        return super().perform(call)


# Erratum 11: the deviation that was reserved for


@pytest.mark.parametrize(("relative_error", "times"), [(0.05, 2.0), (0.02, 9.9)])
def test_erratum_11_unclamped_counts_cost_more_than_their_reserve(relative_error, times):
    """With eq. (2) as printed a success costs 2.0 or 9.9 times epsilon²/4; clamped, never more than once."""
    plan = paper_plan(relative_error=relative_error)
    epsilon = float(plan.epsilon_first)
    printed = formulas.unclamped_stddev(relative_error, LOG_ODDS, epsilon)
    ours = clamped_stddev(plan, plan.epsilon_first)

    assert (epsilon**2 / 8 + 1 / (2 * printed**2)) / (epsilon**2 / 4) == pytest.approx(times, abs=0.05)
    assert (epsilon**2 / 8 + 1 / (2 * ours**2)) <= epsilon**2 / 4


@pytest.mark.parametrize("relative_error", [0.02, 0.05, 0.0868, 0.0869, 0.1, 0.3])
def test_erratum_11_the_clamp_acts_below_its_condition(relative_error):
    """The clamp rests exactly where r (epsilon + ln(kbar/delta*)) >= 3: from r = 0.0869 on at the first epsilon."""
    plan = paper_plan(relative_error=relative_error)
    free = formulas.unclamped_stddev(relative_error, LOG_ODDS, float(plan.epsilon_first))
    at_rest = relative_error * (float(plan.epsilon_first) + LOG_ODDS) >= 3

    assert at_rest == (relative_error >= 0.0869)
    assert (clamped_stddev(plan, plan.epsilon_first) == pytest.approx(free, rel=1e-12)) == at_rest


@given(
    relative_error=st.floats(0.001, 5),
    level=st.integers(0, 40),
    rows=st.integers(1, 10**6),
    delta=st.sampled_from(["1e-9", "1e-6", "0.01", "0.5"]),
)
def test_erratum_11_no_step_costs_more_than_its_reserve(relative_error, level, rows, delta):
    """Selection and count together never cost more than epsilon²/4, whatever the parameters."""
    plan = plan_pcr(rho_budget(1, delta), rows=rows, relative_error=relative_error)
    epsilon = Fraction(level_epsilon(plan, level))
    reserve = zcdp.spent(pcr._level(plan, level).step).rho  # noqa: SLF001

    assert Fraction(reserve) <= epsilon**2 / 4 + Fraction(2, 10**36)


@pytest.mark.parametrize("cap", [1, 3, 7])
def test_erratum_11_counts_are_noised_with_the_deviation_that_was_charged(cap):
    """The variance that is drawn, in units of the cap, costs no more than what was charged, to the last bit."""
    plan, noise = plan_pcr(rho_budget(20, "1e-2"), cap, rows=3, epsilon_first="0.3"), Watched(0)
    release = run_pcr(as_histogram({"a": 9000, "b": 8000, "c": 7000, "d": 10}), plan, noise)
    drawn = [call.variance for call in noise.calls if isinstance(call, AddGaussian) and len(call.values)]
    charged = sorted(Fraction(event.rho) for event, _ in release.cost.events if isinstance(event, DiscreteGaussian))
    real_costs = sorted(Fraction(cap**2) / (2 * variance) for variance in drawn)

    assert charged
    assert len(charged) == len(real_costs)
    assert all(cost <= paid <= cost + Fraction(1, 10**35) for cost, paid in zip(real_costs, charged, strict=True))


# Erratum 12: the boundary count


def one_choice(items, boundary, rows):
    """The law of the first choice at epsilon = 0.5 and delta* = 1e-9: the threshold is 42 above the boundary."""
    weights = {item: math.exp(0.5 * (count - boundary)) for item, count in items.items()}
    return normalised({**weights, "bottom": float(bottom_odds(rows, Fraction(1, 10**9))) * math.exp(0.5)})


def test_erratum_12_a_missing_boundary_read_as_zero_shows_the_swapped_item():
    """An item that one person lifts into the top is shown for sure, and never without them, if cut rows count as 0."""
    two = {"x": 1000, "y": 1000, "z": 1000}
    one = two | {"z": 1001}
    rows = 1
    broken = [one_choice(*broken_twins.top_with_missing_boundary(side, rows), rows) for side in (one, two)]
    ours = [one_choice(*top_of(side, rows), rows) for side in (one, two)]

    assert broken[0]["z"] > 0.999
    assert "z" not in broken[1]
    assert ours[0]["z"] <= 1e-9
    assert hockey_stick(ours[0], ours[1], 0.5) <= 1e-9
    assert hockey_stick(broken[0], broken[1], 0.5) > 0.999


def test_erratum_12_ties_and_near_ties_stay_hidden_in_the_library():
    """Thousand people have each of many items, one has one more: nothing is shown, since the boundary is a thousand."""
    plan = small_plan(rows=5)
    counts = {f"item {n}": 1000 for n in range(40)} | {"lifted": 1001}

    assert not any(len(release_of(counts, plan, seed).items) for seed in range(20))


@pytest.mark.parametrize("stored", [0, 1, 5, 6])
def test_erratum_12_a_cut_histogram_without_its_boundary_is_refused(stored):
    """Six rows are looked at and the seventh is the boundary: fewer rows are refused, unless these are all there is."""
    plan = small_plan(rows=3)
    counts = {f"item {n}": 100 - n for n in range(stored)}

    with pytest.raises(InvalidInput, match="7 largest counts"):
        run_pcr(as_histogram(counts, complete=False), plan, SeededSource(1))
    assert run_pcr(as_histogram(counts), plan, SeededSource(1)).counts is not None


def test_erratum_12_the_boundary_after_removals_is_a_true_count():
    """At each level the boundary is the count at rank rows + 1 of what is left, or of the last row that was fetched."""
    noise = Watched(4)
    plan = small_plan(rho=100, calls=1000, rows=3, first="2")
    counts = {f"item {n}": 5000 - 400 * n for n in range(12)}
    release = run_pcr(as_histogram(counts), plan, noise)
    boundaries = [int(call.values[-1]) - 1 for call in noise.calls if isinstance(call, Peel)]
    ranked = sorted(counts.values(), reverse=True)

    assert boundaries[0] == ranked[3]
    assert len(release.items) > 3
    # Seven rows were fetched, so the count at rank seven is the lowest boundary, and never zero.
    assert min(boundaries) == ranked[6]
    assert all(boundary in ranked for boundary in boundaries)


def test_erratum_12_a_boundary_of_zero_needs_the_whole_data():
    """The padded ranking ends in zeros only for a complete histogram."""
    counts = {"a": 5, "b": 4}

    assert rank(as_histogram(counts), 4).counts.tolist() == [5, 4, 0, 0, 0]
    with pytest.raises(InvalidInput, match="5 largest counts"):
        rank(as_histogram(counts, complete=False), 4)


# Erratum 13: the step of epsilon


def test_erratum_13_rho_doubles_with_each_step():
    """Epsilon grows by the square root of two, from below; as rendered it would jump from 0.0005 to 0.032."""
    plan = paper_plan()
    steps = [level_epsilon(plan, level) for level in range(20)]

    assert formulas.next_epsilon_as_rendered(0.0005) == pytest.approx(0.0316, abs=1e-4)
    assert float(steps[1]) == pytest.approx(0.000707, abs=1e-6)
    for before, after in itertools.pairwise(steps):
        assert Decimal("1.9999999") < (after / before) ** 2 < Decimal("2.0000001")
    assert all(level_epsilon(plan, 2 * n) == plan.epsilon_first * 2**n for n in range(20))
    assert steps[1] < plan.epsilon_first * Decimal(2).sqrt()


# Erratum 16: when a step is charged


class Watch(Filter):
    """A filter that writes down what happens to it."""

    log: list = []  # noqa: RUF012  one list for one test, emptied by the fixture

    def fits(self, cost):
        """Ask, and write down the answer."""
        answer = super().fits(cost)
        self.log.append(("fits", answer, cost))
        return answer

    def times(self, cost):
        """Ask, and write down the answer."""
        answer = super().times(cost)
        self.log.append(("times", answer, cost))
        return answer

    def spend(self, cost):
        """Spend, and write it down."""
        self.log.append(("spend", True, cost))
        return super().spend(cost)


@pytest.fixture
def watched(monkeypatch):
    """The log of the filter of a run, and of the counts that are drawn."""
    Watch.log = []
    real = SeededSource.perform

    def perform(noise, call):
        outcome = real(noise, call)
        Watch.log.append(("draw" if isinstance(call, AddGaussian) else "choose", len(outcome), None))
        return outcome

    monkeypatch.setattr(pcr, "Filter", Watch)
    monkeypatch.setattr(SeededSource, "perform", perform)
    return Watch.log


def has_count(cost):
    """Whether a cost pays for a count."""
    return any(isinstance(event, DiscreteGaussian) for event, _ in cost.events)


def times(cost, kind):
    """How often a kind of event is in a cost."""
    return sum(many for event, many in cost.events if isinstance(event, kind))


def test_erratum_16_every_step_is_charged_before_its_output_is_used(watched):
    """No count is drawn before it was paid for, and no more is chosen than the filter says can be paid for."""
    release = release_of({f"item {n}": 3000 - 100 * n for n in range(12)}, small_plan(rho=5, calls=40, rows=8))
    paid = drawn = chosen = room = 0
    for what, answer, detail in watched:
        if what == "fits":
            assert chosen == 0, "what was chosen is paid for before anything else happens"
        elif what == "times":
            room = answer
        elif what == "choose":
            assert answer <= room, "no more is chosen than can be paid for"
            chosen = answer
        elif what == "spend":
            # Several at once: each counts.
            chosen -= times(detail, BoundedRange)
            paid += times(detail, DiscreteGaussian)
        else:
            assert chosen == 0
            drawn += answer
            assert drawn <= paid

    assert drawn == paid == len(release.items) > 0
    assert watched[-1][0] == "fits"
    assert not watched[-1][1]


def test_erratum_16_bottoms_are_paid_for(watched):
    """On empty data every level ends in bottom, and each of them is charged like any other selection."""
    release = release_of({}, small_plan(rho="0.5"))
    spends = [detail for what, _, detail in watched if what == "spend"]
    choices = sum(times for event, times in release.cost.events if isinstance(event, BoundedRange))

    assert len(release.items) == 0
    assert choices == len(spends) > 3
    assert not any(map(has_count, spends))


def test_erratum_16_delta_pays_for_whole_calls_only():
    """With delta for four and a half selections, four are made."""
    plan = small_plan(rho=1000, calls=1)
    plan = replace(plan, delta_step=plan.delta * 2 / 9)
    release = release_of({f"item {n}": 9000 - n for n in range(3)}, plan)
    calls = sum(times for event, times in release.cost.events if isinstance(event, Failure))

    assert calls == 4
    assert zcdp.spent(release.cost).delta <= plan.delta


@settings(max_examples=60)
@given(
    counts=st.lists(st.integers(1, 3000), max_size=25),
    seed=st.integers(0, 2**32),
    rho=st.sampled_from(["0.011", "0.1", "2"]),
    rows=st.integers(1, 8),
    calls=st.integers(1, 40),
)
def test_erratum_16_no_run_exceeds_its_plan(counts, seed, rho, rows, calls):
    """On random data a run never costs more than was reserved, and selections are as many as names and bottoms."""
    plan = small_plan(rho=rho, calls=calls, rows=rows)
    release = release_of({f"item {n}": count for n, count in enumerate(counts)}, plan, seed)
    spent, reserved = zcdp.spent(release.cost), zcdp.spent(plan.cost)
    choices = sum(times for event, times in release.cost.events if isinstance(event, BoundedRange))
    counted = sum(times for event, times in release.cost.events if isinstance(event, DiscreteGaussian))

    assert spent.rho <= reserved.rho <= Decimal(rho)
    assert spent.delta <= reserved.delta
    assert choices <= calls
    assert counted == len(release.items) <= choices


# Edges


def test_the_same_source_gives_the_same_release():
    """A run is a function of its data, its plan and its source."""
    counts = {f"item {n}": 2000 - 90 * n for n in range(15)}
    one, two, other = (release_of(counts, small_plan(rho=3), seed) for seed in (5, 5, 6))

    assert one.items.tolist() == two.items.tolist()
    assert one.counts.tolist() == two.counts.tolist()
    assert one.counts.tolist() != other.counts.tolist()


@pytest.mark.parametrize("counts", [{}, {"a": 1}, {"a": 1, "b": 1, "c": 1}, dict.fromkeys("abcdefgh", 7)])
def test_nearly_empty_and_tied_data_show_nothing(counts):
    """No data, one person, and ties far below the threshold give an empty release at a cost."""
    release = release_of(counts, small_plan(calls=10_000), seed=3)

    assert len(release.items) == len(release.counts) == len(release.noise_scale) == 0
    assert zcdp.spent(release.cost).rho > 0


def test_large_counts_are_found_and_close():
    """Counts far above the threshold are shown within six deviations of the truth."""
    counts = {"a": 2**40, "b": 2**39, "c": 2**38}
    release = release_of(counts, small_plan(rho=3, calls=1000))

    assert set(release.items) == set(counts)
    off = np.abs(release.counts - np.array([counts[item] for item in release.items]))
    assert (off < 6 * release.noise_scale + 1).all()
