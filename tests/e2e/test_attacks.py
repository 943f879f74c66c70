"""A second round of attacks, each as it was carried out: other ways to the same data, or to values of it."""

from __future__ import annotations

import json
import os
import sqlite3

import duckdb
import pytest
from click.testing import CliRunner

from hushcount.cli.main import main

ASK = ("--user", "user", "--item", "item")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Each test has a home of its own."""
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HUSHCOUNT_ANALYST", "olga")
    monkeypatch.delenv("HUSHCOUNT_LEDGER", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def run(*words, code=0):
    """One command; its output and error text."""
    result = CliRunner().invoke(main, [str(word) for word in words])

    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def write_csv(path, tag="it", people=900, head="user,item,event_no\n"):
    """A made-up table; another tag is other data."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head + "".join(f"u{n},{tag}{n % 3},{n}\n" for n in range(people)), encoding="utf-8")
    return path


def test_the_first_line_of_a_file_without_a_header_is_not_told(tmp_path):
    """It is a person's row: nothing of it is listed; a name that was nearly typed right is still suggested."""
    bare = write_csv(tmp_path / "bare.csv", head="")
    headed = write_csv(tmp_path / "headed.csv", tag="x")
    refused = run("count", bare, *ASK, code=2).output

    assert "u0" not in refused
    assert "it0" not in refused
    assert "Did you mean 'item'?" in run("count", headed, "--user", "user", "--item", "itm", code=2).output


def test_a_ledger_beside_the_data_is_found_under_every_name(tmp_path):
    """By a pattern over its folder, and through a folder of links: the ledger of the file itself decides."""
    log = write_csv(tmp_path / "proj" / "data.csv")
    run("ledger", "found", "--ledger", tmp_path / "proj" / ".hushcount" / "ledger.sqlite")
    run("ledger", "limit", "--data", log, "--releases", "0")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "x.csv").symlink_to(log)

    for name in ("proj/data.csv", "pro[j]/data.csv", "proj", "links", "links/x.csv", "*/x.csv"):
        run("count", name, *ASK, code=4)

    assert not (tmp_path / "home" / "ledger.sqlite").exists()


def test_files_under_two_ledgers_are_not_asked_together(tmp_path):
    """Which of the two would pay? Refused, with the words."""
    write_csv(tmp_path / "one" / "a.csv", tag="a")
    write_csv(tmp_path / "two" / "a.csv", tag="b")
    run("ledger", "found", "--ledger", tmp_path / "one" / ".hushcount" / "ledger.sqlite")

    assert "several ledgers" in run("count", "*/a.csv", *ASK, code=2).output


def test_a_limit_on_a_folder_binds_all_of_its_files(tmp_path):
    """Also those that nobody asked yet, where another one of the folder is known."""
    write_csv(tmp_path / "logs" / "a.csv", tag="a")
    write_csv(tmp_path / "logs" / "b.csv", tag="b")
    run("count", "logs/a.csv", *ASK)
    run("ledger", "limit", "--data", "logs", "--releases", "0")

    run("count", "logs/b.csv", *ASK, code=4)


def test_a_decoy_does_not_take_a_files_limit(tmp_path):
    """A data set that somebody called like the file: the limit goes to the file."""
    write_csv(tmp_path / "decoy.csv", tag="decoy")
    write_csv(tmp_path / "payroll.csv", tag="pay")
    run("count", "decoy.csv", *ASK, "--dataset", "payroll.csv", "--analyst", "mallory")
    run("ledger", "limit", "--data", "payroll.csv", "--releases", "0")

    run("count", "payroll.csv", *ASK, code=4)
    run("count", "decoy.csv", *ASK, "--fresh")


def test_nothing_is_written_over_the_ledger_the_secret_or_the_receipts(tmp_path, home):
    """By its name, by the name of a receipt, or by a link: refused before anything is read."""
    log = write_csv(tmp_path / "d.csv")
    run("count", log, *ASK)
    (tmp_path / "q.png").symlink_to(home / "ledger.sqlite")
    (tmp_path / "s.csv").symlink_to(home / "secret")
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}

    run("count", log, *ASK, "--plot", "q.png", "--fresh", code=2)
    run("count", log, *ASK, "--out", "s.csv", "--fresh", code=2)
    run("count", log, *ASK, "--ledger", "led.json", "--out", "led.json", code=2)
    run("count", log, *ASK, "--ledger", "l.receipt.json", "--out", "l.csv", code=2)

    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize(
    "address",
    ["host=localhost dbname=x user=u password=hunter2", "POSTGRES://u:hunter2@h/db", "postgresql:/u:hunter2@h/db"],
)
def test_an_address_in_another_form_is_no_file(tmp_path, address):
    """It founded a file with the password as its name before; now it is refused without being said."""
    log = write_csv(tmp_path / "d.csv")

    for words in (("count", log, *ASK), ("ledger", "verify")):
        assert "hunter2" not in run(*words, "--ledger", address, code=2).output

    assert not [path for path in tmp_path.rglob("*") if "hunter2" in path.name]


@pytest.mark.parametrize(
    "words",
    [
        ("--user", "user", "--item", "itm"),
        (*ASK, "--where", "item >"),
        (*ASK, "--preset", "bogus"),
        (*ASK, "--text", "item"),
        (*ASK, "--method", "sips"),
        (*ASK, "--key", ""),
    ],
)
def test_every_refusal_says_that_nothing_was_charged(tmp_path, words):
    """In words, whatever was wrong; and so it is."""
    log = write_csv(tmp_path / "d.csv")
    run("count", log, *ASK)
    before = run("ledger", "report", "--json").stdout

    assert "othing was charged" in run("count", log, *words, code=2).output
    assert run("ledger", "report", "--json").stdout == before


def test_a_ledger_with_triggers_is_refused(tmp_path, home):
    """Somebody taught it to forget: it is not asked any more, nor called whole."""
    log = write_csv(tmp_path / "d.csv")
    run("count", log, *ASK)
    with sqlite3.connect(home / "ledger.sqlite") as connection:
        connection.execute(
            "CREATE TRIGGER forget AFTER UPDATE ON accounts BEGIN UPDATE accounts SET spent_rho = '0'; END"
        )
    connection.close()

    assert "triggers" in run("ledger", "verify", code=2).output
    assert "triggers" in run("count", log, *ASK, "--fresh", code=2).output


def test_a_hard_link_to_a_changed_database_has_the_same_budget(tmp_path):
    """Known by the file itself, and by the table in it."""
    path = tmp_path / "x.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'u' || n AS user, 'it' || n % 3 AS item FROM range(900) r(n)")
    run("count", path, *ASK)
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO t VALUES ('late', 'it0')")
    os.link(path, tmp_path / "y.duckdb")
    run("count", tmp_path / "y.duckdb", *ASK)

    assert len(json.loads(run("ledger", "report", "--json").stdout)) == 1
