"""The report of an audit: every finding, every broken twin and what caught it, as a value and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from hushcount.audit.finding import Finding, Point, Step
from hushcount.model.frozen import frozen

STEPS: tuple[Step, ...] = ("exact", "replay", "black box")

# What an audit cannot see, and what covers it instead: for the terminal, the page and the documentation alike.
BLIND_SPOTS: tuple[tuple[str, str], ...] = (
    (
        "A delta of 1e-10.",
        (
            "No sampling shows what happens once in ten thousand million runs. Instead all outputs are enumerated "
            "exactly where delta is inflated, to 0.001 and more; the same formulas are tested at such a delta against "
            "arithmetic of high precision; and the proofs are cited for each mechanism under docs/mechanisms."
        ),
    ),
    (
        "Data sets and parameters that were not tried.",
        (
            "The exact step goes through all small neighbours at some parameters. For all others there is the proof, "
            "and the replay, which checks the sensitivity that the proof rests on."
        ),
    ),
    (
        "A weaker link of time and noise.",
        (
            "The check of time sees a link that is large on this machine. No constant time is claimed: do not let an "
            "analyst time single releases, or answer after a fixed delay."
        ),
    ),
    (
        "The machine around the program.",
        (
            "Memory, swap, caches, a broken random generator, and whoever may read the data anyway. See "
            "docs/threat-model.md."
        ),
    ),
)


@frozen
class TwinVerdict:
    """A broken twin and what became of it.

    Attributes:
        name: the twin.
        erratum: what is wrong with it, with a reference.
        caught_by: the step that found it broken; None if none did, which makes the audit fail.
        measured: what that step showed.
        seconds: how long it took.
    """

    name: str
    erratum: str
    caught_by: Step | None
    measured: str = ""
    seconds: float = 0.0


@frozen
class Report:
    """What an audit found.

    Attributes:
        version: of the package that was audited.
        quick: whether it was the quick run.
        findings: by mechanism and step, then the system checks.
        twins: every broken twin that was attacked.
        false_alarm: the probability, by design, that an audit of a sound build fails.
        seconds: how long all of it took.
    """

    version: str
    quick: bool
    findings: tuple[Finding, ...]
    twins: tuple[TwinVerdict, ...]
    false_alarm: float
    seconds: float

    @property
    def passed(self) -> bool:
        """Every claim held, and every twin that was attacked was caught."""
        return not self.broken and not self.missed

    @property
    def broken(self) -> tuple[Finding, ...]:
        """Findings of claims that do not hold."""
        return tuple(finding for finding in self.findings if not finding.holds)

    @property
    def missed(self) -> tuple[TwinVerdict, ...]:
        """Twins that nothing caught: the audit is not sharp enough to be believed."""
        return tuple(twin for twin in self.twins if twin.caught_by is None)

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The mechanisms that were looked at, in the order of the table."""
        return tuple(dict.fromkeys(finding.subject for finding in self.findings if finding.step != "system"))

    @property
    def system(self) -> tuple[Finding, ...]:
        """The findings of the system checks."""
        return tuple(finding for finding in self.findings if finding.step == "system")

    def of(self, subject: str, step: Step) -> tuple[Finding, ...]:
        """The findings of one step on one mechanism; empty if the step does not apply to it."""
        return tuple(finding for finding in self.findings if finding.subject == subject and finding.step == step)

    def worst(self, subject: str, step: Step) -> Finding | None:
        """The finding of one step on one mechanism that came nearest to its claim, or is above it."""
        return max(self.of(subject, step), key=lambda one: (not one.holds, closeness(one)), default=None)

    def verdict(self) -> str:
        """The whole report in a sentence or two."""
        if self.broken:
            names = ", ".join(dict.fromkeys(f"{finding.subject} ({finding.step})" for finding in self.broken))
            return f"BROKEN: a claim does not hold. {names}."
        if self.missed:
            names = ", ".join(twin.name for twin in self.missed)
            return f"NOT TO BE RELIED ON: every claim held, but known broken variants were not caught: {names}."
        caught = f" and {len(self.twins)} of {len(self.twins)} broken variants were caught" if self.twins else ""
        parts = f"{len(self.mechanisms)} mechanisms and {len(self.system)} system checks"
        return f"PASSED: no privacy loss above a claim was found in {parts}{caught}."

    def to_json(self) -> str:
        """The report as JSON text: the fields above, and `passed`."""
        return json.dumps({"passed": self.passed, **asdict(self)}, indent=2, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Report:
        """The report that `to_json` wrote."""
        form = json.loads(text)
        del form["passed"]
        form["findings"] = tuple(_finding(one) for one in form["findings"])
        form["twins"] = tuple(TwinVerdict(**one) for one in form["twins"])
        return Report(**form)


def closeness(finding: Finding) -> float:
    """The largest measured delta as a share of the claimed one at the same epsilon; 0 where nothing can be compared."""
    claimed = {point.epsilon: point.delta for point in finding.claim}
    shares = (point.delta / claimed[point.epsilon] for point in finding.points if claimed.get(point.epsilon))
    return max(shares, default=0.0)


def _finding(form: dict[str, Any]) -> Finding:
    points = {name: tuple(Point(**point) for point in form[name]) for name in ("claim", "points")}
    return Finding(**{**form, **points})
