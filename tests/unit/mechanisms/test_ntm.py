"""NTM: its numbers, its steps, and what each of them decides from."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hushcount.accounting import zcdp
from hushcount.app.intervals import intervals
from hushcount.engines.incidence import incidence
from hushcount.errors import InvalidParameter
from hushcount.mechanisms.counts.ntm import run_ntm
from hushcount.mechanisms.counts.ntm_choice import Ladder, candidates, choice_epsilon, log_priors
from hushcount.mechanisms.counts.ntm_course import Measured
from hushcount.mechanisms.counts.ntm_estimates import deviations, estimate, lower_end
from hushcount.mechanisms.counts.ntm_plan import Settings, Shares, plan_ntm
from hushcount.mechanisms.counts.ntm_shape import shape_of
from hushcount.mechanisms.table import find
from hushcount.model.budgets import epsilon_budget, rho_budget
from hushcount.model.facts import Facts
from hushcount.noise.source import SeededSource
from tests.unit.mechanisms.made_inputs import as_items

BUDGET = rho_budget("0.1", "1e-6")
PLAN = plan_ntm(BUDGET)
# The shares of the notes, which buy neither the crowd nor the loss.
AS_NOTED = replace(Shares(), crowd=Fraction(0), losses=(Fraction(0), Fraction(0)))


def town(people=3000, items=60, *, long_lists=20):
    """A few popular items and many rare ones, and some people who have everything."""
    users, things = [], []
    for person in range(people):
        for item in range(items):
            if person < long_lists or person % (item + 2) == 0:
                users.append(person)
                things.append(f"item {item:02}")
    return incidence(users, things)


def purposes(run, *, seed=0):
    """What a run draws for, in order."""
    drawn = []

    class Noting(SeededSource):
        def perform(self, call):
            drawn.append(call.purpose)
            return super().perform(call)

    run(Noting(seed))
    return drawn


def three():
    """Three items with the predictions of the notes."""
    return shape_of(as_items(["c", "a", "b"]), np.array([100.0, 300.0, 200.0]), rho=Fraction(1, 10), finest=24)


def test_cut_offs_of_the_five_rounds():
    """Their cut-offs, rho and delta at rho 0.1 and delta 1e-6, to the digits that were given."""
    spent = [zcdp.spent(one.cost) for one in PLAN.rounds]

    assert [one.threshold for one in PLAN.rounds] == pytest.approx(
        [174.701799, 84.605578, 40.895767, 32.884203, 25.138015], abs=2e-6
    )
    assert [float(one.rho) for one in spent] == pytest.approx(
        [0.000619048, 0.00247619, 0.00990476, 0.015, 0.025], rel=1e-6
    )
    assert [float(one.delta) for one in spent] == pytest.approx(
        [1.168014e-08, 4.672057e-08, 1.868823e-07, 2.830189e-07, 4.716981e-07], rel=1e-6
    )


def test_noise_of_the_means_and_of_the_choice():
    """Deviation of each mean, and epsilon of a choice."""
    assert [1 / math.sqrt(2 * one) for one in PLAN.means] == pytest.approx(
        [65.828059, 38.005848, 21.942686, 18.257419, 18.257419], rel=1e-7
    )
    assert float(choice_epsilon(PLAN.choices[0])) == pytest.approx(0.154919, abs=5e-7)
    assert choice_epsilon(PLAN.choices[0]) ** 2 / 8 <= PLAN.choices[0]


def test_room_of_rough_and_final_counts():
    """B* for a fifth of noise in rough counts, and for what the final ones aim at with the share of the notes."""
    left = 1 - sum(AS_NOTED.names[:3]) - sum(AS_NOTED.means[:3]) - sum(AS_NOTED.choices) - AS_NOTED.rough

    assert 2 * float(PLAN.rough) * PLAN.rough_noise**2 == pytest.approx(8e-4)
    assert float(left) == pytest.approx(0.695)
    assert 2 * 0.0695 * PLAN.final_noise**2 == pytest.approx(4.061359e-4, rel=1e-6)


def test_shape_of_the_notes():
    """Amplitudes and deviations of three items, and S, to the digits that were given."""
    shape, total = three(), 1.546003e-4
    steps = shape.ranked.amplitudes / shape.amplitude(3)

    assert shape.ranked.items.tolist() == ["a", "b", "c"]
    assert (steps**2).tolist() == pytest.approx([1.924501e-05, 3.535534e-05, 1e-4], rel=1e-6)
    assert int(shape.squares[-1]) / shape.amplitude(3) ** 2 == pytest.approx(total, rel=1e-6)
    assert shape.radius(3, total / 2) / math.sqrt(2 * 0.0695) / shape.ranked.amplitudes == pytest.approx(
        [5.375561, 3.966024, 2.358212], rel=1e-6
    )


def test_the_first_candidate_clips_nobody():
    """It has the most items that fit into the room, at least one, and the smallest radius under which all fit."""
    shape = three()
    for room in (1.0, 2e-4, 1.0001e-4, 1e-9):
        first, *others = candidates(shape, room, Ladder())
        assert not shape.clips_somebody(first)
        assert shape.clips_somebody(replace(first, radius=first.radius - 1))
        assert first.first == max(
            [k for k in (1, 2, 3) if shape.squares[k - 1] <= shape.radius(k, room) ** 2], default=1
        )
        assert [one.first for one in others] == sorted(one.first for one in others)
        assert others[-1].first == 3
        assert len([one for one in others if one.first == 3]) in {39, 40}


def test_priors_grow_within_their_limits():
    """Each candidate adds between a quarter and one and a half to the logarithm of its prior."""
    shape = three()
    found = log_priors(shape, candidates(shape, 1e-9, Ladder()), epsilon=0.154919, ladder=Ladder())

    assert found[0] == pytest.approx(0.154919 * 0.02 * 300)
    assert all(0.25 <= later - before <= 1.5 for before, later in itertools.pairwise(found))


def test_every_step_is_drawn_in_its_turn():
    """The crowd, three rounds and their means, a choice, rough counts, the other choice, final counts."""
    drawn = purposes(lambda noise: run_ntm(town(), plan_ntm(rho_budget(1, "1e-6")), noise))
    steps = [purpose.split("/")[1] for purpose in drawn]

    assert steps[0] == "crowd"
    assert [step for step in steps if step in {"choice", "rough", "counts"}] == ["choice", "rough", "choice", "counts"]
    assert steps.count("names") >= 3


def test_without_clip_nothing_is_chosen_or_lost():
    """The unclipped one measures what needs no clip: no choice, no loss, intervals from the noise alone."""
    plan = plan_ntm(rho_budget(1, "1e-6"), clips=False)
    drawn = purposes(lambda noise: run_ntm(town(), plan, noise))
    outcome = run_ntm(town(), plan, SeededSource(0))

    assert not {"choice", "lost"} & {purpose.split("/")[1] for purpose in drawn}
    assert outcome.remark is None
    # A little wider than the noise of both counts together: they are from the final ones.
    assert 1 < np.median((outcome.high - outcome.low) / (2 * 1.96 * outcome.noise_scale)) < 1.2


def test_a_crowd_too_small_for_names_is_peeled():
    """Where an item of nearly everybody could not be named, the counts are found one by one, with all of the budget."""
    few = town(120, 12, long_lists=120)
    plan = plan_ntm(BUDGET)
    drawn = purposes(lambda noise: run_ntm(few, plan, noise))
    outcome = run_ntm(few, plan, SeededSource(1))

    assert drawn[0] == "ntm/crowd"
    assert all(purpose.startswith("pcr-batched") for purpose in drawn[1:])
    assert len(outcome.items)
    assert "one by one" in outcome.remark


def thin(people, *, kinds):
    """Long lists of items by Zipf's law: a few that many people have, and a long tail."""
    chance = np.random.default_rng(11)
    weights = np.cumsum(1 / np.arange(1, kinds + 1))
    held = np.searchsorted(weights, chance.random(40 * people) * weights[-1])
    return incidence(np.repeat(np.arange(people), 40), [f"item {item:04}" for item in held.tolist()])


