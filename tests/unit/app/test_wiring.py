"""Wiring: which ledger a question goes to, who founds it, and what is refused on the way."""

from __future__ import annotations

import os
import sqlite3

import pytest

from hushcount.app.setting import Places
from hushcount.app.wiring import data_folders, existing_setting, find_ledger, found_ledger, make_setting, shown_place
from hushcount.errors import HushcountError, LedgerForeign, LedgerUnavailable, SecretUnusable


@pytest.fixture
def places(tmp_path):
    """A home, and no ledger said."""
    return Places(home=tmp_path / "home", ledger=None, analyst="ann")


def test_the_users_own_is_founded_once_and_said_aloud(places, tmp_path):
    """The first question founds it in the user's home; the second finds it and says nothing."""
    first, second = make_setting(places, tmp_path / "a.csv"), make_setting(places, tmp_path / "b.csv")

    assert "founded" in first.notes[0]
    assert second.notes == ()
    assert (places.home / "ledger.sqlite").stat().st_mode & 0o077 == 0


def test_a_ledger_beside_the_data_or_above_it_goes_first(places, tmp_path):
    """The data's folder decides, not the folder that one is in; a pattern's folder is that of its files."""
    beside = tmp_path / "project" / ".hushcount" / "ledger.sqlite"
    found_ledger(Places(home=places.home, ledger=str(beside), analyst="ann"))
    deep = tmp_path / "project" / "data" / "2026"
    deep.mkdir(parents=True)
    for source in (deep / "a.csv", str(deep / "*.csv"), deep, str(tmp_path / "project" / "*" / "a.csv")):
        assert find_ledger(places, source) == str(beside)

    assert find_ledger(places, tmp_path / "other.csv") == str(places.home / "ledger.sqlite")
    assert find_ledger(places, "postgresql://host/db") == str(places.home / "ledger.sqlite")


def test_what_is_said_goes_before_all(places, tmp_path):
    """A named ledger is the ledger."""
    said = Places(home=places.home, ledger=str(tmp_path / "mine.sqlite"), analyst="ann")

    assert find_ledger(said, tmp_path / "a.csv") == str(tmp_path / "mine.sqlite")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_planted_ledger_is_not_trusted(places, tmp_path):
    """One that another user laid into a folder above the data: its limits would be theirs."""
    planted = tmp_path / ".hushcount" / "ledger.sqlite"
    found_ledger(Places(home=tmp_path / "theirs", ledger=str(planted), analyst="eve"))
    os.chown(planted, 12345, 12345)

    with pytest.raises(LedgerUnavailable, match="another user"):
        make_setting(places, tmp_path / "a.csv")


def test_another_secret_is_refused(places, tmp_path):
    """Under two secrets the same data would be two data sets with two budgets."""
    said = str(tmp_path / "shared.sqlite")
    make_setting(Places(home=places.home, ledger=said, analyst="ann")).close()

    with pytest.raises(SecretUnusable):
        make_setting(Places(home=tmp_path / "other home", ledger=said, analyst="bob"))


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\0" + bytes(100)])
def test_a_file_that_is_not_ours_is_never_written_to(places, tmp_path, content):
    """Refused, byte for byte as it was: a zero-byte file was an unlimited ledger before."""
    path = tmp_path / "thing.sqlite"
    path.write_bytes(content)

    with pytest.raises(HushcountError):
        make_setting(Places(home=places.home, ledger=str(path), analyst="ann"))

    assert path.read_bytes() == content


def test_a_foreign_database_is_never_written_to(places, tmp_path):
    """Somebody's own SQLite file: our tables were written into it before."""
    path = tmp_path / "app.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE customers (name TEXT)")
    connection.close()
    before = path.read_bytes()

    with pytest.raises(LedgerForeign):
        make_setting(Places(home=places.home, ledger=str(path), analyst="ann"))

    assert path.read_bytes() == before


def test_looking_back_founds_nothing(places, tmp_path):
    """A new ledger would have nothing to tell and would look well."""
    with pytest.raises(LedgerUnavailable, match="nothing was asked yet"):
        existing_setting(places, tmp_path / "a.csv")

    assert not (places.home / "ledger.sqlite").exists()


def test_no_place_for_a_ledger(places):
    """Where no ledger can be kept, the error says how to name a place, and nothing was asked."""
    with pytest.raises(LedgerUnavailable, match="can be written"):
        make_setting(Places(home=places.home, ledger="/dev/null/ledger.sqlite", analyst="ann"))


def test_places_are_shown_without_passwords():
    """Of an address host and database alone are shown."""
    address = "postgresql://ann:hunter2@db.example.org:5433/budgets?password=hunter3&options=-c%20x"

    assert shown_place(address) == "postgresql://db.example.org/budgets"
    assert shown_place("/a/ledger.sqlite") == "/a/ledger.sqlite"


def test_data_without_a_folder(tmp_path):
    """Frames and servers are in no folder."""
    assert data_folders(object()) == data_folders("postgresql://host/db") == data_folders(None) == set()
    assert data_folders(tmp_path) == {tmp_path.resolve()}
