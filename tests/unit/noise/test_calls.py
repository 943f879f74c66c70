"""Calls: values and law in, outcome out; by item where values belong to items, so that blocks change nothing."""

from __future__ import annotations

import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hushcount.noise.calls import (
    AddGaussian,
    AddLaplace,
    AddTruncated,
    KeepByLadders,
    KeepByTable,
    KeepGaussian,
    KeepKs,
    KeepLaplace,
    Peel,
    Reach,
    items_of,
)
from hushcount.noise.chances import Chances, Ladders
from hushcount.noise.gumbel import Candidates, peel
from hushcount.noise.laplace import discrete_laplace
from hushcount.noise.source import SeededSource

NAMES = np.array([f"item {n}" for n in range(60)], dtype=object)
VALUES = np.arange(60, dtype=np.int64)
CHANCES = Chances((np.arange(70) / 80).tobytes())
LAWS = {
    "laplace": (AddLaplace, {"rate": Fraction(1, 9)}),
    "gaussian": (AddGaussian, {"variance": Fraction(50)}),
    "truncated": (AddTruncated, {"rate": Fraction(1, 5), "bound": 12}),
    "keep gaussian": (KeepGaussian, {"unit": 8, "stddev": 2.0, "threshold": 4.0}),
    "keep ks": (KeepKs, {"unit": 8, "stddev": 2.0, "threshold": 4.0}),
    "keep laplace": (KeepLaplace, {"unit": 8, "scale": 2.0, "threshold": 4.0}),
    "keep ladders": (
        KeepByLadders,
        {
            "ladders": Ladders(tables=(CHANCES,), unit=8, stddev=2.0, threshold=9.0),
            "rho": Decimal(1),
            "delta": Decimal("0.1"),
            "cap": 16.0,
        },
    ),
    "keep table": (KeepByTable, {"table": tuple(n << 122 for n in range(65))}),
}


def call(name, source, rows=slice(None), **more):
    """One call on some of the items."""
    kind, law = LAWS[name]
    values = np.stack([VALUES[rows], VALUES[rows]], axis=1) if kind is KeepByLadders else VALUES[rows]
    return kind(purpose="p", keys=source.identify(NAMES[rows]), values=values, reach=Reach(), **law, **more)


@pytest.mark.parametrize("name", LAWS)
def test_blocks_and_order_change_nothing(name):
    """An item's outcome is the same alone, among others, in another order, and after a trip through pickle."""
    source = SeededSource(5)
    whole = source.perform(call(name, source))
    shuffled = np.random.default_rng(1).permutation(60)

    in_blocks = np.concatenate([source.perform(call(name, source, slice(n, n + 7))) for n in range(0, 60, 7)])
    elsewhere = pickle.loads(pickle.dumps(source))  # noqa: S301  our own bytes
    assert whole.tolist() == in_blocks.tolist()
    assert source.perform(call(name, source, shuffled)).tolist() == whole[shuffled].tolist()
    assert elsewhere.perform(call(name, elsewhere)).tolist() == whole.tolist()
    assert SeededSource(6).perform(call(name, SeededSource(6))).tolist() != whole.tolist()


def test_additive_calls_add_the_law_to_the_values():
    """The outcome less the values is what the sampler gives for the same items and purpose."""
    source = SeededSource(5)
    noise = discrete_laplace(source.item_draws("p", source.identify(NAMES)), Fraction(1, 9))

    assert (source.perform(call("laplace", source)) - VALUES).tolist() == noise.tolist()


def test_values_beyond_the_items_have_draws_of_their_own():
    """A boundary after the items changes no item's noise, and its own noise is not any item's."""
    source = SeededSource(5)
    plain = source.perform(call("laplace", source))
    joined = AddLaplace(
        purpose="p",
        keys=source.identify(NAMES),
        values=np.append(VALUES, 1000),
        reach=Reach(),
        rate=Fraction(1, 9),
    )
    outcome = source.perform(joined)
    boundary = discrete_laplace(source.draws("p", 1), Fraction(1, 9))

    assert outcome[:-1].tolist() == plain.tolist()
    assert outcome[-1] - 1000 == boundary[0]
    assert items_of(joined) == NAMES.tolist()


def test_a_selection_ends_with_bottom():
    """The order is that of peeling, cut after bottom or after the wanted number, whichever comes first."""
    source = SeededSource(5)
    keys = source.identify(NAMES[:5])
    values = np.array([4, 9, 1, 7, 5, 6], dtype=np.int64)

    def select(**more):
        return source.perform(Peel(purpose="p", keys=keys, values=values, reach=Reach(), rate=Fraction(1, 2), **more))

    whole = select().tolist()
    place = whole.index(5)
    assert sorted(whole) == list(range(6))
    assert select(last=5).tolist() == whole[: place + 1]
    assert select(most=2).tolist() == whole[:2]
    assert select(most=place, last=5).tolist() == whole[:place]


def test_rows_without_items_are_drawn_in_their_order():
    """A selection among places reads one row of words for each place."""
    source = SeededSource(5)
    values = np.array([3, 1, 2], dtype=np.int64)
    outcome = source.perform(Peel(purpose="place", keys=None, values=values, reach=Reach(), rate=Fraction(1)))
    candidates = Candidates(scores=values, rate=Fraction(1), priors={})

    assert outcome.tolist() == peel(source.draws("place", 3), candidates).tolist()
    assert len(items_of(Peel(purpose="place", keys=None, values=values, reach=Reach(), rate=Fraction(1)))) == 0
