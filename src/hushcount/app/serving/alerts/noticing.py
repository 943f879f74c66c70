"""Noticing: what is worth an alert, read from the ledger. Data sets and those who spend are named; no questions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from hushcount.app.serving.owners.saved import KIND as QUESTION
from hushcount.app.serving.owners.wishes import KIND as WISH
from hushcount.app.serving.problems import Problem
from hushcount.ledger.ledger import SERVICE, Account, Balance, Entry, Ledger
from hushcount.model.frozen import frozen

_STEPS: Final = (100, 80, 50)
# Mechanisms use a hair less than was planned for them: what is less than a thousandth away from a step has reached it.
_HAIR: Final = Decimal("0.1")
_SPENDING: Final = frozenset({"settle", "late", "expire", "overrun", "repeat"})
_OF_STORES: Final = frozenset({"store-failed", "store-incomplete", "store-timeout"})
_PAGE, _MOST_PAGES = 100, 20
# A question that failed may have been asked so long before.
_LONGEST = timedelta(hours=1)


@frozen
class Notice:
    """One thing that somebody should know.

    Attributes:
        about: what makes it this one and no other; the same, however often and by whomever it is noticed.
        form: what is told.
    """

    about: tuple[str, ...]
    form: Mapping[str, Any]

    @property
    def id(self) -> str:
        """Its name."""
        return f"alert-{hashlib.sha256(json.dumps(self.about).encode()).hexdigest()[:32]}"


def of_budgets(ledger: Ledger, news: Iterable[Entry], *, by: str) -> Iterator[Notice]:
    """Of each data set, and of each analyst who spent lately, the highest step that was reached in this window."""
    names: dict[str, str] = {}
    for dataset in sorted(ledger.catalog.datasets(by=by), key=lambda one: one.made):
        names.setdefault(dataset.population, dataset.name)
    accounts = [Account(kind="dataset", name=entity, entity=entity) for entity in names]
    spenders = {(one.entity, one.by) for one in news if one.kind in _SPENDING and one.entity in names}
    accounts += [Account(kind="analyst", name=name, entity=entity) for entity, name in sorted(spenders)]
    for account in accounts:
        balance = ledger.balance(account)
        step = step_of(balance)
        if step is None or balance.limit is None:
            continue
        # A limit that was raised is another one: its steps are told again.
        window = f"{balance.limit.ceiling.rho} {balance.limit.ceiling.delta} {balance.opened}"
        whose = {"analyst": account.name} if account.kind == "analyst" else {}
        form = {"of": account.kind, **whose, "dataset": names[account.entity], "percent": step}
        about = ("budget", account.kind, account.entity, account.name, window, str(step))
        yield Notice(about=about, form={"kind": "budget", **form, "mode": balance.limit.mode})


def step_of(balance: Balance) -> int | None:
    """The highest step of its limit that an account has reached, in percent; None for none."""
    limit = balance.limit
    if limit is None or not limit.ceiling.rho:
        return None
    spent = balance.lifetime if limit.window == "none" else balance.spent
    shares = [spent.rho / limit.ceiling.rho]
    if limit.ceiling.delta:
        shares.append(spent.delta / limit.ceiling.delta)
    return next((step for step in _STEPS if 100 * max(shares) + _HAIR >= step), None)


def of_records(ledger: Ledger, news: Iterable[Entry], *, by: str) -> Iterator[Notice]:
    """Wishes that were made, a freeze by the service itself (a ledger that was put back), schedules that missed."""
    names = {one.id: one.name for one in ledger.catalog.datasets(by=by)}
    for entry in news:
        kind, name = entry.body.get("record", ("", ""))
        content = entry.body.get("content") or {}
        if kind == WISH and entry.body.get("edition") == 1:
            dataset = names.get(content.get("dataset", ""))
            yield Notice(about=("request", name), form={"kind": "request", "request": name, "dataset": dataset})
        elif kind == "freeze" and entry.by == SERVICE and content:
            # By its link and not by its number: a ledger that is put back twice counts the same numbers twice.
            yield Notice(about=("frozen", entry.hash), form={"kind": "frozen"})
        elif kind == QUESTION:
            yield from _of_schedule(name, content, {"dataset": names.get(content.get("dataset", ""))}, entry)


def _of_schedule(name: str, content: Mapping[str, Any], where: Mapping[str, Any], entry: Entry) -> Iterator[Notice]:
    """A scheduled question that came to nothing, once a day for each reason; and days of which there is no answer."""
    run = (content.get("schedule") or {}).get("run") or {}
    told = {"kind": "schedule", "question": name, "analyst": entry.body.get("owner"), **where}
    code, missed = (run.get("problem") or ("", ""))[0], run.get("missed") or []
    # That an owner stopped all questions is no news to owners.
    if code and code != "frozen":
        stopped = content["schedule"]["stopped"] is not None
        form = {**told, "code": code, "stopped": stopped}
        yield Notice(about=("schedule", name, code, str(run["at"])[:10]), form=form)
    if missed:
        yield Notice(about=("missed", name, *missed), form={**told, "missed": missed})


def of_stores(ledger: Ledger, since: datetime, *, by: str) -> Iterator[Notice]:
    """Stores that failed since a moment: one alert for a data set, a code and an hour."""
    names = {one.id: one.name for one in ledger.catalog.datasets(by=by)}
    before = ""
    for _ in range(_MOST_PAGES):
        page = ledger.jobs.page(analyst=None, before=before, size=_PAGE)
        for job in page:
            code = Problem.from_text(job.outcome).code if job.state == "failed" and job.changed > since else ""
            if code in _OF_STORES:
                about = ("store", job.dataset, code, f"{job.changed:%Y-%m-%d %H}")
                yield Notice(about=about, form={"kind": "store", "dataset": names.get(job.dataset), "code": code})
        if len(page) < _PAGE or page[-1].made < since - _LONGEST:
            return
        before = page[-1].id
