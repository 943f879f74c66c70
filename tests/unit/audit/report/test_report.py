"""The report: verdicts, JSON, and jobs that fail by themselves."""

from __future__ import annotations

import json

import pytest

from hushcount.audit import audit as auditing
from hushcount.audit.audit import AuditJob, list_jobs, run_job
from hushcount.audit.finding import Point
from hushcount.audit.report.report import Report, TwinVerdict, closeness
from hushcount.audit.system.checks import SYSTEM_CHECKS
from hushcount.errors import InvalidParameter
from hushcount.mechanisms.table import MECHANISMS
from tests.unit.audit.report.made_report import made_finding, made_report, made_system


def test_a_good_report_passes():
    """Every claim held and every twin was caught: it says so, with numbers."""
    report = made_report()

    assert report.passed
    assert report.verdict().startswith("PASSED: ")
    assert "2 of 2 broken variants" in report.verdict()
    assert report.mechanisms == tuple(entry.name for entry in MECHANISMS)


@pytest.mark.parametrize("broken", [made_finding("pcr", "exact", holds=False), made_system(holds=False)])
def test_one_broken_claim_breaks_the_report(broken):
    """One finding that does not hold, of a mechanism or of the system, and the report names it."""
    report = made_report(findings=(made_finding("sips"), broken))

    assert not report.passed
    assert report.broken == (broken,)
    assert report.verdict().startswith("BROKEN: ")
    assert broken.subject in report.verdict()


def test_a_twin_that_goes_unseen_breaks_the_report():
    """An audit that lets a known mistake pass is not to be relied on."""
    report = made_report(twins=(TwinVerdict(name="half the noise", erratum="", caught_by=None),))

    assert not report.passed
    assert "half the noise" in report.verdict()


def test_json_round_trip():
    """What was written is read back equal, and other programs find `passed`."""
    report = made_report()

    assert Report.from_json(report.to_json()) == report
    assert json.loads(report.to_json())["passed"] is True


def test_the_worst_variant_is_shown():
    """A broken variant comes first, then the one nearest to its claim."""
    far = made_finding(points=(Point(epsilon=1.0, delta=0.001),))
    near = made_finding(points=(Point(epsilon=1.0, delta=0.049),))
    broken = made_finding(holds=False, points=())

    assert closeness(near) == pytest.approx(0.98)
    assert closeness(made_system()) == 0
    assert made_report(findings=(far, near)).worst("pcr", "exact") == near
    assert made_report(findings=(broken, far, near)).worst("pcr", "exact") == broken
    assert made_report(findings=(far,)).worst("pcr", "replay") is None


def test_every_mechanism_is_listed_for_every_step():
    """A mechanism is audited by being in the table; then come the system checks and the twins."""
    jobs = list_jobs()
    steps = {entry.name: {job.step for job in jobs if job.subject == entry.name} for entry in MECHANISMS}

    assert all(found == {"exact", "replay", "black box"} for found in steps.values())
    assert [job.subject for job in jobs if job.step == "system"] == [check.name for check in SYSTEM_CHECKS]
    assert sum(job.step is None for job in jobs) >= 5


def test_only_some_mechanisms():
    """Named mechanisms only, without the system checks; a name that is not in the table is refused."""
    jobs = list_jobs(only=["pcr"], twins=False)

    assert {job.subject for job in jobs} == {"pcr"}
    with pytest.raises(InvalidParameter):
        list_jobs(only=["nothing"])


def test_a_step_that_fails_is_no_pass(monkeypatch):
    """A step that raises has not shown that the claim holds, and a twin whose attack raises was not caught."""

    def fail(*_words, **_options):
        raise InvalidParameter("rows", 0, "more")

    monkeypatch.setattr(auditing, "attack_mechanism", fail)
    monkeypatch.setattr(auditing, "attack_twin", fail)
    step = run_job(AuditJob(step="exact", subject="pcr"), quick=True)
    twin = run_job(AuditJob(step=None, subject="half the noise"), quick=True)

    assert not step.findings[0].holds
    assert "rows = 0" in step.findings[0].measured
    assert twin.twins[0].caught_by is None


def test_the_twin_that_was_caught_says_by_what(monkeypatch):
    """The step and what it showed go into the verdict."""
    found = made_finding("half the noise", "replay", holds=False, measured="moved by 2 times")
    monkeypatch.setattr(auditing, "attack_twin", lambda name, *, quick: ("erratum 0", found))
    verdict = run_job(AuditJob(step=None, subject="half the noise"), quick=True).twins[0]

    assert (verdict.caught_by, verdict.measured, verdict.erratum) == ("replay", "moved by 2 times", "erratum 0")


@pytest.mark.parametrize("processors", [1, 2])
def test_an_audit_of_one_mechanism(monkeypatch, processors):
    """On one processor and on several: findings stand in the order of the steps, and every job was told of."""
    monkeypatch.setattr(auditing.os, "cpu_count", lambda: processors)
    said = []
    report = auditing.audit(quick=True, only=["known-laplace"], twins=False, say=said.append)

    steps = [finding.step for finding in report.findings]
    assert steps == sorted(steps, key=["exact", "replay", "black box"].index)
    assert set(steps) == {"exact", "replay", "black box"}
    assert report.passed, report.verdict()
    assert 0 < report.false_alarm <= 1e-3
    assert len(said) >= 3
