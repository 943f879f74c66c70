"""Events: what is looked at in an output, and that the telling part is found."""

from __future__ import annotations

import numpy as np
import pytest

from hushcount.audit.blackbox.probes import choose_probe, names_of, numbers
from hushcount.audit.claim import pair_claim

ALLOWED = pair_claim(1, 0).curve((1.0, 0.5))


@pytest.mark.parametrize(
    ("output", "found"),
    [
        (7, {"value": 7.0}),
        ((("a", 3), ("b", 2)), {"a": 3.0, "b": 2.0}),
        (("a", "b"), {"a": 1.0, "b": 1.0}),
        ((4, 5.5), {"0": 4.0, "1": 5.5}),
        (((1, 2), 3), {"0.0": 1.0, "0.1": 2.0, "1": 3.0}),
        ((), {}),
        (None, {}),
    ],
)
def test_numbers_in_an_output(output, found):
    """Of pairs by name, of bare names one each, of places by number."""
    assert numbers(output) == found


def test_names_keep_their_order():
    """An order that tells something is itself something to look at."""
    assert names_of((("b", 1), ("a", 5))) == ("b", "a")


@pytest.mark.parametrize(
    ("one", "two", "words"),
    [
        (lambda x: 3 + round(x), lambda x: 9 + round(x), "at"),
        (lambda x: 3 + x, lambda x: 9 + x, "at"),
        (lambda x: (("a", 3), ("b", round(5 * x))), lambda x: (("b", round(5 * x)),), "a"),
        (lambda x: ("a", "b") if x > 0 else ("b", "a"), lambda x: ("b", "a"), "('a', 'b')"),
        (lambda x: round(x) * 2, lambda x: round(x) * 2 + 1, "one of"),
    ],
    ids=["whole numbers", "fractions", "a name among noise", "order", "odd and even"],
)
def test_what_tells_two_laws_apart_is_found(one, two, words):
    """The event is much more likely on the side that it names, on outputs that it was not chosen on."""
    rng = np.random.default_rng(5)
    first = [one(x) for x in rng.normal(size=400)], [two(x) for x in rng.normal(size=400)]
    fresh = [one(x) for x in rng.normal(size=400)], [two(x) for x in rng.normal(size=400)]

    event = choose_probe(*first, ALLOWED)
    often, seldom = (event.count(outputs) for outputs in (fresh[::-1] if event.likely_on_two else fresh))

    assert often > 100
    assert seldom <= often / 20
    assert words in event.words


def test_values_that_were_hardly_seen_are_no_finding():
    """All outputs differ: their exact values tell nothing, and no event is made of them."""
    rng = np.random.default_rng(6)
    one, two = (list(rng.normal(size=300)) for _ in range(2))

    assert "the output is one of" not in choose_probe(one, two, ALLOWED).words


def test_no_outputs_alike_still_gives_an_event():
    """Outputs that nothing is known about, each once: there is always something to ask."""
    one, two = ([frozenset([side, run]) for run in range(50)] for side in range(2))

    assert choose_probe(one, two, ALLOWED).count(one) <= 50
