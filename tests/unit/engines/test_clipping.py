"""Clipped sums: what one person adds is never longer than the radius, and what a clip takes away is bounded."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.engines import clipping, portions, rows
from hushcount.engines import incidence as incidence_module
from hushcount.engines.incidence import encoded_incidence, incidence
from hushcount.errors import InvalidInput, InvalidParameter
from hushcount.model.inputs import Clip, Ranked
from tests.plainly import plainly

STEPS = st.lists(st.integers(1, 2**25), min_size=1, max_size=40)
RADII = st.integers(1, 2**28)


def texts(count):
    """So many items, in the order of their texts."""
    return np.array([f"item {number:03}" for number in range(count)], dtype=object)


def one_person(steps, radius, factors=clipping.factors):
    """What a person who holds everything adds to each item, as integers."""
    with nullcontext() if factors is clipping.factors else plainly(), patch.object(clipping, "factors", factors):
        ids = np.arange(len(steps))
        return clipping.clipped(np.array([0, len(steps)]), ids, np.array(steps, dtype=np.int64), radius=radius).tolist()


def made(people, items, seed):
    """People with lists of all lengths, and ranked items of which some are nobody's."""
    chance = np.random.default_rng(seed)
    lengths = chance.integers(1, items, people)
    ids = np.concatenate([chance.choice(items, length, replace=False) for length in lengths])
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    amplitudes = chance.integers(1, 2**20, items + 3)
    ranked = Ranked(items=texts(items + 3)[chance.permutation(items + 3)], amplitudes=amplitudes)
    clips = [
        Clip(first=int(first), radius=int(radius))
        for first, radius in zip(chance.integers(1, items + 4, 30), chance.integers(1, 2**22, 30), strict=True)
    ]
    return encoded_incidence(items=texts(items), offsets=offsets, ids=ids), ranked, clips


@given(steps=STEPS, radius=RADII)
def test_what_one_person_adds_is_never_longer_than_the_radius(steps, radius):
    """The norm of the final integer vector, exactly, whatever is held and whatever the roundings."""
    assert sum(step * step for step in one_person(steps, radius)) <= radius**2


def test_a_clip_without_its_margin_is_too_long():
    """Broken twin: rounded up instead of down, a person's vector is longer than the radius."""
    twin = one_person([5, 5, 5], 8, factors=lambda squares, limit: np.sqrt(limit / squares) * 1.09)

    assert sum(step * step for step in one_person([5, 5, 5], 8)) <= 64 < sum(step * step for step in twin)


