"""A study: one question about a paper or about ourselves, and the function that answers it at any scale."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hushcount.mechanisms.calibration import Plan
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.table import find
from hushcount.model.budgets import Budget
from hushcount.model.facts import Facts
from hushcount.model.inputs import Bound
from hushcount.model.outcomes import Outcome
from hushcount.noise.source import NoiseSource, SeededSource
from studies.findings import Findings, Measured, measured
from studies.logs import Log

_T = TypeVar("_T")
# Runs of a page have seeds from here on. Claims were written while runs had others, from zero on: noise that a limit
# was set by is not noise that it is held against.
FIRST_SEED = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """What a study runs on: real logs and many runs for its page, made ones and few runs for the tests.

    Attributes:
        log: a log by its name.
        small: whether this is a run of the tests, without the papers' data.
        find: the mechanisms; a test hands in a broken twin.
        noise: the noise of run number n. Fixed seeds: what comes out is stamped *not private*, and can be made again.
        peers: where the environments of other tools are kept; None to leave those tools out.
    """

    log: Callable[[str], Log]
    small: bool = False
    find: Callable[[str], Mechanism] = find
    noise: Callable[[int], NoiseSource] = SeededSource
    peers: str | None = None

    def runs(self, many: int, few: int = 3) -> range:
        """Seeds of so many runs, of few in a test."""
        return range(few) if self.small else range(FIRST_SEED, FIRST_SEED + many)

    def some(self, values: Sequence[_T], few: int = 3) -> Sequence[_T]:
        """All of the values, or in a test few of them, the first and the last among them."""
        last = len(values) - 1
        return [values[round(n * last / (few - 1))] for n in range(few)] if self.small and last >= few else values

    def plan(self, name: str, budget: Budget, facts: Facts | None = None) -> Plan:
        """The plan of a mechanism, with those of the facts that it takes."""
        mechanism = self.find(name)
        return mechanism.plan(budget, mechanism.fitting(facts or Facts()))

    def run(self, name: str, log: Log, plan: Plan, seed: int) -> Outcome:
        """One run on the input that the mechanism wants, each person bounded where its plan says so."""
        mechanism, noise = self.find(name), self.noise(seed)
        if mechanism.wants == "incidence":
            return mechanism.run(log.incidence, plan, noise)
        if mechanism.wants == "holdings":
            return mechanism.run(log.holdings, plan, noise)
        if plan.max_items is None:
            return mechanism.run(log.histogram, plan, noise)
        return mechanism.run(
            log.incidence.counts(Bound(max_items=plan.max_items, salt=noise.salt("bound"))), plan, noise
        )

    def named(self, name: str, log: Log, plan: Plan, runs: Iterable[int]) -> Measured:
        """How many items are named, over some runs."""
        return measured(len(self.run(name, log, plan, seed).items) for seed in runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """One page.

    Attributes:
        name: what it is asked for by, and what its files are called.
        title: of the page.
        source: the paper and the numbers of its tables and figures; "ours" where there is none.
        question: what it asks.
        run: the answer.
        reads: mechanisms of which it reads a plan or a piece without asking its scale for them.
        programs: a folder beside it whose programs it runs.
    """

    name: str
    title: str
    source: str
    question: str
    run: Callable[[Scale], Findings]
    reads: tuple[str, ...] = ()
    programs: str = ""
