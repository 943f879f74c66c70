"""Enumerated output laws equal the ones written down by hand, and hidden randomness is noticed."""

from __future__ import annotations

import math
import os
from dataclasses import fields, replace
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from hushcount.audit.exact.enumeration import DrawsOutsideHook, enumerate_law, fixed_salts, output_of, paths
from hushcount.errors import InvalidInput
from hushcount.mechanisms.counts.tsgd import plan_tsgd, run_tsgd
from hushcount.mechanisms.counts.unknown_domain import plan_unknown_laplace, run_unknown_laplace
from hushcount.mechanisms.selection.optimal import plan_optimal, run_optimal
from hushcount.mechanisms.topk.known_domain import known_gumbel_at, run_known_gumbel
from hushcount.mechanisms.topk.unknown_domain import run_unknown_gumbel, unknown_gumbel_at
from hushcount.model.budgets import epsilon_budget
from hushcount.model.facts import Facts
from hushcount.noise.calls import AddLaplace, Reach
from hushcount.noise.source import SystemSource
from tests.privacy.exact import (
    Selection,
    as_histogram,
    as_items,
    discrete_laplace,
    peeled,
    place_law,
    selection_law,
    truncated_geometric,
)

MISSING = 1e-9


def shown(run, counts, plan, **options):
    """The enumerated law of (names, counts, cut-off), and the law itself."""
    law = enumerate_law(
        lambda noise: run(as_histogram(counts), plan, noise), **{"missing": MISSING, "most_paths": 20_000, **options}
    )
    return {(names, numbers, cutoff): p for (names, numbers, _, cutoff, _), p in law.chances.items()}, law


def test_every_field_of_an_outcome_is_looked_at():
    """Two outcomes that differ in any one field are two outputs: what a release says besides its rows leaves too."""
    plan = known_gumbel_at(Decimal(1), Facts(k=1, public_items=as_items(["a"])))
    one = run_known_gumbel(as_histogram({"a": 2}), plan, SystemSource())
    other = {"items": as_items(["b"]), "counts": one.counts + 1, "noise_scale": one.noise_scale + 1}

    assert output_of(one) == output_of(replace(one))
    for field in fields(one):
        changed = replace(one, **{field.name: other.get(field.name, "another")})
        assert output_of(changed) != output_of(one), field.name


def test_known_gumbel():
    """Ordered names of a public list: peeling, zeros included."""
    plan = known_gumbel_at(Decimal("0.7"), Facts(k=2, public_items=as_items(["a", "b", "c"]), with_counts=False))
    found, law = shown(run_known_gumbel, {"a": 2, "b": 1}, plan)
    expected = peeled({"a": math.exp(1.4), "b": math.exp(0.7), "c": 1.0}, 2)

    assert {names: p for (names, _, _), p in found.items()} == pytest.approx(expected, rel=1e-12)
    assert law.missing < 1e-11


def test_tsgd():
    """Two items with truncated noise, shown above the bound, largest first."""
    plan = plan_tsgd(epsilon_budget("1.5", "0.05"), 1)
    noise = truncated_geometric(1.5, plan.bound)
    expected = {}
    for (x, p), (y, q) in product(noise.items(), repeat=2):
        rows = [("a", 2 + x), ("b", 4 + y)]
        rows = sorted((row for row in rows if row[1] > plan.bound), key=lambda row: (-row[1], row[0]))
        key = (tuple(name for name, _ in rows), tuple(count for _, count in rows))
        expected[key] = expected.get(key, 0) + p * q
    found, _ = shown(run_tsgd, {"a": 2, "b": 4}, plan)

    assert {key[:2]: p for key, p in found.items()} == pytest.approx(expected, rel=1e-12)


def test_optimal():
    """Independent coins from the table of the optimal primitive."""
    plan = plan_optimal(epsilon_budget(1, "0.1"), 1)
    chance = {"a": plan.table[1] / 2**128, "b": plan.table[3] / 2**128}
    expected = {
        tuple(name for name, said in zip("ab", coins, strict=True) if said): math.prod(
            chance[name] if said else 1 - chance[name] for name, said in zip("ab", coins, strict=True)
        )
        for coins in product((False, True), repeat=2)
    }
    found, _ = shown(run_optimal, {"a": 1, "b": 3}, plan)

    assert {names: p for (names, _, _), p in found.items()} == pytest.approx(expected, rel=1e-12)


def test_unknown_gumbel():
    """The place of the threshold, which the cut-off tells, and the names above it."""
    counts, k, rows, delta = {"a": 6, "b": 5, "c": 5, "d": 2}, 2, 3, 0.1
    plan = unknown_gumbel_at(Decimal(1), Decimal("0.1"), Facts(k=k, with_counts=False), rows=rows)
    expected = {}
    for place, chance in place_law(counts, k, rows, 1.0).items():
        rule = Selection(rows=place, k=k, rate=1.0, odds=place / delta)
        for names, p in selection_law(counts, rule).items():
            key = (tuple(name for name in names if name != "bottom"), place)
            expected[key] = expected.get(key, 0) + chance * p
    places = {round(1 + math.log(place / delta), 6): place for place in range(k, rows + 1)}
    found, law = shown(run_unknown_gumbel, counts, plan)

    assert {(names, places[round(cut, 6)]): p for (names, _, cut), p in found.items()} == pytest.approx(expected)
    # What is paid depends on what is shown, and is a part of the output.
    assert len({cost for *_, cost in law.chances}) == 2