def test_names_too_few_for_what_is_left_are_peeled():
    """Six hundred people with lists of forty: after the first names the rest is peeled, for more counts than else."""
    few, blind = thin(600, kinds=5000), plan_ntm(BUDGET, settings=Settings(few=(math.inf, math.inf)))
    runs = {plan: [run_ntm(few, plan, SeededSource(seed)) for seed in range(8)] for plan in (PLAN, blind)}
    peeled = ["one by one" in (outcome.remark or "") for outcome in runs[PLAN]]
    shown = {plan: np.mean([len(outcome.items) for outcome in runs[plan]]) for plan in runs}

    assert sum(peeled) >= 5
    assert shown[PLAN] > shown[blind]
    assert "one by one" not in (run_ntm(thin(20_000, kinds=5000), PLAN, SeededSource(1)).remark or "")
    # Forty items are few, and there are no others.
    assert "one by one" not in (run_ntm(town(8000, 40, long_lists=0), PLAN, SeededSource(1)).remark or "")


def alike(people, *, held, kinds):
    """Lists of one length, of items that about equally many people have."""
    chance = np.random.default_rng(3)
    things = np.concatenate([chance.choice(kinds, held, replace=False) for _ in range(people)])
    return incidence(np.repeat(np.arange(people), held), [f"item {item:04}" for item in things.tolist()])


