"""Paying: the spine with a real ledger, the same question asked again, refusals, and crashes at every step."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import hushcount
from hushcount.accounting import zcdp
from hushcount.app import answer as spine
from hushcount.app.answer import Asking, answer
from hushcount.app.catalog import report
from hushcount.app.payment import make_ask
from hushcount.app.planning import make_plan
from hushcount.app.recognising import sight
from hushcount.app.request import make_request
from hushcount.app.setting import Places
from hushcount.app.wiring import make_setting
from hushcount.errors import BudgetExhausted, InvalidParameter, NotPermitted
from hushcount.ledger.ledger import EVERY, Account
from hushcount.ledger.limits import rho_limit
from tests.unit.app.made_engine import made_engine


@pytest.fixture
def places(tmp_path):
    """Ann's home and ledger."""
    return Places(home=tmp_path / "home", ledger=str(tmp_path / "ledger.sqlite"), analyst="ann")


@pytest.fixture
def setting(places):
    """Ann before a ledger of her own."""
    made = make_setting(places)
    yield made
    made.close()


def ask(setting, engine=None, *, key=None, **options):
    """One paid count."""
    request = make_request("count", user="user", item="item", options=options)
    return answer(request, engine or made_engine(), setting, call=Asking(key=key))


def balance(setting):
    """The account of the only population."""
    (found,) = {line.dataset.population: line.balance for line in report(setting)}.values()
    return found


def spent(setting):
    """What the data set has spent, exactly."""
    return balance(setting).spent


def test_a_release_is_charged_what_it_cost(setting):
    """The data set is charged the actual cost, which is at most the worst case."""
    release = ask(setting)

    assert spent(setting) == zcdp.spent(release.cost)
    assert 0 < spent(setting).rho <= Decimal("0.1")


def test_a_repeat_is_free_and_the_same_bytes(setting):
    """The same question on the same data is answered from the ledger: same bytes, no charge, data not read."""
    first, engine = ask(setting), made_engine()
    before = spent(setting)
    again = ask(setting, engine)

    assert again.to_bytes() == first.to_bytes()
    assert spent(setting) == before
    assert engine.reads == []


def test_fresh_noise_pays_again(setting):
    """Asked afresh, the question is drawn and charged anew."""
    first = ask(setting)
    second = ask(setting, fresh=True)

    assert second.to_bytes() != first.to_bytes()
    assert spent(setting) == zcdp.spent(first.cost + second.cost)


def test_changed_data_pays_from_the_same_budget(setting):
    """New rows are a new version with new noise, charged to the same data set's budget."""
    first, changed = ask(setting), made_engine()
    changed.version = "v2"
    second = ask(setting, changed)

    assert second.to_bytes() != first.to_bytes()
    assert spent(setting) == zcdp.spent(first.cost + second.cost)


def test_a_copy_under_another_name_is_the_same_data(setting):
    """The same rows elsewhere do not open a fresh budget."""
    first, copy = ask(setting), made_engine()
    copy.name, copy.version = "copy", "v1"
    copy.rows_identity = made_engine().rows_identity
    second = ask(setting, copy, fresh=True)

    assert spent(setting) == zcdp.spent(first.cost + second.cost)


def test_another_analyst_gets_the_same_bytes_and_the_world_pays_once(setting):
    """Another analyst's repeat is on their own account; the data set is not charged twice for the same bytes."""
    first = ask(setting)
    before = spent(setting)

    assert ask(replace(setting, analyst="bob")).to_bytes() == first.to_bytes()
    assert spent(setting) == before


def test_ten_standard_releases_then_a_refusal_that_helps(setting):
    """A new data set has ten standard releases; what does not fit is refused before data is read, with a way out."""
    released, engine, text = 0, made_engine(), ""
    while not text:
        engine.reads.clear()
        try:
            ask(setting, engine, where=f"day = {released}", rho="0.1", method="pcr")
        except BudgetExhausted as refused:
            text = str(refused)
        else:
            released += 1

    # Ten at the full price; a few more since each paid a little less than its worst case.
    assert 10 <= released <= 14
    assert engine.reads == []
    for words in ("count of item per user", "preset cautious"):
        assert words in text
    # What was answered before is still there, for nothing.
    assert len(ask(setting, engine, where="day = 3", rho="0.1", method="pcr")) > 0


def test_a_retry_under_the_same_key_never_pays_twice(setting):
    """Fresh noise asked for twice under one key is drawn and paid once."""
    first = ask(setting, key="attempt-1", fresh=True)
    again = ask(setting, key="attempt-1", fresh=True)

    assert again.to_bytes() == first.to_bytes()
    assert spent(setting) == zcdp.spent(first.cost)


