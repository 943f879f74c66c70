"""What one person can change in each step of NTM, by enumeration of everything that they can hold; twins beside."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hushcount.accounting import zcdp
from hushcount.engines.incidence import incidence
from hushcount.mechanisms.counts.ntm import run_ntm
from hushcount.mechanisms.counts.ntm_choice import (
    UNIT,
    Ladder,
    candidates,
    choice_call,
    choice_cost,
    choice_epsilon,
    log_priors,
)
from hushcount.mechanisms.counts.ntm_plan import Settings, plan_ntm
from hushcount.mechanisms.counts.ntm_shape import shape_of
from hushcount.mechanisms.counts.pcr_batched import level_delta, level_epsilon, level_variance, plan_pcr_batched
from hushcount.model.budgets import rho_budget
from hushcount.model.inputs import Bound, UniformWeights
from hushcount.noise.calls import AddGaussian, Peel
from hushcount.noise.source import SeededSource
from tests.unit.mechanisms.made_inputs import as_items

NAMES = ["a", "b", "c", "d"]
PREDICTIONS = np.array([40.0, 25.0, 12.0, 5.0])
SHAPE = shape_of(as_items(NAMES), PREDICTIONS, rho=Fraction(1), finest=10)
CLIPS = candidates(SHAPE, 1e-3, Ladder())
HELD = [own for size in range(1, 5) for own in itertools.combinations(NAMES, size)]
OTHERS = [("one", ("a", "b")), ("two", ("a",)), ("three", NAMES), ("four", ("c", "d")), ("five", ("e",))]
ORDERS = (1.01, 1.5, 2.0, 4.0, 16.0, 64.0)


def of_people(people):
    """Who has what, of people with lists."""
    rows = [(person, item) for person, own in people for item in own]
    return incidence([person for person, _ in rows], [item for _, item in rows])


WITHOUT = of_people(OTHERS)


def with_person(own):
    """The same with one person more."""
    return of_people([*OTHERS, ("the person", own)])


def squared(moves):
    """The sum of squares, in integers."""
    return sum(int(move) ** 2 for move in moves)


def renyi(likely, rare, order):
    """The divergence of two laws, as lists of probabilities."""
    return math.log(math.fsum(p * (p / q) ** (order - 1) for p, q in zip(likely, rare, strict=True))) / (order - 1)


def chosen(call: Peel):
    """The law of a choice."""
    heights = [float(call.rate) * int(value) + math.log(call.priors[row]) for row, value in enumerate(call.values)]
    weights = [math.exp(height - max(heights)) for height in heights]
    return [weight / math.fsum(weights) for weight in weights]


def both_laws(own, rho, score=lambda losses: losses):
    """The law of a choice with a person and without."""
    epsilon = choice_epsilon(rho)
    priors = log_priors(SHAPE, CLIPS, epsilon=float(epsilon), ladder=Ladder())
    return [
        chosen(choice_call("c", score(data.losses(SHAPE.ranked, CLIPS, unit=UNIT)), priors=priors, epsilon=epsilon))
        for data in (with_person(own), WITHOUT)
    ]


@pytest.mark.parametrize("own", HELD, ids="".join)
def test_clipped_sums_move_by_the_radius_at_most(own):
    """In l2, exactly, for everything that a person can hold and every clip that can be chosen."""
    for clip in CLIPS:
        moves = with_person(own).clipped(SHAPE.ranked, clip) - WITHOUT.clipped(SHAPE.ranked, clip)

        assert squared(moves) <= clip.radius**2
        assert (moves >= 0).all()


def test_the_radius_is_reached_and_unclipped_sums_exceed_it():
    """The bound is no larger than it must be; broken twin: without the clip, sums move by far more."""
    tightest, loosest = CLIPS[-1], CLIPS[0]
    everything = with_person(NAMES).clipped(SHAPE.ranked, loosest) - WITHOUT.clipped(SHAPE.ranked, loosest)
    own = with_person(NAMES).clipped(SHAPE.ranked, tightest) - WITHOUT.clipped(SHAPE.ranked, tightest)

    assert squared(everything) > 0.99 * loosest.radius**2
    assert squared(own) > 0.8 * tightest.radius**2
    assert squared(SHAPE.ranked.amplitudes) > 4 * tightest.radius**2


@pytest.mark.parametrize("own", HELD, ids="".join)
def test_losses_rise_by_one_person_at_most(own):
    """Every loss, together with a person more, by something from 0 to 1."""
    moves = with_person(own).losses(SHAPE.ranked, CLIPS, unit=UNIT) - WITHOUT.losses(SHAPE.ranked, CLIPS, unit=UNIT)

    assert moves.min() >= 0
    assert moves.max() <= UNIT
    assert moves[0] == 0


def test_a_mean_moves_by_the_size_of_its_group():
    """A person who holds all of a group moves its sum by that many; broken twin: by more than one."""
    group = as_items(NAMES)
    moves = [with_person(own).held(group) - WITHOUT.held(group) for own in HELD]

    assert max(moves) == len(group)
    assert min(moves) >= 0
    assert max(moves) > 1


def test_the_crowd_moves_by_one():
    """What an item of everybody weighs rises by one unit for a person with one item, by less for longer lists."""
    rule = UniformWeights(bound=Bound(max_items=3, salt=b"salt"), norm=2, share="held", bits=20)
    moves = {own: with_person(own).everyone(rule) - WITHOUT.everyone(rule) for own in HELD}

    assert max(moves.values()) == moves["a",] == 2**20
    assert moves["a", "b"] == math.isqrt(2**40 // 2)
    assert moves["a", "b", "c"] == moves[tuple(NAMES)] == math.isqrt(2**40 // 3)


@pytest.mark.parametrize("rho", [Decimal("0.003"), Decimal("0.1"), Decimal(2)])
def test_a_choice_is_worth_what_it_is_charged(rho):
    """Range epsilon, and Renyi divergence at most rho times the order, both ways, for every list of a person."""
    epsilon = float(choice_epsilon(rho))
    for own in HELD:
        mine, theirs = both_laws(own, rho)
        ratios = [math.log(p / q) for p, q in zip(mine, theirs, strict=True)]

        assert max(ratios) - min(ratios) <= epsilon * (1 + 1e-9)
        for order in ORDERS:
            assert max(renyi(mine, theirs, order), renyi(theirs, mine, order)) <= float(rho) * order * (1 + 1e-9)
    assert zcdp.spent(choice_cost(rho)).rho <= rho


def test_a_choice_by_nearness_exceeds_its_range():
    """Broken twin: scored by how near a loss is to a goal, a choice has a wider range than it is charged for."""
    epsilon, widest = float(choice_epsilon(Decimal("0.1"))), 0.0
    for goal in range(1, 5):
        mine, theirs = both_laws(NAMES, Decimal("0.1"), lambda losses, goal=goal: np.abs(losses - goal * UNIT // 2))
        ratios = [math.log(p / q) for p, q in zip(mine, theirs, strict=True)]
        widest = max(widest, max(ratios) - min(ratios))

    assert widest > 1.1 * epsilon


class Noting(SeededSource):
    """A source that keeps the calls."""

    def __init__(self, seed):
        super().__init__(seed)
        self.calls = []

    def perform(self, call):
        """Noted, then drawn."""
        self.calls.append(call)
        return super().perform(call)


def crowd_of(people, items):
    """Nested lists: the first item is everybody's, the last of few, and ten people have all."""
    rows = [
        (person, f"item {item:02}")
        for person in range(people)
        for item in range(items)
        if person < 10 or person % (item + 1) == 0
    ]
    return incidence([person for person, _ in rows], [item for _, item in rows])


