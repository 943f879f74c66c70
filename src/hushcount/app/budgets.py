"""Budgets as people look after them: what is left, who did what, limits as they are typed, proposals from history."""

from __future__ import annotations

import bisect
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from hushcount.accounting.spent import EXACT, Spent
from hushcount.accounting.units import Units
from hushcount.app.purse import Purse, open_purse, project_ledger
from hushcount.app.request import DEFAULT_DELTA, PRESETS
from hushcount.app.secret import keyed_version, load_secret
from hushcount.app.wiring import open_engine
from hushcount.errors import InvalidParameter, LedgerUnavailable, NotPermitted, UnreadableSource
from hushcount.ledger import limits, proposals
from hushcount.ledger.ledger import EVERY, Account, Ask, Balance, Entry, Kind, Ledger, Page, Proof
from hushcount.ledger.limits import SHOWN_UNITS, Limit, Mode
from hushcount.ledger.proposals import Curve, Proposal
from hushcount.ledger.windows import Window
from hushcount.model.amounts import Number, amount, positive, whole
from hushcount.model.costs import Concentrated, Cost, Failure
from hushcount.noise.source import new_secret

# What everything is told in: one release at the standard preset.
STANDARD = Spent(rho=Decimal(PRESETS["standard"]), delta=Decimal(DEFAULT_DELTA))
_PAGE = 5_000
# Beside a proposed limit, what smaller and larger ones would have done is shown.
_FACTORS = (Decimal("0.25"), Decimal("0.5"), Decimal(1), Decimal(2))
# A question leaves up to three entries in the log: reserved, touched, ended.
_ENTRIES = 3
_ENDS = {
    "settle": "answered",
    "late": "answered late, charged in full before",
    "expire": "given up, charged in full",
    "refund": "not run, free",
    "overrun": "not released, charged in full",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """An open ledger, who stands before it, and the data that it is about: its identity and its version as shown."""

    purse: Purse
    entity: str
    version: str

    @property
    def ledger(self) -> Ledger:
        """The ledger."""
        return self.purse.ledger

    @property
    def by(self) -> str:
        """Who is asking or acting."""
        return self.purse.analyst


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One line of the history in words: a question with what became of it, or a change of the rules.

    Attributes:
        when: the moment; of a question, that of its end.
        who: who did it; empty where the ledger itself noted something.
        what: the question or the change.
        outcome: what became of a question; empty for a change.
        spent: what a question was charged to its analyst, or holds; None for a change.
        mode: "track" if a limit was not enforced on it.
        over: whether it went over a tracked limit.
    """

    when: datetime
    who: str
    what: str
    outcome: str = ""
    spent: Spent | None = None
    mode: Mode = "enforce"
    over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is left for somebody on one data set.

    Attributes:
        balances: of the data set first, then of their groups and their own account; an auditor has no account.
        more: about how many standard counts still fit; None if nothing is enforced.
        deeds: the last questions that cost something, newest first.
        sees_all: whether those are everybody's.
    """

    balances: tuple[Balance, ...]
    more: int | None
    deeds: tuple[Deed, ...]
    sees_all: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A limit for every analyst from what they did, in whole standard releases, and the curves around it."""

    proposal: Proposal
    releases: int
    curves: tuple[Curve, ...]


def data_version(source: object, engine: str = "duckdb") -> str:
    """The version of the data as the ledger knows it."""
    secret = load_secret() or new_secret()
    return keyed_version(secret, open_engine(source, engine).fingerprint(secret))


def open_desk(
    source: str, *, ledger: str | None = None, analyst: str | None = None, looking_back: bool = False
) -> Desk:
    """Open the ledger at the data's page.

    Args:
        source: the data.
        ledger: where the ledger is, if not in its usual place.
        analyst: who stands before it, if not the user of this computer.
        looking_back: only the past is looked at: the ledger must be there already, the data need not be any more.
    """
    if looking_back:
        require_ledger(ledger)
    try:
        version = data_version(source)
    except UnreadableSource:
        if not looking_back:
            raise
        version = ""
    purse = open_purse(source, ledger=ledger, analyst=analyst)
    entity = purse.ledger.entity_of(purse.dataset, version)
    if entity is None and not version:
        raise UnreadableSource(f"{source!r} cannot be read, and the ledger knows nothing of that name.")
    return Desk(purse=purse, entity=entity or purse.dataset, version=version)


def require_ledger(ledger: str | None) -> None:
    """Refuse a ledger that is not there: a new one would have nothing to tell and would look well."""
    where = str(ledger or os.environ.get("HUSHCOUNT_LEDGER") or project_ledger())
    if "://" not in where and not Path(where).exists():
        raise LedgerUnavailable(
            f"there is no ledger at {where!r}. Name it with --ledger, or go to the folder where the questions were "
            "asked."
        )


def read_links(path: Path) -> dict[str, Proof]:
    """The last links of every book that `ledger verify --json` wrote, by book."""
    try:
        heads = json.loads(path.read_text(encoding="utf-8"))["heads"]
        return {head["entity"]: Proof(entity=head["entity"], seq=head["seq"], hash=head["hash"]) for head in heads}
    except (OSError, ValueError, LookupError, TypeError):
        hint = "Make one with: hushcount ledger verify --json > links.json"
        raise InvalidParameter("against", str(path), "a file of kept links", hint) from None


def look(desk: Desk, *, last: int = 10) -> Standing:
    """What is left of the data's budget for whoever asks, and the last charges that they may see."""
    # The balance is asked first: it charges reservations whose time is over.
    dataset = desk.ledger.balance(Account(kind="dataset", name="", entity=desk.entity))
    cost = Cost.of((Concentrated(rho=STANDARD.rho), 1), (Failure(delta=STANDARD.delta), 1))
    ask = Ask(
        analyst=desk.by,
        dataset=desk.purse.dataset,
        version=desk.version,
        query="none",
        cost=cost,
        key="none",
        fresh=True,
    )
    try:
        quote = desk.ledger.check(ask)
        balances, more = tuple(reversed(quote.balances)), quote.more
    except NotPermitted:
        # An auditor asks no questions and so has no account.
        enforced = dataset.left if dataset.limit is not None and dataset.limit.mode == "enforce" else None
        balances, more = (dataset,), None if enforced is None else limits.more_like(enforced, STANDARD)
    paid = [deed for deed in _questions(desk, _tail(desk, desk.entity, last)) if deed.spent and deed.spent != Spent()]
    return Standing(balances=balances, more=more, deeds=tuple(reversed(paid[-last:])), sees_all=_sees_all(desk))


def history(desk: Desk, *, last: int | None = 20) -> tuple[Deed, ...]:
    """The latest deeds on this data, or all, oldest first; rules that concern it are among them.

    An analyst gets what they did themselves, owners and auditors everything.
    """
    read = _all if last is None else lambda desk, entity: _tail(desk, entity, last)
    deeds = [*_questions(desk, read(desk, desk.entity)), *_rules(desk, read(desk, EVERY))]
    ordered = sorted(deeds, key=lambda deed: deed.when)
    return tuple(ordered if last is None else ordered[-last:])


def make_limit(typed: Mapping[str, Any], *, window: Window, mode: Mode) -> Limit | None:
    """The limit that was typed, in one of four currencies; None if it is to be lifted.

    Args:
        typed: `releases`; or `rho` and `delta`; or `epsilon` and `delta`; or `information` and `calls` with, if not
            LinkedIn's, `epsilon_per` and `delta_per_call`; or `none`.
        window: when it is renewed.
        mode: whether it is enforced or only tracked.
    """
    names = ("releases", "rho", "epsilon", "information", "none")
    given = [name for name in names if typed.get(name) is not None and typed[name] is not False]
    if len(given) != 1:
        hint = "Write --releases 10, --rho X --delta Y, --epsilon X --delta Y, --information K --calls L, or --none."
        raise InvalidParameter("limit", " and ".join(given) or "nothing", "said in exactly one way", hint)
    if given == ["none"]:
        return None
    if given == ["releases"]:
        count = amount("releases", typed["releases"])
        rho, delta = EXACT.multiply(count, STANDARD.rho), EXACT.multiply(count, STANDARD.delta)
        return limits.rho_limit(rho, delta, window=window, mode=mode)
    if given == ["information"]:
        return limits.units_limit(_units(typed), window, mode=mode)
    if typed.get("delta") is None:
        raise InvalidParameter("delta", None, f"given with --{given[0]}")
    make = limits.rho_limit if given == ["rho"] else limits.epsilon_limit
    return make(typed[given[0]], typed["delta"], window=window, mode=mode)


def account(entity: str, *, analyst: str | None = None, group: str | None = None) -> Account:
    """Whose limit is meant: the data set's, or with a name an analyst's or a group's on it."""
    if analyst and group:
        raise InvalidParameter(
            "limit", f"{analyst} and {group}", "for an analyst or for a group", "Set one, then both."
        )
    kind: Kind = "analyst" if analyst else "group" if group else "dataset"
    return Account(kind=kind, name=analyst or group or entity, entity=entity)


def suggest(desk: Desk, *, share: Number = "0.95", window: Window = "month") -> Suggestion:
    """A limit that would have left that share of the analysts alone, and curves for it, half, a quarter, twice it."""
    uses = desk.ledger.usage(desk.entity, by=desk.by)
    proposal = proposals.propose(uses, share=share, window=window)
    most = proposal.limit.ceiling
    curves: list[Curve] = []
    for measure, proposed in (("rho", most.rho), ("delta", most.delta)):
        if proposed > 0:
            tried = [EXACT.multiply(proposed, factor) for factor in _FACTORS]
            curves += proposals.exceeding(uses, tried, measure="rho" if measure == "rho" else "delta", window=window)
    # Upwards to a whole number, since a limit must also hold the worst case of the last question.
    count = max(1, math.ceil(max(most.rho / STANDARD.rho, most.delta / STANDARD.delta)))
    return Suggestion(proposal=proposal, releases=count, curves=tuple(curves))


def in_releases(spent: Spent) -> float:
    """What was spent, in standard releases."""
    return float(spent.rho / STANDARD.rho)


def room(left: Spent, limit: Limit) -> float:
    """What a limit, or the rest of one, is worth in standard releases: none beyond what each part of it allows."""
    by_rho = left.rho / STANDARD.rho
    # A limit without any delta is meant for questions with a public list of items: they need none.
    return max(0.0, float(min(by_rho, left.delta / STANDARD.delta) if limit.ceiling.delta else by_rho))


def limit_words(limit: Limit | None) -> str:
    """A limit in a few words."""
    if limit is None:
        return "no limit"
    if not limit.ceiling.rho:
        return "nothing at all"
    period = "in all" if limit.window == "none" else f"a {limit.window}"
    kept = "" if limit.mode == "enforce" else ", tracked and not enforced"
    public = "" if limit.ceiling.delta else ", for public lists of items only"
    return f"{standard_releases(room(limit.ceiling, limit))} {period}{public}{kept}"


def standard_releases(count: float) -> str:
    """So many standard releases, in words."""
    return f"{count:.3g} standard release{'' if count == 1 else 's'}"


def whose(rule: Account) -> str:
    """Whose limit it is, in a few words."""
    data = "every data set" if rule.entity == EVERY else "this data set"
    if rule.kind == "dataset":
        return data
    return f"{f'every {rule.kind}' if rule.name == EVERY else f'{rule.kind} {rule.name!r}'} on {data}"


def _units(typed: Mapping[str, Any]) -> Units:
    if typed.get("calls") is None:
        raise InvalidParameter("calls", None, "given with --information")
    return Units(
        information=whole("information", typed["information"]),
        calls=whole("calls", typed["calls"], least=0),
        epsilon_per=positive("epsilon_per", typed.get("epsilon_per") or SHOWN_UNITS.epsilon_per),
        delta_per_call=positive("delta_per_call", typed.get("delta_per_call") or SHOWN_UNITS.delta_per_call),
    )


def _sees_all(desk: Desk) -> bool:
    try:
        desk.ledger.history(Page(entity=desk.entity, size=1, analyst=EVERY), by=desk.by)
    except NotPermitted:
        return False
    return True


def _all(desk: Desk, entity: str, after: int = 0) -> Iterator[Entry]:
    while page := desk.ledger.history(Page(entity=entity, after=after, size=_PAGE), by=desk.by):
        yield from page
        after = page[-1].seq


def _tail(desk: Desk, entity: str, deeds: int) -> list[Entry]:
    """The newest entries that we may see, enough for so many deeds, without reading the whole log."""
    page = Page(entity=entity, size=1)
    end, width = 1, _ENTRIES * deeds
    while desk.ledger.history(replace(page, after=end), by=desk.by):
        end *= 2
    last = bisect.bisect_left(
        range(end), x=True, key=lambda seq: not desk.ledger.history(replace(page, after=seq), by=desk.by)
    )
    while True:
        found = list(_all(desk, entity, max(0, last - width)))
        if len(found) >= _ENTRIES * deeds or width >= last:
            return found
        width *= 4


def _questions(desk: Desk, entries: Iterable[Entry]) -> list[Deed]:
    """The questions among the entries, each once, with what became of it."""
    found: dict[int, Deed] = {}
    for entry in entries:
        if entry.kind in {"reserve", "repeat"}:
            found[entry.body["ask"]["number"]] = _asked(entry)
        elif entry.kind in _ENDS:
            number = entry.body["number"]
            if number not in found:
                # It began before the entries at hand: a question's number is that of its first entry.
                begun = desk.ledger.history(Page(entity=desk.entity, after=number - 1, size=1), by=desk.by)
                found[number] = _asked(begun[0])
            joined = entry.body.get("answer", number) != number
            # Taken out and put last: questions are in the order in which they were charged.
            found[number] = replace(
                found.pop(number),
                when=entry.at,
                outcome="given a stored answer" if joined else _ENDS[entry.kind],
                spent=_spent(*entry.body["charged"]),
            )
    return list(found.values())


def _asked(entry: Entry) -> Deed:
    """A question as it begins: running, or answered at once by a stored answer."""
    ask = entry.body["ask"]
    if entry.kind == "repeat":
        spent = _spent(ask["charged_rho"], ask["charged_delta"])
        outcome = "repeated, free" if spent == Spent() else "given a stored answer, new to them"
    else:
        spent, outcome = _spent(ask["held_rho"], ask["held_delta"]), "running"
    return Deed(
        when=entry.at,
        who=entry.by,
        what=ask["what"] or "a question",
        outcome=outcome,
        spent=spent,
        mode=ask["mode"],
        over=bool(entry.body["over"]),
    )


def _rules(desk: Desk, entries: Iterable[Entry]) -> Iterator[Deed]:
    """The changes of rules among the entries, those for other data sets left out."""
    for entry in entries:
        words: Callable[[Mapping[str, Any]], str] | None = _WORDS.get(entry.kind)
        place = entry.body["rule"][0] if entry.kind == "limit" else entry.body.get("place", EVERY)
        if words is not None and place in {EVERY, desk.entity}:
            yield Deed(when=entry.at, who=entry.by, what=words(entry.body))


def _limit_changed(body: Mapping[str, Any]) -> str:
    entity, kind, name = body["rule"]
    target = whose(Account(kind=kind, name=name, entity=entity))
    if body["limit"] is None:
        return f"lifted the limit of {target}"
    return f"set the limit of {target} to {limit_words(limits.from_json(body['limit']))}"


def _role_changed(body: Mapping[str, Any]) -> str:
    role = f"the role {body['role']}" if body["role"] else "no role"
    return f"gave {body['person']!r} {role}"


def _member_changed(body: Mapping[str, Any]) -> str:
    verb, way = ("put", "into") if body["member"] else ("took", "out of")
    return f"{verb} {body['analyst']!r} {way} the group {body['group']!r}"


_WORDS = {"limit": _limit_changed, "role": _role_changed, "member": _member_changed}


def _spent(rho: str, delta: str) -> Spent:
    return Spent(rho=Decimal(rho), delta=Decimal(delta))
