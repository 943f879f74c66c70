"""`hushcount audit --quick` as a person runs it: this build passes, broken twins are caught, reports are written.

One run is looked at from all sides: every step on every mechanism, every check of the system, every broken twin.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from hushcount.audit.report.report import Report
from hushcount.audit.subject import subjects_of
from hushcount.audit.system.checks import SYSTEM_CHECKS
from hushcount.audit.twins import TWINS
from hushcount.audit.twins.system import SYSTEM_TWINS
from hushcount.cli import audit as verb
from hushcount.cli.main import main
from hushcount.mechanisms.table import MECHANISMS, find
from tests.unit.audit.report.made_report import made_finding, made_report

# The promise is a minute on two free cores; a machine that runs other tests at the same time gets longer.
MINUTE, BUSY = 60, 10
# The step that must see each twin; those of the product around the mechanisms are for the checks of the system.
SEEN_BY = {twin.name: twin.caught_by for twin in TWINS} | {twin.name: "system" for twin in SYSTEM_TWINS}
NAMES = [mechanism.name for mechanism in MECHANISMS]


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """One quick audit in a process of its own, with an empty home that must stay empty."""
    folder = tmp_path_factory.mktemp("audit")
    run = subprocess.run(
        [sys.executable, "-m", "hushcount.cli", "audit", "--quick", "--json", "a.json", "--html", "a.html"],
        cwd=folder,
        env={**os.environ, "HUSHCOUNT_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        check=False,
        timeout=MINUTE * BUSY,
    )
    assert (folder / "a.json").exists(), run.stdout[-3000:] + run.stderr[-3000:]
    report = Report.from_json((folder / "a.json").read_text(encoding="utf-8"))
    return SimpleNamespace(run=run, folder=folder, report=report)


def test_the_build_passes(audited):
    """No claim is broken; exit code 0; the verdict stands at the end."""
    assert audited.report.passed, audited.run.stdout[-6000:]
    assert audited.run.returncode == 0
    assert "PASSED" in audited.run.stdout


def test_every_broken_twin_is_caught_by_name(audited):
    """Each is in the report and in the printed table with the step that caught it."""
    twins = audited.report.twins

    assert len(twins) >= 5
    assert not [twin.name for twin in twins if twin.caught_by is None]
    assert all(twin.name[:20] in audited.run.stdout for twin in twins)
    assert f"{len(twins)} of {len(twins)} broken variants caught" in audited.run.stdout


@pytest.mark.parametrize("name", SEEN_BY)
def test_the_twin_is_caught(audited, name):
    """By the step that is said to catch it, in one verdict, which says what was seen."""
    (verdict,) = [twin for twin in audited.report.twins if twin.name == name]

    assert verdict.caught_by == SEEN_BY[name]
    assert verdict.measured
    assert verdict.erratum


@pytest.mark.parametrize("name", [check.name for check in SYSTEM_CHECKS])
def test_the_product_passes(audited, name):
    """The installed product holds what it promises, and the finding says what was looked at."""
    (finding,) = audited.report.of(name, "system")

    assert finding.holds, finding.measured
    assert finding.seconds > 0
    assert all((finding.claimed, finding.measured, finding.where, finding.looked))


def test_every_mechanism_was_looked_at(audited):
    """Every mechanism of the table by every step, with a claim and a measured loss."""
    for entry in MECHANISMS:
        for step in ("exact", "replay", "black box"):
            assert audited.report.of(entry.name, step), (entry.name, step)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
def test_every_mechanism_keeps_its_claim(audited, mechanism):
    """In every variant, no pair of neighbours shows more than is claimed, nor does a run cost more than it charged."""
    findings = audited.report.of(mechanism.name, "exact")

    assert [finding.claimed for finding in findings] == [one.claim.words for one in subjects_of(mechanism, quick=True)]
    for finding in findings:
        assert finding.holds, finding
        assert len(finding.points) == len(finding.claim) > 20
        assert all(seen.delta <= said.delta + 1e-9 for seen, said in zip(finding.points, finding.claim, strict=True))
        assert max(point.delta for point in finding.points) > 0


@pytest.mark.parametrize(
    "name", ["weighted-laplace", "count-gaussian", "greedy", "optimal", "tsgd", "plume", "policy-gaussian", "sips"]
)
def test_the_claim_is_nearly_reached(audited, name):
    """Where a proof is tight the search finds it: a family that comes nowhere near the claim would show nothing."""
    finding = audited.report.of(name, "exact")[0]

    assert any(seen.delta > 0.95 * said.delta > 0.01 for seen, said in zip(finding.points, finding.claim, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_every_mechanism_passes_the_replay(audited, name):
    """In every variant, on its own neighbours and on crowds, nothing differs that is not declared."""
    findings = audited.report.of(name, "replay")

    assert [finding.subject for finding in findings] == [name] * len(subjects_of(find(name), quick=True))
    assert all(finding.holds for finding in findings), [(one.measured, one.where) for one in findings]
    assert all(finding.seconds > 0 for finding in findings)


@pytest.mark.parametrize("name", [one.name for one in MECHANISMS if "per_item_cap" in one.takes])
def test_a_cap_is_looked_at_by_every_step(audited, name):
    """Rows that count twice: enumerated, replayed, and asked through the front door."""
    words = "rows counted up to 2 times"

    for step in ("exact", "replay"):
        assert any(words in finding.looked for finding in audited.report.of(name, step)), step
    assert audited.report.of(name, "black box")[0].looked.startswith("2 pairs")


def test_the_reports_can_be_read(audited):
    """The JSON says that it passed; the page names every mechanism; false alarms are below one in a thousand."""
    form = json.loads((audited.folder / "a.json").read_text(encoding="utf-8"))
    page = (audited.folder / "a.html").read_text(encoding="utf-8")

    assert form["passed"] is True
    assert form["quick"] is True
    assert form["false_alarm"] <= 1e-3
    assert all(f"<h3>{entry.name}</h3>" in page for entry in MECHANISMS)
    assert "What such an audit cannot see" in page


def test_an_audit_leaves_nothing_behind(audited):
    """No secret, receipt or ledger in the user's own places; progress was told on the error stream."""
    assert sorted(path.name for path in audited.folder.iterdir()) == ["a.html", "a.json"]
    assert " done: " in audited.run.stderr


