"""Chi-square tests: one sample against a law, two samples against each other, two columns for independence."""

from __future__ import annotations

import numpy as np
from scipy import stats

from tests.statistical.constants import CELLS, LEAST_EXPECTED
from tests.statistical.laws import Law


def p_value(sample: np.ndarray, law: Law) -> float:
    """The chance of a sample at least this far from the law; zero if it holds a number that the law cannot give."""
    places = sample - law.low
    if places.min() < 0 or places.max() >= len(law.probabilities):
        return 0.0
    observed = np.bincount(places, minlength=len(law.probabilities))
    expected = law.probabilities * len(sample)
    starts = _cell_starts(expected)
    return float(stats.chisquare(np.add.reduceat(observed, starts), np.add.reduceat(expected, starts)).pvalue)


def same_law(one: np.ndarray, two: np.ndarray) -> float:
    """The chance of two samples at least this different if both follow one law."""
    low = min(one.min(), two.min())
    size = int(max(one.max(), two.max()) - low) + 1
    counts = np.array([np.bincount(sample - low, minlength=size) for sample in (one, two)])
    starts = _cell_starts(counts.sum(axis=0) / 2)
    return float(stats.chi2_contingency(np.add.reduceat(counts, starts, axis=1)).pvalue)


def independence(one: np.ndarray, two: np.ndarray) -> float:
    """The chance of two columns of small numbers at least this dependent if they are independent."""
    table = np.zeros((one.max() + 1, two.max() + 1), dtype=np.int64)
    np.add.at(table, (one, two), 1)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    return float(stats.chi2_contingency(table).pvalue)


def _cell_starts(expected: np.ndarray) -> np.ndarray:
    """Where cells of neighbouring numbers begin, so that each holds enough."""
    enough = max(LEAST_EXPECTED, expected.sum() / CELLS)
    starts, held = [0], 0.0
    for place, value in enumerate(expected.tolist()):
        if held >= enough or (held >= LEAST_EXPECTED and value >= enough):
            starts.append(place)
            held = 0.0
        held += value
    if held < LEAST_EXPECTED and len(starts) > 1:
        starts.pop()
    assert len(starts) > 1, "a sample in one cell fits any law"
    return np.array(starts)
