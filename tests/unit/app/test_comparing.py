"""Two released numbers beside each other: intervals that cover the true difference and sum, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import hushcount
from hushcount.app.deriving import added, side, subtracted, width_of_sum
from hushcount.app.release import Release
from hushcount.errors import InvalidParameter
from hushcount.mechanisms.counts.ntm_estimates import deviations
from hushcount.noise.widths import half_width

RUNS = 3000
TRUE = np.array([900, 400, 250, 120])
ITEMS = np.array(["a", "b", "c", "d"], dtype=object)


@pytest.fixture(scope="module")
def release():
    """A release whose receipt is real; its rows are replaced."""
    rows = pa.table({"who": [f"{n}" for n in range(500)], "what": ["a", "b"] * 250})
    return hushcount.count(rows, user="who", item="what", keys=["a", "b"], rho="10", ledger=False)


def drawn(release: Release, name: str, law: str, scale: float, chance: np.random.Generator) -> Release:
    """The true counts with noise of a law, under a name of its own."""
    if law == "discrete-gaussian":
        noise = np.rint(chance.normal(0, scale, len(TRUE))).astype(np.int64)
    else:
        share = 1 - np.exp(-1 / scale)
        noise = chance.geometric(share, len(TRUE)) - chance.geometric(share, len(TRUE))
    counts, width = TRUE + noise, half_width(law, scale)
    receipt = replace(release.receipt, id=name, noise=law, noise_scale=None)
    return replace(release, items=ITEMS, counts=counts, low=counts - width, high=counts + width, receipt=receipt)


def clipped(release: Release, lost: float, scale: float, chance: np.random.Generator) -> Release:
    """The true counts less what a clip took from each, with noise; what was lost is known with noise, once for all."""
    known = max(0.0, lost + chance.normal(0, scale))
    counts = np.rint(TRUE - lost + chance.normal(0, scale, len(TRUE))).astype(np.int64)
    stddevs = np.full(len(TRUE), scale)
    reach = deviations(np.full(len(TRUE), known), stddevs)
    low = np.floor(counts - reach * stddevs).astype(np.int64)
    high = np.ceil(counts + known + reach * np.hypot(stddevs, scale)).astype(np.int64)
    receipt = replace(release.receipt, id="clipped", noise="discrete-gaussian", noise_scale=scale, remark="too low")
    return replace(release, items=ITEMS, counts=counts, low=low, high=high, receipt=receipt)


def inside(found, true):
    """Whether an interval holds the true number."""
    return found.low <= true <= found.high


@pytest.mark.parametrize("laws", [("discrete-gaussian",) * 2, ("discrete-laplace", "discrete-gaussian")])
def test_two_releases_cover_difference_and_sum(release, laws):
    """At least 95 times in 100, of one law or of two; the interval of one alone, as if the other had no noise, not."""
    chance = np.random.default_rng(1)
    hits = np.zeros(3)
    for _ in range(RUNS):
        may, june = (drawn(release, law + name, law, 9.0, chance) for law, name in zip(laws, "ab", strict=True))
        found = hushcount.compare((may, "a"), (june, "b"))
        narrow = abs(found.difference.value - 500) <= half_width(laws[1], 9.0)
        hits += [inside(found.difference, 500), inside(found.sum, 1300), narrow]

    assert (hits[:2] / RUNS > 0.945).all()
    assert hits[2] / RUNS < 0.9


def test_clipped_rows_do_not_undercover(release):
    """Each of four rows lacks 60 people: sums hold the truth; adding reaches as if they were independent does not."""
    chance = np.random.default_rng(2)
    hits = np.zeros(3)
    for _ in range(RUNS):
        one = clipped(release, 60.0, 4.0, chance)
        found, widths = added([side(one, list("abcd"))]), tuple(sorted((one.high - one.counts).tolist()))
        twin = abs(found.value - TRUE.sum()) <= width_of_sum("discrete-gaussian", widths, 0.95)
        difference = subtracted([side(one, ["a"])], [side(one, ["b"])])
        hits += [inside(found, TRUE.sum()), inside(difference, 500), twin]

    assert (hits[:2] / RUNS > 0.945).all()
    assert hits[2] / RUNS < 0.5


def test_rows_together_lack_what_each_of_them_lacks(release):
    """Who is clipped is so in every row: one row's loss for the whole sum, the broken twin, never holds the truth."""
    chance = np.random.default_rng(4)
    hits = 0
    for _ in range(200):
        one = clipped(release, 60.0, 4.0, chance)
        found, lost = added([side(one, list("abcd"))]), 60.0 + 1.96 * 4.0
        hits += TRUE.sum() <= found.value + lost + width_of_sum("discrete-gaussian", (8,) * 4, 0.95)

    assert hits == 0


@pytest.mark.parametrize("law", ["discrete-laplace", "discrete-gaussian"])
def test_what_was_asked_of_accuracy_is_no_loss(release, law):
    """A remark on how sharp rows are leaves sums as they are."""
    one = drawn(release, "x", law, 5.0, np.random.default_rng(3))
    told = replace(one, receipt=replace(one.receipt, remark="Asked for 20 people: so it is in every row."))

    assert added([side(told, list("abcd"))]) == added([side(one, list("abcd"))])


def test_one_release_is_told_as_the_service_tells_it(release):
    """Two rows of one release: each as it was released, their difference and sum around the released numbers."""
    one = drawn(release, "x", "discrete-gaussian", 5.0, np.random.default_rng(3))
    found = hushcount.compare((one, "a"), (one, ["b", "c"]))
    counts = dict(zip(one.items.tolist(), one.counts.tolist(), strict=True))

    assert (found.first.low, found.first.high) == (one.low[0], one.high[0])
    assert found.difference.value == counts["a"] - counts["b"] - counts["c"]
    assert found.sum.value == counts["a"] + counts["b"] + counts["c"]
    assert found.counted is False
    assert hushcount.compare((replace(one, receipt=replace(one.receipt, left_out=True)), "a"), (one, "b")).counted


def test_the_same_noise_is_not_taken_for_two(release):
    """A row with itself, or with the same answer again, is refused; two rows of it are not."""
    one = drawn(release, "x", "discrete-gaussian", 5.0, np.random.default_rng(4))
    again = replace(one, free=True)

    for pair in (((one, "a"), (one, "a")), ((one, "a"), (again, "a")), ((one, ["a", "b"]), (again, ["b", "c"]))):
        with pytest.raises(InvalidParameter, match="same noise"):
            hushcount.compare(*pair)
    assert hushcount.compare((one, "a"), (again, "b")).difference.value == one.counts[0] - one.counts[1]


def test_what_is_no_released_number_is_refused(release):
    """Items that are not there, names only, an item twice, and what is no pair."""
    one = drawn(release, "x", "discrete-gaussian", 5.0, np.random.default_rng(5))
    names = replace(one, counts=None, low=None, high=None)

    for wrong in ((one, "none"), (names, "a"), (one, ["a", "a"]), (one, []), one, "a"):
        with pytest.raises(InvalidParameter):
            hushcount.compare(wrong, (one, "b"))


def test_items_of_several_columns_are_tuples():
    """As the answer shows them."""
    rows = {"who": [f"{n}" for n in range(600)], "land": ["NZ", "FR"] * 300, "what": ["tea"] * 600}
    keys = [("NZ", "tea"), ("FR", "tea")]
    asked = {"user": "who", "item": ["land", "what"], "keys": keys, "max_items_per_user": 1, "ledger": False}
    found = hushcount.count(pa.table(rows), **asked)

    assert abs(hushcount.compare((found, keys[0]), (found, keys[1])).sum.value - 600) < 100
