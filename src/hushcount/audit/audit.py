"""One audit: every step on every mechanism of the table, the system checks, and every broken twin."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TypeAlias

from hushcount import __version__
from hushcount.audit.finding import Finding, Step
from hushcount.audit.report.report import STEPS, Report, TwinVerdict
from hushcount.audit.steps import BLACK_BOX_FALSE_ALARM, attack_mechanism, attack_twin, twin_names
from hushcount.audit.system.checks import SYSTEM_CHECKS, SYSTEM_FALSE_ALARM, run_check_by_name
from hushcount.mechanisms.table import MECHANISMS, find
from hushcount.model.frozen import frozen

Say: TypeAlias = Callable[[str], None]
_MOST_WORKERS = 4


@frozen
class AuditJob:
    """One thing to look at, by name only, so that another process can do it. Without a step it is a broken twin."""

    step: Step | None
    subject: str

    def __str__(self) -> str:
        return f"{self.subject}, {self.step or 'a broken variant'}"


@frozen
class Done:
    """What a job gave: findings, or the verdict on a twin."""

    findings: tuple[Finding, ...] = ()
    twins: tuple[TwinVerdict, ...] = ()


def audit(*, quick: bool, say: Say = lambda _: None, only: Sequence[str] = (), twins: bool = True) -> Report:
    """Attack the installed build and report.

    Args:
        quick: a run of under a minute; the full run looks at more neighbours and draws more samples.
        say: told what was looked at.
        only: names of mechanisms; if empty, all of the table, and the system checks.
        twins: whether the broken twins are attacked, which shows that the audit can fail.
    """
    begun = time.monotonic()
    jobs = list_jobs(only=only, twins=twins)
    done = dict(_run_all(jobs, quick=quick, say=say))
    return Report(
        version=__version__,
        quick=quick,
        findings=tuple(finding for job in jobs for finding in done[job].findings),
        twins=tuple(verdict for job in jobs for verdict in done[job].twins),
        false_alarm=BLACK_BOX_FALSE_ALARM + SYSTEM_FALSE_ALARM,
        seconds=time.monotonic() - begun,
    )


def list_jobs(*, only: Sequence[str] = (), twins: bool = True) -> list[AuditJob]:
    """Everything that an audit looks at, in the order of its report."""
    names = [find(name).name for name in only] or [mechanism.name for mechanism in MECHANISMS]
    jobs = [AuditJob(step=step, subject=name) for name in names for step in STEPS]
    if not only:
        jobs += [AuditJob(step="system", subject=check.name) for check in SYSTEM_CHECKS]
    if twins:
        jobs += [AuditJob(step=None, subject=name) for name in twin_names()]
    return jobs


def _run_all(jobs: Sequence[AuditJob], *, quick: bool, say: Say) -> Iterator[tuple[AuditJob, Done]]:
    """All jobs, over as many processes as there are processors, and at most four."""
    workers = min(_MOST_WORKERS, os.cpu_count() or 1, len(jobs))
    if workers <= 1:
        for place, job in enumerate(jobs, start=1):
            say(f"{place} of {len(jobs)}: {job}")
            yield job, run_job(job, quick=quick)
        return
    say(f"starting {workers} processes")
    # Fresh processes: a forked one would inherit locks of threads that it does not have.
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        # The last ones listed run first: system checks and their twins take longest.
        running = {pool.submit(run_job, job, quick=quick): job for job in reversed(jobs)}
        for place, future in enumerate(as_completed(running), start=1):
            say(f"{place} of {len(jobs)} done: {running[future]}")
            yield running[future], future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def run_job(job: AuditJob, *, quick: bool) -> Done:
    """One job. A step that fails by itself is a claim that was not shown to hold, or a twin that was not caught."""
    try:
        if job.step is None:
            return Done(twins=(_attack_twin(job.subject, quick=quick),))
        if job.step == "system":
            return Done(findings=(run_check_by_name(job.subject, quick=quick),))
        return Done(findings=attack_mechanism(job.subject, job.step, quick=quick))
    except Exception as error:  # noqa: BLE001  all data is made up, so the text may be shown
        words = f"the step itself failed: {type(error).__name__}: {error}"
        if job.step is None:
            return Done(twins=(TwinVerdict(name=job.subject, erratum="", caught_by=None, measured=words),))
        failed = Finding(
            subject=job.subject, step=job.step, holds=False, claimed="", measured=words, where="", looked="nothing"
        )
        return Done(findings=(failed,))


def _attack_twin(name: str, *, quick: bool) -> TwinVerdict:
    begun = time.monotonic()
    erratum, finding = attack_twin(name, quick=quick)
    return TwinVerdict(
        name=name,
        erratum=erratum,
        caught_by=None if finding is None else finding.step,
        measured="nothing above its claim was found" if finding is None else finding.measured,
        seconds=time.monotonic() - begun,
    )
