"""Portions on a disk: read back as they were, or refused without the system's words."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import hushcount
from hushcount.compiled.passes import once
from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.portions import Portion
from hushcount.engines.stored import StoredPortions
from hushcount.errors import UnreadableSource
from hushcount.model.texts import in_order

BACK = "cannot be read back whole"


def portion(times):
    """Two people with three items."""
    return Portion(
        users=in_order(["ann", "bob"]), offsets=np.array([0, 1, 3]), ids=np.array([0, 0, 1], np.int32), times=times
    )


def harm_cut(path):
    """Its end is gone."""
    path.write_bytes(path.read_bytes()[:-1])


def harm_empty(path):
    """All of it is gone."""
    path.write_bytes(b"")


def harm_removed(path):
    """Somebody tidied up."""
    path.unlink()


@pytest.mark.parametrize("times", [once(3), np.array([1, 2, 1])])
def test_a_portion_is_read_back_as_it_was(tmp_path, times):
    """Whether pairs are repeated or not."""
    stored = StoredPortions(tmp_path, [portion(times)] * 2)

    assert (len(stored), stored.people) == (2, 4)
    for found in stored:
        assert found.users.tolist() == ["ann", "bob"]
        assert (found.offsets.tolist(), found.ids.tolist()) == ([0, 1, 3], [0, 0, 1])
        assert found.times.tolist() == times.tolist()


@pytest.mark.parametrize("harm", [harm_cut, harm_empty, harm_removed], ids=lambda harm: harm.__name__)
@pytest.mark.parametrize("name", ["users", "edges", "offsets", "ids", "times"])
def test_what_is_not_whole_is_refused_without_a_place(tmp_path, harm, name):
    """Whichever array it is: one that is missing is never taken for one that was not stored."""
    stored = StoredPortions(tmp_path, [portion(np.array([1, 2, 1]))])
    harm(tmp_path / "0" / f"{name}.npy")
    with pytest.raises(UnreadableSource, match=BACK) as raised:
        stored[0]

    assert str(tmp_path) not in str(raised.value)
    assert raised.value.__cause__ is raised.value.__context__ is None


def test_a_question_whose_rows_are_gone_says_what_was_charged(tmp_path):
    """The mechanism was running, so data was read: what was held stays charged, and the note says so."""
    table = {"user": [n // 3 for n in range(3000)], "item": [f"item {n % 7}" for n in range(3000)]}
    engine = open_duckdb(pa.table(table))
    read = engine.incidence

    def emptied(selection):
        held = read(selection)
        stored = StoredPortions(tmp_path / "rows", held.portions)
        shutil.rmtree(tmp_path / "rows")
        return replace(held, portions=stored)

    engine.incidence = emptied
    setting = hushcount.open_setting(ledger=tmp_path / "ledger.sqlite")
    with pytest.raises(UnreadableSource, match=BACK) as raised:
        hushcount.vocab(engine, user="user", item="item", dataset="rows", setting=setting)
    setting.close()

    assert any("stays charged" in note for note in raised.value.__notes__)
    assert str(tmp_path) not in "".join([str(raised.value), *raised.value.__notes__])
