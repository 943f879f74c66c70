"""LinkedIn's rationale: the figures of section 8.3 come out."""

from __future__ import annotations

import pytest

from hushcount.accounting import attacks
from hushcount.errors import InvalidParameter


def test_figures_of_section_8_3():
    """At epsilon_per = 0.15: p = 0.0368, 738 results, 11.5 % for averaging, 1 in 400 million for unique counts."""
    assert attacks.near_count("0.15") == pytest.approx(0.0368, abs=5e-5)
    assert attacks.differencing_results("0.15") == 738
    assert attacks.averaging_success("0.15", 30) == pytest.approx(0.115, abs=5e-4)
    assert 1 / attacks.unique_count_shown("0.15", delta_per_call="1e-10", calls=30) == pytest.approx(4e8, rel=0.05)


def test_less_noise_helps_the_attacker():
    """A larger epsilon_per, or more answers, makes the averaging attack better."""
    assert attacks.averaging_success(0.3, 30) > attacks.averaging_success(0.15, 30)
    assert attacks.averaging_success(0.15, 60) > attacks.averaging_success(0.15, 30)


def test_bad_parameters_are_refused():
    """No noise level, no answers and no calls are refused."""
    for call in (
        lambda: attacks.near_count(0),
        lambda: attacks.averaging_success(0.1, 0),
        lambda: attacks.unique_count_shown(0.1, delta_per_call=-1, calls=1),
    ):
        with pytest.raises(InvalidParameter):
            call()
