"""Declared facts held against the data: what an owner is told, what it costs, and what nobody can find out with it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushcount.app.budgets import make_limit
from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.data.loans import LentEngine
from hushcount.app.serving.problems import Problem
from hushcount.app.serving.questions import checking
from hushcount.app.serving.questions.checking import CHECKED, check, price_of
from hushcount.errors import BudgetExhausted, Frozen, KeyReused, NotFound, NotPermitted, StoreFailed
from hushcount.ledger.catalog import ColumnFacts
from hushcount.ledger.ledger import Account, Page
from tests.unit.app.serving.services import NOBODY, OLGA, ZOE, make_config, running_service, write_log

COLUMN = "article"
EVERY_ITEM = tuple(f"article {rank}" for rank in range(1, 41))


@pytest.fixture
def service(tmp_path):
    """A service whose data has forty items; person p0 has all of them."""
    with running_service(make_config(tmp_path)) as running:
        running.ledger.set_limit(_account(running), None, by="olga")
        yield running
        assert running.ledger.verify().problems == ()


def _account(service):
    population = service.ledger.catalog.find("events", by="olga").population
    return Account(kind="dataset", name=population, entity=population)


def declare(service, **facts):
    """What an owner says of the items."""
    service.ledger.catalog.declare("events", {COLUMN: ColumnFacts(**facts)}, by="olga")


def checked(service, caller=OLGA, *, key="k1"):
    """What an owner is told, by fact."""
    form = check(service, caller, service.served.find("events"), key=key).found
    return {one["fact"]: one for one in form["facts"]}


def spent(service):
    """What the data's account has spent, in rho."""
    return service.ledger.balance(_account(service)).lifetime.rho


def test_what_many_people_break_is_found_and_what_holds_is_not(service):
    """A bound of 40 and a list of all forty hold; a bound of 2 and a list of one do not."""
    declare(service, max_items=40, public_items=EVERY_ITEM)
    good = checked(service)
    declare(service, max_items=2, public_items=EVERY_ITEM[:1])
    bad = checked(service, key="k2")

    assert (good["max_items_per_user"]["holds"], good["public_items"]["holds"]) == (True, True)
    assert (bad["max_items_per_user"]["holds"], bad["public_items"]["holds"]) == (False, False)
    assert "Raise it" in bad["max_items_per_user"]["detail"]
    assert "Add" in bad["public_items"]["detail"]


def _exact(histogram, plan, noise):
    """A mechanism that adds nothing."""
    del plan, noise
    return SimpleNamespace(items=histogram.items, counts=histogram.counts)


def told_of_one(folder):
    """What is told of a bound that just one person breaks, under several keys of noise."""
    told = []
    for number in range(6):
        place = folder / str(number)
        place.mkdir()
        config = make_config(place)
        config.keys.noise.write_bytes(bytes([number]) * 32)
        rows = {"user_id": ["one"] * 3 + ["two"], "article": ["a", "b", "c", "a"], "country": ["NZ"] * 4}
        pq.write_table(pa.table(rows), place / "data" / "events.parquet")
        with running_service(config) as service:
            declare(service, max_items=1)
            told.append(checked(service)["max_items_per_user"]["holds"])
    return told


def test_what_one_person_breaks_cannot_be_found(tmp_path):
    """A bound that one person breaks is told like one that nobody breaks, whatever the noise."""
    assert told_of_one(tmp_path) == [True] * 6


def test_an_exact_check_would_show_one_person(tmp_path, monkeypatch):
    """The broken twin: without noise, and from the first person on, the same test sees who breaks it."""
    monkeypatch.setattr(checking, "run_known_laplace", _exact)
    monkeypatch.setattr(checking.Prepared, "threshold", 0)

    assert told_of_one(tmp_path) == [False] * 6


def test_no_number_of_the_data_is_told(service):
    """The reply is the same, letter for letter, for data that breaks a fact a little more or less."""
    declare(service, max_items=2, public_items=EVERY_ITEM[:1])
    first = check(service, OLGA, service.served.find("events"), key="k1").found
    write_log(Path(service.config.stores[0].place) / "events.parquet", people=3990)
    second = check(service, OLGA, service.served.find("events"), key="k2").found

    assert first["facts"] == second["facts"]
    assert spent(service) > 0