def run(monkeypatch, report, *words):
    """The command with a made-up report in place of a real audit."""
    monkeypatch.setattr("hushcount.audit.audit.audit", lambda **_: report)
    return CliRunner().invoke(main, ["audit", *words])


def test_a_broken_claim_has_an_exit_code(monkeypatch, tmp_path):
    """Exit code 1, the mechanism and the step in words, and the files are written all the same."""
    monkeypatch.chdir(tmp_path)
    broken = made_report(findings=(made_finding("pcr", holds=False, measured="delta 0.4 at epsilon 1"),))
    result = run(monkeypatch, broken, "--html", "a.html", "--json", "a.json")

    assert result.exit_code == verb.BROKEN == 1
    assert "BROKEN: pcr, exact. delta 0.4 at epsilon 1" in result.stdout
    assert (tmp_path / "a.html").exists()
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["passed"] is False


def test_json_alone_on_the_output(monkeypatch):
    """--json - prints one JSON document and nothing else."""
    result = run(monkeypatch, made_report(), "--json", "-")

    assert result.exit_code == 0
    assert json.loads(result.stdout)["version"] == "0.1.0"


def test_the_table_is_plain_where_nobody_looks(monkeypatch):
    """Written to a pipe: no colour codes, every mechanism, the limits of what was seen, and how to get the page."""
    result = run(monkeypatch, made_report())

    assert "\x1b" not in result.stdout
    assert all(entry.name in result.stdout for entry in MECHANISMS)
    assert "What such an audit cannot see: a delta of 1e-10" in result.stdout
    assert "--html audit.html" in result.stdout


def test_a_place_that_cannot_be_written_is_refused_first(monkeypatch):
    """Before a minute is spent."""
    refused = run(monkeypatch, made_report(), "--html", "/nowhere/at/all.html")

    assert refused.exit_code == 2
    assert "html" in refused.stderr


def test_a_mechanism_that_is_not_there_is_refused():
    """With the list of those that are."""
    unknown = CliRunner().invoke(main, ["audit", "--quick", "--only", "nothing"])

    assert unknown.exit_code == 2
    assert "one of ladder" in unknown.stderr
