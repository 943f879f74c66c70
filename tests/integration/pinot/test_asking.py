"""Questions about a table of Pinot from Python and the command line, and what the ledger keeps of them."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner

import hushcount
from hushcount.cli.main import main
from hushcount.engines.pinot import complete
from hushcount.engines.pinot import engine as engine_module
from hushcount.errors import InvalidParameter, StoreIncomplete
from tests.architecture.sources import ROOT
from tests.architecture.test_commands_in_docs import command_lines
from tests.pinot import get, post, shared_cluster

KINDS = {"user": "STRING", "item": "STRING", "country": "STRING"}
ASK = {"user": "user", "item": "item"}


@pytest.fixture(scope="module")
def address():
    """A log of 3,000 people in two segments."""
    return shared_cluster().load("log", KINDS, *[made_rows(side) for side in range(2)])


def made_rows(side):
    """Every person has two of ten items."""
    return [
        {"user": f"u{n}", "item": f"i{(n + step) % 10}", "country": "NZ" if n % 2 else "AU"}
        for n in range(side, 3000, 2)
        for step in (0, 3)
    ]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A ledger of the test's own."""
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HUSHCOUNT_LEDGER", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def asked(home):
    """How many questions data was read for; an answer that is given again is none."""
    with closing(sqlite3.connect(home / "ledger.sqlite")) as book:
        return book.execute("SELECT count(*) FROM asks WHERE touched > 0").fetchone()[0]


def test_the_verbs_answer_as_from_a_file(address, home, tmp_path):
    """The same question about the same rows in a file is near; asked again it is the same, byte for byte."""
    rows = [row for side in range(2) for row in made_rows(side)]
    lines = [",".join(map(str, row.values())) for row in rows]
    (tmp_path / "log.csv").write_text("user,item,country\n" + "\n".join(lines) + "\n", encoding="utf-8")
    top = hushcount.top(address, **ASK, k=3)
    again = hushcount.top(address, **ASK, k=3)
    counts = hushcount.count(address, **ASK, where="country = 'NZ'")
    names = hushcount.vocab(address, **ASK)
    listed = hushcount.count(address, **ASK, keys=["i1", "i2", "nobody"], max_items_per_user=2)

    assert top.to_bytes() == again.to_bytes()
    assert set(names.items.tolist()) == {f"i{n}" for n in range(10)}
    assert all(abs(count - 300) < 150 for count in counts.counts.tolist())
    assert sorted(listed.items.tolist()) == ["i1", "i2", "nobody"]
    # It is the same data: a copy in a file is known by its rows, and has no budget of its own.
    copied = hushcount.top(tmp_path / "log.csv", **ASK, k=3, dataset="log")
    assert copied.population == top.population


def test_people_tuples_and_days_are_asked_as_of_a_file(home, tmp_path):
    """From Python and the command line; near the truth, which is far from what a part would be."""
    parts = [
        [
            {
                "user": f"u{n}",
                "item": f"i{n % 2}",
                "country": "NZ" if n % 3 else "AU",
                "at": f"2026-03-0{1 + n % 4}T12:00",
            }
            for n in range(side, 4000, 2)
        ]
        for side in range(2)
    ]
    live = shared_cluster().load("days", {**KINDS, "at": "STRING"}, *parts)
    everybody = hushcount.people(live, user="user")
    groups = hushcount.people(live, user="user", by="country", keys=["AU", "NZ", "FJ"])
    pairs = hushcount.count(live, user="user", item=["item", "country"], max_items_per_user=1)
    days = hushcount.top(live, user="user", item=["day(at)"], k=4)
    typed = ["count", live, "--user", "user", "--item", "country", "--item", "day(at)", "--max-items-per-user", "1"]
    done = CliRunner().invoke(main, [*typed, "--json"])
    one = CliRunner().invoke(main, ["people", live, "--user", "user", "--json"])

    assert abs(everybody.counts.tolist()[0] - 4000) < 100
    assert sorted(groups.items.tolist()) == ["AU", "FJ", "NZ"]
    assert len(pairs.items) == 4
    assert sorted(days.items.tolist()) == [f"2026-03-0{day}" for day in range(1, 5)]
    assert done.exit_code == one.exit_code == 0, done.output + one.output
    assert len(json.loads(done.stdout)["rows"]) == 8
    assert abs(json.loads(one.stdout)["rows"][0]["count"] - 4000) < 100


def test_the_catalog_knows_a_table_of_pinot(address, home):
    """By its name: it is asked for, limited and described like any other data set."""
    first = hushcount.top(address, **ASK, k=2, dataset="the log")
    again = hushcount.top(address, **ASK, k=2, dataset="the log")
    run = CliRunner().invoke
    told = [run(main, words) for words in (["catalog", "show", "the log"], ["budget", "--dataset", "the log"])]
    facts = run(main, ["catalog", "facts", "the log", "--item", "item", "--max-items-per-user", "2"])
    shown = run(main, ["catalog", "show", "the log"])

    assert first.to_bytes() == again.to_bytes()
    assert [one.exit_code for one in told] == [0, 0], [one.output for one in told]
    assert facts.exit_code == 0, facts.output
    assert "user" in told[0].output
    assert "127.0.0.1" not in told[1].output
    assert shown.output != told[0].output


