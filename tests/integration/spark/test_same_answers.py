"""The same question about the same file has the same answer on a cluster as on DuckDB, and the driver stays small."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushcount
from tests.integration.spark.sessions import asks

QUESTIONS = {
    "vocab by sips": ("vocab", {}),
    "vocab by weighted Gaussian": ("vocab", {"method": "weighted-gaussian", "max_items_per_user": 5}),
    "vocab by the steepest curve": ("vocab", {"method": "sips-ks", "max_items_per_user": 5}),
    "count": ("count", {}),
    "count of bounded lists": ("count", {"max_items_per_user": 2}),
    "top": ("top", {"k": 10}),
    "top of more than stand out": ("top", {"k": 200, "rho": "0.01"}),
    "top of rows up to a cap": ("top", {"k": 200, "rho": "0.01", "per_item_cap": 2}),
    "top as printed": ("top", {"k": 10, "method": "unknown-gumbel"}),
    "filtered": ("count", {"where": "user >= 700 AND item != 'thing é 2'"}),
}


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


def test_a_submitted_program_asks_about_its_own_frame(driver, log, home):
    """spark-submit runs the program; hushcount takes the program's frame and session as they are."""
    form = driver.ask("count", log, home, frame=True, ledger=False)

    # A frame has another version than its file, so other noise; these three are far apart, and all hold the first.
    assert form["rows"]["item"][:3] == ["thing é 1", "thing é 2", "thing é 3"]
    assert abs(form["rows"]["count"][0] - 3000) < 600
    assert form["rows"] != on_duckdb("count", log)["rows"]


def test_another_secret_gives_another_answer(driver, log, home, tmp_path, monkeypatch):
    """The comparison above can fail: it rests on the noise too, not on the data alone."""
    counts = driver.ask("count", log, home, ledger=False)["rows"]["count"]
    assert counts == on_duckdb("count", log)["rows"]["count"]
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "another"))

    assert counts != on_duckdb("count", log)["rows"]["count"]


@pytest.mark.parametrize("question", ["vocab", "count"])
def test_nothing_as_large_as_the_items_reaches_the_driver(driver, many, home, question):
    """A hundred thousand items are counted, and the driver may take one megabyte of results in all."""
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


def test_files_that_do_not_fit_together_are_refused(driver, home, tmp_path):
    """Two Parquet files of one folder disagree about a column: a sentence, no value of either, and no charge."""
    folder, ledger = tmp_path / "parts", tmp_path / "ledger.sqlite"
    folder.mkdir()
    pq.write_table(pa.table({"user": [1, 2], "item": ["secret a", "secret b"]}), folder / "1.parquet")
    pq.write_table(pa.table({"user": [1.5, 2.5], "item": [[7], [8]]}), folder / "2.parquet")
    error = driver.ask("count", folder, home, ledger=str(ledger))["error"]

    assert error.startswith("UnreadableSource: ")
    assert str(folder) in error
    assert "secret" not in error
    assert asks(ledger) == []
