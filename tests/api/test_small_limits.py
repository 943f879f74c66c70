"""A limit below one standard release: what is offered in a refusal fits, and says truly what it would be like."""

from __future__ import annotations

import pytest

from hushcount.ledger.ledger import Ask
from hushcount.ledger.refusal import to_text
from hushcount.model.budgets import STANDARD
from hushcount.model.costs import Concentrated, Cost
from tests.api.served import COUNT, TOP, released

SMALL = {"dataset": "events", "releases": "0.5"}


def refused(fresh, question=COUNT, key="a"):
    """The refusal of a question that does not fit."""
    reply = released(fresh.analyst, question, key=key)
    assert (reply.code, reply.form["charged"]) == ("budget-exhausted", False)
    return reply.form


def test_whoever_sets_it_is_told_what_fits_into_it(fresh):
    """And nothing is said where every preset fits."""
    told = fresh.owner.put("/v1/limits", SMALL).form["note"]
    assert "delta of 1e-7" in told
    assert "5.000e-7" in told
    for limit in ({"releases": "1"}, {"rho": "0.5", "delta": "0"}, {"releases": "0"}):
        assert fresh.owner.put("/v1/limits", {"dataset": "events", **limit}).form["note"] is None
    assert fresh.owner.put("/v1/limits", {"dataset": "events", "none": True}).form["note"] is None


@pytest.mark.parametrize("question", [TOP, COUNT])
def test_what_is_offered_fits_and_is_as_it_says(fresh, question):
    """With the smaller delta, its give or take and its cut-off; the same question priced says the same."""
    fresh.owner.put("/v1/limits", SMALL)
    form = refused(fresh, question)
    (offer,) = form["would_fit"]
    asked = {**question, **offer["change"]}
    priced = fresh.analyst.post("/v1/queries", asked).form

    assert offer["change"] == {"preset": "cautious", "delta": "1e-7"}
    assert "This would fit: preset cautious, delta 1e-7" in form["detail"]
    assert priced["fits"]
    assert (priced["expected"]["give_or_take"], priced["expected"]["cutoff"], priced["cost"]["releases"]) == (
        offer["give_or_take"],
        offer["cutoff"],
        offer["releases"],
    )
    assert offer["cutoff"] is not None
    assert released(fresh.analyst, asked, key="b").status == 200


def test_where_only_delta_is_short_less_of_it_is_offered(fresh):
    """Rho is left for the question as it was asked."""
    fresh.owner.put("/v1/limits", {"dataset": "events", "rho": "9", "delta": "0.00000002"})
    (offer,) = refused(fresh)["would_fit"]
    # The threshold is a whole number, so that a tenth of this delta costs no less.
    assert offer["change"] == {"delta": "1e-7"}
    cheaper = fresh.analyst.post("/v1/queries", COUNT).form["cheaper"]
    assert [one["change"] for one in cheaper] == [
        {"preset": "cautious"},
        {"delta": "1e-7"},
        {"preset": "cautious", "delta": "1e-7"},
        {"delta": "1e-8"},
        {"preset": "cautious", "delta": "1e-8"},
    ]


def test_what_fits_is_priced_without_it(fresh):
    """The list stays short."""
    assert [one["change"] for one in fresh.analyst.post("/v1/queries", COUNT).form["cheaper"]] == [
        {"preset": "cautious"}
    ]


def test_a_list_of_items_needs_no_delta_and_is_offered_none(fresh):
    """Less of nothing does not fit better."""
    fresh.owner.put("/v1/limits", {"dataset": "events", "rho": "0.05", "delta": "0"})
    (offer,) = refused(fresh, {**COUNT, "keys": ["a1", "a2"]})["would_fit"]
    assert offer["change"] == {"preset": "cautious"}


def test_a_refusal_speaks_of_what_its_caller_knows(fresh):
    """Not of the service as somebody to ask, of populations and numbers of the ledger, or of commands."""
    ledger = fresh.service.ledger
    ledger.catalog.join("hidden", "events", by="olga")
    assert released(fresh.analyst, {**COUNT, "where": "country = 'NZ'"}, key="before").status == 200
    fresh.owner.put("/v1/limits", SMALL)
    form = refused(fresh)

    for words in ("the service", "hidden", "hushcount ", "rho =", "release 1"):
        assert words not in form["detail"]
    assert "ask olga: POST /v1/requests" in form["detail"]
    assert form["ask"]["owners"] == ["olga"]
    denied = fresh.analyst.put("/v1/limits", SMALL)
    assert "the service" not in denied.form["detail"]


def test_a_refusal_of_the_ledger_itself_names_people_only(fresh):
    """On the command line, too, nobody asks the service; and a month that has not begun is not for ever."""
    fresh.owner.put("/v1/limits", {"dataset": "events", "releases": "0"})
    quote = fresh.service.ledger.check(
        Ask(
            analyst="ana",
            dataset=fresh.service.served.find("events").id,
            version="v",
            query="q",
            cost=Cost.of((Concentrated(rho=STANDARD.rho), 1)),
            key="k",
        )
    )
    words = to_text(quote.refusal)
    assert quote.refusal.ask_whom == ("olga",)
    assert "the service" not in words
    assert "never renewed" not in words