def test_a_discarded_draw_leaves_no_receipt(setting, monkeypatch):
    """If somebody settled the same question meanwhile, theirs is the answer and our own draw leaves nothing behind."""
    theirs = ask(setting)
    kept = set(setting.receipts.iterdir())
    planned = make_plan(make_request("count", user="user", item="item", options={}))
    dataset = setting.catalog.datasets(by="ann")[0]
    version = sight(made_engine(), setting).version
    stored = setting.ledger.reserve(make_ask(planned, dataset, version=version, by="ann", key=None))
    monkeypatch.setattr(type(setting.ledger), "settle", lambda *_args, **_kwargs: stored)

    assert ask(setting, fresh=True).to_bytes() == theirs.to_bytes()
    assert set(setting.receipts.iterdir()) == kept


def test_tracked_answers_are_marked(setting):
    """Where a limit is only tracked, the answer is given and says that nothing held it back."""
    everything = Account(kind="dataset", name=EVERY, entity=EVERY)
    assert ask(setting).enforced
    setting.ledger.set_limit(everything, rho_limit("0.01", "1e-9", mode="track"), by="ann")

    assert not ask(setting, fresh=True).enforced


def test_the_last_owner_stays(setting):
    """The only owner cannot give up the role: anybody could claim the ledger then."""
    with pytest.raises(NotPermitted, match="only owner"):
        setting.ledger.grant("ann", None, by="ann")
    setting.ledger.grant("second", "owner", by="ann")
    setting.ledger.grant("ann", None, by="ann")

    with pytest.raises(NotPermitted):
        setting.ledger.grant("ann", "owner", by="ann")


@pytest.mark.parametrize("option", [{"key": "k"}, {"dataset": "d"}])
def test_what_only_a_ledger_can_do_is_refused_without_one(setting, option):
    """An option that is not used is refused, never ignored."""
    request = make_request("count", user="user", item="item", options={})

    with pytest.raises(InvalidParameter, match="no ledger"):
        answer(request, made_engine(), replace(setting, ledger=None), call=Asking(**option))


class Crash(Exception):
    """A process that dies."""


STEPS = ["register", "reserve", "touch", "fingerprint", "histogram", "incidence", "run", "keep", "settle"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_crash_anywhere_releases_nothing_uncharged(setting, monkeypatch, step, when):
    """Die before or after any step: nothing was released, or it is charged; asked again, the question is answered."""
    engine = made_engine()
    patch_step(monkeypatch, setting, engine, step, when)
    # People per item is what this one reads; the default reads who has what.
    options = {"method": "pcr"} if step == "histogram" else {}
    with pytest.raises(Crash):
        ask(setting, engine, **options)
    monkeypatch.undo()
    touched = bool(engine.reads) or step in {"histogram", "incidence", "run", "keep", "settle"}

    if touched:
        # Data may have been read: the worst case is held, or the release was settled at its cost.
        held = balance(setting)
        assert held.reserved.rho + held.spent.rho > 0
    release = ask(setting, made_engine(), **options)
    assert len(release) > 0
    assert spent(setting).rho >= zcdp.spent(release.cost).rho
    assert not setting.ledger.verify().problems


def patch_step(monkeypatch, setting, engine, step, when):
    """Make one step of the spine die, before it acts or after."""
    owner, name = {
        "register": (setting.ledger.catalog, "register"),
        "reserve": (setting.ledger, "reserve"),
        "touch": (setting.ledger, "touch"),
        "settle": (setting.ledger, "settle"),
        "fingerprint": (engine, "fingerprint"),
        "histogram": (engine, "histogram"),
        "incidence": (engine, "incidence"),
        "run": (spine, "make_receipt"),
        "keep": (spine, "keep"),
    }[step]
    real = getattr(owner, name)

    def dies(*args, **kwargs):
        if when == "after":
            real(*args, **kwargs)
        raise Crash

    if owner is engine or owner is spine:
        monkeypatch.setattr(owner, name, dies)
    else:
        # On the class: ledgers and catalogs may have slots, and every instance of the test is this one.
        monkeypatch.setattr(type(owner), name, lambda _self, *args, **kwargs: dies(*args, **kwargs))


def test_a_frame_that_changes_keeps_its_budget_under_a_name(places, setting):
    """Two states of a named frame are charged to one account; without a name each state starts a new one."""

    def populations(people, **options):
        frame = pa.table({"user": list(range(people)) * 2, "item": ["a"] * people + ["b"] * people})
        hushcount.count(frame, user="user", item="item", setting=setting, **options)
        return len({line.dataset.population for line in report(setting)})

    assert populations(400, dataset="readers") == 1
    assert populations(401, dataset="readers") == 1
    assert populations(402) == 2


def test_a_table_of_a_connection_is_known_by_its_name(setting):
    """A table that changes keeps its budget, whichever connection it is asked through."""
    for people in (400, 401):
        connection = duckdb.connect()
        connection.execute("CREATE TABLE log AS SELECT range AS reader, 'a' AS item FROM range(?)", [people])
        hushcount.count(connection, table="log", user="reader", item="item", setting=setting)

    assert spent(setting).rho > Decimal("0.1")
