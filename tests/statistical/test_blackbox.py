"""The black box by simulation: it finds what it says it finds, and cries wolf as seldom as it says.

All draws are seeded: a red run can be repeated. Where a number of alarms is compared with a stated probability, the
comparison itself would fail by chance with probability below 1e-4, had it not been seeded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import count

import numpy as np
import pytest
from scipy import stats

import hushcount
from hushcount.app import answer
from hushcount.app.setting import passing_setting
from hushcount.audit.blackbox import probes as events
from hushcount.audit.blackbox.bounds import proven
from hushcount.audit.blackbox.power import POWER, found_excess, is_found, runs_needed, worst_event
from hushcount.audit.blackbox.probes import choose_probe
from hushcount.audit.blackbox.step import ALARM, CASES, Trial, alarm_of_a_trial, attack, black_box, measure
from hushcount.audit.blackbox.tables import make_trials
from hushcount.audit.claim import pair_claim
from hushcount.audit.small_table import small_table
from hushcount.errors import InvalidParameter
from hushcount.mechanisms.table import MECHANISMS, find
from hushcount.noise.source import SeededSource

EPSILON = 1.5

NOBODY = passing_setting()


@pytest.fixture
def rng() -> np.random.Generator:
    """The same draws in every run."""
    return np.random.default_rng(20261115)


@pytest.fixture
def seeded(monkeypatch) -> None:
    """The product's own noise from seeds instead of the operating system, a new one for each release."""
    seeds = count()
    monkeypatch.setattr(answer, "SystemSource", lambda: SeededSource(next(seeds)))


def laplace(rng: np.random.Generator, people: int, scale: float):
    """A run of a count with discrete Laplace noise of this scale."""
    chance = -math.expm1(-1 / scale)
    return lambda: int(people + rng.geometric(chance) - rng.geometric(chance))


def noisy_count(rng: np.random.Generator, factor: float) -> Trial:
    """A count that claims EPSILON, with noise of `factor` times the right scale."""
    scale = factor / EPSILON
    return Trial(
        name="a count",
        claim=pair_claim(EPSILON, 0),
        epsilon=EPSILON,
        one=laplace(rng, 7, scale),
        two=laplace(rng, 8, scale),
        where="seven people and eight",
    )


def response(rng: np.random.Generator, epsilon: float = 1.0, delta: float = 0.0) -> Trial:
    """Randomised response exactly at its claim: the worst law that the claim allows."""
    chances = np.array([1, math.exp(epsilon)]) / (1 + math.exp(epsilon)) * (1 - delta)

    def run(kind: int) -> int:
        at = rng.random()
        return kind if at < chances[1] else 1 - kind if at < chances.sum() else 2 + kind

    return Trial(
        name="response",
        claim=pair_claim(epsilon, delta),
        epsilon=epsilon,
        one=lambda: run(0),
        two=lambda: run(1),
        where="no and yes",
    )


def test_a_scale_that_is_too_small_is_caught(rng):
    """Noise of 0.77 of the right scale, 30 % too much epsilon, at the alarm of a whole audit."""
    alarm = alarm_of_a_trial()
    runs = runs_needed(EPSILON, 0, alarm=alarm / 2)
    findings = [attack(noisy_count(rng, 0.77), alarm=alarm, runs=runs) for _ in range(12)]

    assert not any(finding.holds for finding in findings)
    assert all("claimed 1.5" in finding.measured for finding in findings)


def test_the_right_scale_passes(rng):
    """The same attack on the right noise, and on more noise than needed."""
    alarm = alarm_of_a_trial()
    runs = runs_needed(EPSILON, 0, alarm=alarm / 2)

    assert all(attack(noisy_count(rng, factor), alarm=alarm, runs=runs).holds for factor in (1.0, 1.0, 1.0, 1.2))


@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_false_alarms_are_as_rare_as_stated(rng, delta):
    """At an alarm of one in twenty, several hundred audits of a law exactly at its claim alarm no more often."""
    audits, alarm = 300, 0.05
    alarms = sum(measure(response(rng, delta=delta), alarm=alarm, runs=160).excess > 0 for _ in range(audits))

    assert stats.binom.sf(alarms - 1, audits, alarm) > 1e-4


def test_choosing_and_testing_on_the_same_runs_cries_wolf(rng, monkeypatch):
    """However carelessly an event is chosen, fresh runs judge it fairly; the runs that it was chosen on do not."""
    monkeypatch.setattr(events, "_SPARE", 1.0)
    audits, alarm, allowed = 20, 0.05, pair_claim(0.05, 0).curve((0.05,))

    def is_alarm(*, fresh: bool) -> bool:
        one, two, one_again, two_again = (rng.integers(0, 100, size=1000).tolist() for _ in range(4))
        event = choose_probe(one, two, allowed)
        tested = (one_again, two_again) if fresh else (one, two)
        often, seldom = (event.count(part) for part in (tested[::-1] if event.likely_on_two else tested))
        return proven(likely=(often, 1000), rare=(seldom, 1000), alarm=alarm).delta(0.05) > 0

    assert sum(is_alarm(fresh=False) for _ in range(audits)) > audits / 2
    assert stats.binom.sf(sum(is_alarm(fresh=True) for _ in range(audits)) - 1, audits, alarm) > 1e-4


