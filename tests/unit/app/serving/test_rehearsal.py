"""A rehearsal looks like an answer, says that it is none, and reads nothing."""

from __future__ import annotations

import pytest

from hushcount.app.request import make_request
from hushcount.app.serving.questions.rehearsal import MADE_UP, rehearse


@pytest.mark.parametrize("question", ["count", "top", "vocab"])
def test_a_rehearsal_has_the_shape_of_the_answer(question):
    """Rows, intervals and a cut-off; every name is made up."""
    options = {"k": 5} if question == "top" else {}
    found = rehearse(make_request(question, user="who", item="article", options=options))

    assert len(found) == 5 if question == "top" else len(found) > 50
    assert all(item.startswith("made-up article ") for item in found.items)
    assert (found.counts is None) == (question == "vocab")
    assert found.notes == (MADE_UP,)


def test_a_declared_list_is_used():
    """It is public."""
    request = make_request("count", user="who", item="article", options={"keys": ["x", "y"]})

    assert sorted(rehearse(request).items) == ["x", "y"]


def test_a_filter_changes_nothing():
    """There are no values that it could choose among."""
    options = {"where": "country = 'NZ'", "keys": ["x"]}
    found = rehearse(make_request("count", user="who", item="article", options=options))

    assert found.counts[0] > 15_000
