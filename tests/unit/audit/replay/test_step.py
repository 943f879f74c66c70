"""Record and replay: sound mechanisms pass, and each way to differ on a neighbour is seen."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hushcount.audit.pricing import broken_table, overspent, price, shown_alone
from hushcount.audit.replay.crowds import crowds
from hushcount.audit.replay.recording import Leak, Recorder, compare_outcomes, joined, moves
from hushcount.audit.replay.step import Replays, replay, replay_once
from hushcount.audit.subject import subjects_of
from hushcount.errors import InvalidInput
from hushcount.mechanisms.selection.optimal import plan_optimal
from hushcount.mechanisms.table import find
from hushcount.model.budgets import epsilon_budget
from hushcount.model.costs import Approximate, BoundedRange, Cost, DiscreteGaussian, Failure, Pure
from hushcount.model.outcomes import Outcome
from hushcount.noise.calls import AddLaplace, AddTruncated, KeepByTable, KeepLaplace, Peel, Reach
from hushcount.noise.source import ItemKeys, SeededSource

ENOUGH = Cost.of(Pure(epsilon=Decimal(100)), Failure(delta=Decimal("0.99")))


def keys(texts):
    """Keys that are told apart by their item alone."""
    items = np.array(list(texts), dtype=object)
    return ItemKeys(items, np.array([[ord(text) for text in texts]] * 2, dtype=np.uint64))


def call(counts, *, reach=None, purpose="test", rate=Fraction(1), more=()):
    """Laplace noise on the counts of items, and on values that belong to none."""
    return AddLaplace(
        purpose=purpose,
        keys=keys(counts),
        values=np.array([*counts.values(), *more], dtype=np.int64),
        reach=reach or Reach(each=1, rows=2),
        rate=rate,
    )


def outcome(items=(), counts=None, **parts):
    """A release of nothing but what is given."""
    form = {
        "mechanism": "test",
        "items": np.array(list(items), dtype=object),
        "counts": None if counts is None else np.array(counts),
        "noise": "none",
        "noise_scale": None,
        "cutoff": None,
        "cost": ENOUGH,
        "private": False,
    }
    return Outcome(**{**form, **parts})


def shown_above(counts, threshold, **how):
    """A run that shows the noisy counts above a threshold, by item."""

    def answer(noise):
        noisy = noise.perform(call(counts, **how))
        shown = {item: int(n) for item, n in zip(counts, noisy, strict=False) if n > threshold}
        return outcome(sorted(shown), [shown[item] for item in sorted(shown)])

    return answer


def both(one, two):
    """Replay in both directions."""
    seen = Replays()
    replay_once(one, two, seed=3, seen=seen)
    replay_once(two, one, seed=3, seen=seen)
    return seen


def test_what_one_person_moves_is_measured():
    """A reach that is used up is reported as such: a smaller one would have been refused."""
    finding = replay(subjects_of(find("weighted-laplace"), quick=True)[0], quick=True)

    assert finding.measured == "l1 of the values of 'weighted-laplace' moved by 1 times what is declared"


def test_the_same_is_shown_when_the_draws_are_frozen():
    """Counts that moved by one, an item of one side alone: the frozen outcomes are shown on both sides."""
    seen = both(shown_above({"a": 50, "b": 50}, 3), shown_above({"b": 49, "c": 1, "a": 50}, 3))

    assert seen.runs == 2
    assert seen.draws == 2
    assert seen.moves[0].share == 1


@pytest.mark.parametrize(
    ("one", "two", "how", "words"),
    [
        ({"a": 5}, {"a": 3}, {}, "each"),
        ({"a": 5, "b": 5, "c": 5}, {"a": 4, "b": 4, "c": 4}, {}, "rows"),
        ({"a": 5, "b": 5}, {"a": 4, "b": 4}, {"reach": Reach(l1=1)}, "l1"),
        ({"a": 5, "b": 5}, {"a": 4, "b": 4}, {"reach": Reach(l2=1)}, "l2"),
        ({"a": 5, "b": 5}, {"a": 4, "b": 6}, {"reach": Reach(spread=1)}, "spread"),
    ],
)
def test_a_move_beyond_the_reach_is_a_leak(one, two, how, words):
    """In each measure, as soon as it is above what is declared."""
    with pytest.raises(Leak, match=f"^{words} of the values"):
        both(shown_above(one, 3, **how), shown_above(two, 3, **how))


def test_values_that_belong_to_no_item_are_measured():
    """A boundary that moves too far is seen like a count."""
    with pytest.raises(Leak, match="each of the values"):
        both(shown_above({"a": 5}, 3, more=(7,)), shown_above({"a": 5}, 3, more=(9,)))


def test_the_reach_is_that_of_all_blocks_together():
    """Two calls of one purpose and law are one draw: one person may move two values in all, not in each."""

    def blocks(level):
        def answer(noise):
            for names in ("ab", "cd"):
                noise.perform(call(dict.fromkeys(names, level)))
            return outcome()

        return answer

    with pytest.raises(Leak, match="rows of the values of 'test' moved by 2 times"):
        both(blocks(5), blocks(4))
    assert len(joined([call({"a": 1}), call({"b": 1}), call({"c": 1}, rate=Fraction(2))])) == 2


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"purpose": "other"}, "on one side is"),
        ({"rate": Fraction(2)}, "the rate of 'test' depends"),
        ({"reach": Reach(each=2)}, "the reach of 'test' depends"),
        ({"more": (1,)}, "another number of values"),
    ],
)
def test_another_call_is_a_leak(how, words):
    """What is drawn, and by which law, must not depend on the data."""
    with pytest.raises(Leak, match=f"control flow: .*{words}"):
        both(shown_above({"a": 5}, 3), shown_above({"a": 5}, 3, **how))


def test_a_draw_more_or_less_is_a_leak():
    """How often is drawn must not depend on the data, in either direction."""

    def often(times):
        def answer(noise):
            for n in range(times):
                noise.perform(call({"a": 5}, purpose=f"{n}"))
            return outcome()

        return answer

    for one, two in ((1, 2), (2, 1)):
        with pytest.raises(Leak, match="'1' is a draw that the neighbour does not make"):
            replay_once(often(one), often(two), seed=0, seen=Replays())


def test_an_error_on_one_side_is_a_leak():
    """An error is an output."""

    def refuse(noise):
        raise InvalidInput("too long")

    with pytest.raises(Leak, match="InvalidInput"):
        both(shown_above({"a": 5}, 3), refuse)


@pytest.mark.parametrize(
    ("first", "second"),
    [(call({"a": 5}), call({"b": 2, "a": 5})), (call({"a": 5}, more=(1,)), call({"b": 5}, more=(1,)))],
    ids=["an item", "a value of no item"],
)
def test_draws_that_share_their_words_are_a_leak(first, second):
    """Consistent noise is a function of purpose and item: a second draw under the same is no second draw."""

    def answer(noise):
        noise.perform(first)
        noise.perform(second)
        return outcome()

    with pytest.raises(Leak, match="'test' is drawn twice from the same words"):
        both(answer, answer)


@pytest.mark.parametrize(
    ("one", "two", "words"),
    [
        (outcome("ab"), outcome("ba"), "items"),
        (outcome("a", [3]), outcome("a", [4]), "counts"),
        (outcome(cutoff=1.0), outcome(cutoff=2.0), "cutoff"),
        (outcome(), outcome(cost=Cost.of(Pure(epsilon=Decimal(1)))), "cost"),
        (outcome(private=True), outcome(private=True), "fixed seed"),
        (outcome("a", [3.5]), outcome("a", [3.5]), "not integers"),
    ],
)
def test_releases_that_differ_are_a_leak(one, two, words):
    """Everything that is released is compared: order, numbers, cut-off and cost."""
    with pytest.raises(Leak, match=words):
        compare_outcomes(one, two)


def test_an_item_of_one_side_that_is_always_shown_is_a_leak():
    """Hidden by the lowest noise, it must not be shown."""
    with pytest.raises(Leak, match="items of the release differ"):
        both(shown_above({"a": 5}, -(2**62)), shown_above({"a": 5, "b": 1}, -(2**62)))


def test_draws_outside_the_hook_are_refused():
    """A draw that no call shows declares nothing."""
    recorder = Recorder(SeededSource(1), {})

    with pytest.raises(Leak, match="outside the hook"):
        recorder.draws("own", 3)
    with pytest.raises(Leak, match="outside the hook"):
        recorder.item_draws("own", recorder.identify(np.array(["a"], dtype=object)))


def peel(scores, *, last=True, **how):
    """Items in the order of the exponential mechanism, with bottom behind them."""
    bottom = {"priors": {len(scores): Fraction(2)}, "last": len(scores)} if last else {}
    return Peel(
        purpose="pick",
        keys=keys(scores),
        values=np.array([*scores.values(), *([4] if last else [])], dtype=np.int64),
        reach=Reach(spread=1),
        rate=Fraction(1),
        **{**bottom, **how},
    )


def picked(scores, **how):
    """A run that shows the picked names in their order."""

    def answer(noise):
        names = [*scores, None]
        return outcome([name for row in noise.perform(peel(scores, **how)) if (name := names[row])])

    return answer


@pytest.mark.parametrize("seed", range(20))
def test_an_order_is_frozen_by_item(seed):
    """Rows stand elsewhere on the neighbour and one is missing: the order of the others is the same."""
    one, two = {"a": 5, "b": 6, "c": 5}, {"c": 5, "b": 5}
    replay_once(picked(one), picked(two), seed=seed, seen=Replays())
    replay_once(picked(two), picked(one), seed=seed, seen=Replays())


@pytest.mark.parametrize("seed", range(20))
def test_truncated_noise_hides_at_its_lowest(seed):
    """The lowest noise is one that can happen, and an item of one person is then not shown."""

    def answer(counts):
        def run(noise):
            form = AddTruncated(
                purpose="t",
                keys=keys(counts),
                values=np.array(list(counts.values()), dtype=np.int64),
                reach=Reach(each=1, rows=1),
                rate=Fraction(1),
                bound=3,
            )
            noisy = noise.perform(form)
            assert np.all(noisy >= form.values - 3)
            return outcome(sorted(item for item, n in zip(counts, noisy, strict=True) if n > 3))

        return run

    replay_once(answer({"a": 9, "b": 1}), answer({"a": 9}), seed=seed, seen=Replays())


def test_moves_are_compared_in_integers():
    """A square that is one too large is seen, far beyond what doubles tell apart."""
    unit = 2**40
    one = call({"a": unit, "b": 0}, reach=Reach(l2=unit))
    two = replace(one, values=np.array([0, 1], dtype=np.int64))
    (move,) = moves(one, two)

    assert move.moved - move.declared == 1
    assert move.share == 1


def test_prices_follow_the_laws():
    """Each kind of call costs what its guarantee says, and an unpaid rest is found."""
    two = call({"a": 5, "b": 5, "c": 5})

    assert price(two, 3) == Cost.of((Pure(epsilon=Decimal(1)), 2))
    assert price(peel({"a": 1, "b": 2}), 2) == Cost.of((BoundedRange(epsilon=Decimal(1)), 2))
    assert overspent([Cost.of((Pure(epsilon=Decimal(1)), 2))], Cost.of(Pure(epsilon=Decimal(2)))) is None
    assert "epsilon 2" in (
        overspent([Cost.of((Pure(epsilon=Decimal(1)), 2))], Cost.of(Pure(epsilon=Decimal("1.9")))) or ""
    )
    rho = [Cost.of(DiscreteGaussian(rho=Decimal("0.2")))]
    assert "rho 0.2" in (overspent(rho, Cost.of(DiscreteGaussian(rho=Decimal("0.1")))) or "")


def test_a_run_that_is_not_paid_for_is_a_leak():
    """The replay holds what the draws cost against what the release says."""
    cheap = Cost.of(Pure(epsilon=Decimal("0.1")), Failure(delta=Decimal("0.1")))

    def answer(noise):
        noise.perform(call({"a": 5}))
        return outcome(cost=cheap)

    with pytest.raises(Leak, match="the draws cost"):
        both(answer, answer)


def test_a_call_without_a_price_is_a_leak():
    """A reach that does not limit what the noise costs is no claim at all."""
    with pytest.raises(Leak, match="nobody can say what 'test' costs"):
        both(shown_above({"a": 5}, 3, reach=Reach(rows=1)), shown_above({"a": 5}, 3, reach=Reach(rows=1)))


def test_the_chance_of_what_one_side_has_alone():
    """By the law of the coins, and, for an order, by the weights of the rows and of bottom."""
    coins = KeepLaplace(
        purpose="k",
        keys=keys("ab"),
        values=np.array([0, 1], dtype=np.int64),
        reach=Reach(l1=1),
        unit=1,
        scale=1.0,
        threshold=1.0,
    )

    assert shown_alone(coins, [1]) == pytest.approx(0.5)
    assert shown_alone(coins, [0, 1]) == pytest.approx(1 - 0.5 * (1 - 0.5 * np.exp(-1)))
    assert shown_alone(peel({"a": 4, "b": 4}), [0, 1]) == pytest.approx(0.5)
    assert shown_alone(peel({"a": 4}, last=False), [0]) == 0
    assert shown_alone(call({"a": 1}), [0]) == 0
    assert shown_alone(coins, []) == 0


def test_a_coin_that_shows_one_side_too_often_is_a_leak():
    """An item of one person alone, half of the time, for a delta of a tenth."""
    cost = Cost.of(Pure(epsilon=Decimal(9)), Failure(delta=Decimal("0.1")))

    def answer(names):
        def run(noise):
            coins = KeepByTable(
                purpose="k",
                keys=keys(names),
                values=np.ones(len(names), dtype=np.int64),
                reach=Reach(each=1, rows=1),
                table=(0, 2**127, 2**128),
            )
            return outcome([name for name, kept in zip(names, noise.perform(coins), strict=True) if kept], cost=cost)

        return run

    with pytest.raises(Leak, match=r"probability 0\.5, charged were 0\.1"):
        replay_once(answer("ab"), answer("a"), seed=0, seen=Replays())


def test_a_table_is_compared_with_what_is_charged():
    """The optimal table stays within its charge; an entry one unit higher does not."""
    plan = plan_optimal(epsilon_budget(1, "0.01"), 1)
    coins = KeepByTable(
        purpose="k", keys=None, values=np.zeros(0, dtype=np.int64), reach=Reach(each=1), table=plan.table
    )
    # Entries are rounded down on a grid of 2^-128, so a few units above may still be allowed.
    raised = replace(coins, table=(plan.table[0], plan.table[1] + 2**20, *plan.table[2:]))

    assert broken_table(coins, plan.cost) is None
    assert "0 and 1 people" in (broken_table(raised, plan.cost) or "")
    assert broken_table(coins, Cost.of(Failure(delta=Decimal("0.1")))) is None
    assert isinstance(plan.cost.events[0][0], Approximate)


def test_crowds_are_neighbours_and_always_the_same():
    """Each crowd loses a person who is there, and another look gives the same tables."""
    first, again = list(crowds(quick=True)), list(crowds(quick=True))

    assert first == again
    assert all(0 < len(pair.without) < len(pair.rows) for pair in first)
    assert len(list(crowds(quick=False))) > len(first)
