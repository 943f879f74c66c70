"""Where NTM turns from naming to peeling: every outcome on both sides of a turn, and a twin that decides by truth."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from hushcount.app.bounded import bounded_input
from hushcount.audit.exact.enumeration import enumerate_law, fixed_salts
from hushcount.audit.exact.step import Effort, exact
from hushcount.audit.neighbours import table
from hushcount.audit.replay.crowds import crowds
from hushcount.audit.replay.step import replay
from hushcount.audit.small_table import ITEM, USER, small_table
from hushcount.audit.subject import subjects_of
from hushcount.audit.twins.named import Peeking
from hushcount.mechanisms.counts.ntm import run_ntm
from hushcount.mechanisms.table import find
from hushcount.model.queries import Selection
from hushcount.noise.source import SeededSource

# Nearly all of each law, on one pair.
EFFORT = Effort(runs=10**6, runs_on_lists=10**6, runs_for_a_law=4000, missing=1e-4, stop_when_broken=True)
NTM = find("ntm")
# Of the full audit: a plan in which the crowd is drawn and all outcomes can be listed; and one that takes all steps.
SUBJECTS = subjects_of(NTM, quick=False)
TURNING = next(one for one in SUBJECTS if "rho" in one.variant and "0.5" in one.variant)
ALL_STEPS = next(one for one in SUBJECTS if "epsilon" in one.variant and "0.5" in one.variant)
# With seven people and one more, an item of everybody weighs as much as naming asks for, or less.
PAIR = table({"a": 7}, ("a",), "an item of seven people")


def turning(*, few=4.0, run=run_ntm):
    """The plan that gives up naming at seven and a half people, and after its names where they are few."""
    plan = replace(TURNING.plan, crowded=TURNING.plan.rounds[0].threshold / 7.5, few=(few, few))
    return replace(TURNING, plan=plan, run=run, neighbours=lambda: iter([PAIR]))


def ways(subject):
    """With which probability each way is taken with the person: measured after naming, peeled at once or after it."""
    found = {"measured": 0.0, "peeled at once": 0.0, "peeled after names": 0.0}

    def look(path):
        drawn = [call.purpose.split("/")[0] + "/" + call.purpose.split("/")[1] for call, _ in path.calls]
        way = (
            "measured" if "ntm/counts" in drawn else "peeled after names" if "ntm/names" in drawn else "peeled at once"
        )
        found[way] += path.probability

    data = bounded_input(
        small_table(PAIR.rows),
        NTM,
        plan=subject.plan,
        facts=subject.facts,
        selection=Selection(user=USER, item=ITEM),
        noise=fixed_salts(),
    )
    enumerate_law(lambda noise: run_ntm(data, subject.plan, noise), missing=1e-2, most_paths=4000, look=look)
    return found


@pytest.mark.parametrize(("few", "after"), [(4.0, "measured"), (0.01, "peeled after names")])
def test_all_outcomes_on_both_sides_of_a_turn_keep_the_claim(few, after):
    """Naming and peeling, each taken with a probability that can be seen: both together keep to the claim."""
    found, taken = exact(turning(few=few), quick=False, effort=EFFORT), ways(turning(few=few))

    assert found.holds, found.measured
    assert taken["peeled at once"] > 0.1
    assert taken[after] > 0.1


def by_truth(data, plan, noise):
    """Broken twin: the noise of the crowd is drawn and paid for, and the decision goes by the true value."""
    return run_ntm(data, plan, Peeking(noise, "ntm/crowd"))


def test_a_turn_by_the_true_crowd_is_caught_by_both():
    """Broken twin: whether the person is there is then told for certain; by the law, and by the replay."""
    twin = turning(run=by_truth)

    assert not exact(twin, quick=False, effort=EFFORT).holds
    assert "control flow" in replay(twin, quick=True).measured
    assert replay(turning(), quick=True).holds


def replayed_calls():
    """The calls of each of some runs under the plan that takes all steps, on tables of the audit."""
    for seed, pair in enumerate(itertools.chain(itertools.islice(ALL_STEPS.neighbours(), 10), crowds(quick=True))):
        drawn = []

        class Noting(SeededSource):
            def perform(self, call, drawn=drawn):
                drawn.append(call)
                return super().perform(call)

        ALL_STEPS.answer(pair.rows, Noting(seed))
        yield drawn


def test_the_audit_replays_every_way():
    """Of what is replayed under the plan that takes all steps, some is measured and some peeled, at once and later.

    What choices and losses need is decided by what was released, and differs.
    """
    seen, rates, noises = set(), set(), set()
    for drawn in replayed_calls():
        named, peeled = (
            [one for one in drawn if one.purpose.startswith(kind)] for kind in ("ntm/names", "pcr-batched")
        )
        seen.add((bool(named), bool(peeled)))
        rates |= {one.rate for one in drawn if one.purpose.startswith("ntm/choice")}
        noises |= {one.variance / one.reach.l2**2 for one in drawn if one.purpose.startswith("ntm/lost")}

    assert seen >= {(False, True), (True, True), (True, False)}
    assert len(rates) > 2
    assert len(noises) > 2
