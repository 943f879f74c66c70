"""The parts of NTM one by one, with noise that a test chooses."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hushcount.accounting import zcdp
from hushcount.app.intervals import intervals
from hushcount.engines.incidence import incidence
from hushcount.errors import BudgetExhausted, InvalidParameter
from hushcount.mechanisms.chooser import choose
from hushcount.mechanisms.counts import ntm, ntm_choice
from hushcount.mechanisms.counts.ntm_course import Course, Group, Measured
from hushcount.mechanisms.counts.ntm_estimates import estimate
from hushcount.mechanisms.counts.ntm_plan import Settings, Shares, plan_ntm
from hushcount.mechanisms.counts.ntm_shape import shape_of
from hushcount.mechanisms.counts.purse import Purse
from hushcount.mechanisms.table import find
from hushcount.model.budgets import epsilon_budget, rho_budget
from hushcount.model.costs import Concentrated, Cost, DiscreteGaussian, Failure
from hushcount.model.facts import Facts
from hushcount.model.inputs import Clip
from hushcount.noise.calls import AddGaussian, Peel
from hushcount.noise.source import SeededSource
from tests.unit.mechanisms.made_inputs import as_items

PLAN = plan_ntm(rho_budget(1, "1e-6"))
NAMES = [f"item {number:02}" for number in range(20)]


class Chosen(SeededSource):
    """Noise as a test wants it: a number for sums, a row for choices, yes for the items of each naming round."""

    def __init__(self, *, noise=0, row=0, named=()):
        super().__init__(0)
        self.noise, self.row, self.named = noise, row, list(named)
        self.calls = []

    def perform(self, call):
        """No randomness at all."""
        self.calls.append(call)
        if isinstance(call, AddGaussian):
            return call.values + self.noise
        if isinstance(call, Peel):
            return np.array([self.row if self.row >= 0 else len(call.values) + self.row])
        wanted = self.named.pop(0) if self.named else set()
        return np.array([item in wanted for item in call.keys.items.tolist()], dtype=np.bool_)


def people(count=1000, items=20):
    """Person p has item n if p is a multiple of n + 1."""
    rows = [(person, NAMES[item]) for person in range(count) for item in range(items) if person % (item + 1) == 0]
    return incidence([person for person, _ in rows], [item for _, item in rows])


def course(plan=PLAN, data=None, **chosen):
    """A run that is about to begin."""
    return Course(incidence=data or people(), plan=plan, noise=Chosen(**chosen), purse=Purse(plan.rho, plan.delta))


class Asked:
    """An incidence that notes which clips it was asked about."""

    def __init__(self, data):
        self.data, self.clips = data, []

    def losses(self, ranked, clips, *, unit):
        """As the data has them."""
        self.clips.append(list(clips))
        return self.data.losses(ranked, clips, unit=unit)


def test_a_purse_remembers_and_refuses():
    """What is paid adds up, what does not fit is refused whole, and what is left goes down."""
    purse = Purse("0.5", "1e-6")
    step = Cost.of(DiscreteGaussian(rho=Decimal("0.2")), Failure(delta=Decimal("4e-7")))
    purse.pay(step)
    purse.pay(step)

    assert zcdp.spent(purse.bought).rho == Decimal("0.4")
    assert purse.rho == Decimal("0.1")
    assert purse.delta == Decimal("2e-7")
    assert not purse.fits(step)
    assert purse.times(Cost.of(Concentrated(rho=Decimal("0.03")))) == 3
    with pytest.raises(BudgetExhausted):
        purse.pay(step)
    assert zcdp.spent(purse.bought).rho == Decimal("0.4")


def test_the_crowd_is_what_an_item_of_everybody_weighs():
    """The sum of 1/sqrt(list length) over people, and what the plan says is paid for it."""
    one = course()
    lengths = np.diff(people().whole().offsets)

    assert one.crowd() == pytest.approx(np.sum(lengths**-0.5), rel=1e-5)
    assert zcdp.spent(one.purse.bought).rho == PLAN.crowd


def test_a_round_names_and_measures_the_mean():
    """The mean of what is named, sorted by item, with one round's cost and one mean's."""
    one = course(named=[{NAMES[1], NAMES[0]}])
    group = one.name(0, [])
    limit = zcdp.spent(PLAN.rounds[0].cost).rho + PLAN.means[0]

    assert group.items.tolist() == NAMES[:2]
    assert group.mean == pytest.approx((1000 + 500) / 2)
    measured = one.noise.calls[-1]
    assert (measured.purpose, measured.values.tolist(), measured.reach.l2) == ("ntm/mean/0", [1500], 2)
    assert measured.variance == 2**2 / (2 * Fraction(PLAN.means[0]))
    assert float(zcdp.spent(one.purse.bought).rho) == pytest.approx(float(limit))


def test_what_was_named_is_not_named_again():
    """Later rounds do not see what is out already."""
    one = course(named=[set(NAMES[:2]), set(NAMES)])
    first = one.name(0, [])
    second = one.name(1, [first])

    assert set(second.items.tolist()) == set(NAMES[2:])


def test_a_mean_has_a_floor_and_never_rises():
    """Not below one and a half deviations of its noise, and not above the mean of an earlier round."""
    low = course(named=[{NAMES[19]}], noise=-10_000).name(0, [])
    earlier = [Group(items=as_items(["x"]), mean=321.0)]
    later = course(named=[{NAMES[0]}]).name(0, earlier)

    assert low.mean == pytest.approx(1.5 / math.sqrt(2 * PLAN.means[0]))
    assert later.mean == 321.0


def test_a_round_without_names_buys_no_mean():
    """Nothing is measured of nothing."""
    one = course()

    assert one.name(0, []) is None
    assert zcdp.spent(one.purse.bought) == zcdp.spent(PLAN.rounds[0].cost)


def shape(counts=(800.0, 400.0, 100.0)):
    """Three items with predictions."""
    return shape_of(as_items(NAMES[:3]), np.array(counts), rho=Fraction(1, 10), finest=24)


def test_a_choice_is_the_row_that_was_drawn():
    """The first candidate clips nobody, the last has all items and little room."""
    first = course(row=0).choose(shape(), room=1e-9, rho=PLAN.choices[0], number=0)
    last = course(row=-1).choose(shape(), room=1e-9, rho=PLAN.choices[1], number=1)

    assert first == shape().unclipped(1)
    assert last.first == 3
    assert last.radius < shape().unclipped(3).radius


def test_counts_come_back_in_people():
    """Without noise and without a clip, sums over amplitudes are the true counts."""
    one = course(data=people())
    found = one.measure(shape(), shape().unclipped(3), rho=Decimal("0.1"), purpose="counts")

    assert found.counts.tolist() == [1000.0, 500.0, 334.0]
    assert found.smallest == 100.0
    assert found.stddevs == pytest.approx(found.stddevs[2] * (np.array([800, 400, 100]) / 100) ** 0.75, rel=1e-5)


def test_what_a_clip_takes_is_bought_only_where_it_can_take():
    """Where nobody can be clipped it costs nothing; a tight clip costs its share and says what it took."""
    loose, tight = course(), course()
    unclipped = shape().unclipped(3)
    clip = replace(unclipped, radius=unclipped.radius // 3)
    rho = Decimal("0.02")
    lost, stddev = tight.lost(shape(), clip, rho=rho, number=1)

    assert loose.lost(shape(), unclipped, rho=rho, number=1) == (0.0, 0.0)
    assert not loose.purse.bought.events
    assert zcdp.spent(tight.purse.bought).rho == rho
    assert lost > 0
    assert stddev == pytest.approx(5)
    counts = tight.measure(shape(), clip, rho=Decimal("0.1"), purpose="counts").counts
    assert (np.array([1000, 500, 334]) - counts <= lost + 1e-9).all()


def test_more_names_are_sought_only_if_they_can_be_measured():
    """Few popular items leave room for two rounds more; many rare ones leave none."""
    popular = [Group(items=as_items(["x"]), mean=5000.0)]
    rare = [Group(items=as_items(NAMES), mean=2.0)]
    one, two = course(named=[{NAMES[0]}, {NAMES[1]}]), course(named=[{NAMES[0]}])

    assert len(ntm._more_names(one, popular, 1.0)) == 3  # noqa: SLF001
    assert ntm._more_names(two, rare, 1.0) == rare  # noqa: SLF001
    assert not two.noise.calls


@pytest.mark.parametrize("more", [{NAMES[4]}, set()])
def test_what_further_rounds_name_is_measured(more):
    """It was paid for; where they name nothing, what was named before is."""
    plan = plan_ntm(rho_budget(1, "1e-6"), settings=Settings(crowded=1e6, few=(math.inf, math.inf)))
    known = set(NAMES[:2])
    source = Chosen(named=[known, *[set()] * (plan.first - 1), more], row=0)
    find("ntm").run(people(), plan, source)
    rough = next(call for call in source.calls if call.purpose == "ntm/rough")

    assert rough.keys.items.tolist() == sorted(known | more)


def test_the_clip_keeps_its_share_when_more_is_named():
    """The radius is the same share of all squares, and all of them where nobody was clipped."""
    whole = shape()

    assert ntm._radius(whole, 1.0) == whole.unclipped(3).radius  # noqa: SLF001
    assert ntm._radius(whole, 0.25) == pytest.approx(whole.unclipped(3).radius / 2, rel=1e-5)  # noqa: SLF001


def rough(counts, stddevs):
    """Rough counts of the first items."""
    return Measured(
        items=as_items(NAMES[: len(counts)]),
        counts=np.array(counts, dtype=np.float64),
        stddevs=np.array(stddevs, dtype=np.float64),
        smallest=1.0,
    )


def test_predictions_lie_between_the_mean_and_the_rough_count():
    """Weighed by precision, 0.7 of the mean for the mean itself, and a quarter of the mean at least."""
    groups = [Group(items=as_items(NAMES[:3]), mean=100.0)]
    found = ntm._predicted(PLAN, groups, rough([200, 100, -500], [70, 7, 20]))  # noqa: SLF001
    predicted = dict(zip(found.ranked.items.tolist(), found.predictions.tolist(), strict=True))

    assert predicted[NAMES[0]] == pytest.approx(150)
    assert predicted[NAMES[1]] == pytest.approx(100)
    assert predicted[NAMES[2]] == 25


def test_final_counts_get_all_that_is_left():
    """If nobody can be clipped, the share of the loss too; the purse is then empty."""
    one = course(row=0)
    ntm._final(one, shape())  # noqa: SLF001

    assert one.purse.rho == 0


def amounts(counts, *, row):
    """What the second choice, the loss and the final counts cost, where items are predicted to have these counts."""
    one = course(row=row)
    ntm._final(one, shape(counts))  # noqa: SLF001
    paid = {}
    for call in one.noise.calls:
        epsilon = call.rate * call.reach.spread if isinstance(call, Peel) else None
        due = Fraction(call.reach.l2) ** 2 / (2 * call.variance) if epsilon is None else epsilon**2 / 8
        paid[call.purpose.removeprefix("ntm/")] = float(due)
    return one, paid


@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_what_a_choice_and_a_loss_do_not_need_is_for_the_counts(size):
    """Where counts are small all of both shares is used; where they are large little is, and counts get the rest."""
    one, paid = amounts((8 * size, 4 * size, size), row=-1)
    shares = float(PLAN.choices[1]), float(PLAN.losses[1])

    assert one.purse.rho < Decimal("1e-15")
    assert sum(paid.values()) == pytest.approx(float(PLAN.rho))
    if size == 1:
        assert (paid["choice/1"], paid["lost/1"]) == pytest.approx(shares)
    else:
        count = ntm_choice.rarest(shape((8 * size, 4 * size, size)), 2 * 0.944 * PLAN.final_noise**2)
        epsilon, stddev = 1.5 / (0.02 * count), PLAN.loss_noise * PLAN.final_noise * count
        assert paid["choice/1"] == pytest.approx(max(epsilon**2 / 8, shares[0] / 100))
        assert paid["lost/1"] == pytest.approx(max(1 / (2 * stddev**2), shares[1] / 100))
        assert paid["counts"] > 0.99


def test_a_rough_loss_has_half_of_the_noise_of_the_last_count():
    """In a whole run in which people hold many items: less than its share is paid for it, by the clip as drawn."""
    names = [f"{number:03}" for number in range(400)]
    data = incidence(np.repeat(np.arange(600), 400), names * 600)
    settings = Settings(crowded=1e6, few=(math.inf, math.inf))
    plan = plan_ntm(rho_budget("0.1", "1e-6"), settings=settings)
    # The first candidate with all of them.
    source = Chosen(named=[set(names), set(), set()], row=7)
    find("ntm").run(data, plan, source)
    calls = {call.purpose: call for call in source.calls}
    loss, counts = calls["ntm/lost/0"], calls["ntm/rough"]
    # All predictions are alike, so that the last item has the amplitude of a whole person.
    made = shape_of(as_items(names), np.full(400, 600.0), rho=plan.least, finest=24)
    noise = made.stddev(Clip(first=400, radius=counts.reach.l2), plan.rough)

    assert math.sqrt(counts.variance) / int(made.ranked.amplitudes[-1]) == pytest.approx(noise)
    assert math.sqrt(loss.variance) / loss.reach.l2 == pytest.approx(noise / 2)
    assert Fraction(loss.reach.l2) ** 2 / (2 * loss.variance) < Fraction(plan.losses[0]) / 2


@pytest.mark.parametrize("row", [1, 3, -1])
def test_what_the_chosen_clip_takes_away_is_not_asked_of_all_people_again(row):
    """The choice has asked about it: the same number as by itself. Of other items, clips or units it is asked anew."""
    data = Asked(people())
    one = course(data=data, row=row)
    items = as_items(NAMES)
    shape, other = (shape_of(items, np.linspace(900, last, 20), rho=PLAN.least, finest=24) for last in (50, 40))
    clip = one.choose(shape, room=10.0, rho=PLAN.choices[0], number=0)
    lost, _ = one.lost(shape, clip, rho=PLAN.losses[0], number=0)
    tight, fine, coarse = Clip(first=clip.first, radius=clip.radius // 2), Decimal("0.01"), Decimal("1e-12")

    assert len(data.clips) == 1
    assert lost > 0
    assert one.noise.calls[-1].values.tolist() == people().losses(shape.ranked, [clip], unit=2**20).tolist()
    # What was asked of coarse parts of people is not remembered.
    again = [(shape, tight, fine), (other, tight, fine), (shape, tight, coarse), (shape, tight, fine)]
    for asked, of, rho in again:
        assert one.lost(asked, of, rho=rho, number=1) == course().lost(asked, of, rho=rho, number=1)
    assert data.clips[1:] == [[tight]] * 4


@pytest.mark.parametrize("items", [1, 1000, 200_000])
@pytest.mark.parametrize("rho", [Fraction(1, 10**8), Fraction(1, 100), Fraction(10)])
def test_grids_stay_within_64_bits(items, rho):
    """Neither the sum of squares nor the variance of the noise on it leaves 2^63, on any grid."""
    names = as_items([f"{number}" for number in range(items)])
    found = shape_of(names, np.linspace(10, 1e6, items), rho=rho, finest=24)

    assert int(found.squares[-1]) < 2**62
    assert Fraction(found.unclipped(items).radius) ** 2 / (2 * rho) < 2**63
    assert int(found.ranked.amplitudes.min()) >= 1


def test_items_with_equal_predictions_stand_in_the_order_of_their_texts():
    """So that nothing but released values decides which of them comes first."""
    found = shape_of(as_items(["b", "c", "a"]), np.array([5.0, 9.0, 5.0]), rho=Fraction(1), finest=8)

    assert found.ranked.items.tolist() == ["c", "a", "b"]
    assert found.unclipped(2).first == 2
    assert found.clips_somebody(Clip(first=3, radius=1))


def test_what_was_clipped_is_said():
    """In people, from what was released, and nothing is said where nothing could be clipped."""
    whole, clipped = rough([90], [1]), replace(rough([90], [1]), lost=12.0, lost_stddev=2.0)
    found = [estimate(one, most_noise=0.07).lost for one in (whole, clipped)]

    assert found == [0, 16]
    assert ntm._remark(found[0]) is None  # noqa: SLF001
    assert "up to about 16 people" in ntm._remark(found[1])  # noqa: SLF001


def test_only_what_upper_ends_allow_for_is_said():
    """A loss of rough counts is none of rows that go by the final count alone, and in part one of those far above."""
    final = rough([5000, 90], [10, 3])
    before = replace(rough([5000, 90], [10, 3]), lost=40.0, lost_stddev=2.0)
    near = estimate(
        replace(final, items=final.items[1:], counts=final.counts[1:], stddevs=final.stddevs[1:]),
        before,
        most_noise=0.07,
    )
    both = estimate(final, before, most_noise=0.07)

    assert near.lost == 0
    assert both.lost == math.ceil((40 + 1.645 * 2) / 2)


def test_ends_of_a_mechanism_are_taken_as_they_are():
    """An interval that a mechanism made itself is the one that is printed."""
    outcome = find("ntm").run(people(3000), PLAN, SeededSource(1))
    low, high = intervals(outcome)

    assert len(outcome.items)
    assert low is outcome.low
    assert high is outcome.high


@pytest.mark.parametrize("name", ["ntm", "ntm-unclipped"])
def test_a_cap_is_refused_by_name(name):
    """It counts people; with a cap the chooser takes the one that counts rows, and says why."""
    with pytest.raises(InvalidParameter, match=f"per_item_cap = 3 .* left out for '{name}'"):
        find(name).plan(rho_budget(1, "1e-6"), Facts(per_item_cap=3))
    chosen = choose("count", rho_budget(1, "1e-6"), Facts(per_item_cap=3))

    assert chosen.mechanism.name == "pcr-batched"
    assert "rows count" in chosen.reason


def test_what_to_expect_grows_with_the_lists():
    """For longer lists the rarest count that can be measured well is larger, by the root of their length."""
    *notes, last = find("ntm").expect(PLAN).notes
    cutoffs = [int(note.split("about ")[1].split(" people")[0].replace(",", "")) for note in notes]

    assert len(notes) == 3
    assert "top list" in last
    assert cutoffs[1] / cutoffs[0] == pytest.approx(math.sqrt(10), rel=0.05)
    assert cutoffs[2] / cutoffs[1] == pytest.approx(math.sqrt(10), rel=0.05)


def test_an_epsilon_budget_is_converted_once():
    """Half of delta is for failures; the plan is that of the rho which the rest allows."""
    plan = plan_ntm(epsilon_budget(2, "1e-5"))

    assert plan.delta == Decimal("5e-6")
    assert plan_ntm(rho_budget(plan.rho, plan.delta)).rounds == plan.rounds


def test_a_share_of_nothing_buys_nothing():
    """Without a crowd, means or a loss, none of these is drawn."""
    nothing = Fraction(0)
    shares = replace(Shares(), crowd=nothing, means=(nothing,) * 5, losses=(nothing, nothing))
    source = Chosen(named=[set(NAMES[:3]), set(), set()], row=-1)
    find("ntm").run(people(), plan_ntm(rho_budget(1, "1e-6"), shares=shares), source)

    assert not {"crowd", "mean", "lost"} & {call.purpose.split("/")[1] for call in source.calls}
