"""The command line and Python are two faces of one product: the same price, the same bytes, the same receipt."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import hushcount
from hushcount.app.forms import estimate_form
from hushcount.app.sample import write_log
from hushcount.cli.main import main

ASK = ("--user", "reader", "--item", "article")


@pytest.fixture
def log(tmp_path, monkeypatch):
    """A made-up log, and a home of the test's own."""
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "home"))
    path = tmp_path / "log.parquet"
    write_log(path, 3000)
    return path


def command(*words):
    """The JSON that a command prints."""
    done = CliRunner().invoke(main, [str(word) for word in words])

    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("question", "words", "options"),
    [
        ("count", ("--where", "article <> 'x'"), {"where": "article != 'x'"}),
        ("top", ("-k", 4, "--rho", "0.050"), {"k": 4, "rho": 0.05}),
        ("vocab", ("--preset", "cautious"), {"preset": "cautious"}),
    ],
)
def test_both_faces_answer_alike(log, question, words, options):
    """Asked from Python and then at the command line: one charge, and every byte of rows and receipt is the same."""
    verb = getattr(hushcount, question)
    release = verb(log, user="reader", item="article", **options)
    form, columns = command(question, log, *ASK, *words, "--json"), release.to_dict()

    assert form["rows"] == [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert form["receipt"] == json.loads(release.receipt.to_json())
    (line,) = command("ledger", "report", "--json")
    assert line["questions"] == 1


@pytest.mark.parametrize("source", ["log.parquet", "never met.parquet"])
def test_both_faces_tell_the_same_price(log, source):
    """The estimate of Python opens nothing; the command line looks at the columns too, and says so."""
    price = hushcount.estimate(log.with_name(source), user="reader", item="article", question="top", k=5)
    told = command("top", log, *ASK, "-k", 5, "--dry-run", "--json")

    assert told.pop("checked") == "The file can be opened, and its columns fit."
    assert told == {"schema": 1, **json.loads(json.dumps(estimate_form(price)))}


@pytest.mark.parametrize("founded", [(), ("--all-orders",)], ids=["usual orders", "all orders"])
@pytest.mark.parametrize("options", [{"preset": "cautious"}, {"epsilon": 3}], ids=["cautious", "epsilon"])
def test_an_estimate_states_what_the_receipt_will(log, founded, options):
    """Epsilon and cut-off, of a ledger that is there, and, with the usual orders, of one that is yet to be founded."""
    asked = {"user": "reader", "item": "article", **options}
    before = hushcount.estimate(log, question="vocab", **asked)
    if founded:
        assert CliRunner().invoke(main, ["ledger", "found", *founded]).exit_code == 0
    price = hushcount.estimate(log, question="vocab", **asked)
    receipt = hushcount.vocab(log, **asked).receipt

    assert (price.epsilon, price.expectation.cutoff) == (receipt.epsilon, receipt.cutoff)
    assert founded or before.epsilon == receipt.epsilon
