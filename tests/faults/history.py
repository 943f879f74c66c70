"""What clients saw, and what the ledger says: the two things that the checker holds against each other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from hushcount.app.release import Release
from hushcount.app.serving.questions.releases import answer_form
from hushcount.ledger.sql import SqlLedger

Ending = Literal["ok", "fail", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One request of one client, from its invocation to its end.

    Attributes:
        client: which thread.
        analyst: who asks.
        deed: ask, retry, estimate, poll or cancel.
        key: the idempotency key, or the query's id where there is none.
        question: the body, as text.
        invoked: when it was sent.
        ended: when its end was known.
        ending: "ok" for an answer (200), "fail" for a refusal that says what became of it, "unknown" for all else.
        status: of the response; 0 without one.
        code: of a problem.
        rows: a digest of the rows of a release.
        stored: what the response says that the digest of the stored bytes is.
    """

    client: int
    analyst: str
    deed: str
    key: str
    question: str
    invoked: float
    ended: float
    ending: Ending
    status: int = 0
    code: str = ""
    rows: str = ""
    stored: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A release in the ledger: digests of its bytes and of its rows."""

    digest: str
    rows: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An ask in the ledger."""

    analyst: str
    key: str
    state: str
    charged: Decimal
    answer: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A link of the log: what it is, and what it moves: (kind, name, held, spent) in rho."""

    seq: int
    kind: str
    analyst: str
    key: str
    moves: tuple[tuple[str, str, Decimal, Decimal], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the ledger holds.

    Attributes:
        log: every link of the book of the one population, in order.
        asks: by number.
        releases: by number.
        jobs: (state, outcome) by analyst and key.
        problems: what `verify` found.
    """

    log: tuple[Entry, ...]
    asks: Mapping[int, Asked]
    releases: Mapping[int, Stored]
    jobs: Mapping[tuple[str, str], tuple[str, dict[str, Any]]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def rows_digest(rows: Any) -> str:
    """A digest of the rows of a release."""
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16]


def read_facts(ledger: SqlLedger) -> Facts:
    """All that the checker needs, read from the tables and not through the verbs that are on trial."""
    problems = ledger.verify().problems
    with ledger._database.reading() as rows:  # noqa: SLF001
        (entity,) = rows.fetch("SELECT DISTINCT entity FROM datasets")[0]
        log = rows.fetch("SELECT seq, body FROM log WHERE entity = ? ORDER BY seq", entity)
        asks = rows.fetch("SELECT number, analyst, ask_key, state, charged_rho, answer FROM asks")
        releases = rows.fetch("SELECT number, payload FROM releases")
        jobs = rows.fetch("SELECT analyst, ask_key, state, outcome FROM jobs")
    found = {
        int(row[0]): Asked(analyst=row[1], key=row[2], state=row[3], charged=Decimal(row[4]), answer=row[5])
        for row in asks
    }
    return Facts(
        log=tuple(_entry(int(seq), json.loads(body)) for seq, body in log),
        asks=found,
        releases={int(number): _stored(bytes(payload)) for number, payload in releases},
        jobs={(row[0], row[1]): (row[2], json.loads(row[3] or "{}")) for row in jobs},
        problems=problems,
    )


def _entry(seq: int, body: dict[str, Any]) -> Entry:
    ask = body.get("ask") or {}
    moves = tuple((line[0], line[1], Decimal(line[5]), Decimal(line[7])) for line in body.get("lines", ()))
    return Entry(seq=seq, kind=body["kind"], analyst=ask.get("analyst", ""), key=ask.get("ask_key", ""), moves=moves)


def _stored(payload: bytes) -> Stored:
    rows = json.loads(json.dumps(answer_form(Release.from_bytes(payload))["rows"]))
    return Stored(digest=hashlib.sha256(payload).hexdigest()[:32], rows=rows_digest(rows))
