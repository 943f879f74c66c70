"""Every command line of the pages on data, budgets and the catalog is run, in order, as a reader would type it."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from hushcount.cli.main import main
from tests.architecture.sources import ROOT
from tests.postgres import find_programs, running_cluster

PAGES = ("docs/data.md", "docs/budgets.md", "docs/catalog.md")
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SERVER = "postgresql://budgets@db.example.org/budgets"


def command_lines(text: str) -> list[list[str]]:
    """The words of every command of a page, without its remark."""
    lines = [line for block in _BLOCK.findall(text) for line in block.splitlines() if line.strip()]
    return [shlex.split(line, comments=True) for line in lines]


def make_world(folder: Path) -> None:
    """All the files that the pages name, made up."""
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE events AS SELECT n % 1500 AS user_id, 'article ' || (n % 7) AS article, "
            "['NZ', 'AU', 'FR'][1 + n % 3] AS country, DATE '2026-03-01' + (n % 90)::INTEGER AS day, "
            "'a word and another ' || (n % 3) AS comment FROM range(6000) rows(n)"
        )
        for name, where in (("week1", "user_id < 800"), ("week2", "user_id >= 700")):
            connection.execute(f"COPY (FROM events WHERE {where}) TO '{folder}/{name}.csv' (HEADER)")
        (folder / "logs").mkdir()
        for number in range(2):
            where = f"user_id % 5 = {number}"
            connection.execute(f"COPY (FROM events WHERE {where}) TO '{folder}/logs/{number}.csv' (HEADER)")
        connection.execute(f"COPY (FROM events WHERE user_id % 5 = 3) TO '{folder}/events.jsonl' (FORMAT json)")
        connection.execute(f"COPY events TO '{folder}/events.parquet' (FORMAT parquet)")
        rows = connection.execute("SELECT user_id, article FROM events WHERE user_id % 5 = 4").fetchall()
    with closing(sqlite3.connect(folder / "shop.sqlite")) as database, database:
        database.execute("CREATE TABLE events (user_id, article)")
        database.execute("CREATE TABLE others (x)")
        database.executemany("INSERT INTO events VALUES (?, ?)", rows)
    (folder / "countries.txt").write_text("NZ\nAU\nFR\n", encoding="utf-8")


@pytest.fixture(scope="module")
def server():
    """A real PostgreSQL in place of the one that the pages name."""
    if find_programs() is None:
        pytest.skip("no PostgreSQL here: install the package 'postgresql'")
    with running_cluster() as cluster:
        yield f"postgresql://postgres@/postgres?host={cluster.folder}"


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_work(page, tmp_path, monkeypatch, server):
    """Each exits with 0, none prints a trace, and what is kept as a file is whole."""
    make_world(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("HUSHCOUNT_LEDGER", "HUSHCOUNT_ANALYST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "home"))
    ran = 0
    for words in command_lines((ROOT / page).read_text(encoding="utf-8")):
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            monkeypatch.setenv(name, value.replace(_SERVER, server))
            continue
        target = words[words.index(">") + 1] if ">" in words else None
        asked = words[1 : words.index(">") if target else None]
        done = CliRunner().invoke(main, asked)

        assert done.exit_code == 0, f"{shlex.join(words)}: {done.output}"
        if target:
            (tmp_path / target).write_text(done.stdout, encoding="utf-8")
            assert json.loads(done.stdout)
        ran += 1

    assert ran >= 5


def test_commands_are_found():
    """Remarks are no words, quotes hold together, other blocks are left alone."""
    page = "```console\nhushcount count 'a b' # why\n\nexport X=1\n```\n```python\nx\n```\n"

    assert command_lines(page) == [["hushcount", "count", "a b"], ["export", "X=1"]]
