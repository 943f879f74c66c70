"""The black box on mechanisms of the table: which neighbours it tries, and that it sees what only a cap shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hushcount.audit.blackbox.step import CASES, alarm_of_a_trial, measure
from hushcount.audit.blackbox.tables import make_trials
from hushcount.audit.twins.altered import altered
from hushcount.audit.twins.caps import draws_for_one
from hushcount.mechanisms import table
from hushcount.mechanisms.table import find


@pytest.mark.parametrize(("name", "quick", "number"), [("known-laplace", True, 2), ("optimal", True, 1)])
def test_a_cap_is_tried_where_there_is_one(name, quick, number):
    """Who takes a cap is asked with one too, and about a person with two rows; a run of all stays within its alarm."""
    trials = list(make_trials(name, quick=quick))

    assert len(trials) == number <= CASES
    assert [trial.where for trial in trials if "two rows" in trial.where] == [one.where for one in trials[1:]]


def test_a_cap_that_is_lost_is_seen_from_outside(monkeypatch):
    """Noise for one row where a person has two: with the cap the claim is broken, without it nothing shows."""
    good = find("known-laplace")

    def lost(data, plan, noise):
        return altered(good.run, lambda call: draws_for_one(call, plan.per_item_cap))(data, plan, noise)

    rivals = tuple(replace(one, run=lost) if one is good else one for one in table.MECHANISMS)
    monkeypatch.setattr(table, "MECHANISMS", rivals)
    plain, capped = (measure(trial, alarm=alarm_of_a_trial(), runs=600) for trial in make_trials(good.name, quick=True))

    assert plain.excess <= 0
    assert capped.excess > 0
