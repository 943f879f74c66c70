"""Paying: the spine with a real ledger, the same question asked again, refusals, and crashes at every step."""

from __future__ import annotations

import getpass
from dataclasses import replace
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import hushcount
from hushcount.accounting import zcdp
from hushcount.app import answer as spine
from hushcount.app import receipts as archive
from hushcount.app.answer import answer
from hushcount.app.planning import make_plan
from hushcount.app.purse import Purse, open_ledger, open_purse
from hushcount.app.request import make_request
from hushcount.errors import BudgetExhausted, NotPermitted, UnreadableSource
from hushcount.ledger.ledger import EVERY, Account, Page
from hushcount.ledger.limits import rho_limit
from tests.unit.app.made_engine import made_engine


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """Each test keeps its files in a folder of its own."""
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def purse(tmp_path):
    """Ann's purse for a made-up file."""
    return open_purse("events.parquet", ledger=tmp_path / "ledger.sqlite", analyst="ann")


def ask(purse, engine=None, **options):
    """One paid count."""
    return answer(make_request("count", user="user", item="item", options=options), engine or made_engine(), purse)


def spent(purse, release):
    """What the data set has spent, exactly."""
    return purse.balance(release.receipt.data_version).spent


def test_a_release_is_charged_what_it_cost(purse):
    """The data set is charged the actual cost, which is at most the worst case."""
    release = ask(purse)

    assert spent(purse, release) == zcdp.spent(release.cost)
    assert 0 < spent(purse, release).rho <= Decimal("0.1")


def test_a_repeat_is_free_and_the_same_bytes(purse):
    """The same question on the same data is answered from the ledger: same bytes, no charge, data not read."""
    first, engine = ask(purse), made_engine()
    before = spent(purse, first)
    again = ask(purse, engine)

    assert again.to_bytes() == first.to_bytes()
    assert spent(purse, first) == before
    assert engine.reads == []


def test_fresh_noise_pays_again(purse):
    """Asked afresh, the question is drawn and charged anew."""
    first = ask(purse)
    second = ask(purse, fresh=True)

    assert second.to_bytes() != first.to_bytes()
    assert spent(purse, second) == zcdp.spent(first.cost + second.cost)


def test_changed_data_pays_from_the_same_budget(purse):
    """New rows are a new version with new noise, charged to the same data set's budget."""
    first, changed = ask(purse), made_engine()
    changed.version = "v2"
    second = ask(purse, changed)

    assert second.to_bytes() != first.to_bytes()
    assert spent(purse, second) == zcdp.spent(first.cost + second.cost)


def test_a_copy_under_another_name_is_the_same_data(purse):
    """A copy of the file does not open a fresh budget."""
    first = ask(purse)
    copy = Purse(ledger=purse.ledger, analyst="ann", dataset="copy.parquet")
    second = ask(copy, fresh=True)

    assert spent(copy, second) == zcdp.spent(first.cost + second.cost)


def test_another_analyst_gets_the_same_bytes_and_the_world_pays_once(purse):
    """Another analyst's repeat is on their own account; the data set is not charged twice for the same bytes."""
    first = ask(purse)
    before = spent(purse, first)
    other = Purse(ledger=purse.ledger, analyst="bob", dataset=purse.dataset)

    assert ask(other).to_bytes() == first.to_bytes()
    assert spent(purse, first) == before


def test_ten_standard_releases_then_a_refusal_that_helps(purse):
    """A new data set has ten standard releases; what does not fit is refused before data is read, with a way out."""
    released, engine, text = 0, made_engine(), ""
    while not text:
        engine.reads.clear()
        try:
            ask(purse, engine, where=f"day = {released}", rho="0.1")
        except BudgetExhausted as refused:
            text = str(refused)
        else:
            released += 1

    # Ten at the full price; a few more since each paid a little less than its worst case.
    assert 10 <= released <= 14
    assert engine.reads == []
    for words in ("ann", "count of item per user", "--preset cautious"):
        assert words in text
    # What was answered before is still there, for nothing.
    assert len(ask(purse, engine, where="day = 3", rho="0.1")) > 0


def test_a_retry_under_the_same_key_never_pays_twice(purse):
    """Fresh noise asked for twice under one key is drawn and paid once."""
    keyed = replace(purse, key="attempt-1")
    first = ask(keyed, fresh=True)
    again = ask(keyed, fresh=True)

    assert again.to_bytes() == first.to_bytes()
    assert spent(purse, first) == zcdp.spent(first.cost)


def test_a_discarded_draw_leaves_no_receipt(purse, monkeypatch):
    """If somebody settled the same question meanwhile, theirs is the answer and our own draw leaves nothing behind."""
    theirs = ask(purse)
    kept = set(archive.folder().iterdir())
    monkeypatch.setattr(spine, "load_secret", lambda: None)
    stored = purse.ledger.reserve(
        purse.ask(make_plan(make_request("count", user="user", item="item", options={})), theirs.receipt.data_version)
    )
    monkeypatch.setattr(type(purse.ledger), "settle", lambda *_args, **_kwargs: stored)

    assert ask(purse, fresh=True).to_bytes() == theirs.to_bytes()
    assert set(archive.folder().iterdir()) == kept


