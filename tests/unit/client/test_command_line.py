"""`--server`: the same table as from a file, and nothing that was typed is ignored."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import hushcount
from hushcount.cli.main import main
from hushcount.library import remote
from tests.unit.client.scripted import ESTIMATE, EXHAUSTED, PROBLEM, TOKEN, answer, playing, problem
from tests.unit.client.served import as_served

LEFT = {"left": {"releases": 6.2, "sentence": "About 7 more."}, "renews": "2026-12-01", "lifetime": {"releases": 14}}


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """Nothing of whoever runs the tests is used or touched."""
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HUSHCOUNT_TOKEN", TOKEN)
    monkeypatch.delenv("HUSHCOUNT_SERVER", raising=False)
    monkeypatch.chdir(tmp_path)


def run(*words, code=0):
    """One command."""
    done = CliRunner().invoke(main, [str(word) for word in words])

    assert done.exit_code == code, done.output
    return done


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (("count",), {}),
        (("top", "-k", "3"), {"k": 3}),
        (("top", "-k", "3", "--names-only"), {"k": 3, "counts": False}),
        (("vocab", "--preset", "cautious"), {"preset": "cautious"}),
    ],
)
@pytest.mark.parametrize("form", ["--rows=5", "--json", "--quiet"])
def test_the_table_is_the_same(log, words, options, form):
    """Word for word, but for the last line, which says what is left: a service may tell less than a ledger."""
    question, *more = words
    here = run(question, log, "--user", "reader", "--item", "article", *more, form).stdout
    release = getattr(hushcount, question)(log, user="reader", item="article", **options)
    with playing(answer(200, as_served(release))) as script:
        there = run(question, "log", "--item", "article", *more, form, "--server", script.url).stdout

    left = "Left for this data: "
    assert [line for line in there.splitlines() if not line.startswith(left)] == [
        line for line in here.splitlines() if not line.startswith(left)
    ]
    if form == "--rows=5":
        assert "Left for this data: 6.2 standard releases, renewed 01 December 2026." in there
    assert {name: script.seen[0].body.get(name) for name in options} == options


def test_files_pictures_and_receipts_are_the_same(log, tmp_path):
    """What is written is written as from here, and the receipt is found again by its id."""
    release = hushcount.count(log, user="reader", item="article")
    for kept in (tmp_path / "home" / "receipts").glob("*"):
        kept.unlink()
    with playing(answer(200, as_served(release))) as script:
        run("count", "log", "--item", "article", "--server", script.url, "--out", "a.csv", "--plot", "a.svg")

    assert (tmp_path / "a.receipt.json").exists()
    assert (tmp_path / "a.svg").exists()
    assert "Each person in column 'reader'" in run("receipt", release.receipt.id).stdout


def test_the_server_may_be_in_the_environment(log, monkeypatch):
    """And an empty one on the command line asks here."""
    monkeypatch.setenv("HUSHCOUNT_SERVER", "http://127.0.0.1:9")
    here = run("count", log, "--user", "reader", "--item", "article", "--server", "")
    release = hushcount.count(log, user="reader", item="article")
    with playing(answer(200, as_served(release)), answer(200, LEFT)) as script:
        monkeypatch.setenv("HUSHCOUNT_SERVER", script.url)
        there = run("count", "log", "--item", "article", "--key", "mine-1")
        run("budget", "log")

    assert there.stdout.splitlines()[:5] == here.stdout.splitlines()[:5]
    assert script.seen[0].headers["idempotency-key"] == "mine-1"
    assert script.seen[1].path == "/v1/datasets/log/budget"


@pytest.mark.parametrize(
    "words",
    [
        ("--user", "reader"),
        ("--engine", "duckdb"),
        ("--master", "spark://x"),
        ("--table", "t"),
        ("--dataset", "d"),
        ("--ledger", "x.db"),
        ("--analyst", "ann"),
    ],
)
def test_what_makes_no_sense_at_a_server_is_refused(words):
    """Nothing is sent, and the error names the option."""
    with playing() as script:
        told = run("count", "log", "--item", "article", "--server", script.url, *words, code=2).stderr

    assert script.seen == []
    assert words[0].removeprefix("--") in told
    assert "left out with --server" in told


@pytest.mark.parametrize("words", [("--ledger", "x.db"), ("--analyst", "a"), ("--table", "t"), ("--expert",)])
def test_budgets_too(words):
    """The same rule for what is left."""
    with playing() as script:
        assert "left out with --server" in run("budget", "log", "--server", script.url, *words, code=2).stderr


def test_a_person_is_needed_for_a_file(log):
    """As before there was a server: an option that is missing is told as such."""
    assert "Missing option '--user'" in run("count", log, "--item", "article", code=2).output


def test_a_dry_run_is_an_estimate():
    """In the words of an estimate here; as JSON, the service's own."""
    with playing(answer(200, ESTIMATE), answer(200, ESTIMATE)) as script:
        words = ("top", "log", "--item", "article", "-k", "10", "--dry-run", "--server", script.url)
        told, form = run(*words).stdout, json.loads(run(*words, "--json").stdout)

    assert "costs at most one standard release;" in told
    assert "give or take 24 people" in told
    assert "shows items from about 96 people on." in told
    assert "About 8 more questions like this until 1 December." in told
    assert form == ESTIMATE
    assert {seen.body["mode"] for seen in script.seen} == {"estimate"}


