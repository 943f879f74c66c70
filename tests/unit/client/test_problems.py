"""Problems as exceptions: the server's words, what was charged, and what would fit."""

from __future__ import annotations

import pickle

import pytest

import hushcount_client
from hushcount_client import BudgetExhausted, InvalidOption, NotSignedIn, ServiceError
from hushcount_client.problems import problem
from tests.unit.client.scripted import EXHAUSTED, PROBLEM, answer, connected, playing


def test_an_exhausted_budget_says_everything():
    """All members are there, and the text says what happened, that it was free, and what would fit."""
    with playing(answer(403, EXHAUSTED, PROBLEM)) as script, pytest.raises(BudgetExhausted) as caught:
        connected(script).top("engagements", item="article", k=10)

    error = caught.value
    assert (error.code, error.status, error.charged, error.request_id) == ("budget-exhausted", 403, False, "req_9")
    assert error.members == EXHAUSTED
    assert error.would_fit[0]["change"] == {"preset": "cautious"}
    assert error.members["already_answered"][0]["release"] == "/v1/releases/r_51"
    assert str(error) == (
        "This question does not fit into what is left. It may cost 1 release; 0.4 are left until 1 December. "
        "Nothing was charged. This would fit: preset=cautious (0.1 releases, give or take 76)."
    )
    assert not getattr(error, "__notes__", [])


def test_a_token_that_does_not_hold_has_a_name_of_its_own():
    """401, with the name of the request for whoever looks after the server."""
    form = {"code": "not-signed-in", "title": "The token is over", "detail": "Make a new one."}
    step = answer(401, form, PROBLEM, Request_Id="req_7", WWW_Authenticate="Bearer")
    with playing(step) as script, pytest.raises(NotSignedIn) as caught:
        connected(script).budget("engagements")

    assert caught.value.request_id == "req_7"
    assert str(caught.value) == "The token is over. Make a new one."


def test_a_problem_may_say_little():
    """Its code is then taken from its type or its status; odd members are no word about money."""
    assert problem(400, {"type": "/problems/unsafe-filter"}).code == "unsafe-filter"
    assert problem(418, {}).code == "status-418"
    assert "418" in str(problem(418, {}))
    assert problem(400, {"charged": "no"}).charged is None
    assert problem(400, {"would_fit": "all"}).would_fit == ()
    assert problem(403, {"code": "budget-exhausted", "would_fit": [{"change": None}, 3]}).would_fit == (
        {"change": None},
    )


def test_whether_it_was_charged_is_said_once():
    """By the server's own words, or else in ours."""
    said = {"title": "No", "detail": "Nothing was charged."}

    assert str(problem(400, {**said, "charged": False})).count("charged") == 1
    assert str(problem(502, {"title": "No", "charged": True})) == "No. It was charged."


def test_errors_can_be_sent_between_processes():
    """As every program that asks in parallel does."""
    for error in (problem(403, EXHAUSTED), InvalidOption("no")):
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 (our own)

        assert type(again) is type(error)
        assert str(again) == str(error)


def test_the_tree_of_errors_is_complete():
    """The first page of the module names every exception that there is."""
    named = {name for name in vars(hushcount_client.problems) if name in str(hushcount_client.problems.__doc__)}
    kinds = {kind.__name__ for kind in ServiceError.__subclasses__()}

    assert kinds | {"ServiceError"} <= named