def test_unknown_laplace_with_its_released_cutoff():
    """Two noisy numbers, of which the bottom is the cut-off: all but the missing mass is there."""
    plan = plan_unknown_laplace(epsilon_budget(2, "0.1"), 1, rows=1)
    noise = discrete_laplace(2.0, 20)
    expected = {}
    for (x, p), (y, q) in product(noise.items(), repeat=2):
        bottom = 1 + plan.offset + y
        key = ((3 + x,) if 3 + x > bottom else (), float(bottom))
        expected[key] = expected.get(key, 0) + p * q
    found, law = shown(run_unknown_laplace, {"a": 3}, plan)

    assert law.missing <= MISSING
    assert all(p == pytest.approx(expected[numbers, cut], abs=2 * MISSING) for (_, numbers, cut), p in found.items())
    assert math.fsum(found.values()) == pytest.approx(1, abs=2 * MISSING)


def test_few_runs_leave_much_missing():
    """The likeliest runs come first, and the law says how much was not followed."""
    plan = plan_unknown_laplace(epsilon_budget(2, "0.1"), 1, rows=1)
    whole = shown(run_unknown_laplace, {"a": 3}, plan)[1]
    some = shown(run_unknown_laplace, {"a": 3}, plan, most_paths=9)[1]
    followed = [
        p.probability for p in paths(lambda s: run_unknown_laplace(as_histogram({"a": 3}), plan, s), floor=1e-4)
    ]

    assert some.paths == 9 < whole.paths
    assert 0.01 < some.missing < 0.5
    assert math.fsum(some.chances.values()) + some.missing == pytest.approx(1)
    assert followed == sorted(followed, reverse=True)


def noisy(histogram, plan, noise):
    """A mechanism in one line: an outcome of `plan` with Laplace noise on its counts, made through the hook."""
    call = AddLaplace(purpose="test", keys=None, values=histogram.counts, reach=Reach(each=1, rows=1), rate=Fraction(2))
    return replace(plan, items=histogram.items, counts=noise.perform(call))


@pytest.fixture
def empty():
    """Some outcome to change."""
    plan = plan_tsgd(epsilon_budget(2, "0.1"), 1)
    return run_tsgd(as_histogram({}), plan, SystemSource())


def test_draws_outside_the_hook_are_noticed(empty):
    """A mechanism that draws by itself is refused, whichever way it draws."""

    def drawing(histogram, plan, noise):
        call = AddLaplace(
            purpose="mine", keys=None, values=histogram.counts, reach=Reach(each=1, rows=1), rate=Fraction(2)
        )
        return replace(plan, items=histogram.items, counts=call.draw(noise))

    def drawing_for_items(histogram, plan, noise):
        words = noise.item_draws("mine", noise.identify(histogram.items)).words(0)
        return replace(plan, items=histogram.items, counts=words.astype(np.int64))

    assert len(shown(noisy, {"a": 3}, empty)[0]) > 3
    for run in (drawing, drawing_for_items):
        with pytest.raises(DrawsOutsideHook, match="'mine'"):
            shown(run, {"a": 3}, empty)


def test_randomness_of_its_own_is_noticed(empty):
    """A mechanism with another source of randomness gives another output for the same outcomes."""

    def hidden(histogram, plan, _):
        return noisy(histogram, replace(plan, cutoff=float(int.from_bytes(os.urandom(6)))), SystemSource())

    def more_calls(histogram, plan, noise):
        more_calls.runs += 1
        return [noisy(histogram, plan, noise) for _ in range(more_calls.runs)][-1]

    more_calls.runs = 0
    for run in (hidden, more_calls):
        with pytest.raises(DrawsOutsideHook, match="second run"):
            shown(run, {"a": 3}, empty)


def test_a_refusal_is_an_output(empty):
    """Whoever asks sees an error; here it tells that the noisy count was high."""

    def refusing(histogram, plan, noise):
        found = noisy(histogram, plan, noise)
        if int(found.counts[0]) > 3:
            raise InvalidInput("too many")
        return found

    law = enumerate_law(lambda noise: refusing(as_histogram({"a": 3}), empty, noise), missing=MISSING, most_paths=1000)
    q = math.exp(-2)

    assert law.chances["refused", "InvalidInput", "too many"] == pytest.approx(q / (1 + q), abs=2 * MISSING)


def test_a_law_that_is_too_wide_is_missing_not_refused(empty):
    """With so many values that no outcome is likely, nothing is followed, and all of it is missing."""
    counts = {f"item {n}": 5 for n in range(60)}
    law = enumerate_law(lambda noise: noisy(as_histogram(counts), empty, noise), missing=1e-3, most_paths=1000)

    assert law.chances == {}
    assert law.missing == pytest.approx(1)


def test_salts_are_the_same_for_both_neighbours():
    """A salt depends on its purpose alone, and nothing is stamped private."""
    one, two = fixed_salts(), fixed_salts()

    assert one.salt("bound") == two.salt("bound") != one.salt("bound/other")
    assert not one.private