def test_budget_of_a_data_set():
    """In sentences; as JSON, or in a form that is not known here, as the service tells it."""
    accounts = {"accounts": [{"kind": "dataset", "name": "x", "window": "month", "releases": {"left": 3.5}}]}
    with playing(*(answer(200, form) for form in (LEFT, LEFT, accounts, {"odd": 1}))) as script:
        words = ("budget", "log", "--server", script.url)
        told, form = run(*words).stdout, json.loads(run(*words, "--json").stdout)
        listed, odd = run(*words).stdout, run(*words).stdout
        run("budget", "--server", script.url, code=2)

    assert "Left for this data: 6.2 standard releases, renewed 01 December 2026." in told
    assert "About 7 more." in told
    assert "Spent ever: 14 standard releases." in told
    assert form == LEFT
    assert "This data: 3.5 standard releases left this month." in listed
    assert json.loads(odd) == {"odd": 1}


def test_a_refusal_says_what_to_type():
    """Exit code 4, the service's words, the option that would fit; as JSON, all that it said."""
    with playing(*[answer(403, EXHAUSTED, PROBLEM)] * 2) as script:
        words = ("top", "log", "--item", "article", "-k", "3", "--server", script.url)
        told, form = run(*words, code=4).stderr, json.loads(run(*words, "--json", code=4).stdout)

    assert "0.4 are left until 1 December. Nothing was charged." in told
    assert "To type: --preset cautious" in told
    assert form["refused"]["already_answered"] == EXHAUSTED["already_answered"]


@pytest.mark.parametrize(
    ("step", "code"), [(problem(400, "unknown-column"), 2), (problem(502, "store-failed", charged=True), 3)]
)
def test_problems_have_exit_codes(step, code):
    """2 for what was typed, 3 for data that cannot be had; under the key of the attempt, if it may be paid for."""
    with playing(step) as script:
        told = run("count", "log", "--item", "article", "--server", script.url, code=code).stderr

    assert told.startswith("hushcount: It is ")


def test_a_stopped_command_says_how_to_go_on(monkeypatch):
    """The question goes on at the server: its key is told."""

    def stop(*_, options, **__):
        assert options["key"] == "mine-1"
        raise KeyboardInterrupt

    monkeypatch.setattr(remote, "ask", stop)
    told = run("count", "log", "--item", "a", "--key", "mine-1", "--server", "http://127.0.0.1:9", code=130).stderr

    assert "add: --key mine-1" in told


def test_files_that_could_not_be_written_are_refused_before_anything_is_paid(tmp_path):
    """As for a file."""
    with playing() as script:
        run("count", "log", "--item", "a", "--server", script.url, "--out", "a.doc", code=2)

    assert script.seen == []
