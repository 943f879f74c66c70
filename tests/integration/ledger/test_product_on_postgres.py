"""The whole product on a PostgreSQL ledger: from the command line to the server and back."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from hushcount.app.sample import write_log
from hushcount.cli.main import main
from tests.conformance.ledgers.stores import cluster

__all__ = ["cluster"]


@pytest.fixture
def place(cluster, tmp_path, monkeypatch):
    """The address of a new database on the test server, and a home of its own."""
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    name = f"product_{tmp_path.name}".lower()
    cluster.run("psql", "-h", str(cluster.folder), "-U", "postgres", "-q", "-c", f"CREATE DATABASE {name}")
    address = f"postgresql:///{name}?host={cluster.folder}&user=postgres"
    unfounded = CliRunner().invoke(main, ["ledger", "verify", "--ledger", address])
    assert "hushcount ledger found" in unfounded.output
    founded = CliRunner().invoke(main, ["ledger", "found", "--ledger", address])
    assert founded.exit_code == 0, founded.output
    return address


def test_count_repeat_and_refusal(place, tmp_path):
    """A first count pays, its repeat is free and the same, and the ten standard releases of new data run out."""
    log = tmp_path / "log.parquet"
    write_log(log, 3000)
    words = ["count", str(log), "--user", "reader", "--item", "article", "--ledger", place]
    first = CliRunner().invoke(main, [*words, "--quiet"])

    assert first.exit_code == 0, first.output
    assert CliRunner().invoke(main, [*words, "--quiet"]).stdout == first.stdout
    codes = [CliRunner().invoke(main, [*words, "--fresh", "--quiet"]).exit_code for _ in range(14)]
    assert codes[:8] == [0] * 8
    assert codes[-1] == 4
    verdict = CliRunner().invoke(main, ["ledger", "verify", "--ledger", place])
    assert verdict.exit_code == 0, verdict.output


def test_a_limit_that_its_owner_lifted_stays_lifted(place, tmp_path):
    """Opening the ledger again does not undo what its owner decided."""
    log = tmp_path / "log.parquet"
    write_log(log, 1000)
    words = ["count", str(log), "--user", "reader", "--item", "article", "--ledger", place]

    assert "standard releases this month" in CliRunner().invoke(main, words).stdout
    lifted = CliRunner().invoke(main, ["ledger", "limit", "--all-data", "--none", "--ledger", place])
    assert lifted.exit_code == 0, lifted.output
    assert "Nothing limits" in CliRunner().invoke(main, words).stdout
