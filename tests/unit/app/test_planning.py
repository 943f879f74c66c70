"""Plans and estimates: what can be said before any data is read."""

from __future__ import annotations

import math

import pytest

from hushcount.app.planning import expect, make_plan
from hushcount.app.request import make_request
from hushcount.errors import InvalidParameter
from hushcount.library.questions import estimate


def planned(question="count", **options):
    """A plan for made-up columns."""
    return make_plan(make_request(question, user="u", item="i", options=options))


def test_default_choices():
    """Without more facts: ntm counts, hybrid-top lists, the ladder names."""
    assert planned().mechanism.name == "ntm"
    assert planned("top", k=5).mechanism.name == "hybrid-top"
    assert planned("vocab").mechanism.name == "ladder"


def test_error_in_people_solves_the_price():
    """A wanted give or take is met, and a slightly cheaper budget would miss it."""
    solved = planned(max_items_per_user=1, error=20)
    rho = float(solved.request.budget.rho)

    assert expect(solved).give_or_take <= 20
    assert expect(planned(max_items_per_user=1, rho=rho * 0.9)).give_or_take > 20


def test_error_as_a_share_goes_to_the_mechanism():
    """A wanted relative error is the one that ntm aims at."""
    assert planned(error="5%").plan.relative_error == pytest.approx(0.05)


def test_error_in_people_needs_one_noise_for_all():
    """Where the noise differs from row to row, a number of people cannot be promised."""
    with pytest.raises(InvalidParameter, match="a share such as 10%"):
        planned(error=50)


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("count", {}),
        ("count", {"max_items_per_user": 1}),
        ("count", {"max_items_per_user": 3, "method": "tsgd"}),
        ("count", {"max_items_per_user": 3, "keys": ["a", "b"]}),
        ("count", {"max_items_per_user": 3, "method": "unknown-laplace"}),
        ("count", {"max_items_per_user": 3, "method": "plume"}),
        ("top", {"k": 10}),
        ("top", {"k": 2, "keys": ["a", "b", "c"]}),
        ("vocab", {}),
        ("vocab", {"max_items_per_user": 1}),
        ("vocab", {"method": "policy-laplace"}),
    ],
)
def test_estimates_say_price_and_accuracy(question, options):
    """Every estimate has a price within the preset, and says something about what will be shown."""
    found = estimate("no-such-file", user="u", item="i", question=question, **options)

    assert 0 < found.rho <= 0.1
    assert 0 < found.epsilon < math.inf
    expectation = found.expectation
    assert expectation.notes or expectation.cutoff or expectation.give_or_take


@pytest.mark.parametrize(
    ("question", "options", "text"),
    [
        ("count", {"k": 5}, "k = 5 .* left out for 'ntm'"),
        ("count", {"counts": False}, "counts = False .* left out for 'ntm'"),
        ("count", {"method": "pcr", "max_items_per_user": 3}, "max_items_per_user = 3 .* left out for 'pcr'"),
        ("count", {"method": "tsgd", "max_items_per_user": 3, "keys": ["a"]}, "keys = 'a list' .* 'tsgd'"),
        (
            "count",
            {"max_items_per_user": 1, "error": "10%"},
            "error = '10 %' .* give or take 4 people, which is 10 % of 40 people and more",
        ),
        ("top", {"k": 2, "max_items_per_user": 3}, "max_items_per_user = 3 .* left out for 'hybrid-top'"),
        ("top", {"k": 2, "error": "5%"}, "error = '5 %' .* a number of people here, such as"),
        ("vocab", {"keys": ["a"]}, "keys = 'a list' .* left out for 'ladder'"),
        ("vocab", {"per_item_cap": 2}, "per_item_cap = 2 .* people, not at rows"),
        ("vocab", {"error": 20}, "error = 20.0 .* left out for 'ladder'. It shows names, and no counts"),
        ("top", {"k": 2, "counts": False, "error": 20}, "error = 20.0 .* names, and no counts"),
    ],
)
def test_an_option_that_is_not_used_is_refused(question, options, text):
    """Never ignored: by its name, whether the mechanism was asked for or chosen."""
    with pytest.raises(InvalidParameter, match=text):
        planned(question, **options)


def test_weights_are_explained():
    """Where a cut-off counts weights, the estimate and the receipt say so, and nowhere else."""
    weighed, counted = (
        estimate(user="u", item="i", question="vocab", max_items_per_user=1, method=name).expectation
        for name in ("weighted-gaussian", "optimal")
    )

    assert any("counts less towards each" in note for note in weighed.notes)
    assert counted.notes == ()


def test_a_larger_budget_promises_more():
    """More budget never raises the cut-off or the give or take."""
    small, large = (estimate(user="u", item="i", max_items_per_user=1, rho=rho) for rho in (0.01, 1))

    assert large.expectation.cutoff < small.expectation.cutoff
    assert large.expectation.give_or_take < small.expectation.give_or_take
