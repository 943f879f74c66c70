"""A broken twin: a whole mechanism with one mistake in it, beside its sound original, and how it is attacked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from hushcount.audit.exact.step import QUICK, Effort, exact
from hushcount.audit.finding import Finding, Step
from hushcount.audit.neighbours import Neighbours
from hushcount.audit.replay.step import replay
from hushcount.audit.subject import Run, Subject
from hushcount.mechanisms.calibration import Plan
from hushcount.mechanisms.table import find
from hushcount.model.facts import Facts
from hushcount.model.frozen import frozen


@frozen
class Twin:
    """A mechanism with one mistake.

    Attributes:
        name: what it is called in the report.
        erratum: which erratum or rule it breaks.
        what: what is wrong, in one sentence.
        caught_by: the first step that sees it.
        broken: the twin, as the auditor sees a mechanism.
        sound: the original, on the same neighbours and with the same claim.
        steps: the steps that look at it, in this order; the exact step is left out where the data is large.
    """

    name: str
    erratum: str
    what: str
    caught_by: Step
    broken: Subject
    sound: Subject
    steps: tuple[Step, ...] = ("exact", "replay")

    def attack(self, *, quick: bool) -> Finding | None:
        """The first finding that does not hold; None if the mistake goes unseen."""
        return self._first_broken(replace(self.broken, name=self.name), quick=quick)

    def acquit(self, *, quick: bool) -> Finding | None:
        """The same attack on the original: a finding would be a false accusation."""
        return self._first_broken(self.sound, quick=quick)

    def _first_broken(self, subject: Subject, *, quick: bool) -> Finding | None:
        for step in self.steps:
            finding = _LOOKS[step](subject, quick=quick)
            if not finding.holds:
                return finding
        return None


def _exactly(subject: Subject, *, quick: bool) -> Finding:
    # One pair that breaks the claim is enough for a twin, in a full run too.
    return exact(subject, quick=True, effort=QUICK if quick else _THOROUGH)


_THOROUGH = Effort(runs=3000, runs_on_lists=1000, runs_for_a_law=2000, missing=1e-6, stop_when_broken=True)
_LOOKS: dict[Step, Callable[..., Finding]] = {"exact": _exactly, "replay": replay}


@frozen
class Original:
    """A sound mechanism with a small plan and a few neighbours; twins are made of it by changing a part."""

    mechanism: str
    facts: Facts
    plan: Plan
    pairs: tuple[Neighbours, ...]

    @property
    def sound(self) -> Subject:
        """The mechanism as it is."""
        return self.twin()

    def twin(self, *, run: Run | None = None, plan: Plan | None = None) -> Subject:
        """The same with another run, or with another plan, whose cost is the claim."""
        mechanism = find(self.mechanism)
        return Subject(
            name=mechanism.name,
            variant="a plan for the broken variants",
            mechanism=mechanism,
            facts=self.facts,
            plan=plan or self.plan,
            run=run or mechanism.run,
            neighbours=self._neighbours,
        )

    def _neighbours(self) -> Iterator[Neighbours]:
        return iter(self.pairs)
