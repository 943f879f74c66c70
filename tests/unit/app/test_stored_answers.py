"""The same key, question and data give the same answer as before the house was rebuilt, for every mechanism."""

from __future__ import annotations

import json

import pytest

from hushcount.mechanisms.table import MECHANISMS
from tests.stored.questions import QUESTIONS, STORED, ask, said, write_rows, write_secret


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """The rows that were asked then, under the secret of then."""
    monkeypatch.setenv("HUSHCOUNT_HOME", str(write_secret(tmp_path / "home")))
    return write_rows(tmp_path / "rows.csv")


def test_answers_are_those_that_were_stored(rows):
    """Rows, cost and cut-off of every stored question, byte for byte."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    changed = [said(*one) for one in QUESTIONS if ask(*one, rows) != stored[said(*one)]]

    assert not changed
    assert len(stored) == len(QUESTIONS)


def test_every_mechanism_was_stored():
    """No mechanism of then is left out; the chooser's own choices are those without a method."""
    named = {options["method"] for _, options in QUESTIONS if "method" in options}
    chosen = {"ntm", "pcr-batched", "known-gumbel", "hybrid-top"}

    assert {mechanism.name for mechanism in MECHANISMS} <= named | chosen


def test_another_secret_gives_other_answers(rows, tmp_path, monkeypatch):
    """The comparison can fail: under another secret the noise is another."""
    home = tmp_path / "other"
    write_secret(home)
    (home / "secret").write_bytes(bytes(32))
    monkeypatch.setenv("HUSHCOUNT_HOME", str(home))
    stored = json.loads(STORED.read_text(encoding="utf-8"))

    assert ask(*QUESTIONS[0], rows) != stored[said(*QUESTIONS[0])]
