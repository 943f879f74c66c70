"""Alerts: what was noticed is claimed in the ledger by one machine, sent, and noted as sent; so each is told once.

One for a whole server, in its first process, in a thread of its own: no question ever waits for it. It looks once a
minute, so that the moment of an alert does not tell when a question ended.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final

from hushcount.app.serving.alerts.hooks import Hook
from hushcount.app.serving.alerts.noticing import Notice, of_budgets, of_records, of_stores
from hushcount.app.serving.callers.tokens import ledger_of
from hushcount.app.serving.news import News
from hushcount.app.setting import Setting
from hushcount.errors import HushcountError, LedgerMismatch, Outdated
from hushcount.ledger.ledger import Ledger
from hushcount.ledger.records import Record

KIND: Final = "alert"
# What a machine claimed and did not send in this time is sent by another.
SILENCE: Final = timedelta(minutes=10)
_EVERY, _HOURLY, _DAILY = 60.0, 60, 24 * 60
# What happened while nobody looked is in the last entries of each book; what was told is known by its id.
_BACK: Final = 200
_PAGE: Final = 100
_log = logging.getLogger("hushcount.serving")


class Alerts:
    """What one server tells.

    Args:
        opening: opens the secret and the ledger.
        hook: where alerts go.
    """

    def __init__(self, opening: Callable[[], Setting], hook: Hook) -> None:
        self._opening, self._hook = opening, hook
        self._setting: Setting | None = None
        self._news = News(back=_BACK)
        self._known: set[str] = set()
        self._mine: dict[str, Record] = {}
        self._over = threading.Event()
        self._since: datetime | None = None

    def start(self) -> None:
        """Look once a minute, in a thread of its own."""
        threading.Thread(target=self._looking, name="alerts", daemon=True).start()

    def close(self) -> None:
        """Look no more."""
        self._over.set()
        if self._setting is not None:
            self._setting.close()

    def round(self) -> None:
        """Notice what is new, and send what was not sent."""
        ledger, by = self._open()
        news = tuple(self._news.since(ledger, by=by))
        now = ledger.watch.vitals().now
        since = self._since or now - timedelta(hours=1)
        for notice in (
            *of_budgets(ledger, news, by=by),
            *of_records(ledger, news, by=by),
            *of_stores(ledger, since, by=by),
        ):
            self._claim(notice)
        # A little is looked at twice: a row may be dated before it can be seen.
        self._since = now - timedelta(minutes=1)
        self._send()

    def check_chain(self) -> None:
        """Replay the ledger: the newest links of a whole one are told, to be kept elsewhere; else that it is not."""
        ledger, _ = self._open()
        try:
            verdict = ledger.verify()
            problems = len(verdict.problems)
        except LedgerMismatch:
            problems = 1
        day = f"{ledger.watch.vitals().now:%Y-%m-%d}"
        if problems:
            self._claim(Notice(about=("chain", day), form={"kind": "chain", "problems": problems}))
        else:
            heads = [asdict(head) for head in verdict.heads]
            self._claim(Notice(about=("heads", day), form={"kind": "heads", "heads": heads}))

    def adopt(self) -> None:
        """Claim what another machine claimed long ago and did not send."""
        ledger, by = self._open()
        after, oldest = "", ledger.watch.vitals().now - SILENCE
        while page := ledger.records.page(KIND, after=after, size=_PAGE):
            for record in page:
                if record.body["state"] == "waiting" and record.changed <= oldest and record.id not in self._mine:
                    self._put(ledger, by, name=record.id, body=record.body, edition=record.edition)
            after = page[-1].id

    def _open(self) -> tuple[Ledger, str]:
        if self._setting is None:
            self._setting = self._opening()
        return ledger_of(self._setting), self._setting.analyst

    def _claim(self, notice: Notice) -> None:
        """Put it on record; whoever is first sends it."""
        ledger, by = self._open()
        if notice.id in self._known:
            return
        if ledger.records.find(KIND, notice.id) is None:
            form = {"id": notice.id, "at": f"{ledger.watch.vitals().now:%Y-%m-%dT%H:%MZ}", **notice.form}
            self._put(ledger, by, name=notice.id, body={"state": "waiting", "told": form}, edition=0)
        self._known.add(notice.id)

    def _put(self, ledger: Ledger, by: str, *, name: str, body: Mapping[str, Any], edition: int) -> None:
        try:
            record = ledger.records.put(KIND, name, body, owner=by, by=by, edition=edition)
        except Outdated:
            return
        if record is not None:
            self._mine[name] = record

    def _send(self) -> None:
        ledger, by = self._open()
        for name, claimed in tuple(self._mine.items()):
            record = ledger.records.find(KIND, name)
            if record is None or record.edition != claimed.edition:
                # Another machine took it for lost, and has it now.
                del self._mine[name]
                continue
            if not self._hook.send(record.body["told"]):
                _log.warning("an alert was not taken; trying again", extra={"kind": record.body["told"]["kind"]})
                # One that does not answer is not waited for again in this round.
                return
            del self._mine[name]
            sent = {**record.body, "state": "sent"}
            try:
                ledger.records.put(KIND, name, sent, owner=by, by=by, edition=record.edition)
            except Outdated:
                continue

    def _looking(self) -> None:
        number = 0
        while True:
            try:
                if number % _HOURLY == 0:
                    self.adopt()
                if number % _DAILY == _HOURLY:
                    self.check_chain()
                self.round()
            except HushcountError:
                _log.warning("alerts could not be looked for; trying again")
            except Exception:  # noqa: BLE001  alerts may be late, and must not take anything along
                _log.exception("alerts stumbled")
            number += 1
            if self._over.wait(_EVERY):
                return
