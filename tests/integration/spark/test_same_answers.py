"""The same question about the same file has the same answer on a cluster as on DuckDB, and the driver stays small."""

from __future__ import annotations

import json

import pytest

import hushcount
from tests.integration.spark.sessions import asks, write_log

QUESTIONS = {
    "vocab by sips": ("vocab", {}),
    "vocab by weighted Gaussian": ("vocab", {"method": "weighted-gaussian", "max_items_per_user": 5}),
    "count": ("count", {}),
    "count of bounded lists": ("count", {"max_items_per_user": 2}),
    "top": ("top", {"k": 10}),
    "filtered": ("count", {"where": "user >= 700 AND item != 'thing é 2'"}),
}


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A log with a quarter of a million items that one person has each."""
    return write_log(tmp_path_factory.mktemp("many") / "many.parquet", people=2000, rare=250_000)


def on_duckdb(question, file, **options):
    """The release of DuckDB, without the moment when it was made."""
    release = getattr(hushcount, question)(file, user="user", item="item", ledger=False, **options)
    return without_moment(json.loads(release.to_bytes()))


def without_moment(form):
    """A release in which nothing depends on when it was made."""
    assert "error" not in form, form["error"]
    return {**form, "receipt": {name: value for name, value in form["receipt"].items() if name != "made"}}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_cluster_answers_as_duckdb_does(driver, log, home, name):
    """With the same secret: the same items, the same integers, the same ends, the same receipt."""
    question, options = QUESTIONS[name]
    form = without_moment(driver.ask(question, log, home, ledger=False, **options))

    assert form == on_duckdb(question, log, **options)
    assert form["rows"]["item"]


def test_another_secret_gives_another_answer(driver, log, tmp_path):
    """The comparison above can fail: it rests on the noise too, not on the data alone."""
    counts = [driver.ask("count", log, tmp_path / name, ledger=False)["rows"]["count"] for name in ("one", "two")]

    assert counts[0] != counts[1]


@pytest.mark.parametrize("question", ["vocab", "count"])
def test_nothing_as_large_as_the_items_reaches_the_driver(driver, many, home, question):
    """A quarter of a million items are counted, and the driver may take one megabyte of results in all."""
    refused = driver.ask("collect", many, home)
    form = without_moment(driver.ask(question, many, home, ledger=False))

    assert "maxResultSize" in refused["error"]
    assert 0 < len(form["rows"]["item"]) < 300
    assert form == on_duckdb(question, many)


def test_a_repeat_is_answered_by_the_ledger(driver, log, home, tmp_path):
    """The second time nothing is paid, and the bytes are the same; the file's content decides, not the engine."""
    place = tmp_path / "ledger.sqlite"
    first, again = (driver.ask("count", log, home, ledger=str(place)) for _ in range(2))
    beside = hushcount.count(log, user="user", item="item", ledger=place)

    assert first == again
    assert json.loads(beside.to_bytes()) == first
    assert asks(place).count(("settled", True)) == 1
