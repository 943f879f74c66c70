"""Access: at once after a change, or on schedule only; and never two versions of one day."""

from __future__ import annotations

import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hushcount.app.serving.data.access import SNAPSHOT, make_access
from hushcount.app.serving.data.stamps import stamp_of
from hushcount.app.serving.data.stores import Stores
from hushcount.app.setting import Places, passing_setting
from hushcount.app.wiring import make_setting
from hushcount.errors import InvalidParameter, LedgerUnavailable, UnreadableSource
from hushcount.model.queries import Selection
from tests.postgres import MISSING, find_programs, running_cluster
from tests.unit.app.serving.made_store import made_offer, write_csv

KEY = b"k" * 32
ASKED = Selection(user="user", item="item")


class Calendar:
    """A clock that stands until it is set."""

    def __init__(self):
        self.now = datetime(2026, 11, 16, 9, tzinfo=UTC)

    def __call__(self):
        """The time."""
        return self.now


@pytest.fixture
def calendar():
    """Monday morning."""
    return Calendar()


@pytest.fixture
def setting(tmp_path, calendar):
    """Olga before a ledger of her own, on that Monday."""
    made = make_setting(Places(home=tmp_path / "home", ledger=str(tmp_path / "ledger.sqlite"), analyst="olga"))
    yield replace(made, clock=calendar)
    made.close()


def worker(setting, folder):
    """One process of the service."""
    return Stores(make_access(setting, folder))


def look(stores, offer):
    """The version, and the first item."""
    with stores.lend(offer) as engine:
        return engine.fingerprint(KEY), engine.histogram(ASKED, top=1).items.tolist()[0]


def test_a_version_stays_for_its_day(tmp_path, setting, calendar):
    """Changed, or gone: what was announced is answered about until midnight, and then what is there."""
    path, offer = write_csv(tmp_path / "events.csv"), made_offer(tmp_path, snapshot="day")
    stores = worker(setting, tmp_path / "copies")
    monday = look(stores, offer)
    write_csv(path, tag="xx")
    evening = look(stores, offer)
    path.rename(tmp_path / "away")
    calendar.now += timedelta(hours=14, minutes=59)
    night = look(stores, offer)
    (tmp_path / "away").rename(path)
    calendar.now += timedelta(minutes=2)
    tuesday = look(stores, offer)
    stores.close()

    assert monday == evening == night
    assert monday[1] == "it0"
    assert tuesday[1] == "xx0"
    assert tuesday[0] != monday[0]


def test_workers_and_restarts_share_the_copy_of_the_day(tmp_path, setting):
    """A worker that starts after the file changed answers about the announced version all the same."""
    path, offer = write_csv(tmp_path / "events.csv"), made_offer(tmp_path, snapshot="day")
    first = worker(setting, tmp_path / "copies")
    seen = look(first, offer)
    write_csv(path, tag="xx")
    second = worker(setting, tmp_path / "copies")
    assert look(second, offer) == seen
    for stores in (first, second):
        stores.close()
    third = worker(setting, tmp_path / "copies")

    assert look(third, offer) == seen
    third.close()


def test_a_worker_with_another_version_refuses_for_the_day(tmp_path, setting, calendar):
    """On another machine, or after its copies were removed: the announced version is the only one of its day."""
    path, offer = write_csv(tmp_path / "events.csv"), made_offer(tmp_path, snapshot="day")
    first, second = worker(setting, tmp_path / "copies"), worker(setting, tmp_path / "elsewhere")
    seen = look(first, offer)
    assert look(second, offer) == seen
    write_csv(path, tag="xx")
    shutil.rmtree(tmp_path / "elsewhere")
    third = worker(setting, tmp_path / "elsewhere")
    with pytest.raises(
        UnreadableSource, match=r"not the version that was announced for 2026-11-16.*Nothing was charged"
    ):
        look(third, offer)
    calendar.now += timedelta(days=1)

    assert look(third, offer)[1] == look(first, offer)[1] == "xx0"
    for stores in (first, second, third):
        stores.close()


def test_what_is_no_file_is_copied_by_each_worker_and_agreed_upon(tmp_path, setting, calendar):
    """A table of SQLite that changed in between: the later worker refuses until the next day."""
    place = tmp_path / "events.sqlite"
    with closing(sqlite3.connect(place)) as database, database:
        database.execute("CREATE TABLE t (user, item)")
        database.executemany("INSERT INTO t VALUES (?, 'a')", [(f"u{n}",) for n in range(9)])
    offer = made_offer(place, "t", kind="sqlite", snapshot="day")
    first, second = worker(setting, tmp_path / "copies"), worker(setting, tmp_path / "copies")
    seen = look(first, offer)
    with closing(sqlite3.connect(place)) as database, database:
        database.execute("UPDATE t SET item = 'b'")
    with pytest.raises(UnreadableSource, match="not the version that was announced"):
        look(second, offer)
    assert look(first, offer) == seen
    calendar.now += timedelta(days=1)

    assert look(first, offer) == look(second, offer)
    assert look(second, offer)[1] == "b"
    for stores in (first, second):
        stores.close()