def test_the_dearest_round_is_left_out_where_two_named_nothing():
    """Rare items and long lists are peeled after two rounds; where naming reaches further, the third names them all."""
    rare = purposes(lambda noise: run_ntm(alike(1200, held=60, kinds=4000), PLAN, noise), seed=1)
    common = purposes(lambda noise: run_ntm(alike(900, held=8, kinds=40), PLAN, noise), seed=1)

    assert "ntm/names/1" in rare
    assert "ntm/names/2" not in rare
    assert rare[-1].startswith("pcr-batched")
    assert "ntm/mean/2" in common
    assert "ntm/counts" in common


def test_nothing_named_is_peeled_too():
    """Without the crowd's warning, naming that finds nothing leaves the rest of the budget to peeling."""
    blind = plan_ntm(BUDGET, shares=replace(Shares(), crowd=Fraction(0)))
    outcome = run_ntm(town(30, 2, long_lists=30), blind, SeededSource(1))

    assert "one by one" in outcome.remark
    assert zcdp.spent(outcome.cost).rho <= BUDGET.rho


@pytest.mark.parametrize("budget", [rho_budget("0.05", "1e-6"), rho_budget(3, "1e-6"), epsilon_budget(2, "1e-5")])
def test_no_run_costs_more_than_its_plan(budget):
    """The filter's sums stay within rho and delta, whatever was decided on the way."""
    plan = find("ntm").plan(budget, Facts())
    for seed in range(5):
        outcome = run_ntm(town(), plan, SeededSource(seed))
        spent, limit = zcdp.spent(outcome.cost), zcdp.spent(plan.cost)

        assert spent.rho <= limit.rho
        assert spent.delta <= limit.delta


def test_an_estimate_lies_within_its_interval():
    """Lower end, count and upper end of every row stand in this order, and lower ends are not below zero."""
    for seed in range(5):
        outcome = run_ntm(town(), plan_ntm(rho_budget(1, "1e-6")), SeededSource(seed))
        low, high = intervals(outcome)

        assert len(outcome.items)
        assert (low >= 0).all()
        assert (low <= outcome.counts).all()
        assert (outcome.counts <= high).all()


def test_true_counts_are_covered_though_lists_are_clipped():
    """Of many runs with people who hold everything, 95 % of the true counts or more are within their intervals."""
    data = town(4000, 80, long_lists=60)
    true = dict(zip(data.histogram().items.tolist(), data.histogram().counts.tolist(), strict=True))
    plan, inside = plan_ntm(rho_budget("0.5", "1e-6")), []
    for seed in range(40):
        outcome = run_ntm(data, plan, SeededSource(seed))
        counts = np.array([true[item] for item in outcome.items.tolist()])
        inside += ((outcome.low <= counts) & (counts <= outcome.high)).tolist()

    assert len(inside) > 400
    assert np.mean(inside) > 0.94


def measured(counts, stddevs, *, lost=0.0, lost_stddev=0.0, items="abc"):
    """Counts as a measurement gives them."""
    return Measured(
        items=as_items(list(items)),
        counts=np.array(counts, dtype=np.float64),
        stddevs=np.array(stddevs, dtype=np.float64),
        lost=lost,
        lost_stddev=lost_stddev,
        smallest=1.0,
    )


def test_counts_are_whole_and_noisy_ones_are_left_out():
    """A count is rounded, which adds to its noise; one with noise above 7 % of it is left out; largest first."""
    found = estimate(measured([500.4, 1000.6, 40.0], [10, 30, 30]), most_noise=0.07)

    assert found.items.tolist() == ["b", "a"]
    assert found.counts.tolist() == [1001, 500]
    assert found.stddevs.tolist() == pytest.approx([math.sqrt(900 + 1 / 12), math.sqrt(100 + 1 / 12)])