def test_no_run_is_used_twice():
    """The runs that an event is chosen on never reach its test: a subject that leaks only in those is not found."""
    runs = 400
    trial = response(np.random.default_rng(3))

    def leaking_at_first(kind: int):
        number = count()
        return lambda: kind if next(number) < runs // 4 else 0

    early = Trial(
        name="early",
        claim=trial.claim,
        epsilon=trial.epsilon,
        one=leaking_at_first(0),
        two=leaking_at_first(1),
        where="",
    )

    assert measure(early, alarm=0.01, runs=runs).bounds.likely < 0.1


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (2.0, 0.009), (2.5, 0.05)])
def test_so_many_runs_find_the_excess(rng, epsilon, delta):
    """The event that is planned for, drawn again and again: found as often as promised, and hardly by half the runs."""
    alarm, times = 0.01, 100
    runs = runs_needed(epsilon, delta, alarm=alarm)
    likely, rare = worst_event(epsilon, delta)

    def found(runs: int, times: int) -> float:
        seen = zip(rng.binomial(runs, likely, times).tolist(), rng.binomial(runs, rare, times).tolist(), strict=True)
        shown = [
            proven(likely=(often, runs), rare=(seldom, runs), alarm=alarm).delta(epsilon) for often, seldom in seen
        ]
        return sum(one > delta for one in shown) / times

    assert found(runs, times) >= POWER - 3 * math.sqrt(POWER * (1 - POWER) / times)
    assert found(runs // 2, times) < POWER
    assert is_found(epsilon, delta, excess=0.3, runs=runs, alarm=alarm)
    assert found_excess(epsilon, delta, runs=runs, alarm=alarm) == pytest.approx(0.3)


def test_more_is_needed_for_less():
    """A smaller excess, a smaller alarm and a larger delta take more runs; for what is allowed no number is enough."""
    plain = runs_needed(2.0, 0.01, alarm=0.01)

    assert runs_needed(2.0, 0.01, alarm=0.01, excess=0.15) > 2 * plain
    assert runs_needed(2.0, 0.01, alarm=1e-6) > plain
    assert runs_needed(2.0, 0.1, alarm=0.01) > plain
    with pytest.raises(InvalidParameter, match="runs"):
        runs_needed(2.0, 0.6, alarm=0.01)


def test_all_trials_of_a_run_share_one_alarm():
    """Below one in a thousand for a whole run, by adding up."""
    assert alarm_of_a_trial() * CASES * len(MECHANISMS) <= ALARM < 1e-3


@pytest.mark.parametrize("epsilon", ["2", "2.6"])
def test_the_product_is_attacked_through_its_front_door(seeded, epsilon):
    """`hushcount.count` asked for epsilon 2 keeps a claim of 2; asked for 2.6, 0.77 of the right scale, it does not."""
    trial = Trial(
        name="known-laplace",
        claim=pair_claim(2, 0),
        epsilon=2.0,
        one=partial(next, released_counts(1, epsilon)),
        two=partial(next, released_counts(2, epsilon)),
        where="one person and two",
    )
    finding = attack(trial, alarm=0.05, runs=runs_needed(2.0, 0, alarm=0.025))

    assert finding.holds == (epsilon == "2")


def released_counts(people: int, epsilon: str) -> Iterator[int]:
    """Noisy counts of items that so many people have, one item each: every count of a release has its own noise."""
    items = [f"item {number}" for number in range(16)]
    table = small_table(tuple((f"{person} of {item}", item) for item in items for person in range(people)))
    options = {"keys": items, "max_items_per_user": 1, "setting": NOBODY, "fresh": True}
    while True:
        release = hushcount.count(table, user="user", item="item", method="known-laplace", epsilon=epsilon, **options)
        counts = dict(zip(release.items.tolist(), release.counts.tolist(), strict=True))
        # In an order that the noise has no part in: a look may end within a release.
        yield from (counts[item] for item in items)


@pytest.mark.parametrize("name", [mechanism.name for mechanism in MECHANISMS])
def test_every_mechanism_of_the_table_has_trials(seeded, name):
    """By being listed: with its own claim, on neighbours that are not the same table, and with outputs to look at."""
    trials = list(make_trials(name))
    outputs = [(trial.one(), trial.two()) for trial in trials]

    # Where rows count up to a cap, there is one more: a person whose rows are there twice.
    cases = CASES if "per_item_cap" in find(name).takes else CASES - 1
    assert len(trials) == cases
    assert len({trial.where for trial in trials}) == cases
    assert all(trial.name == name and 0 < trial.claim.delta(trial.epsilon) + 1e-12 < 0.4 for trial in trials)
    assert all(isinstance(output, tuple) for pair in outputs for output in pair)


def test_a_quick_look_says_what_it_could_have_found(seeded):
    """One mechanism from end to end: it holds, and the finding carries runs, curve and honesty."""
    said = []
    finding = black_box("optimal", quick=True, say=said.append)

    assert finding.holds
    assert finding.step == "black box"
    assert finding.claimed == "(2, 0.009)-DP"
    assert "would have been found" in finding.looked
    assert len(finding.claim) == len(finding.points) > 10
    assert said == ["black box: optimal"]