def test_tracked_answers_are_marked(purse):
    """Where a limit is only tracked, the answer is given and says that nothing held it back."""
    everything = Account(kind="dataset", name=EVERY, entity=EVERY)
    assert ask(purse).enforced
    owner = purse.ledger.history(Page(entity=EVERY), by=getpass.getuser())[0].by
    purse.ledger.set_limit(everything, rho_limit("0.01", "1e-9", mode="track"), by=owner)

    assert not ask(purse, fresh=True).enforced


def test_the_last_owner_stays(purse):
    """The only owner cannot give up the role: anybody could claim the ledger then."""
    owner = purse.ledger.history(Page(entity=EVERY), by=getpass.getuser())[0].by
    with pytest.raises(NotPermitted, match="only owner"):
        purse.ledger.grant(owner, None, by=owner)
    purse.ledger.grant("second", "owner", by=owner)
    purse.ledger.grant(owner, None, by=owner)

    with pytest.raises(NotPermitted):
        purse.ledger.grant(owner, "owner", by=owner)


def test_the_ledger_appears_with_its_limits(tmp_path):
    """A new ledger file is complete from its first moment, and only its owner can read it."""
    path = tmp_path / "deep" / "ledger.sqlite"
    open_ledger(str(path)).close()

    assert path.stat().st_mode & 0o077 == 0
    assert [file.name for file in path.parent.iterdir() if "ledger.sqlite." in file.name] == []


def test_no_place_for_a_ledger():
    """Where no ledger can be kept, the error says how to name a place."""
    with pytest.raises(UnreadableSource, match="HUSHCOUNT_LEDGER"):
        open_purse("x.parquet", ledger="/dev/null/ledger.sqlite")


def test_the_project_folder_is_found_from_below(tmp_path, monkeypatch):
    """A ledger in a folder above is the ledger: a subfolder is not a fresh budget."""
    open_purse("x.parquet").ledger.close()
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    open_purse("x.parquet").ledger.close()

    assert (tmp_path / ".hushcount" / "ledger.sqlite").exists()
    assert not (below / ".hushcount").exists()


class Crash(Exception):
    """A process that dies."""


STEPS = ["reserve", "touch", "validate", "fingerprint", "histogram", "run", "keep", "settle"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_crash_anywhere_releases_nothing_uncharged(purse, monkeypatch, step, when):
    """Die before or after any step: nothing was released, or it is charged; asked again, the question is answered."""
    engine = made_engine()
    patch_step(monkeypatch, purse, engine, step, when)
    with pytest.raises(Crash):
        ask(purse, engine)
    monkeypatch.undo()
    clean = made_engine()
    version = spine.keyed_version(spine.load_secret(), clean.fingerprint(b"key"))
    held = purse.balance(version)
    touched = bool(engine.reads) or (step, when) == ("histogram", "before") or step in {"run", "keep", "settle"}

    if touched:
        # Data may have been read: the worst case is held, or the release was settled at its cost.
        assert held.reserved.rho + held.spent.rho > 0
    release = ask(purse, clean)
    assert len(release) > 0
    after = purse.balance(version)
    assert after.spent.rho >= zcdp.spent(release.cost).rho


def patch_step(monkeypatch, purse, engine, step, when):
    """Make one step of the spine die, before it acts or after."""
    owner, name = {
        "reserve": (purse.ledger, "reserve"),
        "touch": (purse.ledger, "touch"),
        "settle": (purse.ledger, "settle"),
        "validate": (engine, "validate"),
        "fingerprint": (engine, "fingerprint"),
        "histogram": (engine, "histogram"),
        "run": (spine, "make_receipt"),
        "keep": (spine, "keep"),
    }[step]
    real = getattr(owner, name)

    def dies(*args, **kwargs):
        if when == "after":
            real(*args, **kwargs)
        raise Crash

    if owner is purse.ledger:
        # Class attribute: the ledger has slots, and every instance of the test is this one.
        monkeypatch.setattr(type(owner), name, lambda _self, *args, **kwargs: dies(*args, **kwargs))
    else:
        monkeypatch.setattr(owner, name, dies)


def test_a_frame_that_changes_keeps_its_budget_under_a_name(tmp_path):
    """Two states of a named frame are charged to one account; without a name each state starts a new one."""

    def spending(people, **options):
        frame = pa.table({"user": list(range(people)) * 2, "item": ["a"] * people + ["b"] * people})
        place = tmp_path / "frames.sqlite"
        hushcount.count(frame, user="user", item="item", ledger=place, analyst="ann", **options)
        purse = open_purse("", ledger=place, analyst="ann", dataset="readers")
        return purse.balance("").spent.rho

    once, twice = spending(400, dataset="readers"), spending(401, dataset="readers")
    assert 0 < once < twice
    assert spending(402) == twice


def test_a_table_of_a_connection_is_known_by_its_name(tmp_path):
    """A table that changes keeps its budget, whichever connection it is asked through."""
    for people in (400, 401):
        connection = duckdb.connect()
        connection.execute("CREATE TABLE log AS SELECT range AS reader, 'a' AS item FROM range(?)", [people])
        hushcount.count(
            connection, table="log", user="reader", item="item", ledger=tmp_path / "t.sqlite", analyst="ann"
        )
    purse = open_purse("", ledger=tmp_path / "t.sqlite", analyst="ann", dataset="the table log of a DuckDBPyConnection")
    assert purse.balance("").spent.rho > Decimal("0.1")
