"""One book computed from its log: what every row of it must be, and every step that the rules forbid."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from hushcount.accounting import zcdp
from hushcount.accounting.spent import Spent
from hushcount.ledger.accounts import AccountState, Past, Payer, by_payer, from_row, inherit, merge, reopen, to_row
from hushcount.ledger.asks import ANSWER_COLUMNS
from hushcount.ledger.book import NEVER
from hushcount.ledger.chain import START, canonical
from hushcount.ledger.ledger import EVERY
from hushcount.ledger.replayed_rules import ReplayedRules
from hushcount.ledger.store import Row
from hushcount.model.costs import Cost
from hushcount.model.frozen import frozen

_NOTHING = Spent()
# What an ask may become, from what it is.
_STEPS = {
    "settle": ("open", "settled"),
    "expire": ("open", "expired"),
    "refund": ("open", "refunded"),
    "late": ("expired", "settled"),
}
# What says nothing of its book's tables: who opened it, and names and versions of the first schema, which the migration
# entered into the catalog.
_SAYINGS = {"open", "name", "version"}


@frozen
class Parting:
    """What one book says of the accounts that went from another book to it, or from it to another."""

    other: str
    seq: int
    hash: str
    accounts: frozenset[Row]


@dataclass(slots=True)
class Replayed:
    """One book, computed from its log.

    Attributes:
        head: the hash of the newest entry.
        past: every window that an account had, and what was spent in it.
        parted: for each population that took accounts from here, and the entry that says so, what they were.
        came: the accounts that came from elsewhere.
        origin: those that this book began with, if it left another one.
        common: for each population that was joined, the accounts that both are said to have had when they parted.
        adopted: stored answers that came from elsewhere: whence, their number there, and the hash of their bytes.
        moved: when accounts came from elsewhere last.
        redacted: how many entries were rewritten, and the hash of what their hashes were.
    """

    entity: str
    seq: int = 0
    head: str = START
    seen: int = 0
    merged: str | None = None
    accounts: dict[Payer, AccountState] = field(default_factory=dict)
    past: dict[Payer, list[Past]] = field(default_factory=dict)
    asks: dict[int, dict[str, Any]] = field(default_factory=dict)
    releases: dict[int, Row] = field(default_factory=dict)
    holders: set[Row] = field(default_factory=set)
    parted: dict[tuple[str, int], Parting] = field(default_factory=dict)
    came: list[Parting] = field(default_factory=list)
    origin: Parting | None = None
    common: list[tuple[str, frozenset[Row]]] = field(default_factory=list)
    adopted: list[tuple[str, int, str]] = field(default_factory=list)
    moved: int = 0
    redacted: tuple[int, str] = (0, "")
    rules: ReplayedRules = field(default_factory=ReplayedRules)
    problems: list[str] = field(default_factory=list)

    def apply(self, body: Mapping[str, Any]) -> None:
        """Take one entry into account."""
        kind = body["kind"]
        if kind == "clock":
            self._clock(body)
        elif kind == "redact":
            self.redacted = (body["entries"], body["hashes"])
        elif self.entity == EVERY:
            for words in self.rules.apply(body):
                self.complain(body, words)
        elif self.merged is not None:
            self.complain(body, f"{kind} in a book that was closed")
        elif kind in {"close", "leave", "join", "split", "adopt"}:
            self._part(body)
        elif kind in {"reserve", "repeat"}:
            self._begin(body)
        elif kind in {"touch", "keep", "unveil"}:
            self._go_on(body)
        elif kind not in _SAYINGS:
            self._end(body)

    def complain(self, body: Mapping[str, Any], words: str) -> None:
        """Note what is wrong with an entry."""
        self.problems.append(f"book {self.entity!r}, entry {body['seq']}: {words}")

    def reopened(self, now: int) -> list[AccountState]:
        """The accounts whose window was opened after `now`, as a repair of the clock leaves them."""
        found = []
        for payer, state in sorted(self.accounts.items()):
            if state.opened > now:
                # Where accounts were joined under the wrong clock, only the total still says what the windows held.
                past = [(0, NEVER, state.lifetime)] if self.moved > now else self.past[payer]
                found.append(reopen(state, past, at=now))
        return found

    def restarted(self, now: int) -> dict[int, int]:
        """The running asks that were made after `now`, each with the end of a lifetime that begins now."""
        running = (ask for ask in self.asks.values() if ask["state"] == "open" and ask["made"] > now)
        return {ask["number"]: now + ask["expires"] - ask["made"] for ask in running}

    def expiries(self, changed: Mapping[int, int]) -> Iterable[int]:
        """When the running asks expire, some of them at another moment than is known."""
        running = (ask for ask in self.asks.values() if ask["state"] == "open")
        return (changed.get(ask["number"], ask["expires"]) for ask in running)

    def _clock(self, body: Mapping[str, Any]) -> None:
        if body["deed"] == "accept":
            return
        open_ = self.merged is None
        expected = [list(to_row(state)) for state in self.reopened(body["at"])] if open_ else []
        lives = self.restarted(body["at"]) if open_ else {}
        if body["accounts"] != expected or body["asks"] != [[number, at] for number, at in lives.items()]:
            self.complain(body, "the clock was not repaired as the rules say")
        for row in body["accounts"]:
            self._put(from_row(row))
        for number, expires in body["asks"]:
            self.asks[number]["expires"] = expires

    def _part(self, body: Mapping[str, Any]) -> None:
        """Accounts and stored answers that come or go, because populations were joined or split."""
        kind = body["kind"]
        if kind == "adopt":
            self._adopt(body)
        elif kind in {"close", "leave"}:
            rows = frozenset(to_row(state) for state in self.accounts.values())
            self.parted[body["into"], self.seq] = Parting(
                other=body["into"], seq=self.seq, hash=self.head, accounts=rows
            )
            self.merged = body["into"] if kind == "close" else None
            if kind == "close" and any(ask["state"] == "open" for ask in self.asks.values()):
                self.complain(body, "a book was closed while a query was running")
        else:
            self._come(body)

    def _come(self, body: Mapping[str, Any]) -> None:
        """Accounts that come: all that a new book begins with, or those of a book that is joined to this one."""
        came = Parting(
            other=body["other"], seq=body["seq_there"], hash=body["hash_there"], accounts=_frozen(body["accounts"])
        )
        self.came.append(came)
        self.moved = body["at"]
        arriving = by_payer(body["accounts"], self.entity)
        if body["kind"] == "split":
            self.origin = came
            for theirs in arriving.values():
                self._put(inherit(theirs, at=body["at"]))
            return
        # Joins of earlier versions added all of it up, and say nothing of what was common.
        common = body.get("common", [])
        if common:
            self.common.append((body["other"], _frozen(common)))
        shared = by_payer(common, self.entity)
        for payer, theirs in arriving.items():
            mine = self.accounts.get(payer, AccountState(*payer))
            self._put(merge(mine, theirs, at=body["at"], common=shared.get(payer)))

    def _adopt(self, body: Mapping[str, Any]) -> None:
        release, number = body["release"], body["answer"]
        if release is not None:
            self.releases[number] = tuple(release[name] for name in ANSWER_COLUMNS)
        self.adopted.append((body["other"], body["number"], self.releases[number][-1]))
        self.holders.update((number, kind, name) for kind, name in body["holders"])

    def _begin(self, body: Mapping[str, Any]) -> None:
        # In the first schema a book was one data set, of the same name.
        ask = {"dataset": self.entity, **body["ask"]}
        self.asks[ask["number"]] = ask
        worst = zcdp.spent(Cost.from_json(json.loads(ask["cost"])))
        for payer, reserved, _ in self._lines(body):
            self.accounts[payer].queries += 1
            if body["kind"] == "repeat":
                self.holders.add((ask["answer"], *payer))
            elif reserved != worst:
                self.complain(body, "what was held is not the worst case")
        for kind, name, rho, delta, window, mode in body["limits"]:
            state = self.accounts.get((kind, name))
            if state is not None and mode == "enforce":
                base = (state.lifetime if window == "none" else state.spent) + state.reserved
                over_rho, over_delta = base.rho > Decimal(rho), base.delta > Decimal(delta)
                if (over_rho and worst.rho > 0) or (over_delta and worst.delta > 0):
                    self.complain(body, f"{kind} {name!r} went over its limit")

    def _end(self, body: Mapping[str, Any]) -> None:
        ask, kind = self.asks[body["number"]], body["kind"]
        worst = zcdp.spent(Cost.from_json(json.loads(ask["cost"])))
        was, becomes = _STEPS[kind] if kind != "overrun" else (ask["state"], "overrun")
        if (ask["state"], body["state"]) != (was, becomes) or (kind == "refund" and ask["touched"]):
            self.complain(body, f"{kind} of a query that was {ask['state']}")
        for payer, reserved, spent in self._lines(body):
            if ask["state"] == "open" and reserved != _NOTHING - worst:
                self.complain(body, "what was freed is not what was held")
            if kind != "overrun" and (spent.rho > worst.rho or spent.delta > worst.delta):
                self.complain(body, "more was charged than was held")
            if kind == "settle" and ask["answer"] is not None and spent != _due(self, ask["answer"], payer):
                self.complain(body, "a veiled answer was not charged at its cost")
            if kind == "expire" and (spent != worst or ask["answer"] is not None):
                self.complain(body, "an expired query was not charged in full")
        ask["state"], (ask["charged_rho"], ask["charged_delta"]) = body["state"], body["charged"]
        if kind in {"settle", "late", "overrun"}:
            ask["touched"] = ask["touched"] or 1
        if "answer" in body:
            self.holders.update((body["answer"], *payer) for payer in json.loads(ask["accounts"]))
        self._store(body)

    def _go_on(self, body: Mapping[str, Any]) -> None:
        """An ask that stays open: data is about to be read, its answer is there and does not show, or when it will."""
        ask, kind = self.asks[body["number"]], body["kind"]
        if kind == "touch":
            # Entries of earlier versions do not say when.
            ask["touched"] = body.get("touched", 1)
            return
        if ask["state"] != "open" or (kind == "keep") == (ask["answer"] is not None):
            self.complain(body, f"{kind} of a query that was {ask['state']}, or out of its turn")
        if kind == "keep":
            ask["touched"] = ask["touched"] or 1
            self._store(body)
        elif body["at"] <= body["expires"] <= ask["expires"]:
            ask["expires"] = body["expires"]
        else:
            self.complain(body, "an answer shows at a moment that is over, or too late")

    def _store(self, body: Mapping[str, Any]) -> None:
        """The answer that an entry tells, if it tells one."""
        ask = self.asks[body["number"]]
        if "answer" in body:
            if ask["answer"] not in {None, body["answer"]}:
                self.complain(body, "another answer than the one that was kept")
            ask["answer"] = body["answer"]
        if "digest" in body:
            cost = zcdp.spent(Cost.from_json(body["cost"]))
            worst = zcdp.spent(Cost.from_json(json.loads(ask["cost"])))
            if cost.rho > worst.rho or cost.delta > worst.delta:
                self.complain(body, "an answer cost more than was held")
            asked = tuple(ask[name] for name in ANSWER_COLUMNS[:5])
            made = (body["canonical"], canonical(body["cost"]), body["at"], body["digest"])
            self.releases[ask["number"]] = (*asked, *made)

    def _lines(self, body: Mapping[str, Any]) -> Iterator[tuple[Payer, Spent, Spent]]:
        """Apply the lines of an entry to the accounts, and yield each."""
        for kind, name, period, opened, until, *amounts in body["lines"]:
            state = self.accounts.setdefault((kind, name), AccountState(kind, name))
            if opened != state.opened:
                if opened < state.until:
                    self.complain(body, f"the window of {kind} {name!r} was renewed too early")
                state.period, state.opened, state.until, state.spent = period, opened, until, _NOTHING
            exact = [Decimal(text) for text in amounts]
            reserved, spent = Spent(rho=exact[0], delta=exact[1]), Spent(rho=exact[2], delta=exact[3])
            if spent.rho < 0 or spent.delta < 0:
                self.complain(body, "a charge is negative")
            state.move(reserved=reserved, spent=spent)
            self._put(state)
            yield (kind, name), reserved, spent

    def _put(self, state: AccountState) -> None:
        """Note an account as it stands now, and what its window holds."""
        self.accounts[state.payer] = state
        past, now = self.past.setdefault(state.payer, []), (state.opened, state.until, state.spent)
        if past and past[-1][0] == state.opened:
            past[-1] = now
        else:
            past.append(now)


def _frozen(rows: Iterable[Iterable[Any]]) -> frozenset[Row]:
    return frozenset(tuple(row) for row in rows)


def _due(book: Replayed, number: int, payer: Payer) -> Spent:
    """What an account has to pay for a stored answer: what making it cost, once."""
    if (number, *payer) in book.holders:
        return _NOTHING
    said = dict(zip(ANSWER_COLUMNS, book.releases[number], strict=True))
    return zcdp.spent(Cost.from_json(json.loads(said["cost"])))
