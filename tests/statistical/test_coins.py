"""Coins and words: as often true as claimed, every byte uniform, and nothing tied to anything else."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hushcount.noise.bernoulli import accept
from hushcount.noise.source import Draws
from tests.statistical import fit, laws
from tests.statistical.constants import COINS, FACTORS, P_VALUE, SAMPLES
from tests.statistical.samples import KINDS, SOURCE, rows_of


def toss(draws: Draws, p: Fraction) -> np.ndarray:
    """COINS coins of probability p as zeros and ones: many uniform numbers of each row."""
    chance = np.full(len(draws), float(p))
    columns = [
        accept(draws, chance, judge=lambda row, digits: (p, p), number=number) for number in range(COINS // len(draws))
    ]
    return np.concatenate(columns).astype(np.int64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p", [Fraction(1, 1000), Fraction(3, 10), Fraction(999, 1000)], ids=str)
def test_coins_follow_their_probability(kind, p):
    """As many coins are true as claimed, and not as many as a rarer side 20 % rarer or more frequent would give."""
    coins = toss(rows_of(kind, SAMPLES, f"coin {p}"), p)
    rare = min(float(p), 1 - float(p))

    def law(chance: float) -> laws.Law:
        return laws.bernoulli(chance if p < Fraction(1, 2) else 1 - chance)

    assert fit.p_value(coins, law(rare)) > P_VALUE
    assert all(fit.p_value(coins, law(rare * factor)) < P_VALUE for factor in FACTORS)


def byte(draws: Draws, place: int, counter: int = 0) -> np.ndarray:
    """One byte of each row's word."""
    return ((draws.words(counter) >> np.uint64(8 * place)) & np.uint64(255)).astype(np.int64)


@pytest.mark.parametrize("kind", KINDS)
def test_every_byte_is_uniform(kind):
    """All 256 values of every byte of a word are equally frequent, and a byte whose upper half is 20 % up is seen."""
    rows = rows_of(kind, SAMPLES, "bytes")
    uniform = laws.Law(0, np.full(256, 1 / 256))
    tilted = laws.Law(0, np.where(np.arange(256) < 128, 1 - 0.1, 1 + 0.1) / 256)

    for place in range(8):
        assert fit.p_value(byte(rows, place), uniform) > P_VALUE, f"byte {place}"
        assert fit.p_value(byte(rows, place), tilted) < P_VALUE, f"byte {place}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", [0, 7])
def test_purposes_counters_and_rows_are_independent(kind, place):
    """The same row under another purpose, another counter, another depth, and the row beside it tell nothing."""
    here = byte(rows_of(kind, SAMPLES, "bytes"), place) >> 4
    others = {
        "purpose": byte(rows_of(kind, SAMPLES, "bytes2"), place) >> 4,
        "counter": byte(rows_of(kind, SAMPLES, "bytes"), place, 1) >> 4,
        "depth": byte(rows_of(kind, SAMPLES, "bytes"), place, 1 << 32) >> 4,
        "row": np.roll(here, 1),
    }

    assert {name for name, other in others.items() if fit.independence(here, other) < P_VALUE} == set()


def test_a_source_that_forgets_the_purpose_is_seen():
    """Broken twin: if two purposes shared their words, the same test would say so, even through 90 % of other words."""
    here = byte(SOURCE.draws("bytes", SAMPLES), 7) >> 4
    mostly_other = np.where(np.arange(SAMPLES) % 10 == 0, here, byte(SOURCE.draws("bytes2", SAMPLES), 7) >> 4)

    assert fit.independence(here, here) < P_VALUE
    assert fit.independence(here, mostly_other) < P_VALUE