def just_above():
    """Radii r and whole numbers m with 2 m² = r² + 1, by Pell: half of a vector of length r is a hair below m."""
    radius, half = 1, 1
    while radius < 2**27:
        radius, half = 3 * radius + 4 * half, 2 * radius + 3 * half
        yield from ((radius, step) for step in range(radius, 3 * radius // 2, max(1, radius // 40)))


def test_doubles_never_lift_a_step_over_the_radius():
    """Where a quotient of doubles rounds up to a whole number, the sum of squares would be one too large."""
    held = incidence([1, 1], texts(2).tolist())
    for radius, step in just_above():
        ranked = Ranked(items=texts(2), amplitudes=np.array([step, step], dtype=np.int64))
        added = held.clipped(ranked, Clip(first=2, radius=radius))

        assert sum(int(one) ** 2 for one in added) <= radius**2


def test_doubles_alone_would():
    """Broken twin: without what is taken off the factor."""
    twins = [one_person([step, step], radius, lambda held, most: np.sqrt(most / held)) for radius, step in just_above()]

    assert any(2 * one**2 > radius**2 for (one, _), (radius, _) in zip(twins, just_above(), strict=True))


@given(steps=STEPS, radius=RADII)
def test_a_count_is_low_by_at_most_what_was_lost(steps, radius):
    """For each item the share that is missing of a person is at most their loss, the grid's own loss included."""
    ranked = Ranked(items=texts(len(steps)), amplitudes=np.array(steps, dtype=np.int64))
    clip = Clip(first=len(steps), radius=radius)
    held = incidence([1] * len(steps), texts(len(steps)).tolist())
    added = held.clipped(ranked, clip).tolist()
    (lost,) = held.losses(ranked, [clip], unit=2**20).tolist()

    assert 0 <= lost <= 2**20
    assert all(Fraction(step - kept, step) <= Fraction(lost, 2**20) for step, kept in zip(steps, added, strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_losses_are_the_same_integers_however_they_are_cut(seed):
    """In one pass, in two halves, a few pairs at a time, and a few people at a time."""
    held, ranked, clips = made(300, 60, seed)
    whole = held.losses(ranked, clips, unit=2**20)
    with patch.object(portions, "MANY_ROWS", 0), patch.object(rows, "_PAIRS", 50):
        halves = held.losses(ranked, clips, unit=2**20)
    with patch.object(clipping, "_CELLS", 100):
        chunks = held.losses(ranked, clips, unit=2**20)

    assert whole.tolist() == halves.tolist() == chunks.tolist()
    assert whole.max() > 0


@pytest.mark.parametrize("seed", range(4))
def test_pairs_of_listed_items_alone_give_the_same_integers(seed):
    """Of many pairs those of the listed items are kept; a longer list is not answered from them, a shorter one is."""
    held, ranked, clips = made(300, 60, seed)
    few = Ranked(items=ranked.items[:9], amplitudes=ranked.amplitudes[:9])
    asked = [(few, [Clip(first=9, radius=2**18)]), (ranked, clips), (few, [Clip(first=4, radius=2**19)])]
    whole = [(held.losses(one, of, unit=2**20), held.clipped(one, of[0])) for one, of in asked]
    sizes = []
    with (
        patch.multiple(incidence_module, MANY_ROWS=0, _FEW_ITEMS=0),
        patch.object(portions, "MANY_ROWS", 0),
    ):
        for (one, of), (lost, added) in zip(asked, whole, strict=True):
            assert held.losses(one, of, unit=2**20).tolist() == lost.tolist()
            assert held.clipped(one, of[0]).tolist() == added.tolist()
            sizes.append(len(held.narrow[0][1].portions[0].ids))

    assert len(held.portions[0].ids) >= sizes[1] == sizes[2] > sizes[0]
    kept = held.narrow[0][1]
    with plainly():
        plain = held.portions[0].narrowed(np.array([item in held.narrow[0][0] for item in held.items]))
    assert kept.portions[0].users.tolist() == plain.users.tolist()
    assert (plain.offsets.tolist(), plain.ids.tolist()) == (
        kept.portions[0].offsets.tolist(),
        kept.portions[0].ids.tolist(),
    )
    # Broken twin: what was kept for one list, taken for a longer one.
    listed = np.array([item in few.items for item in held.items])
    fewer = replace(kept, items=held.items.those(listed), portions=(held.portions[0].narrowed(listed),))
    assert fewer.losses(ranked, clips, unit=2**20).tolist() != whole[1][0].tolist()


@pytest.mark.parametrize("seed", range(4))
def test_clipped_sums_are_the_same_integers_however_they_are_cut(seed):
    """The same of what a clip leaves, for clips that take nothing, something and nearly all."""
    held, ranked, clips = made(300, 60, seed)
    whole = [held.clipped(ranked, clip).tolist() for clip in clips]
    with patch.object(portions, "MANY_ROWS", 0), patch.object(rows, "_PAIRS", 50):
        halves = [held.clipped(ranked, clip).tolist() for clip in clips]

    assert whole == halves
    assert any(map(any, whole))


def test_the_toy_of_the_notes():
    """Predictions 300, 200, 100 and three people: losses and clipped counts, to the digits that were given."""
    squares = np.array([300.0, 200.0, 100.0]) ** -1.5 * 100.0**-0.5
    scale = 2.0**28 / np.sqrt(squares.max())
    ranked = Ranked(items=np.array(list("abc"), dtype=object), amplitudes=(np.sqrt(squares) * scale).astype(np.int64))
    held = incidence([1, 1, 1, 2, 2, 3], list("abcaba"))
    clips = [Clip(first=3, radius=int(np.sqrt(share * squares.sum()) * scale)) for share in (0.9, 0.5, 0.2)]

    assert squares.tolist() == pytest.approx([1.924501e-05, 3.535534e-05, 1e-4], rel=1e-6)
    assert held.losses(ranked, clips, unit=2**30) / 2**30 == pytest.approx([0.051317, 0.292893, 0.800259], abs=5e-7)
    assert held.clipped(ranked, clips[2]) / ranked.amplitudes == pytest.approx([2.199741, 1.199741, 0.447214], abs=5e-7)


def test_nobody_is_clipped_who_fits():
    """Up to the radius, the radius included, a person counts in full and nothing is lost."""
    ranked = Ranked(items=np.array(["a", "b"], dtype=object), amplitudes=np.array([3, 4], dtype=np.int64))
    held = incidence([1, 1], ["a", "b"])

    assert held.clipped(ranked, Clip(first=2, radius=5)).tolist() == [3, 4]
    assert held.losses(ranked, [Clip(first=2, radius=5), Clip(first=2, radius=4)], unit=100).tolist()[0] == 0
    assert held.losses(ranked, [Clip(first=1, radius=3), Clip(first=2, radius=4)], unit=100).tolist()[1] > 0


def test_what_has_no_meaning_is_refused():
    """Amplitudes whose squares leave 64 bits, clips beyond the list, and sums that could wrap."""
    items = np.array(["a", "b"], dtype=object)
    with pytest.raises(InvalidInput, match="squares"):
        Ranked(items=items, amplitudes=np.array([2**31, 2**31], dtype=np.int64))
    ranked = Ranked(items=items, amplitudes=np.array([1, 1], dtype=np.int64))
    for clip in (
        Clip(first=3, radius=1),
        Clip(first=0, radius=1),
        Clip(first=1, radius=0),
        Clip(first=1, radius=2**31),
    ):
        with pytest.raises(InvalidParameter):
            incidence([1], ["a"]).clipped(ranked, clip)
    with pytest.raises(InvalidInput, match="2\\^62"):
        clipping.check_sums(Ranked(items=items[:1], amplitudes=np.array([2**30], dtype=np.int64)), 2**32)
