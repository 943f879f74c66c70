"""The recipe of CONTRIBUTING: one file and one line make a mechanism, for the product, the docs and the auditor.

The file is the one that docs/mechanisms/adding.md prints, written to a folder of its own; the line is a monkeypatch.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

import hushcount
from hushcount.audit.blackbox.step import black_box
from hushcount.audit.blackbox.tables import make_case
from hushcount.audit.exact.step import exact
from hushcount.audit.steps import attack_mechanism
from hushcount.audit.subject import subjects_of
from hushcount.audit.twins.caps import cap_twins
from hushcount.cli.main import main
from hushcount.errors import InvalidParameter
from hushcount.mechanisms import table
from hushcount.model.budgets import STANDARD
from hushcount.model.facts import Facts
from tests.architecture.sources import ROOT
from tests.architecture.test_docs import has_heading, python_blocks
from tests.privacy.test_rules import test_every_run_states_its_guarantee as check_docstring
from tests.stored.questions import write_rows
from tests.unit.mechanisms.test_budgets import test_rho_budgets_are_kept as check_budget
from tests.unit.mechanisms.test_records import check_every_fact
from tests.unit.mechanisms.test_records import test_every_mechanism_says_what_to_expect as check_expectation

NAME = "laplace-threshold"
PAGE = (ROOT / "docs" / "mechanisms" / "adding.md").read_text(encoding="utf-8")
FILE = python_blocks(PAGE)[0][1]


def added(text, folder, monkeypatch):
    """The record of a file, appended to the table."""
    path = folder / "laplace_threshold.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("laplace_threshold", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "laplace_threshold", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(table, "MECHANISMS", (*table.MECHANISMS, module.LAPLACE_THRESHOLD))
    return module.LAPLACE_THRESHOLD


@pytest.fixture
def new(tmp_path, monkeypatch):
    """The mechanism of the page, added as the page says."""
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "home"))
    return added(FILE, tmp_path, monkeypatch)


def test_nothing_is_known_of_it_before():
    """Without its line it does not exist."""
    with pytest.raises(InvalidParameter, match="one of ladder"):
        table.find(NAME)


def test_it_is_found_and_planned(new):
    """By its name, from the facts that it needs; a fact that it does not use is refused by name."""
    assert table.find(NAME, "count") is new
    assert new.plan(STANDARD, Facts(max_items=2)).name == NAME
    with pytest.raises(InvalidParameter, match=f"k = 2 .* '{NAME}'"):
        new.plan(STANDARD, Facts(max_items=2, k=2))


def test_its_record_is_held_to_what_it_says(new):
    """The suites over all mechanisms hold for it: its facts, its budget, its expectation and its docstring."""
    check_every_fact(new)
    check_budget(new, "0.1", "1e-6")
    check_expectation(new)
    check_docstring(new.run)


def test_it_is_estimated(new):
    """A price, a give or take and a cut-off from public facts alone."""
    found = hushcount.estimate(user="person", item="item", method=NAME, max_items_per_user=1)

    assert 0 < found.rho <= 0.1
    assert found.expectation.give_or_take > 0
    assert found.expectation.cutoff > found.expectation.give_or_take


def test_it_is_priced_on_the_command_line(new, tmp_path):
    """--dry-run says what it would cost and how far off it would be, and reads no value."""
    rows = write_rows(tmp_path / "rows.csv")
    words = ["count", str(rows), "--user", "person", "--item", "item", "--dry-run"]
    run = CliRunner().invoke(main, [*words, "--method", NAME, "--max-items-per-user", "1", "--json"])

    assert run.exit_code == 0, run.output
    assert json.loads(run.output)["mechanism"] == NAME
    assert json.loads(run.output)["give_or_take"] > 0


def test_it_answers_on_duckdb(new, tmp_path):
    """Asked through the public interface it releases rows, with intervals, a cost within its price, and a receipt."""
    rows = write_rows(tmp_path / "rows.csv")
    asked = {"user": "person", "item": "item", "method": NAME, "max_items_per_user": 3, "rho": 1}
    release = hushcount.count(str(rows), ledger=False, **asked)
    again = hushcount.count(str(rows), ledger=False, **asked)

    assert len(release) > 10
    assert (release.low <= release.counts).all()
    assert (release.receipt.mechanism, release.receipt.noise) == (NAME, "discrete-laplace")
    assert release.receipt.private
    assert float(release.receipt.rho) <= 1.0001
    assert release.to_dict() == again.to_dict()


@pytest.mark.parametrize("step", ["exact", "replay"])
def test_it_is_audited(new, step):
    """The auditor finds it by its name and has its claim hold, in every variant of the quick run."""
    findings = attack_mechanism(NAME, step, quick=True)

    assert findings
    assert all(finding.holds for finding in findings), findings
    assert {finding.subject for finding in findings} == {NAME}


def test_it_is_attacked_through_the_front_door(new):
    """The black box asks `count` for it, with the options that its record needs."""
    finding = black_box(NAME, quick=True)

    assert finding.holds, finding
    assert finding.subject == NAME


def test_it_must_be_documented(new):
    """A name without a heading is missing from the docs; the heading that step 4 asks for is found."""
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "mechanisms").glob("*.md")]

    assert not any(has_heading(new.name, page) for page in pages)
    assert has_heading(new.name, f"# Counts\n\n## `{NAME}`: counts above a threshold\n")


BROKEN = {
    "noise 20 % too small": ("rate=Fraction(plan.epsilon)", "rate=Fraction(plan.epsilon) * 5 / 4"),
    "threshold two too low": ("max(0, math.floor(level))", "max(0, math.floor(level) - 2)"),
    "cap forgotten by the planner": ("facts.max_items or 0, facts.per_item_cap)", "facts.max_items or 0)"),
    "cap forgotten by the noise": ("Fraction(plan.epsilon) / plan.per_item_cap", "Fraction(plan.epsilon)"),
    "cap forgotten by the threshold": ("threshold=per_item_cap + max", "threshold=1 + max"),
    "cap forgotten by the threshold's noise": ("float(epsilon) / per_item_cap", "float(epsilon)"),
    "one item charged for two": ("Cost.of((Pure(epsilon=epsilon), max_items)", "Cost.of((Pure(epsilon=epsilon), 1)"),
    "shown by the true count": ("noisy > plan.threshold", "block.counts > plan.threshold"),
}


@pytest.mark.parametrize("mistake", BROKEN)
def test_a_broken_variant_is_caught(mistake, tmp_path, monkeypatch):
    """One mistake in the file, and the exact step or the replay says so."""
    right, wrong = BROKEN[mistake]
    assert right in FILE
    broken = added(FILE.replace(right, wrong), tmp_path, monkeypatch)
    findings = [
        *attack_mechanism(broken.name, "exact", quick=True),
        *attack_mechanism(broken.name, "replay", quick=True),
    ]

    assert not all(finding.holds for finding in findings), mistake


def test_every_twin_without_the_cap_is_caught(new):
    """Its record is enough for the auditor to make the variants that lose the cap, and to see each of them."""
    twins = list(cap_twins(new))

    assert len(twins) == 2
    assert [twin.acquit(quick=True) for twin in twins] == [None, None]
    assert all(twin.attack(quick=True) for twin in twins)


def test_a_budget_that_is_not_kept_is_caught(tmp_path, monkeypatch):
    """The whole budget for each of a person's items is charged honestly, and is more than was to be spent."""
    broken = added(FILE.replace("pure_epsilon(budget, max_items)", "pure_epsilon(budget)"), tmp_path, monkeypatch)

    with pytest.raises(AssertionError):
        check_budget(broken, "0.1", "1e-6")


def test_a_wrong_record_is_caught(new):
    """A record that lists a fact without using it fails the suite."""
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check_every_fact(replace(new, takes=frozenset({"relative_error"})))


def test_the_black_box_asks_with_what_the_record_needs(new):
    """A bound, and neither a list nor a length; the claim is that of its price."""
    case = make_case(NAME)

    assert case.ask.keywords["max_items_per_user"] == 1
    assert not {"keys", "k"} & case.ask.keywords.keys()
    assert case.epsilon == pytest.approx(2)


def test_subjects_differ_by_their_facts(new):
    """With one item and with two, of rows that count once and twice: a mistake in the split or the cap shows."""
    subjects = subjects_of(new, quick=True)

    assert {(one.facts.max_items, one.facts.per_item_cap) for one in subjects} == {(1, 1), (1, 2), (2, 1), (2, 2)}
    assert exact(subjects[0], quick=True).claimed == subjects[0].claim.words
