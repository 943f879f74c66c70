"""The light release: its tables, its files, and what marks it."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.app import release as library
from hushcount_client import InvalidOption, Release
from hushcount_client import release as ours
from hushcount_client.release import read_release
from tests.unit.client.scripted import DONE


@pytest.fixture
def release() -> Release:
    """The release of the interface's own example."""
    return read_release(DONE)


def rows_of(path):
    """The rows of a file of comma-separated values."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_columns(release):
    """By name; only items where there are no counts."""
    names = read_release({**DONE, "release": {**DONE["release"], "rows": [{"item": "a"}, {"item": "b"}]}})

    assert list(release.to_dict()) == ["item", "count", "low", "high"]
    assert release.to_dict()["low"] == [3962, 96]
    assert names.to_dict() == {"item": ["a", "b"]}
    assert len(release) == 2


def test_a_frame_of_pandas(release, monkeypatch):
    """Where pandas is; where it is not, the error says how to get it."""
    assert release.to_pandas()["count"].tolist() == [3986, 120]

    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(InvalidOption, match="pip install pandas"):
        release.to_pandas()


def test_saved_rows(release, tmp_path):
    """In CSV a formula is made harmless; in JSON every item is as it is; the receipt lies beside."""
    beside = release.save(tmp_path / "rows.csv")
    release.save(str(tmp_path / "rows.json"))

    assert rows_of(tmp_path / "rows.csv")[1:] == [
        ["GDPR in practice", "3986", "3962", "4010"],
        ["'=1+1", "120", "96", "144"],
    ]
    assert json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))[1]["item"] == "=1+1"
    assert beside == tmp_path / "rows.receipt.json"
    assert json.loads(beside.read_text(encoding="utf-8")) == release.receipt


def test_items_of_any_kind_are_saved(release, tmp_path):
    """Commas, line ends, quotes, and half a sign."""
    odd = ['a,"b"\nc', "\ud800", "-1"]
    release = replace(release, rows=tuple(replace(release.rows[0], item=item) for item in odd))
    release.save(tmp_path / "rows.csv")
    release.save(tmp_path / "rows.json")

    assert [row[0] for row in rows_of(tmp_path / "rows.csv")[1:]] == ['a,"b"\nc', "\\ud800", "'-1"]
    assert [row["item"] for row in json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))] == odd


@pytest.mark.parametrize(("change", "column"), [({"made_up": True}, "made_up"), ({"enforced": False}, "tracked")])
def test_what_is_no_ordinary_answer_is_marked(release, tmp_path, change, column):
    """In the table and in every file of it."""
    marked = replace(release, **change)
    marked.save(tmp_path / "rows.csv")

    assert marked.to_dict()[column] == [True, True]
    assert rows_of(tmp_path / "rows.csv")[0][-1] == column
    assert column not in release.to_dict()


def test_other_endings_are_refused(release, tmp_path):
    """Nothing is written."""
    with pytest.raises(InvalidOption, match=r"\.csv or \.json"):
        release.save(tmp_path / "rows.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_the_card_of_a_notebook_is_harmless(release):
    """Items and notes are texts, whatever they hold."""
    hostile = replace(release, rows=(replace(release.rows[0], item="<script>x</script>"),) * 30, notes=("<b>",))

    card = hostile._repr_html_()
    assert "<script>" not in card
    assert "<b>" not in card
    assert "and 10 more rows" in card


@given(st.lists(st.sampled_from(["a", "A", "count", "Count", "item_count", "Item_Count", "low", "HIGH"]), unique=True))
def test_columns_are_called_as_in_the_library(columns):
    """Whatever they are called in the data; and no two differ in capital letters alone."""
    names = ours._apart(tuple(columns))  # noqa: SLF001

    assert names == library._apart(tuple(columns))  # noqa: SLF001
    assert len({name.casefold() for name in [*names, "count", "low", "high"]}) == len(columns) + 3
