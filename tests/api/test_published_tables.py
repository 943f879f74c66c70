"""Published questions as tables of a real PostgreSQL: as long as they are published, and nothing else with them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import psycopg
import pytest

from hushcount.app.serving.setup.config import LedgerPlace
from tests.api.served import CANARY, TOP, released, staged
from tests.conformance.ledgers.stores import cluster

__all__ = ["cluster"]

LIST = ["a0", "a1", "=1+1", "Robert'); DROP TABLE records; --"]
ASKED = {"dataset": "events", "question": "count", "item": "article", "keys": LIST, "preset": "cautious"}


@pytest.fixture
def address(cluster, tmp_path):
    """A database of its own on the test server."""
    name = f"published_{tmp_path.name}".lower()
    cluster.run("psql", "-h", str(cluster.folder), "-U", "postgres", "-q", "-c", f"CREATE DATABASE {name}")
    return f"postgresql:///{name}?host={cluster.folder}&user=postgres"


@contextmanager
def served(folder, address):
    """A service on a PostgreSQL ledger."""
    with staged(folder, lambda config: replace(config, ledger=LedgerPlace(address=address))) as stage:
        yield stage
        assert stage.service.ledger.verify().problems == ()


def tables(address):
    """What is in the schema of published tables: names, and rows by name."""
    with psycopg.connect(address, autocommit=True) as connection:
        found = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'hushcount_published'"
        ).fetchall()
        return {name: connection.execute(f'SELECT * FROM hushcount_published."{name}"').fetchall() for (name,) in found}  # noqa: S608


def test_a_published_question_is_a_table_until_it_is_taken_back(tmp_path, address):
    """With its newest release, row for row, as HTTP has it; gone with the publication, and never of anything else."""
    with served(tmp_path, address) as stage:
        made = stage.analyst.post("/v1/questions", {"name": "weekly", "asked": ASKED}).form
        first = stage.analyst.post("/v1/questions/weekly/release", Idempotency_Key="k1").form["release"]
        stage.analyst.post("/v1/questions", {"name": "own", "asked": TOP})
        stage.analyst.post("/v1/questions/own/release", Idempotency_Key="k2")
        assert tables(address) == {}
        long = {"question": made["id"], "name": "a" * 64}
        assert stage.owner.post("/v1/datasets/events/publish", long).code == "invalid-parameter"
        publish = {"question": made["id"], "name": "top-weekly"}
        assert stage.owner.post("/v1/datasets/events/publish", publish).status == 201
        shown = tables(address)
        assert list(shown) == ["top-weekly"]
        rows = [(row["item"], row["count"], row["low"], row["high"]) for row in first["rows"]]
        assert [row[:4] for row in shown["top-weekly"]] == rows
        assert {item for item, *_ in rows} == set(LIST)
        assert {row[5:] for row in shown["top-weekly"]} == {(False, False, first["id"])}
        data = tmp_path / "data" / "events.csv"
        data.write_text(data.read_text(encoding="utf-8") + "u1,a2,NZ\n", encoding="utf-8")
        second = stage.analyst.post("/v1/questions/weekly/release", Idempotency_Key="k3").form["release"]
        assert {row[7] for row in tables(address)["top-weekly"]} == {second["id"]} != {first["id"]}
        assert CANARY not in str(tables(address))
        assert stage.owner.delete("/v1/datasets/events/publish/top-weekly").status == 204
        assert tables(address) == {}
        stage.analyst.post("/v1/questions/weekly/release", Idempotency_Key="k4")
        assert tables(address) == {}


def test_names_alone_and_tracked_answers_are_told_as_such(tmp_path, address):
    """A vocabulary has no counts; an answer that no limit held is marked in every row."""
    with served(tmp_path, address) as stage:
        stage.owner.put("/v1/limits", {"dataset": "events", "releases": 1, "mode": "track"})
        asked = {"dataset": "events", "question": "vocab", "item": "article"}
        made = stage.owner.post("/v1/questions", {"name": "words", "asked": asked}).form
        stage.owner.post("/v1/datasets/events/publish", {"question": made["name"], "name": "words"})
        assert tables(address) == {}
        assert stage.owner.post("/v1/questions/words/release", Idempotency_Key="k1").status == 200
        rows = tables(address)["words"]

    assert len(rows) == 7
    assert {row[1:4] for row in rows} == {(None, None, None)}
    assert {row[5] for row in rows} == {True}


def test_what_was_released_and_not_published_is_in_no_table(tmp_path, address):
    """A release by itself, and a saved question that nobody published."""
    with served(tmp_path, address) as stage:
        assert released(stage.analyst).status == 200

    assert tables(address) == {}