def test_the_command_line_asks_pinot(address, home):
    """By the address alone; what it says of machines is in no receipt."""
    done = CliRunner().invoke(main, ["top", address, "--user", "user", "--item", "item", "-k", "3", "--json"])

    assert done.exit_code == 0, done.output
    assert len(json.loads(done.stdout)["rows"]) == 3
    assert "127.0.0.1" not in json.dumps(json.loads(done.stdout))
    assert not [path for path in (home / "receipts").rglob("*") if path.is_file() and "127.0.0.1" in path.read_text()]


def test_what_is_refused_before_data_is_read_costs_nothing(address, home):
    """A server is away: no reservation is made; when it is back, the answer is charged once."""
    shared = shared_cluster()
    hushcount.top(address, **ASK, k=3)
    before = asked(home)
    [server] = get(f"{shared.controller}/tables/log/idealstate")["OFFLINE"]["log_1"]
    state = f"{shared.controller}/instances/{server}/state"
    post(state, "disable", kind="text/plain")
    try:
        _until_refused(address)
        with pytest.raises(StoreIncomplete) as caught:
            hushcount.top(address, **ASK, k=4)
        assert asked(home) == before
    finally:
        post(state, "enable", kind="text/plain")
    _until_answered(address)
    hushcount.top(address, **ASK, k=4)

    assert caught.value.point == 11
    assert asked(home) == before + 1


def test_a_retry_after_a_part_is_charged_once(address, home, monkeypatch):
    """Refused after the worst case was held; under the same key the question goes on with what is held."""
    hushcount.top(address, **ASK, k=2)
    before = asked(home)
    with monkeypatch.context() as broken:
        broken.setattr(complete, "options", lambda _: "timeoutMs=1")
        with pytest.raises(StoreIncomplete) as caught:
            hushcount.top(address, **ASK, k=5, key="mine")
    held = asked(home)
    first = hushcount.top(address, **ASK, k=5, key="mine")
    second = hushcount.top(address, **ASK, k=5, key="mine")

    assert caught.value.point == 2
    assert any("charged" in note for note in caught.value.__notes__)
    assert (held, asked(home)) == (before + 1, before + 1)
    assert first.to_bytes() == second.to_bytes()


def test_tables_that_are_too_large_are_refused_free_of_charge(address, home, monkeypatch):
    """Where people's lists are needed; what Pinot counts alone is answered."""
    hushcount.top(address, **ASK, k=2)
    before = asked(home)
    monkeypatch.setattr(engine_module, "MOST_ROWS", 100)
    for ask in (
        lambda: hushcount.vocab(address, **ASK),
        lambda: hushcount.count(address, **ASK),
        lambda: hushcount.count(address, **ASK, max_items_per_user=2),
        lambda: hushcount.count(address, **ASK, method="pcr-batched", per_item_cap=2),
    ):
        with pytest.raises(InvalidParameter, match="engine='spark'"):
            ask()

        assert asked(home) == before
    assert len(hushcount.top(address, **ASK, k=3, method="unknown-gumbel").items) == 3
    assert len(hushcount.count(address, **ASK, method="pcr").items) == 10


def _until_refused(address):
    for _ in range(200):
        try:
            hushcount.top(address, **ASK, k=3)
        except StoreIncomplete:
            return
    pytest.fail("it was not refused")


def _until_answered(address):
    for _ in range(200):
        try:
            hushcount.top(address, **ASK, k=3)
        except StoreIncomplete:
            continue
        return
    pytest.fail("it was not answered")


def test_the_examples_of_the_page_work(home):
    """What a reader copies from docs/pinot.md, with a cluster in place of the one that it names."""
    page = (ROOT / "docs" / "pinot.md").read_text(encoding="utf-8")
    people = [
        [{"member": f"m{n}", "article": f"a{n % 5}", "region": "EU"} for n in range(side, 4000, 2)] for side in range(2)
    ]
    live = shared_cluster().load("page", dict.fromkeys(("member", "article", "region"), "STRING"), *people)
    [command] = [words for words in command_lines(page) if words[0] == "hushcount"]
    [block] = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    done = CliRunner().invoke(main, [live if word.startswith("pinot://") else word for word in command[1:]])
    names: dict[str, object] = {}
    exec(re.sub(r'"pinots://[^"]*"', repr(live), block), names)  # noqa: S102 (our own page)

    assert done.exit_code == 0, done.output
    assert len(names["release"].items) == 5
