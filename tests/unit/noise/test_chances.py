"""Chances: the largest of several tables and the curve, as exact coins."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest

from hushcount.errors import InvalidInput
from hushcount.noise import bernoulli, chances
from hushcount.noise.chances import Chances, Ladders
from hushcount.noise.coins import KearnsSaul
from hushcount.noise.source import SeededSource
from tests.unit.noise.scripted import pairs

STEEP, FLAT = np.array([0.0, 0.25, 0.5, 1.0]), np.array([0.0, 0.4, 0.45])
NEVER = 1e6


def ladders(*tables, threshold=NEVER):
    """Ladders of these tables, and a curve that is as good as zero unless it is told otherwise."""
    return Ladders(tables=tuple(Chances(table.tobytes()) for table in tables), unit=4, stddev=1.0, threshold=threshold)


def test_the_largest_chance_of_a_row_counts():
    """Each column has its own table, and the last entry stands for all larger weights."""
    weights = np.array([[0, 0, 0], [1, 1, 0], [2, 1, 0], [9, 0, 0], [0, 9, 0], [-1, -5, 0]])

    assert ladders(STEEP, FLAT).by_table(weights).tolist() == [0.0, 0.4, 0.5, 1.0, 0.45, 0.0]


def test_the_curve_is_one_more_table():
    """Where the curve is higher it decides; its weight is the last column, in its own unit."""
    source = SeededSource(1)
    rows = np.repeat([[1, 0], [1, 10], [1, 40]], 4000, axis=0)
    kept = ladders(STEEP, threshold=2.5).toss(source.draws("p", len(rows)), rows).reshape(3, 4000).mean(axis=1)
    curve = KearnsSaul(unit=4, scale=1.0, threshold=2.5).probability(np.array([2.5, 0.0, -7.5]))

    assert kept == pytest.approx(np.maximum(curve, 0.25), abs=0.03)


def test_a_coin_is_exact_at_the_edge_of_its_chance():
    """A uniform number just below the chance keeps, the chance itself does not: also where doubles cannot tell."""
    third = float(np.nextafter(1 / 3, 0))
    table = np.array([third])
    edge = Fraction(third) * 2**128
    assert edge.denominator == 1
    for number, expected in ((int(edge) - 1, True), (int(edge), False)):
        draws = pairs((number >> 64, number & (2**64 - 1)))
        assert ladders(table).toss(draws, np.array([[0, 0]])).tolist() == [expected]


def test_rows_in_pieces_are_those_of_all_together(monkeypatch):
    """A row keeps its weights and its draw, in whichever piece it is tossed."""
    source, chance = SeededSource(2), np.random.default_rng(4)
    rows = chance.integers(0, 6, (900, 3))
    keys = source.identify(np.array([f"item {n}" for n in range(len(rows))], dtype=object))
    made = ladders(STEEP, FLAT, threshold=1.0)
    together = made.toss(source.item_draws("p", keys), rows)
    monkeypatch.setattr(bernoulli, "_ROWS", 100)
    monkeypatch.setattr(chances, "FEW", 0)

    assert made.toss(source.item_draws("p", keys), rows).tolist() == together.tolist()
    assert 0 < np.count_nonzero(together) < len(rows)


@pytest.mark.parametrize("threshold", [1.0, NEVER])
def test_rows_of_many_are_those_of_few(threshold):
    """Of few rows each is looked at closely; of many those alone that a ceiling lets through: the same are kept."""
    source, chance = SeededSource(3), np.random.default_rng(5)
    rows = chance.integers(-2, 6, (10_000, 3))
    draws, made = source.draws("p", len(rows)), ladders(STEEP, FLAT, threshold=threshold)
    parts = [np.arange(first, first + 1000) for first in range(0, len(rows), 1000)]
    alone = np.concatenate([made.toss(draws.at(part), rows[part]) for part in parts])

    assert made.toss(draws, rows).tolist() == alone.tolist()
    assert 1000 < np.count_nonzero(alone) < 9000


def test_a_ceiling_of_one_table_alone_would_be_caught(monkeypatch):
    """Broken twin: where a row is left out by its first table, what another says of it is never heard."""
    source = SeededSource(3)
    rows = np.tile([[0, 1, 0], [1, 0, 0]], (4000, 1))
    draws, made = source.draws("p", len(rows)), ladders(STEEP, FLAT)
    kept = made.toss(draws, rows)
    monkeypatch.setattr(chances.functools, "reduce", lambda _, each: next(iter(each)))

    assert made.toss(draws, rows).sum() < 0.6 * kept.sum()


def test_even_odds_lie_between_two_entries():
    """The weight of even odds is read off the line between the entries around it."""
    assert Chances(STEEP.tobytes()).even_odds == 2.0
    assert Chances(np.array([0.0, 0.4, 0.8, 1.0]).tobytes()).even_odds == pytest.approx(1.25)


def test_they_are_values():
    """Equal tables are equal, also after a trip to another machine; their repr is short."""
    one = ladders(STEEP, FLAT)
    again = pickle.loads(pickle.dumps(one))  # noqa: S301  our own bytes

    assert one == again
    assert hash(one) == hash(again)
    assert one != ladders(STEEP, STEEP)
    assert len(repr(one)) < 200


@pytest.mark.parametrize("weights", [np.zeros((3, 2), np.int64), np.zeros(3, np.int64)])
def test_a_row_has_a_column_for_each_table_and_the_curve(weights):
    """Any other shape is refused: a column would be read with another's table."""
    with pytest.raises(InvalidInput, match="for 2 tables and a curve"):
        ladders(STEEP, FLAT).by_table(weights)
    with pytest.raises(InvalidInput, match="for 2 tables and a curve"):
        ladders(STEEP, FLAT).toss(SeededSource(1).draws("p", len(weights)), weights)
