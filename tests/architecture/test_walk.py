"""The walk of a question through the house, traced: it goes down, and CONTRIBUTING draws what was traced.

Those on Spark are in `test_spark.py`.
"""

from __future__ import annotations

import importlib
import os
from decimal import Decimal

import pytest

from hushcount.ledger.founding import Founding
from hushcount.ledger.ledger import Ask
from hushcount.ledger.limits import ten_standard_releases
from hushcount.ledger.sqlite import found_sqlite
from hushcount.model.costs import Cost, Gaussian
from hushcount.model.identities import Identity, Sighting
from tests.architecture.walk import assert_drawn, walk, walk_command
from tests.stored.questions import write_rows

# A question of the command line tells it how far it is, and a step of a mechanism is applied where the counts are.
MOST_UPWARD = 3
ASK = ("--user", "person", "--item", "item")
# The auditor hands its own data and its own noise to the product, which calls them like any other.
STAND_INS = {"audit/small_table.py", "audit/exact/enumeration.py", "audit/replay/recording.py"}


@pytest.fixture(scope="module")
def walks(tmp_path_factory):
    """Traces of the questions that CONTRIBUTING draws."""
    folder = tmp_path_factory.mktemp("walk")
    rows, home = write_rows(folder / "rows.csv"), folder / "home"
    # Once before, so that what is compiled, founded or registered only the first time is not drawn.
    walk_command(home, "vocab", str(rows), *ASK, "--rho", "0.001")
    return {
        "count": walk_command(home, "count", str(rows), *ASK, "--where", "country = 'NZ'", "--rho", "0.5"),
        "vocab": walk_command(home, "vocab", str(rows), *ASK, "--rho", "0.01"),
        "limit": walk_command(home, "ledger", "limit", "--data", str(rows), "--releases", "20"),
        "reserve": _walk_of_reserve(folder / "reserve.sqlite"),
    }


def _walk_of_reserve(place):
    """One reservation on a data set that is known."""
    founding = Founding(owner="olga", limit=ten_standard_releases(), secret="5ec2e7")  # noqa: S106 (a fingerprint)
    ledger = found_sqlite(place, founding)
    identity = Identity(kind="name", value="visits")
    sighting = Sighting(title="visits", finds=(identity,), binds=(identity,))
    dataset = ledger.catalog.register(sighting, person="person", name="visits", by="olga").dataset
    cost = Cost.of(Gaussian(rho=Decimal("0.1")))
    ask = Ask(analyst="zoe", dataset=dataset.id, version="1", query="how many", cost=cost, key="first")
    try:
        return walk(lambda: ledger.reserve(ask))
    finally:
        ledger.close()


@pytest.mark.parametrize("name", ["count", "vocab", "limit", "reserve"])
def test_a_question_goes_down(walks, name):
    """No more calls go upwards than the few that must: telling stages, and applying a mechanism's step."""
    assert len(walks[name].upward) <= MOST_UPWARD, sorted(walks[name].upward)


def test_calls_upwards_are_seen(walks):
    """The measure can fail: the stages of a command are told by a call upwards, which is found."""
    assert ("app/answer.py", "cli/stages.py") in walks["count"].upward


@pytest.mark.parametrize("name", ["count", "vocab", "limit", "reserve"])
def test_the_drawing_is_the_trace(walks, name):
    """CONTRIBUTING names the files of the walk in the order in which they are entered."""
    assert_drawn(name, walks[name])


def test_the_audit_is_drawn_too(tmp_path, monkeypatch):
    """One mechanism, in this process: every call upwards is one of the auditor's own stand-ins, or tells a stage."""
    # What is called only while modules are imported is no part of the walk.
    for module in ("audit.audit", "audit.report.report", "cli.stages"):
        importlib.import_module(f"hushcount.{module}")
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    traced = walk_command(tmp_path, "audit", "--quick", "--only", "known-laplace", "--no-twins")

    assert_drawn("audit", traced)
    told = {("audit/audit.py", "cli/stages.py"), ("app/answer.py", "library/questions.py")}
    assert {above for _, above in traced.upward - told} <= STAND_INS
