"""Refusals: decided by the worst case alone, told without what is others', and read from a bounded number of rows."""

from __future__ import annotations

import re
from contextlib import contextmanager

import pytest

from hushcount.accounting.spent import Spent
from hushcount.errors import BudgetExhausted
from hushcount.ledger.ledger import StoredRelease
from hushcount.ledger.limits import rho_limit
from tests.conformance.ledgers.stores import OWNER, analyst, answered, ask, cost, dataset

GROWING = ("asks", "log", "releases", "holders", "identities")


@pytest.mark.parametrize("actual", ["0", "0.01", "0.04", "0.1"])
def test_what_a_stored_answer_cost_is_told_to_nobody_who_has_not_paid(ledger, actual):
    """Quote and refusal are the same whatever the answer cost in fact: the worst case decides and is told.

    Before, the actual cost was told in both, and a limit between it and the worst case told it, too.
    """
    answered(ledger, ask("made", query="q"), actual=cost(actual, "0"))
    ledger.set_limit(analyst("bob"), rho_limit("0.05", "0.1"), by=OWNER)
    question = ask("again", query="q", analyst="bob")
    quote = ledger.check(question)
    with pytest.raises(BudgetExhausted) as refused:
        ledger.reserve(question)

    assert (quote.stored, quote.more) == (True, 0)
    assert str(quote.charge.rho.normalize()) == str(quote.refusal.asked.rho.normalize()) == "0.1"
    assert refused.value.refusal == quote.refusal
    assert ledger.balance(analyst("bob")).spent == Spent()


def test_what_fits_is_charged_at_its_actual_cost(ledger):
    """With room for the worst case a stored answer is paid at what it cost, and is free ever after, also when full."""
    answered(ledger, ask("made", query="q"), actual=cost("0.04", "0"))
    ledger.set_limit(analyst("bob"), rho_limit("0.1", "0.1"), by=OWNER)
    first = ledger.reserve(ask("again", query="q", analyst="bob"))
    ledger.set_limit(analyst("bob"), rho_limit("0.01", "0.1"), by=OWNER)
    second = ledger.reserve(ask("and again", query="q", analyst="bob"))

    assert (str(first.charged.rho), second.charged) == ("0.04", Spent())
    assert ledger.check(ask("more", query="q", analyst="bob")).refusal is None


def test_asked_for_less_than_it_cost_a_stored_answer_is_not_handed_over(ledger):
    """Who reserves less than the stored answer cost does not get it: the charge would pass what was decided."""
    answered(ledger, ask("made", query="q"), actual=cost("0.1"))
    less = ledger.reserve(ask("less", query="q", analyst="bob", cost=cost("0.05")))

    assert not isinstance(less, StoredRelease)
    assert str(less.held.rho.normalize()) == "0.05"


class Listening:
    """A database that remembers every statement that reads."""

    def __init__(self, inner) -> None:
        self.inner, self.heard = inner, []

    @contextmanager
    def writing(self):
        """As the database does, listening."""
        with self.inner.writing() as rows:
            yield ListeningTransaction(rows, self.heard)

    def __getattr__(self, name):
        """Everything else as the database does."""
        return getattr(self.inner, name)


class ListeningTransaction:
    """A transaction that notes what it fetches."""

    def __init__(self, rows, heard: list) -> None:
        self._rows, self._heard, self.dialect = rows, heard, rows.dialect

    def fetch(self, sql, *values):
        """As the transaction does, noted."""
        self._heard.append((sql, values))
        return self._rows.fetch(sql, *values)

    def __getattr__(self, name):
        """Everything else as the transaction does."""
        return getattr(self._rows, name)


def plan(rows, kind: str, sql: str, values: tuple) -> str:
    """How the store would run a statement."""
    if kind == "sqlite":
        return "\n".join(row[3] for row in rows.fetch(f"EXPLAIN QUERY PLAN {sql}", *values))
    # Small tables are scanned whatever indexes there are; so it is asked whether an index can be used at all.
    rows.write([("SET LOCAL enable_seqscan = off", ()), ("SET LOCAL enable_sort = off", ())])
    return "\n".join(row[0] for row in rows.fetch(f"EXPLAIN {sql}", *values))


@pytest.mark.parametrize("family", ["", "alike"])
@pytest.mark.parametrize("short", ["dataset", "analyst"])
def test_no_statement_of_a_refusal_reads_a_whole_table(ledger, store, clock, family, short):
    """Whatever is asked of a table that grows goes through an index; the latest charges through one without repeats."""
    ledger.set_limit(dataset() if short == "dataset" else analyst(), rho_limit("0.15", "0.1"), by=OWNER)
    answered(ledger, ask("made", query="q", family=family))
    listening = Listening(store.database(clock))
    with pytest.raises(BudgetExhausted):
        store.over(listening).reserve(ask("no", family=family, fresh=not family))
    database = store.database(clock)
    with database.reading() as rows:
        plans = {sql: plan(rows, store.kind, sql, values) for sql, values in listening.heard if " books" not in sql}
    database.close()
    whole = re.compile(rf"\b(SCAN|Seq Scan on) ({'|'.join(GROWING)}|[rh])\b")
    latest = [text for sql, text in plans.items() if "answer = number" in sql]

    assert len(plans) >= 6
    assert not [text for text in plans.values() if whole.search(text)]
    assert all("asks_paid" in text for text in latest)
    assert bool(latest) == (short == "dataset")


def test_thousands_of_repeats_are_not_read(ledger, store, clock):
    """The charges that a refusal names are found behind any number of repeats that cost the population nothing."""
    ledger.set_limit(dataset(), rho_limit("0.15", "0.1"), by=OWNER)
    answered(ledger, ask("made", query="q", what="the dear one"))
    for number in range(60):
        ledger.reserve(ask(f"again {number}", query="q"))
    with pytest.raises(BudgetExhausted, match="the dear one"):
        ledger.reserve(ask("more"))
