"""The checker: a pure function from what clients saw and what the ledger holds to everything that is wrong."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from tests.faults.history import Event, Facts

# What an account of a kind may ever have spent and held, in rho; by kind, for whoever has no other.
Ceilings = Mapping[str, Decimal]
# States of a job after which nobody works on it any more.
_ENDED = ("done", "failed", "cancelled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is wrong, each in a sentence, and how much was tried.

    Attributes:
        problems: none, if all promises were kept.
        requests: how many were sent.
        unknown: how many had no answer that says what became of them.
        answered: how many keys have an answer.
        resumed: how many of those had an end that was not known before.
        overspend: how many times an account was over its limit.
        lost: how many keys were charged and have neither an answer nor a recorded reason.
    """

    problems: tuple[str, ...]
    requests: int
    unknown: int
    answered: int
    resumed: int
    overspend: int
    lost: int


def check(events: Sequence[Event], facts: Facts, ceilings: Ceilings) -> Verdict:
    """Hold a history against a ledger that nobody works on any more."""
    overspent, lost = list(_overspent(facts, ceilings)), list(_lost(facts))
    wrong = [_charged_twice(facts), _unlike_stored(events, facts), _two_answers(events), _unpaid(events, facts)]
    keys = {(event.analyst, event.key) for event in events if event.ending == "ok" and event.rows}
    doubted = {(event.analyst, event.key) for event in events if event.ending == "unknown"}
    return Verdict(
        problems=(*(f"verify: {one}" for one in facts.problems), *overspent, *lost, *itertools.chain(*wrong)),
        requests=len(events),
        unknown=sum(event.ending == "unknown" for event in events),
        answered=len(keys),
        resumed=len(keys & doubted),
        overspend=len(overspent),
        lost=len(lost),
    )


def _overspent(facts: Facts, ceilings: Ceilings) -> Iterator[str]:
    """After every link of the log, what an account has spent and holds is within its limit."""
    # Fractions: amounts have more digits than a sum of decimals keeps.
    used: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for entry in facts.log:
        for kind, name, held, spent in entry.moves:
            more = Fraction(held) + Fraction(spent)
            used[kind, name] += more
            if kind in ceilings and used[kind, name] > Fraction(ceilings[kind]) and more > 0:
                yield f"entry {entry.seq}: the {kind} {name} has {float(used[kind, name])} of {ceilings[kind]}"


def _charged_twice(facts: Facts) -> Iterator[str]:
    """A key is held or charged at most once, but for what was refunded."""
    live = Counter((ask.analyst, ask.key) for ask in facts.asks.values() if ask.state != "refunded")
    for (analyst, key), times in live.items():
        if times > 1:
            yield f"the key {key} of {analyst} was charged {times} times"
    begun = Counter((entry.analyst, entry.key) for entry in facts.log if entry.kind in {"reserve", "repeat"})
    refunded = Counter((ask.analyst, ask.key) for ask in facts.asks.values() if ask.state == "refunded")
    for of_key, times in begun.items():
        if times - refunded[of_key] > 1:
            yield f"the key {of_key[1]} of {of_key[0]} stands {times} times in the log"


def _lost(facts: Facts) -> Iterator[str]:
    """What is charged or held has an answer, or its job tells why there is none."""
    for number, ask in facts.asks.items():
        if ask.state == "refunded" or (ask.answer is not None and ask.answer in facts.releases):
            continue
        state, outcome = facts.jobs.get((ask.analyst, ask.key), ("none", {}))
        if ask.answer is not None or state not in _ENDED or not outcome.get("code") or outcome.get("charged") is False:
            yield f"ask {number} ({ask.analyst}, {ask.key}) is {ask.state} without an answer, and its job is {state}"


def _unlike_stored(events: Sequence[Event], facts: Facts) -> Iterator[str]:
    """Every answer that left is that of its key, as it is stored, byte for byte."""
    by_key = {(ask.analyst, ask.key): ask for ask in facts.asks.values() if ask.state != "refunded"}
    for event in events:
        if event.ending != "ok" or not event.rows:
            continue
        ask = by_key.get((event.analyst, event.key))
        stored = None if ask is None or ask.answer is None else facts.releases.get(ask.answer)
        if stored is None:
            yield f"{event.analyst} has an answer under {event.key} that nobody was charged for"
        elif (stored.digest, stored.rows) != (event.stored, event.rows):
            yield f"{event.analyst} has another answer under {event.key} than is stored"


def _two_answers(events: Sequence[Event]) -> Iterator[str]:
    """Whoever asks twice, before or after a crash, gets the same rows; without fresh noise, whoever it is."""
    seen: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for event in events:
        if event.ending == "ok" and event.rows:
            seen["key", event.analyst, event.key].add(event.rows)
            if event.question and '"fresh"' not in event.question:
                seen["question", event.question].add(event.rows)
    for what, rows in seen.items():
        if len(rows) > 1:
            yield f"{len(rows)} different answers to the same {' '.join(what)}"


def _unpaid(events: Sequence[Event], facts: Facts) -> Iterator[str]:
    """Whoever was told that nothing was charged was not charged."""
    by_key = {(ask.analyst, ask.key): ask for ask in facts.asks.values() if ask.state != "refunded"}
    last: dict[tuple[str, str], Event] = {}
    for event in sorted(events, key=lambda one: one.ended):
        if event.deed in {"ask", "retry"} and event.ending != "unknown":
            last[event.analyst, event.key] = event
    for of_key, event in last.items():
        if event.ending == "fail" and event.code in {"cancelled", "budget-exhausted"} and of_key in by_key:
            yield f"{event.analyst} was told {event.code} under {event.key}, which is {by_key[of_key].state}"
