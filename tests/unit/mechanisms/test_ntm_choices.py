"""NTM's ladder of candidates and what is chosen from it, over many shapes."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.mechanisms.counts.ntm_choice import (
    UNIT,
    Ladder,
    candidates,
    choice_call,
    choice_epsilon,
    choice_rho,
    log_priors,
    loss_rho,
    rarest,
)
from hushcount.mechanisms.counts.ntm_shape import shape_of
from hushcount.noise.source import SeededSource
from tests.unit.mechanisms.made_inputs import as_items

PREDICTIONS = st.lists(st.floats(1, 1e6), min_size=1, max_size=60)
ROOMS = st.floats(1e-12, 1.0)


def shape(predictions, *, rho=Fraction(1, 10)):
    """Items with these predictions."""
    names = as_items([f"item {number:03}" for number in range(len(predictions))])
    return shape_of(names, np.array(predictions, dtype=np.float64), rho=rho, finest=24)


@given(predictions=PREDICTIONS, room=ROOMS)
def test_candidates_get_rougher_step_by_step(predictions, room):
    """More items or less room at each step, all items in the end, and radii that the grid has."""
    made = shape(predictions)
    found = candidates(made, room, Ladder())

    assert found[-1].first == len(predictions)
    assert all(1 <= clip.first <= len(predictions) and 1 <= clip.radius < 2**31 for clip in found)
    assert all(one.first <= two.first for one, two in itertools.pairwise(found))
    assert not made.clips_somebody(found[0])
    last = [clip.radius for clip in found if clip.first == len(predictions)]
    assert last[1:] == sorted(last[1:], reverse=True)


@given(predictions=PREDICTIONS, room=ROOMS)
def test_the_wanted_noise_is_that_of_the_last_item(predictions, room):
    """With B* = 2 rho eta², the last of the items that count has noise of eta times its prediction."""
    made = shape(predictions)
    for clip in candidates(made, room, Ladder())[1:]:
        if clip.radius != made.radius(clip.first, room) or clip.radius < 1000:
            continue
        stddev = clip.radius / math.sqrt(2 * 0.1) / int(made.ranked.amplitudes[clip.first - 1])
        eta = math.sqrt(room / (2 * 0.1))

        assert stddev == pytest.approx(eta * made.predictions[clip.first - 1], rel=0.02)


@given(predictions=PREDICTIONS)
def test_noise_grows_more_slowly_than_counts(predictions):
    """In proportion to the power 3/4 of the predicted count, up to what the grid can tell."""
    made = shape(predictions)
    wanted = (made.predictions / made.predictions[-1]) ** 0.75
    noise = int(made.ranked.amplitudes[-1]) / made.ranked.amplitudes

    assert noise == pytest.approx(wanted, rel=0.01)


@given(predictions=PREDICTIONS, room=ROOMS, rho=st.sampled_from(["0.0003", "0.003", "0.3"]))
def test_priors_do_not_depend_on_losses(predictions, room, rho):
    """They are made of predictions and the number of the step alone, and rise at every step."""
    made = shape(predictions)
    clips = candidates(made, room, Ladder())
    priors = log_priors(made, clips, epsilon=float(choice_epsilon(Decimal(rho))), ladder=Ladder())

    assert len(priors) == len(clips)
    assert all(two - one + 1e-9 >= 0.25 and two - one <= 1.5 + 1e-9 for one, two in itertools.pairwise(priors))


def test_a_choice_follows_its_weights():
    """Drawn often, each candidate comes up in proportion to its prior and to e^(-epsilon loss)."""
    losses = np.array([0, UNIT // 2, 2 * UNIT], dtype=np.int64)
    priors, epsilon = [0.0, 0.6, 1.4], Decimal(1)
    call = choice_call("choice", losses, priors=priors, epsilon=epsilon)
    weights = np.exp(np.array(priors) - losses / UNIT)
    seen = np.bincount([int(call.draw(SeededSource(seed))[0]) for seed in range(4000)], minlength=3)

    assert seen / 4000 == pytest.approx(weights / weights.sum(), abs=0.03)


@pytest.mark.parametrize("rho", ["1e-9", "0.003", "24"])
def test_epsilon_is_never_above_what_rho_pays_for(rho):
    """epsilon²/8 is at most rho, exactly, and hardly less."""
    epsilon = Fraction(choice_epsilon(Decimal(rho)))

    assert epsilon**2 / 8 <= Fraction(Decimal(rho))
    assert epsilon**2 / 8 > Fraction(Decimal(rho)) * (1 - Fraction(1, 10**12))


@pytest.mark.parametrize("ladder", [Ladder(), Ladder(growth=2.0), Ladder(steps=3), Ladder(shrinking=0.5)])
def test_a_ladder_is_as_long_as_it_says(ladder):
    """Growth decides how many steps to all items, then so many shrink the room by the same factor."""
    made = shape([1000.0 / (number + 1) for number in range(50)])
    found = candidates(made, 1e-4, ladder)
    grown = [clip for clip in found if clip.first < 50]
    shrunk = [clip.radius for clip in found if clip.first == 50]

    assert len(shrunk) == ladder.steps + 1
    assert shrunk[-1] == pytest.approx(shrunk[0] * ladder.shrinking ** (ladder.steps / 2), rel=0.01, abs=1)
    assert all(two.first <= max(one.first + 1, one.first * ladder.growth) for one, two in itertools.pairwise(grown))


SHARES = st.sampled_from([Decimal("3e-11"), Decimal("0.0026"), Decimal("0.03"), Decimal(24)])


@given(most=SHARES, count=st.floats(1e-3, 1e12), asked=st.sampled_from([0.02, 0.0025]))
def test_a_choice_needs_no_more_than_its_share_and_than_its_steps_are_worth(most, count, asked):
    """From a hundredth of the share to all of it; between, a step's log-prior is what it may be at most."""
    ladder = Ladder(worth=asked)
    rho = choice_rho(most, count, ladder)

    assert most / 100 - Decimal("1e-36") <= rho <= most
    if most / 100 < rho < most:
        assert float(choice_epsilon(rho)) * asked * count == pytest.approx(ladder.most)


@given(most=SHARES, stddev=st.floats(1e-3, 1e12))
def test_a_loss_needs_no_more_than_its_share_and_than_its_noise(most, stddev):
    """From a hundredth of the share to all of it; between, its noise has the deviation that was asked for."""
    rho = loss_rho(most, stddev)

    assert most / 100 - Decimal("1e-36") <= rho <= most
    if most / 100 < rho < most:
        assert 1 / math.sqrt(2 * rho) == pytest.approx(stddev)


@given(predictions=PREDICTIONS, room=ROOMS)
def test_the_rarest_item_is_thought_to_be_one_of_those_that_may_be_last(predictions, room):
    """Between the last one that fits without a clip and the last one of all."""
    made = shape(predictions)
    first = candidates(made, room, Ladder())[0].first

    assert made.predictions[-1] * (1 - 1e-9) <= rarest(made, room) <= made.predictions[first - 1] * (1 + 1e-9)
