"""The history of a data set in words: who asked what at what price, and who changed its rules."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from hushcount.accounting.spent import Spent
from hushcount.app.desk import Desk
from hushcount.app.words import about, in_releases, limit_words, whose
from hushcount.errors import NotPermitted
from hushcount.ledger import limits
from hushcount.ledger.ledger import EVERY, Account, Entry, Page
from hushcount.ledger.limits import Mode
from hushcount.model.frozen import frozen

_PAGE = 5_000
# A question leaves up to five entries in the log: reserved, touched, kept, unveiled, ended.
_ENTRIES = 5
_ENDS = {
    "settle": "answered",
    "late": "answered late, charged in full before",
    "expire": "given up, charged in full",
    "refund": "not run, free",
    "overrun": "not released, charged in full",
}


@frozen
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


def history(desk: Desk, *, last: int | None = 20) -> tuple[Deed, ...]:
    """The latest deeds on this data, or all, oldest first; rules that concern it are among them.

    An analyst gets what they did themselves, owners and auditors everything.
    """
    read = _all if last is None else lambda desk, entity: _tail(desk, entity, last)
    deeds = [*_questions(desk, read(desk, desk.population)), *_rules(desk, read(desk, EVERY))]
    ordered = sorted(deeds, key=lambda deed: deed.when)
    return tuple(ordered if last is None else ordered[-last:])


def last_charges(desk: Desk, last: int) -> tuple[Deed, ...]:
    """The last questions that cost something and may be seen, newest first."""
    asked = _questions(desk, _tail(desk, desk.population, last))
    paid = [deed for deed in asked if deed.spent and deed.spent != Spent()]
    return tuple(reversed(paid[-last:]))


def sees_all(desk: Desk) -> bool:
    """Whether whoever asks may see what everybody did."""
    try:
        desk.ledger.history(Page(entity=desk.population, size=1, analyst=EVERY), by=desk.by)
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


def entry_words(entry: Entry) -> str:
    """One entry of the log in words: a step of a question, a change of the rules, or a document that was written."""
    body = entry.body
    if entry.kind in _WORDS:
        return _WORDS[entry.kind](body)
    if entry.kind in {"reserve", "repeat"}:
        verb = "asked" if entry.kind == "reserve" else "asked again, and was given what is stored"
        return f"{verb}: {body['ask']['what'] or 'a question'}"
    if entry.kind in _ENDS:
        price = about(in_releases(_spent(*body["charged"]))) if "charged" in body else "nothing"
        return f"question {body['number']} was {_ENDS[entry.kind]}: {price} charged"
    if "record" in body:
        kind, _ = body["record"]
        verb = "removed" if body.get("content") is None else "wrote" if body.get("edition") == 1 else "changed"
        return f"{verb} {_RECORDS.get(kind, f'a record of kind {kind}')}"
    number = f" of question {body['number']}" if "number" in body else ""
    return _STEPS.get(entry.kind, f"an entry of kind {entry.kind}") + number


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
                begun = desk.ledger.history(Page(entity=desk.population, after=number - 1, size=1), by=desk.by)
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
    """The changes of rules and of the catalog among the entries, those for other data sets left out."""
    for entry in entries:
        words: Callable[[Mapping[str, Any]], str] | None = _WORDS.get(entry.kind)
        if words is not None and _places(entry) & {
            EVERY,
            desk.population,
            "" if desk.dataset is None else desk.dataset.id,
        }:
            yield Deed(when=entry.at, who=entry.by, what=words(entry.body))


def _places(entry: Entry) -> set[str]:
    """The populations and data sets that a change is about; all, if it names none."""
    body = entry.body
    if entry.kind == "limit":
        return {body["rule"][0]}
    about = body.get("dataset")
    named = [about["id"] if isinstance(about, Mapping) else about, body.get("population"), body.get("other")]
    return {place for place in named if place} or {body.get("place", EVERY)}


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


def _founded(body: Mapping[str, Any]) -> str:
    limit = None if body["limit"] is None else limits.from_json(body["limit"])
    return f"founded the ledger, with {limit_words(limit)} for each data set"


def _registered(body: Mapping[str, Any]) -> str:
    person = body["dataset"]["person"]
    pinned = "" if person is None else f"; a person is who stands in column {person!r}"
    return f"registered {len(body['identities'])} identities of {body['dataset']['name']!r}{pinned}"


def _split(body: Mapping[str, Any]) -> str:
    return f"gave {body['dataset']['name']!r} an account of its own, with all that was spent"


_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "found": _founded,
    "limit": _limit_changed,
    "role": _role_changed,
    "member": _member_changed,
    "register": _registered,
    "rename": lambda body: f"renamed the data set to {body['name']!r}",
    "repin": lambda body: f"said that a person is who stands in column {body['person']!r}",
    "declare": lambda body: f"declared facts about {len(body['facts'])} columns",
    "join": lambda body: f"joined the people of {body['other']!r} to those of {body['population']!r}",
    "split": _split,
    "order": lambda body: f"lowered the Renyi orders for which costs are known to {body['order']}",
    "clock": lambda body: f"set the clock right ({body['deed']})",
}


def _spent(rho: str, delta: str) -> Spent:
    return Spent(rho=Decimal(rho), delta=Decimal(delta))


_STEPS = {
    "touch": "data is about to be read, from here on it is charged: the reservation",
    "keep": "an answer was stored, not shown yet,",
    "unveil": "the end was shown",
    "adopt": "a book of an earlier version was taken over",
    "open": "the book was opened",
    "close": "the book was closed",
    "leave": "a data set left these people",
}
_RECORDS = {
    "token": "a token",
    "session": "a session of a browser",
    "invitation": "an invitation",
    "wish": "a request for more",
    "freeze": "a stop of all questions",
    "offer": "a data set to be served",
    "question": "a saved question",
    "alert": "an alert",
    "snapshot": "the version of a day",
}
