"""Options as they go out: the server's words for them, and what no server would take."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pytest

from hushcount.app.options import Options as LibraryOptions
from hushcount_client import InvalidOption, Options
from hushcount_client.question import _ELSEWHERE, make_body, require_key


def body(question="count", **options):
    """The body of a question about articles."""
    item = None if "text" in options else "article"
    return json.loads(make_body("release", question, "engagements", item=item, options=options))


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ({"rho": 0.05}, {"rho": "0.05"}),
        ({"epsilon": Decimal("1.50"), "delta": 1e-7}, {"epsilon": "1.50", "delta": "1e-07"}),
        ({"error": "10%"}, {"error": "10%"}),
        ({"error": 50}, {"error": 50}),
        ({"max_cost": "0.5"}, {"max_cost": {"releases": 0.5}}),
        ({"max_cost": {"releases": 2}}, {"max_cost": {"releases": 2}}),
        ({"keys": ("NZ", "AU")}, {"keys": ["NZ", "AU"]}),
        ({"max_items_per_user": np.int64(3)}, {"max_items_per_user": 3}),
        ({"fresh": True, "lower": False}, {"fresh": True, "lower": False}),
        ({"preset": None}, {}),
        ({"key": "mine", "say": print}, {}),
    ],
)
def test_options_are_written_as_the_server_reads_them(said, sent):
    """Amounts that count are texts, lists are lists, and what is about the call stays out of the question."""
    expected = {"mode": "release", "dataset": "engagements", "question": "count", "item": "article", **sent}

    assert body(**said) == expected


def test_words_of_a_text_column():
    """In place of an item."""
    assert body(text="comment", ngrams=(1, 3)) == {
        "mode": "release",
        "dataset": "engagements",
        "question": "count",
        "text": "comment",
        "ngrams": "1-3",
    }


def test_a_public_list_may_be_a_file(tmp_path):
    """One item on each line, empty lines left out, as the library reads it; a file that is not there is told."""
    path = tmp_path / "countries.txt"
    path.write_text("NZ\n\nAU\n", encoding="utf-8")

    assert body(keys=path)["keys"] == ["NZ", "AU"]
    assert body(keys=str(path))["keys"] == ["NZ", "AU"]
    with pytest.raises(InvalidOption, match="cannot be read"):
        body(keys=tmp_path / "nowhere.txt")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"presett": "cautious"}, "did you mean 'preset'"),
        ({"user": "user_id"}, "which column is the person"),
        ({"ledger": "x.db"}, "keeps the ledger"),
        ({"engine": "spark"}, "reads the data"),
        ({"per_item_cap": float("nan")}, "cannot be sent"),
        ({"where": object()}, "cannot be sent"),
    ],
)
def test_what_no_server_takes_is_refused_before_anything_is_sent(options, words):
    """With the nearest right word, or why it is the server's to say; it was free."""
    with pytest.raises(InvalidOption, match=words) as caught:
        body(**options)

    assert caught.value.charged is False
    assert isinstance(caught.value, ValueError)


def test_a_question_must_be_whole():
    """A top list has its k, and there is either an item or a text."""
    with pytest.raises(InvalidOption, match="k=10"):
        body("top")
    with pytest.raises(InvalidOption, match="item and text"):
        make_body("release", "count", "engagements", item=None, options={})
    with pytest.raises(InvalidOption, match="item and text"):
        make_body("release", "count", "engagements", item="a", options={"text": "b"})


@pytest.mark.parametrize("key", ["", "a b", "a\r\nX: 1", "é", "x" * 256])
def test_a_key_is_fit_for_a_header(key):
    """Anything else is refused."""
    with pytest.raises(InvalidOption):
        require_key(key)


def test_the_client_knows_every_option_of_the_library():
    """An option of the library is one here, or is refused for a reason: none is unknown."""
    ours, theirs = set(LibraryOptions.__annotations__), set(Options.__annotations__)

    assert ours - theirs - set(_ELSEWHERE) == {"dataset"}
    assert theirs - ours == {"max_cost", "say"}