def test_copies_of_days_gone_by_are_removed(tmp_path, setting, calendar):
    """Yesterday's stays, for questions under way."""
    write_csv(tmp_path / "events.csv")
    offer, stores = made_offer(tmp_path, snapshot="day"), worker(setting, tmp_path / "copies")
    for _ in range(3):
        assert stores.refresh([offer]) == {}
        calendar.now += timedelta(days=1)
    stores.close()
    (place,) = (tmp_path / "copies").iterdir()

    assert sorted(day.name for day in place.iterdir()) == ["2026-11-17", "2026-11-18"]


def test_announcements_are_on_record_and_say_nothing_of_bytes(tmp_path, setting):
    """One for each place and day, under the secret: nobody finds the file by its digest. The chain holds."""
    write_csv(tmp_path / "events.csv")
    offer, stores = made_offer(tmp_path, snapshot="day"), worker(setting, tmp_path / "copies")
    version, _ = look(stores, offer)
    stores.close()
    (record,) = setting.ledger.records.page(SNAPSHOT)

    assert record.body == {"version": setting.secret.version(version), "day": "2026-11-16", "dataset": "events"}
    assert version not in str(record)


def test_without_a_ledger_nothing_is_announced(tmp_path):
    """So nothing is answered on schedule."""
    write_csv(tmp_path / "events.csv")
    stores = Stores(make_access(passing_setting(), tmp_path / "copies"))
    with pytest.raises(LedgerUnavailable), stores.lend(made_offer(tmp_path, snapshot="day")):
        pass
    stores.close()


def test_without_a_folder_nothing_is_served_by_the_day(tmp_path):
    """It would change at any time: refused, not served all the same."""
    write_csv(tmp_path / "events.csv")
    stores = Stores()
    with (
        pytest.raises(InvalidParameter, match="no folder of its own"),
        stores.lend(made_offer(tmp_path, snapshot="day")),
    ):
        pass
    stores.close()


def test_refresh_tells_what_cannot_be_opened(tmp_path, setting):
    """By name; the others are opened."""
    write_csv(tmp_path / "events.csv")
    here, gone = made_offer(tmp_path), replace(made_offer(tmp_path, "gone.csv"), name="gone")
    stores = worker(setting, tmp_path / "copies")
    failed = stores.refresh([gone, here])
    stores.close()

    assert list(failed) == ["gone"]


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_database_file_is_opened_anew_after_a_write_and_not_after_a_read(tmp_path, setting, journal):
    """Also where it is written beside the file first, and while the writer stays."""
    place = tmp_path / "events.sqlite"
    with closing(sqlite3.connect(place)) as writer:
        writer.execute(f"PRAGMA journal_mode = {journal}")
        writer.execute("CREATE TABLE t (user, item)")
        writer.execute("INSERT INTO t VALUES ('u', 'a')")
        writer.commit()
        offer, stores = made_offer(place, "t", kind="sqlite"), worker(setting, tmp_path / "copies")
        before = stamp_of(offer)
        first = look(stores, offer)
        assert stamp_of(offer) == before
        writer.execute("UPDATE t SET item = 'b'")
        writer.commit()

        assert stamp_of(offer) != before
        assert look(stores, offer)[1] == "b"
        assert look(stores, offer)[0] != first[0]
        stores.close()


def test_a_table_of_a_server_is_opened_anew_after_a_write():
    """The server tells of it a moment later; a view, of which it tells nothing, is opened for each question."""
    if find_programs() is None:
        pytest.skip(MISSING)
    import psycopg

    with running_cluster() as cluster, psycopg.connect(cluster.address, autocommit=True) as writer:
        writer.execute('CREATE TABLE t ("user" text, item text)')
        writer.execute("CREATE VIEW v AS SELECT * FROM t")
        writer.execute("INSERT INTO t VALUES ('u', 'a')")
        place = f"postgresql:///postgres?host={cluster.folder}&user=postgres"
        offer, stores = made_offer(place, "t", kind="postgres"), Stores()
        assert look(stores, offer)[1] == "a"
        writer.execute("UPDATE t SET item = 'b'")
        until = time.monotonic() + 60
        while look(stores, offer)[1] != "b" and time.monotonic() < until:
            # Statistics of an idle session are told at its next statement.
            writer.execute("SELECT pg_stat_force_next_flush()")

        assert look(stores, offer)[1] == "b"
        assert stamp_of(offer) is not None
        assert stamp_of(made_offer(place, "v", kind="postgres")) is None
        assert look(stores, made_offer(place, "v", kind="postgres"))[1] == "b"
        stores.close()