def test_two_measurements_are_weighed_by_precision_within_the_interval():
    """The count is the weighted mean of both, and its noise that of the mean; the interval is that of the final one."""
    final, rough = measured([1060], [15], items="a"), measured([1000, 500], [30, 10], items="ab")
    both, alone = (estimate(final, *more, most_noise=0.07) for more in ([rough], []))
    apart = estimate(final, measured([100], [16], items="a"), most_noise=0.07)

    assert both.items.tolist() == ["a"]
    assert both.counts.tolist() == [1048]
    assert both.stddevs.tolist() == pytest.approx([math.sqrt(180 + 1 / 12)])
    assert (both.low, both.high) == (alone.low, alone.high)
    assert apart.counts == apart.low == alone.low


def test_upper_ends_allow_for_the_loss():
    """Upper ends rise by what the clip took, and by the noise of its release; lower ends come nearer."""
    plain = estimate(measured([1000], [20], items="a"), most_noise=0.07)
    clipped = estimate(measured([1000], [20], lost=30, items="a"), most_noise=0.07)
    unsure = estimate(measured([1000], [20], lost=30, lost_stddev=20, items="a"), most_noise=0.07)

    assert clipped.high[0] - plain.high[0] == pytest.approx(30 - 0.3 * 20, abs=1.5)
    assert clipped.low[0] > plain.low[0]
    assert unsure.high[0] - clipped.high[0] == pytest.approx(1.65 * (math.sqrt(2) - 1) * 20, abs=1.5)


def test_deviations_go_from_two_sides_to_one():
    """1.96 where nothing is lost, 1.645 where much is, and never less."""
    found = deviations(np.array([0.0, 5.0, 100.0, 1e9]), np.array([10.0, 10.0, 10.0, 1.0]))

    assert found[0] == pytest.approx(1.959964, abs=1e-6)
    assert found[2] == found[3] == pytest.approx(1.644854, abs=1e-4)
    assert found[0] > found[1] > found[2]


def test_rows_near_the_bar_reach_further_down():
    """A row far above the bar has the usual lower end, one just above it nearly all below it."""
    assert lower_end(2000, 1000, 100, reach=1.96) == 2000 - 196
    assert lower_end(1100, 1000, 100, reach=1.96) < 1100 - 300
    assert lower_end(1001, 1000, 100, reach=1.96) == 0


def test_all_rows_together_have_the_lower_ends_of_each():
    """On both sides of where a count is far above the bar, and right on it."""
    counts = np.concatenate([np.arange(2000.0, 4600.0, 13), [2500.0]])
    stddevs = np.where(np.arange(len(counts)) % 2, 100.0, 73.5)
    measured = Measured(
        items=as_items([f"{n:04}" for n in range(len(counts))]), counts=counts, stddevs=stddevs, smallest=1.0
    )
    found = estimate(measured, most_noise=0.05)
    rounded = np.sqrt(stddevs**2 + 1 / 12)
    reach = float(deviations(np.zeros(1), np.ones(1))[0])
    alone = {
        item: lower_end(count, stddev / 0.05, stddev, reach=reach)
        for item, count, stddev in zip(measured.items.tolist(), counts.tolist(), rounded.tolist(), strict=True)
    }

    assert len(found.items) > 100
    assert found.low.tolist() == [alone[item] for item in found.items.tolist()]
    assert 0 in found.low.tolist()


def test_tiny_and_huge_budgets_run():
    """Grids follow the budget, so that no noise leaves 64 bits."""
    for rho in ("1e-9", "1e-5", 800):
        outcome = run_ntm(town(400, 8), plan_ntm(rho_budget(rho, "1e-6")), SeededSource(0))

        assert zcdp.spent(outcome.cost).rho <= zcdp.spent(plan_ntm(rho_budget(rho, "1e-6")).cost).rho


def test_next_to_nothing_is_refused_before_data_is_read():
    """Below a billionth of rho no grid is coarse enough."""
    with pytest.raises(InvalidParameter, match=r"rho = .* at least 1E-9"):
        plan_ntm(rho_budget("1e-10", "1e-6"))


def test_settings_are_part_of_the_plan():
    """Shares, kappa and the ladder of candidates can be set, and make another plan."""
    other = plan_ntm(BUDGET, settings=Settings(kappa=2.5, ladder=Ladder(growth=1.2)))

    assert other.final_noise == pytest.approx(0.04)
    assert other.ladder.growth == 1.2
    assert plan_ntm(BUDGET, shares=replace(Shares(), rough=Fraction(1, 5))).rough == 2 * PLAN.rough
