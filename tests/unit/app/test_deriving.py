"""Sums, differences, shares and ratios of released rows: their intervals cover what they say, and no more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hushcount
from hushcount.app.deriving import derive, largest_scale, width_of_sum
from hushcount.app.release import Release
from hushcount.errors import InvalidParameter
from hushcount.noise.widths import ShownCounts, half_width

TRUE = np.array([900, 400, 250, 120])
ITEMS = ["a", "b", "c", "d"]
RUNS = 4000


@pytest.fixture(scope="module")
def release():
    """A release whose receipt is real; its rows are replaced."""
    rows = {"who": [f"{n}" for n in range(500) for _ in range(2)], "what": ["a", "b"] * 500}
    import pyarrow as pa

    return hushcount.count(pa.table(rows), user="who", item="what", keys=["a", "b"], rho="10", ledger=False)


def drawn(release: Release, law: str, scale: float, chance: np.random.Generator) -> Release:
    """The same with noise of a law on true counts."""
    if law == "discrete-gaussian":
        noise = np.rint(chance.normal(0, scale, len(TRUE))).astype(np.int64)
    else:
        share = 1 - np.exp(-1 / scale)
        noise = chance.geometric(share, len(TRUE)) - chance.geometric(share, len(TRUE))
    counts, width = TRUE + noise, half_width(law, scale)
    return replace(
        release,
        items=np.array(ITEMS, dtype=object),
        counts=counts,
        low=np.maximum(counts - width, 0),
        high=counts + width,
        receipt=replace(release.receipt, noise=law, noise_scale=None),
    )


def passed(release: Release, threshold: int, scale: float, chance: np.random.Generator) -> Release:
    """Four rows of as many people as the threshold, less a scale, drawn until all of them passed it."""
    true = threshold - round(scale)
    counts = np.zeros(len(ITEMS), dtype=np.int64)
    while (counts <= threshold).any():
        low = counts <= threshold
        counts[low] = true + np.rint(chance.normal(0, scale, low.sum())).astype(np.int64)
    shown = ShownCounts(law="discrete-gaussian", scale=scale, gaps=counts - threshold)
    return replace(
        release,
        items=np.array(ITEMS, dtype=object),
        counts=counts,
        low=counts - shown.down(counts),
        high=counts + shown.up(),
        receipt=replace(release.receipt, noise="discrete-gaussian", noise_scale=scale, shown_above=threshold),
    )


@pytest.mark.parametrize(
    ("deed", "items", "against", "true"),
    [
        ("sum", ["a", "b", "c"], [], 3 * 170),
        ("difference", ["a", "b"], ["c"], 170),
        ("difference", ["a"], ["b", "c"], -170),
        ("share", ["a"], ["a", "b", "c"], 1 / 3),
    ],
)
def test_rows_that_were_lifted_over_a_threshold_are_covered(release, deed, items, against, true):
    """Given that all rows passed, the true number is inside at least 95 times in 100; as if nothing had lifted, not."""
    chance, inside, plain, runs = np.random.default_rng(3), 0, 0, 300
    for _ in range(runs):
        rows = passed(release, 200, 30.0, chance)
        unaware = replace(rows, high=rows.counts + half_width("discrete-gaussian", 30.0))
        unaware = replace(unaware, receipt=replace(rows.receipt, shown_above=None))
        found = [derive(one, deed, items, against=against) for one in (rows, unaware)]
        covered = [one.low <= true and (one.high is None or true <= one.high) for one in found]
        inside, plain = inside + covered[0], plain + covered[1]

    assert inside / runs >= 0.95
    assert deed != "sum" or plain / runs < 0.7


def test_far_above_a_threshold_nothing_changes(release):
    """Rows that nothing lifted are reckoned with as if there were no threshold."""
    rows = drawn(release, "discrete-gaussian", 5.0, np.random.default_rng(1))
    above = replace(rows, receipt=replace(rows.receipt, noise_scale=5.0, shown_above=20))

    for deed, (items, against, _) in DEEDS.items():
        assert derive(above, deed, items, against=against) == derive(rows, deed, items, against=against)


NOISES = {"discrete-gaussian": 30.0, "discrete-laplace": 20.0}
DEEDS = {
    "sum": (["a", "b", "c"], [], 1550),
    "difference": (["a"], ["b", "c"], 250),
    "share": (["b"], ["a", "b", "c"], 400 / 1550),
    "ratio": (["a"], ["d"], 900 / 120),
}


@pytest.mark.parametrize("law", NOISES)
@pytest.mark.parametrize("deed", DEEDS)
def test_intervals_cover(release, law, deed):
    """The true number lies between the ends at least 95 times in 100; for sums and differences, hardly more often."""
    chance, scale = np.random.default_rng(7), NOISES[law]
    items, against, true = DEEDS[deed]
    inside = 0
    for _ in range(RUNS):
        found = derive(drawn(release, law, scale, chance), deed, items, against=against)
        inside += (found.low is None or found.low <= true) and (found.high is None or true <= found.high)
    share = inside / RUNS

    assert share >= 0.95 - 0.0110  # three standard deviations of 4000 draws
    if deed in {"sum", "difference"}:
        assert share <= 0.965 + 0.0110


def test_half_widths_added_up_would_be_too_wide_and_one_too_narrow(release):
    """The measure can fail: the widths of three rows, added, cover far more; that of one row covers too little."""
    found = derive(drawn(release, "discrete-gaussian", 30.0, np.random.default_rng(1)), "sum", ["a", "b", "c"])
    width, one = (found.high - found.low) / 2, half_width("discrete-gaussian", 30.0)

    assert one * 1.2 < width < 3 * one * 0.8
    assert width == pytest.approx(1.96 * 30 * 3**0.5, rel=0.03)


def test_what_is_in_both_cancels(release):
    """A difference of sums that share a row has the noise of the rest alone."""
    rows = drawn(release, "discrete-gaussian", 30.0, np.random.default_rng(1))
    shared = derive(rows, "difference", ["a", "b"], against=["b"])
    alone = derive(rows, "sum", ["a"])

    assert shared.value == alone.value
    assert shared.high - shared.value == alone.high - alone.value


def test_a_sum_of_one_row_is_that_row(release):
    """As it was released, interval and all."""
    rows = drawn(release, "discrete-laplace", 20.0, np.random.default_rng(1))
    found = derive(rows, "sum", ["d"])

    assert (found.value, found.low, found.high) == (rows.counts[3], rows.low[3], rows.high[3])


def test_a_whole_that_may_be_nobody_has_no_upper_end(release):
    """A ratio over next to nothing is not bounded; a share never exceeds one."""
    rows = drawn(release, "discrete-gaussian", 200.0, np.random.default_rng(1))

    assert derive(rows, "ratio", ["a"], against=["d"]).high is None
    assert derive(rows, "share", ["d"], against=["d", "c"]).high <= 1


@pytest.mark.parametrize(
    ("deed", "items", "against", "name"),
    [
        ("product", ["a"], [], "deed"),
        ("sum", ["a"], ["b"], "against"),
        ("ratio", ["a"], [], "against"),
        ("share", ["a"], ["b"], "against"),
        ("sum", ["z"], [], "items"),
        ("sum", [], [], "items"),
    ],
)
def test_what_cannot_be_reckoned_is_refused(release, deed, items, against, name):
    """With the member that is wrong."""
    rows = drawn(release, "discrete-gaussian", 30.0, np.random.default_rng(1))
    with pytest.raises(InvalidParameter) as told:
        derive(rows, deed, items, against=against)
    assert told.value.name == name


def test_names_without_counts_have_no_sum(release):
    """Only counts can be added."""
    with pytest.raises(InvalidParameter, match="with counts"):
        derive(replace(release, counts=None, low=None, high=None), "sum", ["a"])


def test_noise_of_an_unknown_law_is_refused(release):
    """Never an interval that is made up."""
    rows = drawn(release, "discrete-gaussian", 30.0, np.random.default_rng(1))
    with pytest.raises(InvalidParameter, match="law"):
        derive(replace(rows, receipt=replace(rows.receipt, noise="mystery")), "sum", ["a"])


def test_widths_of_many_rows_are_those_of_a_normal_law():
    """A thousand rows: the convolution is exact and quick."""
    width = width_of_sum("discrete-laplace", (60,) * 1000, 0.95)
    scale = largest_scale("discrete-laplace", 60)

    assert width == pytest.approx(1.96 * scale * (2 * 1000) ** 0.5, rel=0.02)
