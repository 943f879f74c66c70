"""The audit trail: replay gives the exact balance, and any edit is found, on every store."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hushcount.errors import CostOverrun
from hushcount.ledger.limits import rho_limit
from hushcount.ledger.replay import verify
from hushcount.ledger.schema import TABLES
from tests.conformance.ledgers.stores import OWNER, answered, ask, cost, dataset, group


@pytest.fixture
def busy(ledger, clock):
    """A ledger in which everything has happened once."""
    ledger.enroll("ann", "team", by=OWNER)
    ledger.grant("ada", "auditor", by=OWNER)
    ledger.set_limit(dataset(), rho_limit(2, "0.1"), by=OWNER)
    ledger.set_limit(group("team"), rho_limit(2, "0.1", window="day", mode="track"), by=OWNER)
    answered(ledger, ask("settled"), b"one")
    answered(ledger, ask("settled again", query="settled", analyst="bob"))
    answered(ledger, ask("fresh", query="settled", fresh=True), b"two")
    ledger.refund(ledger.reserve(ask("refunded")))
    late = ledger.reserve(ask("late", lifetime=timedelta(minutes=1)))
    ledger.reserve(ask("expired", lifetime=timedelta(minutes=1)))
    clock.forward(minutes=2)
    ledger.settle(late, cost(), payload=b"three")
    over = ledger.reserve(ask("overrun"))
    with pytest.raises(CostOverrun):
        ledger.settle(over, cost("0.2"), payload=b"never")
    ledger.touch(ledger.reserve(ask("running", dataset="copy")))
    return ledger


def columns(rows, kind: str, table: str) -> list[str]:
    """The columns of a table."""
    if kind == "sqlite":
        return [row[1] for row in rows.fetch(f"PRAGMA table_info({table})")]
    found = rows.fetch(
        "SELECT column_name FROM information_schema.columns WHERE table_name = ? AND table_schema = current_schema()",
        table,
    )
    return [row[0] for row in found]


class Undo(Exception):
    """Ends a transaction without a trace."""


def test_a_whole_ledger_verifies(busy):
    """Nothing is found in a ledger that nobody edited, and every book has a head."""
    verdict = busy.verify()

    assert verdict.problems == ()
    assert {proof.entity for proof in verdict.heads} == {"*", "visits"}


def test_every_edit_of_every_column_is_found(busy, store):
    """Each column of each table, changed in one row, is found by the replay, and putting it back heals it."""
    database, missed = store.database(), []
    with database.reading() as rows:
        edits = [(table, column) for table in (*TABLES, "books") for column in columns(rows, store.kind, table)]
    for table, column in edits:
        try:
            with database.writing() as rows:
                # The expiry of a book is a lower bound, so the earliest is the one that matters.
                order = "ASC" if column == "expiry" else "DESC"
                present = f"FROM {table} WHERE {column} IS NOT NULL ORDER BY 1 {order} LIMIT 1"
                key = rows.fetch(f"SELECT {column} {present}")[0][0]
                changed = changed_value(key)
                rows.write([(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (changed, key))])  # noqa: S608
                if not verify(rows, {}).problems:
                    missed.append((table, column))
                raise Undo  # noqa: TRY301
        except Undo:
            pass
    database.close()

    assert len(edits) > 60
    assert missed == []
    assert busy.verify().problems == ()


def changed_value(value):
    """Something else of the same type."""
    if isinstance(value, int):
        return value + 1
    if isinstance(value, bytes | memoryview):
        return bytes(value) + b"!"
    return {"1": "2"}.get(value, "1" if value[:1].isdigit() and len(value) < 40 else value + "x")


@pytest.mark.parametrize("table", [*TABLES, "books"])
def test_every_lost_row_is_found(busy, store, table):
    """A table that lost its rows is found."""
    database = store.database()
    with database.writing() as rows:
        rows.write([(f"DELETE FROM {table}", ())])  # noqa: S608
    database.close()

    assert busy.verify().problems


def test_a_rewritten_history_is_found_with_a_kept_proof(store, clock):
    """Someone who starts the book over, consistently, is found by a proof that was kept elsewhere, and only by it."""
    ledger = store.open(clock)
    ledger.grant(OWNER, "owner", by=OWNER)
    proof = answered(ledger, ask("q"), b"dear").proof
    database = store.database()
    with database.writing() as rows:
        for table in (*TABLES[:7], "books"):
            rows.write([(f"DELETE FROM {table} WHERE entity = 'visits'", ())])  # noqa: S608
    database.close()
    answered(ledger, ask("q"), b"cheap", actual=cost("0.01"))
    forgotten = ledger.verify({"clicks": proof}).problems

    assert ledger.verify().problems == ()
    assert any("proof that was kept" in problem for problem in ledger.verify({"visits": proof}).problems)
    assert any("missing" in problem for problem in forgotten)


def test_a_cut_off_history_is_found_with_a_kept_proof(ledger, store):
    """A book that ends before a kept proof is found."""
    answered(ledger, ask("q"))
    proof = ledger.verify().heads[-1]

    assert ledger.verify({"visits": proof}).problems == ()
    assert any(
        "before the kept proof" in problem
        for problem in ledger.verify({"visits": type(proof)(entity="visits", seq=99, hash="0")}).problems
    )