def test_it_is_charged_before_the_data_is_read_and_stands_in_the_log(service, monkeypatch):
    """Like any question, to the owner and to the data; the same on the same data is free; a key is paid once."""
    declare(service, max_items=3)
    before, real, found = spent(service), checking._breaking, []  # noqa: SLF001

    def breaking(*given):
        population = service.ledger.catalog.find("events", by="olga").population
        found.append([one.kind for one in service.ledger.history(Page(entity=population, size=100), by="olga")][-2:])
        return real(*given)

    monkeypatch.setattr(checking, "_breaking", breaking)
    first = check(service, OLGA, service.served.find("events"), key="k1").found
    paid = spent(service) - before
    again = check(service, OLGA, service.served.find("events"), key="k1").found
    other = check(service, OLGA, service.served.find("events"), key="k2").found
    population = service.ledger.catalog.find("events", by="olga").population
    entries = service.ledger.history(Page(entity=population, size=100), by="olga")
    whats = [(entry.by, entry.body["ask"]["what"]) for entry in entries if entry.kind in {"reserve", "repeat"}]

    assert found == [["reserve", "touch"]]
    assert 0 < paid <= CHECKED.rho
    assert first["cost"]["releases"] == pytest.approx(float(paid) * 10)
    assert (spent(service) - before, again["facts"], other["facts"]) == (paid, first["facts"], first["facts"])
    assert other["cost"]["releases"] == 0
    assert whats == [("olga", "check of the facts of article")] * 2


def test_a_price_is_told_first_and_costs_nothing(service):
    """How much, which facts, and from how many people on a broken one shows."""
    declare(service, max_items=3, per_item_cap=5)
    before = spent(service)
    price = price_of(service, OLGA, service.served.find("events"))

    assert spent(service) == before
    assert 0 < price["cost"]["releases"] <= 0.1
    assert [(one["fact"], one["holds"], one["enforced"]) for one in price["facts"]] == [
        ("max_items_per_user", None, True),
        ("per_item_cap", None, True),
        ("person", None, True),
    ]
    assert 20 < price["seen_from"] < 100


def test_what_the_engine_enforces_needs_no_check(service):
    """A cap and rows without a person: nothing is asked and nothing paid."""
    declare(service, per_item_cap=5)
    before = spent(service)
    found = checked(service)

    assert [one["holds"] for one in found.values()] == [None, None]
    assert all("left out" in one["detail"] for one in found.values())
    assert spent(service) == before


def test_owners_only(service):
    """An analyst may not, a stranger sees nothing, an owner's token that only asks does not manage."""
    declare(service, max_items=3)
    offer = service.served.find("events")
    for caller, error in ((ZOE, NotPermitted), (NOBODY, NotFound), (Caller(name="adam"), NotPermitted)):
        with pytest.raises(error):
            check(service, caller, offer, key="k1")
        with pytest.raises(error):
            price_of(service, caller, offer)


def test_a_limit_and_a_freeze_stop_it_before_the_data_is_read(service):
    """It is a question like any other."""
    declare(service, max_items=3)
    service.ledger.records.put("freeze", "*", {"why": "x"}, owner="olga", by="olga")
    with pytest.raises(Frozen):
        checked(service)
    service.ledger.records.put("freeze", "*", None, owner="olga", by="olga")
    service.ledger.set_limit(
        _account(service), make_limit({"releases": "0.01"}, window="none", mode="enforce"), by="olga"
    )
    with pytest.raises(BudgetExhausted):
        checked(service)

    assert spent(service) == 0


def test_a_key_of_another_question_is_refused(service):
    """The facts were changed: that is another question."""
    declare(service, max_items=3)
    checked(service)
    declare(service, max_items=4)

    with pytest.raises(KeyReused):
        checked(service)


def test_a_store_that_fails_after_the_charge_is_told_as_charged_and_finished_for_nothing(service, monkeypatch):
    """The words of the store stay here; the same key goes on where it broke off."""
    declare(service, max_items=3)
    offer = service.served.find("events")

    def broken(*_, **__):
        raise StoreFailed("somebody's name")

    with monkeypatch.context() as patch:
        patch.setattr(LentEngine, "histogram", broken)
        failed = check(service, OLGA, offer, key="k1").found
    held = service.ledger.balance(_account(service)).reserved
    done = check(service, OLGA, offer, key="k1").found

    assert isinstance(failed, Problem)
    assert (failed.charged, failed.code) == (True, "store-failed")
    assert "name" not in json.dumps(failed.to_form()).replace("the request's id", "")
    assert held.rho > 0
    assert isinstance(done, dict)
    assert service.ledger.balance(_account(service)).reserved.rho == 0