@pytest.mark.parametrize("rho", ["0.3", "3"])
def test_every_draw_is_worth_no_more_than_was_charged(rho):
    """Sum over all draws of a run of what each costs by its own noise and reach, beside what the run says."""
    for seed in range(4):
        source = Noting(seed)
        outcome = run_ntm(crowd_of(3000, 40), plan_ntm(rho_budget(rho, "1e-6")), source)
        due = Fraction(0)
        for call in source.calls:
            if isinstance(call, AddGaussian):
                each = call.reach.l2**2 if call.reach.l2 is not None else len(call.values)
                due += Fraction(each) / (2 * call.variance)
            elif isinstance(call, Peel) and call.last is None:
                due += (call.rate * call.reach.spread) ** 2 / 8
            elif isinstance(call, Peel):
                pass  # peeling is looked at by itself
            else:
                due += Fraction(call.reach.l2, call.unit) ** 2 / (2 * Fraction(call.stddev) ** 2)

        assert due <= Fraction(zcdp.spent(outcome.cost).rho) * (1 + Fraction(1, 10**9))
        assert due > Fraction(Decimal(rho)) / 2


def test_what_is_measured_depends_on_released_values_only():
    """The same outcomes of all draws on a neighbour lead to the same calls: purposes, laws, items and reaches."""
    plan = plan_ntm(rho_budget(2, "1e-6"), settings=Settings(crowded=1e6))
    data = crowd_of(2000, 30)
    source = Noting(3)
    run_ntm(data, plan, source)
    recorded = [(call, call.draw(SeededSource(3))) for call in source.calls]

    class Frozen(SeededSource):
        place = 0

        def perform(self, call):
            was, outcome = recorded[self.place]
            self.place += 1

            assert (was.purpose, was.reach) == (call.purpose, call.reach)
            assert getattr(was, "variance", None) == getattr(call, "variance", None)
            assert getattr(was, "priors", None) == getattr(call, "priors", None)
            return outcome

    # One person fewer, who has everything.
    rows = [(person, item) for person in range(2000) for item in range(30) if person < 10 or person % (item + 1) == 0]
    rows = [(person, item) for person, item in rows if person != 5]
    fewer = incidence([person for person, _ in rows], [f"item {item:02}" for _, item in rows])
    frozen = Frozen(3)
    run_ntm(fewer, plan, frozen)

    assert frozen.place == len(recorded)


