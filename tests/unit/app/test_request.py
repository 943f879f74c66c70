"""Requests: options are checked and completed before any data is read."""

from __future__ import annotations

import pytest

from hushcount.app.request import make_request
from hushcount.errors import InvalidParameter, UnreadableSource
from hushcount.model.budgets import EpsilonBudget, RhoBudget
from hushcount.model.queries import TextItems


def test_two_facts_are_enough():
    """Person and item alone make a standard request."""
    request = make_request("count", user="user", item="item", options={})

    assert isinstance(request.budget, RhoBudget)
    assert (str(request.budget.rho), str(request.budget.delta)) == ("0.1", "0.000001")
    assert request.facts.max_items is None


@pytest.mark.parametrize(("preset", "rho"), [("cautious", "0.01"), ("standard", "0.1"), ("generous", "0.5")])
def test_presets(preset, rho):
    """The three presets are the ones that the design names."""
    budget = make_request("count", user="u", item="i", options={"preset": preset}).budget

    assert isinstance(budget, RhoBudget)
    assert str(budget.rho) == rho


def test_epsilon_and_delta():
    """Experts may say epsilon and delta."""
    budget = make_request("count", user="u", item="i", options={"epsilon": 1, "delta": "1e-8"}).budget

    assert isinstance(budget, EpsilonBudget)
    assert (str(budget.epsilon), str(budget.delta)) == ("1", "1E-8")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"preset": "bold"}, "one of cautious, standard, generous"),
        ({"preset": "standard", "rho": 1}, "left out, because preset says what may be spent"),
        ({"rho": 0}, "rho = 0 cannot be used: it must be above zero"),
        ({"delta": 0}, "cannot be shown with delta = 0"),
        ({"error": "lots"}, "a share such as 10%, or a number of people such as 50"),
        ({"max_items_per_user": 0}, "a whole number from 1"),
        ({"per_item_cap": -1}, "a whole number from 1"),
        ({"ngrams": "a-b", "text": "t"}, "such as 1 or 1-3"),
        ({"colour": "red"}, "one of analyst, by, counts, dataset"),
    ],
)
def test_bad_options(options, text):
    """Each bad option is refused with what to write instead."""
    item = None if "text" in options else "i"
    with pytest.raises(InvalidParameter, match=text.replace("(", r"\(")):
        make_request("count", user="u", item=item, options=options)


def test_item_or_text():
    """Exactly one of item and text must be given."""
    with pytest.raises(InvalidParameter, match="item must be given, or else a text column"):
        make_request("count", user="u", item=None, options={})
    with pytest.raises(InvalidParameter, match="item = 'i' cannot be used: it must be left out where the words"):
        make_request("count", user="u", item="i", options={"text": "t"})


@pytest.mark.parametrize(
    ("item", "options", "told"),
    [
        (3, {}, "item = 3 cannot be used: it must be the name of a column, or a list of names"),
        (["a", 3], {}, r"item = \['a', 3\] cannot be used: it must be the name"),
        ("i", {"where": 3}, "where = 3 cannot be used: it must be a text"),
        ("i", {"timezone": 3}, "timezone = 3 cannot be used: it must be a text"),
        ("i", {"fresh": "yes"}, "fresh = 'yes' cannot be used: it must be True or False"),
    ],
)
def test_what_is_of_another_kind_is_refused_by_name(item, options, told):
    """With the error of a wrong value, and not with one from inside."""
    with pytest.raises(InvalidParameter, match=told):
        make_request("count", user="u", item=item, options=options)
    with pytest.raises(InvalidParameter, match="user = 3 cannot be used"):
        make_request("count", user=3, item="i", options={})


def test_text_and_ngrams():
    """Ranges of n-grams may be written as text or as numbers."""
    for ngrams in ("1-3", (1, 3)):
        item = make_request("vocab", user="u", item=None, options={"text": "t", "ngrams": ngrams}).selection.item

        assert item == TextItems(column="t", shortest=1, longest=3)


def test_top_needs_k():
    """A top list without a length is refused."""
    with pytest.raises(InvalidParameter, match="-k 10"):
        make_request("top", user="u", item="i", options={})


def test_public_list(tmp_path):
    """A public list is read from a file, one item per line, each once; a missing file is told."""
    listed = tmp_path / "keys.txt"
    listed.write_text("a\nb\n\na\n", encoding="utf-8")
    public = make_request("count", user="u", item="i", options={"keys": listed}).facts.public_items

    assert public is not None
    assert public.tolist() == ["a", "b"]
    with pytest.raises(UnreadableSource, match="public list"):
        make_request("count", user="u", item="i", options={"keys": tmp_path / "none.txt"})


def test_canonical_is_one_text_for_one_question():
    """Different ways of writing the same question give the same canonical text, different questions do not."""
    one = make_request("count", user="u", item="i", options={"rho": 0.1}).canonical()

    assert one == make_request("count", user="u", item="i", options={"preset": "standard"}).canonical()
    assert one != make_request("count", user="u", item="i", options={"rho": 0.2}).canonical()
    assert one != make_request("count", user="u", item="i", options={"rho": 0.1, "where": "a = 1"}).canonical()


@pytest.mark.parametrize(
    ("item", "options", "words"),
    [
        ("article", {}, "article"),
        (None, {"text": "search"}, "words of search"),
        (None, {"text": "search", "ngrams": "1-3"}, "runs of 1 to 3 words of search"),
    ],
)
def test_what_is_counted_in_words(item, options, words):
    """Histories, refusals and receipts say what was counted as a person would."""
    assert make_request("count", user="u", item=item, options=options).item_words() == words
