"""Profiles: whole weights by the length of a list."""

from __future__ import annotations

from fractions import Fraction

import pytest

from hushcount.mechanisms.ladders.profiles import profiles


def test_weights_are_those_of_the_table():
    """At 1, 2, 3, 10, 30 and 100 items, the four profiles give these."""
    shown = [[profile.weights[length - 1] for length in (1, 2, 3, 10, 30, 100)] for profile in profiles(100)]

    assert shown == [
        [160, 113, 92, 50, 29, 16],
        [80, 62, 54, 35, 24, 16],
        [50, 50, 50, 50, 29, 16],
        [29, 29, 29, 29, 29, 16],
    ]


@pytest.mark.parametrize("max_items", [1, 7, 100, 640])
def test_weights_are_rounded_down_and_never_rise(max_items):
    """Each is the largest whole number below its power law, and a longer list gives no item more."""
    reference = max(100, max_items)
    first, slow, *flat = profiles(max_items)
    for length in range(1, max_items + 1):
        for profile, from_length in zip([first, *flat], (1, 10, 30), strict=True):
            weight, square = profile.weights[length - 1], Fraction(256 * reference, max(length, from_length))
            assert weight**2 <= square < (weight + 1) ** 2
        power = Fraction(reference, length) ** 7 * 16**20
        assert slow.weights[length - 1] ** 20 <= power < (slow.weights[length - 1] + 1) ** 20
    for profile in (first, slow, *flat):
        assert list(profile.weights) == sorted(profile.weights, reverse=True)
        assert min(profile.weights) >= 16


def test_a_rung_is_a_weight_with_its_longest_list():
    """Nobody with that weight has a longer list, and every weight is there once."""
    for profile in profiles(100):
        rungs = dict(profile.rungs)
        assert set(rungs) == set(profile.weights)
        assert len(profile.rungs) == len(rungs)
        for weight, length in rungs.items():
            assert profile.weights[length - 1] == weight
            assert profile.weights[length:].count(weight) == 0
