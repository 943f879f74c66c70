"""`hushcount.audit.check`: what it takes, what it refuses, and where it is found."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

import hushcount
from hushcount.audit.blackbox.checking import check, hashable
from hushcount.audit.claim import pair_claim
from hushcount.errors import InvalidParameter
from hushcount.model.costs import Cost, Gaussian, Pure

PAIR = ([1, 2, 3], [1, 2])


def leak(data: list[int]) -> int:
    """The data itself."""
    return len(data)


def constant(data: list[int]) -> str:
    """Nothing of the data."""
    return "nothing"


@pytest.mark.parametrize(
    "claim",
    [(1, 0), (2.0, "0.01"), Cost.of(Pure(epsilon=Decimal(1))), Cost.of(Gaussian(rho=Decimal("0.5"))), pair_claim(1, 0)],
    ids=["pair", "pair with delta", "cost", "Gaussian cost", "claim"],
)
def test_every_form_of_claim_is_taken(claim):
    """A function that shows its data breaks each of them; one that shows nothing keeps each."""
    assert not check(leak, claim, PAIR, runs=400).holds
    assert check(constant, claim, PAIR, runs=400).holds


def test_one_bad_pair_among_several_is_enough():
    """The finding is about the worst pair and names it."""
    finding = check(leak, (1, 0), [(PAIR[0], PAIR[0]), PAIR, (PAIR[1], PAIR[1])], runs=400)

    assert not finding.holds
    assert "pair 2" in finding.where
    assert finding.subject == "leak"
    assert finding.looked.startswith("3 pairs of neighbours, ")


def test_outputs_become_countable():
    """Lists, dicts, sets and arrays, inside each other too."""
    assert hashable({"b": [1, 2], "a": np.array([3.5])}) == (("b", (1, 2)), ("a", (3.5,)))
    assert hashable({3, 1, 2}) == (1, 2, 3)
    assert hashable(np.int64(4)) == 4
    assert hashable(None) is None


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((leak, 1.0, PAIR), "claim"),
        ((leak, (1, 0, 0), PAIR), "claim"),
        ((leak, (1, 0), []), "neighbours"),
        ((leak, (1, 0), [1, 2, 3]), "neighbours"),
        ((leak, (1, 0), ([1], [2], [3])), "neighbours"),
        (("leak", (1, 0), PAIR), "run"),
        ((lambda data: bytearray(2), (1, 0), PAIR), "run"),
    ],
)
def test_what_cannot_be_checked_is_refused(arguments, name):
    """With the name of what is wrong."""
    with pytest.raises(InvalidParameter, match=f"^{name} = "):
        check(*arguments, runs=50)


@pytest.mark.parametrize("wrong", [{"alarm": 0.0}, {"alarm": 1.0}, {"runs": 0}])
def test_numbers_out_of_range_are_refused(wrong):
    """No alarm at all, certain alarm, no runs."""
    with pytest.raises(InvalidParameter):
        check(leak, (1, 0), PAIR, **wrong)


def test_it_is_found_from_the_top():
    """`hushcount.audit.check` is the function, also after its module was imported."""
    assert hushcount.audit.check is check
    with pytest.raises(AttributeError):
        _ = hushcount.audit.nothing
