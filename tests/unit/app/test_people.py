"""`people`: how many there are in all, or in each group of a public list."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import hushcount
from hushcount.app.request import make_request
from hushcount.app.setting import passing_setting
from hushcount.errors import InvalidParameter
from hushcount.model.queries import TupleItems
from tests.conformance.engines.openers import OPENERS, open_reference

ROWS = pa.table(
    {
        "user": [f"u{n % 500}" for n in range(2000)] + [None],
        "country": [("NZ", "FR", "AU")[n % 3] for n in range(2000)] + ["NZ"],
    }
)


def test_everybody_is_counted_once():
    """However many rows they have; rows without a person count nowhere; no delta is spent."""
    found = hushcount.people(ROWS, user="user", setting=passing_setting())

    assert list(found.to_dict()) == ["count", "low", "high"]
    assert abs(found.counts[0] - 500) < 30
    assert found.low[0] <= found.counts[0] <= found.high[0]
    assert float(found.receipt.delta) == 0
    assert found.receipt.item == "people"
    assert "chosen at random" not in found.receipt.to_text()


def test_a_filter_says_who():
    """As in every question."""
    found = hushcount.people(ROWS, user="user", where="country = 'nowhere'", setting=passing_setting())

    assert abs(found.counts[0]) < 30


def test_groups_are_those_of_a_public_list():
    """Each is there, also one that nobody is in, and sorted by name."""
    found = hushcount.people(ROWS, user="user", by="country", keys=["NZ", "FR", "nowhere"], setting=passing_setting())

    assert found.to_dict()["country"] == ["FR", "NZ", "nowhere"]
    assert np.abs(found.counts - [500, 500, 0]).max() < 60


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"item": "country"}, "left out where people are counted"),
        ({"by": "country"}, "keys must be given with by"),
        ({"keys": ["NZ"]}, "said with by"),
        ({"k": 3}, "left out where people are counted"),
        ({"max_items_per_user": 1}, "left out where people are counted"),
        ({"text": "country"}, "left out where people are counted"),
    ],
)
def test_what_would_not_be_used_is_refused(options, words):
    """With what to do instead."""
    item = options.pop("item", None)
    with pytest.raises(InvalidParameter, match=words):
        make_request("people", user="user", item=item, options=options)


@pytest.mark.parametrize("name", ["reference", "parquet", "csv", "json lines", "sqlite", "pandas"])
def test_every_source_counts_the_same_people(name, tmp_path):
    """An item without parts is had by everybody with a row."""
    columns = {"user": ["a", "b", "a", None, "c"], "item": ["x", None, "y", "z", None]}
    engine = open_reference(columns, tmp_path) if name == "reference" else OPENERS[name](columns, tmp_path)
    selection = make_request("people", user="user", item=None, options={}).selection
    found = engine.histogram(selection)

    assert selection.item == TupleItems(parts=())
    assert (found.items.tolist(), found.counts.tolist()) == ([""], [3])


def test_one_person_more_or_less_moves_it_by_one():
    """The plan bounds everybody to the one item that there is, so its noise is that of a single count."""
    planned = hushcount.estimate(user="user", question="people")

    assert planned.planned.mechanism.name in {"known-gaussian", "known-laplace"}
    assert planned.planned.plan.max_items == 1
