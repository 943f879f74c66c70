"""A made-up report that looks like a real one, and one in which things are broken."""

from __future__ import annotations

from dataclasses import replace

from hushcount.audit.claim import pair_claim
from hushcount.audit.finding import Finding, Point
from hushcount.audit.report.report import Report, TwinVerdict
from hushcount.mechanisms.table import MECHANISMS

_EPSILONS = [step / 10 for step in range(31)]


def made_finding(subject="pcr", step="exact", **changes):
    """A finding with a curve and points under it."""
    claim = pair_claim(1, "0.05")
    finding = Finding(
        subject=subject,
        step=step,
        holds=True,
        claimed=claim.words,
        measured="delta 0.0493 at epsilon 1",
        where="three people hold 'a' and one of them leaves",
        looked="214 neighbours, 18,332 outputs",
        claim=claim.curve(_EPSILONS),
        points=tuple(Point(epsilon=e, delta=claim.delta(e) * 0.9) for e in (0.0, 0.5, 1.0, 2.0)),
        seconds=0.7,
    )
    return replace(finding, **changes)


def made_findings(subject):
    """All three steps on one mechanism; the black box has a claim of its own."""
    box = pair_claim(2, "0.1")
    return (
        made_finding(subject),
        made_finding(
            subject,
            "replay",
            claimed="l2-sensitivity at most 1",
            measured="0.9999 of 1",
            where="call 3 of 7: discrete Gaussian on weights",
            looked="120 pairs of neighbours, 840 calls",
            claim=(),
            points=(),
        ),
        made_finding(
            subject,
            "black box",
            claimed=box.words,
            measured="delta 0.061 at epsilon 2, with certainty 0.9999",
            where="one of 40 people leaves; 'a' is shown",
            looked="2 neighbours, 200,000 runs",
            claim=box.curve(_EPSILONS),
            points=(Point(epsilon=1.0, delta=0.3), Point(epsilon=2.0, delta=0.061), Point(epsilon=3.0, delta=0.0)),
        ),
    )


def made_system(**changes):
    """A finding of a system check."""
    return made_finding(
        "time tells nothing",
        "system",
        **{
            "claimed": "no rank correlation of time and noise of 0.25 or more (constant time is not claimed)",
            "measured": "-0.043, 95 % interval -0.121 to +0.036: known-laplace, size of it",
            "where": "that is the largest beside its limit",
            "looked": "2,673 releases",
            "claim": (),
            "points": (),
            **changes,
        },
    )


def made_report(**changes):
    """A report on all mechanisms in which all is well."""
    report = Report(
        version="0.1.0",
        quick=True,
        findings=(*(finding for m in MECHANISMS for finding in made_findings(m.name)), made_system()),
        twins=(
            TwinVerdict(name="gumbel argmin", erratum="erratum 2: the sign of the noise", caught_by="exact"),
            TwinVerdict(
                name="reused seed on changed data",
                erratum="erratum 9: equal noise cancels",
                caught_by="system",
                measured="equal noise on 199 of 199 items",
            ),
        ),
        false_alarm=4e-4,
        seconds=41.5,
    )
    return replace(report, **changes)
