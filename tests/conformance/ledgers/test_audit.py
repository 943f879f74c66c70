"""The audit trail: replay gives the exact balance, and any edit is found, on every store."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from hushcount.errors import CostOverrun
from hushcount.ledger import joining
from hushcount.ledger.book import lock_book, rule_book
from hushcount.ledger.catalog import ColumnFacts
from hushcount.ledger.chain import canonical, link
from hushcount.ledger.limits import rho_limit
from hushcount.ledger.replay import verify
from hushcount.ledger.schema import TABLES
from hushcount.ledger.windows import micros
from tests.conformance.ledgers.stores import OWNER, answered, ask, cost, dataset, group, known

# Hashes from before a redaction are there in migrated ledgers only: see test_migration.
REPLAYED = tuple(table for table in TABLES if table != "redacted")


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
    ledger.touch(ledger.reserve(ask("running")))
    known(ledger, "week 1", "week 2", person=None)
    answered(ledger, ask("weekly", dataset="week 2"), b"four")
    ledger.catalog.join("week 1", "week 2", by=OWNER)
    ledger.catalog.rename("clicks", "taps", by=OWNER)
    ledger.catalog.declare("taps", {"page": ColumnFacts(max_items=3)}, by=OWNER)
    ledger.catalog.split("week 2", by=OWNER)
    ledger.grant("rae", "reader", dataset="clicks", by=OWNER)
    for number in range(3):
        ledger.records.put("wish", "w_1", {"number": number}, owner="ann", by="ann")
    ledger.records.put("wish", "w_2", {}, owner="ann", by="ann")
    ledger.records.put("wish", "w_2", None, owner="ann", by="ann")
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
    assert {proof.entity for proof in verdict.heads} == {"*", "visits", "clicks", "week 1", "week 2", "week 2 apart"}


def test_every_edit_of_every_column_is_found(busy, store):
    """Each column of each table, changed in one row, is found by the replay, and putting it back heals it."""
    database, missed = store.database(), []
    with database.reading() as rows:
        edits = [(table, column) for table in (*REPLAYED, "books") for column in columns(rows, store.kind, table)]
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

    assert len(edits) > 70
    assert missed == []
    assert busy.verify().problems == ()


def changed_value(value):
    """Something else of the same type."""
    if isinstance(value, int):
        return value + 1
    if isinstance(value, bytes | memoryview):
        return bytes(value) + b"!"
    return {"1": "2"}.get(value, "1" if value[:1].isdigit() and len(value) < 40 else value + "x")


@pytest.mark.parametrize("table", [*REPLAYED, "books"])
def test_every_lost_row_is_found(busy, store, table):
    """A table that lost its rows is found."""
    database = store.database()
    with database.writing() as rows:
        rows.write([(f"DELETE FROM {table}", ())])  # noqa: S608
    database.close()

    assert busy.verify().problems


def test_a_rewritten_history_is_found_with_a_kept_proof(store, clock):
    """Someone who starts the book over, consistently, is found by a proof that was kept elsewhere, and only by it."""
    ledger = store.found(clock)
    known(ledger, "visits")
    first = ledger.verify().heads[-1]
    proof = answered(ledger, ask("q"), b"dear").proof
    database = store.database()
    with database.writing() as rows:
        for table in ("accounts", "asks", "releases", "holders"):
            rows.write([(f"DELETE FROM {table} WHERE entity = 'visits'", ())])  # noqa: S608
        rows.write([("DELETE FROM log WHERE entity = 'visits' AND seq > ?", (first.seq,))])
        rows.write([("UPDATE books SET seq = ?, head = ? WHERE entity = 'visits'", (first.seq, first.hash))])
    database.close()
    answered(ledger, ask("q"), b"cheap", actual=cost("0.01"))
    forgotten = ledger.verify({"unheard of": proof}).problems

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


@pytest.mark.parametrize("depth", [5_000, 200_000])
def test_an_entry_that_nests_too_deep_is_a_complaint(busy, store, depth):
    """A body that would overflow the reader is told like any other edit, and the rest is still verified."""
    database = store.database()
    with database.writing() as rows:
        rows.write([("UPDATE log SET body = ? WHERE entity = 'visits' AND seq = 3", ("[" * depth + "]" * depth,))])
    database.close()
    verdict = busy.verify()

    assert any("entry 3: it makes no sense" in problem for problem in verdict.problems)
    assert len(verdict.heads) == 6


def test_an_entry_dated_before_the_one_before_it_is_found(ledger, store, clock):
    """Only a repair of the clock may go back in time; a chain that does otherwise was made up."""
    answered(ledger, ask("q"))
    database = store.database()
    clock.forward(hours=-1)
    with database.writing() as rows:
        book = lock_book(rows, "visits", moment=lambda *_: micros(clock.now))
        book.append("open", OWNER, dataset="visits")
        book.flush()
    database.close()

    assert any("dated before" in problem for problem in ledger.verify().problems)


def test_accounts_that_were_made_up_in_a_join_are_found(ledger, store):
    """What came with a join must be what the closed book had, and what left with a split what was there."""
    known(ledger, "week 1", "week 2")
    answered(ledger, ask("q", dataset="week 2"))
    database = store.database()
    with database.writing() as rows:
        rules = rule_book(rows)
        joining.join(rules, "week 1", "week 2", by=OWNER)
    with database.writing() as rows:
        body = rows.fetch("SELECT body, hash FROM log WHERE entity = 'week 1' AND seq = 2")[0][0]
        forged = body.replace('"0.1"', '"0.01"')
        rows.write([("UPDATE log SET body = ?, hash = ? WHERE entity = 'week 1' AND seq = 2", (forged, link(forged)))])
    database.close()
    problems = ledger.verify().problems

    assert body != forged
    assert any("are not those that went there" in problem for problem in problems)


def test_what_was_made_up_to_be_common_is_found(ledger, store):
    """A join that takes off more than the two had shared when they parted is found by what the split says."""
    known(ledger, "week 1", "week 2")
    ledger.catalog.join("week 1", "week 2", by=OWNER)
    answered(ledger, ask("q", dataset="week 1"))
    ledger.catalog.split("week 2", by=OWNER)
    ledger.catalog.join("week 1", "week 2", by=OWNER)
    database = store.database()
    with database.writing() as rows:
        where = (
            "entity = 'week 1' AND seq = (SELECT max(seq) FROM log WHERE entity = 'week 1' AND body LIKE '%common%')"
        )
        ((body,),) = rows.fetch(f"SELECT body FROM log WHERE {where}")  # noqa: S608
        said = json.loads(body)
        said["common"] = [[*row[:6], *(["0.09"] * 6)] for row in said["common"]]
        forged = canonical(said)
        rows.write([(f"UPDATE log SET body = ?, hash = ? WHERE {where}", (forged, link(forged)))])  # noqa: S608
    database.close()

    assert any("in common with 'week 2 apart'" in problem for problem in ledger.verify().problems)