def named_share(rho, length, people, *, naming):
    """The share of people that an item needs to be named, if all lists are this long."""
    del rho
    return naming.threshold * math.sqrt(length) / people


def peeled_share(rho, length, people, *, peeling):
    """The share of people that an item needs to be peeled, if a quarter of `length`/share items have a larger one."""
    odds = math.log(peeling.rows / float(level_delta(peeling, 30)))
    each = (1 / 8 + 1 / (2 * float(level_variance(peeling, 30))) / float(level_epsilon(peeling, 30)) ** 2) * odds**2
    low, high = 0.0, 10.0
    for _ in range(60):
        share = (low + high) / 2
        low, high = (share, high) if share * people < math.sqrt(each * length / (4 * share) / rho) else (low, share)
    return high


@pytest.mark.parametrize(
    ("rho", "length"), list(itertools.product((0.01, 0.1, 1.0), (10, 100, 1000))), ids=lambda value: f"{value}"
)
def test_naming_and_peeling_cross_at_the_same_share(rho, length):
    """Whatever the budget and the lists, both need the same share of people where that share is about 0.45."""
    naming, peeling = plan_ntm(rho_budget(rho, "1e-6")).rounds[2], plan_pcr_batched(rho_budget(rho, "1e-6"))
    people = [naming.threshold * math.sqrt(length) / share for share in np.linspace(0.05, 1.0, 96)]
    names = [named_share(rho, length, many, naming=naming) for many in people]
    peels = [peeled_share(rho, length, many, peeling=peeling) for many in people]
    crossing = next(share for share, other in zip(names, peels, strict=True) if share > other)

    assert 0.3 < crossing < 0.65
    assert names[0] < peels[0]
    assert names[-1] > peels[-1]


def test_a_plan_with_other_rounds_keeps_its_delta():
    """The deltas of all rounds that may be run come to delta at the most, and rho to rho, whatever the shares."""
    plan = plan_ntm(rho_budget("0.1", "1e-6"))
    spent = [zcdp.spent(one.cost) for one in plan.rounds]
    steps = sum(plan.means) + sum(plan.choices) + sum(plan.losses) + plan.rough + plan.crowd

    assert sum(one.delta for one in spent) <= plan.delta
    assert sum(one.delta for one in spent) > plan.delta * Decimal("0.999999")
    assert sum(one.rho for one in spent) + steps < plan.rho
    assert replace(plan, clips=False).cost == plan.cost
