"""Conversions between privacy notions: the papers' numbers, the errata, rounding, and refusals."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushcount.accounting import convert
from hushcount.accounting.normal import gaussian_delta
from hushcount.errors import InvalidParameter

MP = mpmath.mp.clone()
MP.dps = 60

# rho, delta_CDP, epsilon, delta_DP and alpha as printed in appendix B of DP-SIPS.
TABLE_4 = [
    ("0.001", "1e-5", "0.14", "5.00e-5", 77.033),
    ("0.005", "1e-5", "0.338", "5.08e-5", 37.037),
    ("0.01", "1e-5", "0.495", "4.99e-5", 27.128),
    ("0.05", "1e-5", "1.2", "4.99e-5", 13.283),
    ("0.1", "1e-5", "1.765", "4.96e-5", 9.86),
    ("0.5", "1e-5", "4.41", "4.90e-5", 5.127),
]
TABLE_5 = [
    ("0.005", "1e-9", "0.62", "1.04e-9", 64.073),
    ("0.0055", "1e-8", "0.62", "1.02e-8", 58.433),  # alpha printed as 58.443: a slip, see below
    ("0.006", "1e-7", "0.62", "1.01e-7", 53.732),
    ("0.007", "1e-6", "0.62", "1.01e-6", 46.344),  # alpha printed as 46.334: a slip, see below
    ("0.0083", "1e-5", "0.62", "1.01e-5", 39.398),
    ("0.01", "1e-4", "0.62", "1.01e-4", 33.037),
    ("0.013", "1e-3", "0.62", "1.01e-3", 25.863),
]
RHOS = st.floats(1e-6, 50)
DELTAS = st.floats(1e-14, 0.1)
EPSILONS = st.floats(1e-3, 60)


def exact_zcdp_delta(rho, epsilon):
    """Proposition 7 of Canonne, Kamath and Steinke, minimised by golden section to 60 digits."""
    rho, epsilon = MP.mpf(rho), MP.mpf(epsilon)

    def log_delta(a):
        return (a - 1) * (a * rho - epsilon) - MP.log(a - 1) + a * MP.log(1 - 1 / a)

    low, high, ratio = MP.mpf("1.0001"), MP.mpf(400), (MP.sqrt(5) - 1) / 2
    for _ in range(160):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if log_delta(left) < log_delta(right) else (left, high)
    return MP.exp(log_delta(low))


@pytest.mark.parametrize(
    ("rho", "epsilon", "delta", "alpha"),
    [("0.1", "1.765", 3.9551e-5, 9.860), ("0.5", "4.41", 3.9058e-5, 5.127), ("0.001", "0.14", 4.0054e-5, 77.03)],
)
def test_vectors(rho, epsilon, delta, alpha):
    """Delta' and alpha of the test vectors, to the digits given."""
    assert convert.zcdp_delta(rho, epsilon) == pytest.approx(delta, rel=2e-5)
    assert convert.zcdp_order(rho, epsilon) == pytest.approx(alpha, abs=5e-3)


@pytest.mark.parametrize(("rho", "delta0", "epsilon", "printed", "alpha"), TABLE_4 + TABLE_5)
def test_tables_4_and_5_of_sips(rho, delta0, epsilon, printed, alpha):
    """Every row of tables 4 and 5 of DP-SIPS, printed with three digits of delta, comes out, with its alpha."""
    unit = Decimal(printed).normalize().adjusted() - 2

    assert abs(Decimal(convert.delta_for(rho, delta0=delta0, epsilon=epsilon)) - Decimal(printed)) < Decimal(1).scaleb(
        unit
    )
    assert convert.zcdp_order(rho, epsilon) == pytest.approx(alpha, abs=1e-3)


@pytest.mark.parametrize(("rho", "printed"), [("0.0055", 58.443), ("0.007", 46.334)])
def test_slips_in_table_5(rho, printed):
    """Two alphas of table 5 are printed 0.010 off: they give a valid delta, but not the smallest one."""

    def delta(a):
        return math.exp((a - 1) * (a * float(rho) - 0.62) - math.log(a - 1) + a * math.log1p(-1 / a))

    assert abs(convert.zcdp_order(rho, "0.62") - printed) == pytest.approx(0.010, abs=5e-4)
    assert delta(printed) > delta(convert.zcdp_order(rho, "0.62"))


def test_worked_example_of_sips():
    """0.1-zCDP with delta 1e-5 is (1.765, 4.955e-5)-DP."""
    assert convert.delta_for("0.1", delta0="1e-5", epsilon="1.765") == pytest.approx(4.955e-5, rel=5e-5)


@pytest.mark.parametrize(("rho", "epsilon"), [("0.1", "1.765"), ("2", "3"), ("8.4375", "33"), ("0.02", "0.9")])
def test_delta_is_above_the_exact_infimum_and_close(rho, epsilon):
    """Delta' is never below the 60-digit infimum and above it by rounding only."""
    exact, ours = exact_zcdp_delta(rho, epsilon), MP.mpf(convert.zcdp_delta(rho, epsilon))

    assert exact <= ours <= exact * (1 + MP.mpf("1e-14"))


@given(rho=RHOS, epsilon=EPSILONS, delta0=st.floats(0, 0.01))
@settings(deadline=None)
def test_delta_then_epsilon(rho, epsilon, delta0):
    """The epsilon at the delta of an epsilon is that epsilon again, never more."""
    delta = convert.delta_for(rho, delta0=delta0, epsilon=epsilon)
    if delta0 * (1 + 1e-9) < delta < 1 - 1e-9 and delta > 1e-290:
        back = convert.epsilon_for(rho, delta0=delta0, total_delta=delta)

        assert back <= epsilon * (1 + 1e-6)
        assert convert.delta_for(rho, delta0=delta0, epsilon=back) <= delta * (1 + 1e-12)


@given(epsilon=EPSILONS, delta=DELTAS, share=st.floats(0, 0.9))
@settings(deadline=None)
def test_rho_then_epsilon(epsilon, delta, share):
    """The rho granted for (epsilon, delta) converts back to at most epsilon, and to within a millionth of it."""
    rho = convert.rho_for(epsilon, total_delta=delta, delta0=share * delta)
    back = convert.epsilon_for(rho, delta0=share * delta, total_delta=delta)

    assert epsilon * (1 - 1e-6) <= back <= epsilon


@given(epsilon=EPSILONS, delta=DELTAS, share=st.floats(0, 0.9))
@settings(deadline=None)
def test_gdp_rho_then_delta(epsilon, delta, share):
    """The rho granted to Gaussian noise converts back to delta, to within a part in a million and from below."""
    delta0 = share * delta
    inner = convert.gdp_delta(
        convert.gaussian_mu(convert.gdp_rho_for(epsilon, total_delta=delta, delta0=delta0)), epsilon
    )
    back = convert.outer_delta(delta0=delta0, inner=inner)

    # The curve is rounded up by up to a part in 1e11, by a little more or less from one double to the next.
    assert delta * (1 - 1e-6) <= back <= delta * (1 + 1e-10)


@given(mu=st.floats(1e-3, 20), delta=DELTAS)
@settings(deadline=None)
def test_gdp_epsilon_then_delta(mu, delta):
    """At the epsilon of mu-GDP the delta is as asked, and just below that epsilon it is not."""
    epsilon = convert.gdp_epsilon(mu, delta)

    assert convert.gdp_delta(mu, epsilon) <= delta * (1 + 1e-10)
    if epsilon > 0:
        assert gaussian_delta(mu, epsilon * (1 - 1e-9)) > delta


@pytest.mark.parametrize(
    ("rho", "epsilon", "gain"), [("0.1", "1.765", 0.18), ("0.5", "4.41", 0.16), ("0.01", "0.495", 0.21)]
)
def test_gaussian_pipelines_get_more_rho(rho, epsilon, gain):
    """Erratum 35: at the same (epsilon, delta) exact composition allows 18, 16 and 21 % more rho than zCDP."""
    delta = convert.delta_for(rho, delta0="1e-5", epsilon=epsilon)

    assert convert.rho_for(epsilon, total_delta=delta, delta0="1e-5") == pytest.approx(float(rho), rel=1e-9)
    assert convert.gdp_rho_for(epsilon, total_delta=delta, delta0="1e-5") / float(rho) - 1 == pytest.approx(
        gain, abs=5e-3
    )


def test_erratum_14():
    """Theorem 6 of PCR as printed claims an epsilon at which Gaussian noise of that rho is *not* private; ours is."""
    rho, delta = 8.4375, 1e-9
    printed = rho + 2 * math.sqrt(2 * math.log(1 / delta))

    assert convert.gdp_delta(convert.gaussian_mu(rho), printed) > 1e4 * delta
    assert (
        printed
        < convert.gdp_epsilon(convert.gaussian_mu(rho), delta)
        < convert.epsilon_for(rho, delta0=0, total_delta=delta)
    )
    assert convert.epsilon_for(rho, delta0=0, total_delta=delta) < convert.simple_epsilon(
        rho, delta0=0, total_delta=delta
    )


def test_erratum_33():
    """(1.7, 8.11e-5)-DP does not imply 0.1-zCDP: pure 1.7-DP alone costs 1.17; the delta at 1.7 is 7.97e-5."""
    assert convert.pure_to_zcdp("1.7") == pytest.approx(Decimal("1.17"), abs=Decimal("0.005"))
    assert convert.delta_for("0.1", delta0="1e-5", epsilon="1.7") == pytest.approx(7.97e-5, abs=5e-8)


@pytest.mark.parametrize(("delta0", "simple", "tight"), [("6e-9", 34.884, 33.782), ("3e-9", None, 32.861)])
def test_linkedin_month(delta0, simple, tight):
    """LinkedIn's monthly rho of 8.4375 at delta 7e-9, loose and tight."""
    assert convert.epsilon_for("8.4375", delta0=delta0, total_delta="7e-9") == pytest.approx(tight, abs=5e-4)
    if simple:
        assert convert.simple_epsilon("8.4375", delta0=delta0, total_delta="7e-9") == pytest.approx(simple, abs=5e-4)


@given(rho=RHOS, delta=DELTAS)
@settings(deadline=None)
def test_tight_is_below_simple(rho, delta):
    """The tight conversion is never above the well-known one, and exact Gaussian composition never above either."""
    tight = convert.epsilon_for(rho, delta0=0, total_delta=delta)

    assert tight <= convert.simple_epsilon(rho, delta0=0, total_delta=delta)
    assert convert.gdp_epsilon(convert.gaussian_mu(rho), delta) <= tight * (1 + 1e-9)


def test_failures_eat_into_delta():
    """A part of delta spent on failures raises epsilon; all of it leaves none."""
    assert convert.epsilon_for(0.1, delta0="5e-7", total_delta=1e-6) > convert.epsilon_for(
        0.1, delta0=0, total_delta=1e-6
    )
    with pytest.raises(InvalidParameter, match="already spent on failures"):
        convert.epsilon_for(0.1, delta0=1e-6, total_delta=1e-6)


def test_analytic_gaussian_vector():
    """Sigma for epsilon = 3, delta = e^-10/2 is 1.33279."""
    assert convert.gaussian_stddev(3, math.exp(-10) / 2) == pytest.approx(1.33279, abs=5e-6)


@given(epsilon=st.floats(1e-4, 40), delta=DELTAS, sensitivity=st.floats(1e-3, 1e3))
@settings(deadline=None)
def test_analytic_gaussian_is_smallest(epsilon, delta, sensitivity):
    """The noise found is enough, and a part in 1e7 less is not."""
    stddev = convert.gaussian_stddev(epsilon, delta, l2_sensitivity=sensitivity)

    assert gaussian_delta(sensitivity / stddev, epsilon) <= delta * (1 + 1e-11)
    assert gaussian_delta(sensitivity / stddev * (1 + 1e-7), epsilon) > delta


def test_analytic_gaussian_at_zero_epsilon():
    """Epsilon = 0 needs sigma = 1/(2 isf((1 - delta)/2)), also at a delta where doubles cancel."""
    assert convert.gaussian_stddev(0, 1e-20) == pytest.approx(1 / (math.sqrt(2 * math.pi) * 1e-20), rel=1e-9)


@pytest.mark.parametrize("epsilon", ["1e-30", "1e-9", "0.01", "0.5", "1.7", "5", "30", "199", "201", "1e6"])
def test_pure_is_rounded_up(epsilon):
    """The charge for a pure step is at least epsilon tanh(epsilon/2), and less than 1e-35 more (or a part in 1e80)."""
    exact = MP.mpf(epsilon) * MP.tanh(MP.mpf(epsilon) / 2)
    charged = MP.mpf(str(convert.pure_to_zcdp(epsilon)))

    assert exact <= charged <= exact + MP.mpf("2e-36")


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 1.7, 4.0, 12.0])
def test_pure_is_tight_on_randomised_response(epsilon):
    """Randomised response has Renyi divergence at most alpha rho at all orders, and all but reaches it at order one."""
    rho, p = float(convert.pure_to_zcdp(epsilon)), 1 / (1 + math.exp(-epsilon))

    def renyi(order):
        return math.log(p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)) / (order - 1)

    assert all(renyi(order) <= order * rho * (1 + 1e-9) for order in (1.001, 1.01, 1.5, 2, 5, 20, 60))
    assert renyi(1.0001) > 1.0001 * rho * 0.999


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 3.0])
def test_bounded_range_price(epsilon):
    """Every two-point pair whose log ratios span epsilon is within alpha epsilon²/8; for small epsilon just so."""
    rho = float(convert.bounded_range_to_zcdp(epsilon))

    def renyi(order, top):
        p = (1 - math.exp(top - epsilon)) / (math.exp(top) - math.exp(top - epsilon))
        q = 1 - p
        return math.log(p * math.exp(order * top) + q * math.exp(order * (top - epsilon))) / (order - 1)

    worst = max(
        renyi(order, share * epsilon) / order
        for order in (1.01, 1.5, 2, 4, 16)
        for share in [i / 50 for i in range(1, 50)]
    )

    assert worst <= rho * (1 + 1e-9)
    assert worst > 0.9 * rho or epsilon > 1


def test_bounded_range_is_exact():
    """0.15² / 8 = 0.0028125, without a rounding error."""
    assert convert.bounded_range_to_zcdp("0.15") == Decimal("0.0028125")


@given(rho=st.floats(1e-25, 1e6))
@settings(deadline=None)
def test_rho_to_pure_and_back(rho):
    """The epsilon granted for rho costs at most rho, and a part in 1e9 more epsilon costs more than rho."""
    for there, back in (
        (convert.zcdp_to_pure, convert.pure_to_zcdp),
        (convert.zcdp_to_bounded_range, convert.bounded_range_to_zcdp),
    ):
        epsilon = Fraction(there(rho))

        assert back(Decimal(there(rho))) <= Decimal(repr(rho))
        assert back(epsilon * (1 + Fraction(1, 10**9))) > Decimal(repr(rho))


@pytest.mark.parametrize("delta", ["0.3", "1e-3", "1e-10", "1e-15", "1e-100", "1e-300"])
def test_split_delta(delta):
    """The share of each part is at most the exact one and right to a part in 1e14, at every delta."""
    for parts in (1, 2, 100, 10**6):
        root = 1 - (1 - MP.mpf(delta)) ** (1 / MP.mpf(parts))
        exact = root if Decimal(delta) > Decimal("1e-40") else MP.mpf(delta) / parts
        share = MP.mpf(convert.split_delta(delta, parts))

        assert exact * (1 - MP.mpf("1e-14")) < share <= exact, f"{parts} parts"


def test_split_delta_beats_the_printed_form():
    """Erratum 29: the printed form is 0 at 1e-15 and 1e-4 off at 1e-10; ours is neither."""
    assert 1 - (1 - 1e-15) ** (1 / 100) == 0.0
    assert abs((1 - (1 - 1e-10) ** (1 / 100)) / convert.split_delta(1e-10, 100) - 1) > 1e-5
    assert convert.split_delta(1e-15, 100) == pytest.approx(1e-17, rel=1e-13)


def test_shares_do_not_add_up():
    """The shares of delta multiply out to it; their plain sum is above it."""
    share = convert.split_delta(0.01, 100)

    assert 1 - (1 - share) ** 100 == pytest.approx(0.01, rel=1e-12)
    assert 100 * share > 0.01


def test_huge_rho_is_answered():
    """A rho of 1e6, or a delta of 1e-300, still gives finite, ordered numbers."""
    assert (
        1e6
        < convert.epsilon_for(1e6, delta0=0, total_delta=1e-9)
        < convert.simple_epsilon(1e6, delta0=0, total_delta=1e-9) * (1 + 1e-9)
    )
    assert (
        0
        < convert.epsilon_for(1e-3, delta0=0, total_delta="1e-300")
        < convert.simple_epsilon(1e-3, delta0=0, total_delta="1e-300")
    )
    assert convert.zcdp_delta(1e4, 1) == pytest.approx(1.0)
    assert convert.epsilon_for(1e-9, delta0=0, total_delta=0.5) == 0.0


BAD = [0, -1, math.nan, math.inf, "plenty"]


@pytest.mark.parametrize("rho", BAD)
def test_refuses_bad_rho(rho):
    """A rho that is not above zero is refused by name in every conversion from rho."""
    for call in (
        lambda: convert.zcdp_delta(rho, 1),
        lambda: convert.zcdp_order(rho, 1),
        lambda: convert.delta_for(rho, delta0=0, epsilon=1),
        lambda: convert.epsilon_for(rho, delta0=0, total_delta=1e-6),
        lambda: convert.simple_epsilon(rho, delta0=0, total_delta=1e-6),
        lambda: convert.zcdp_to_pure(rho),
        lambda: convert.zcdp_to_bounded_range(rho),
        lambda: convert.gaussian_mu(rho),
    ):
        with pytest.raises(InvalidParameter, match="rho = "):
            call()


@pytest.mark.parametrize("delta", [0, 1, 1.5, -1e-6, math.nan])
def test_refuses_bad_delta(delta):
    """A delta outside (0, 1) is refused in every conversion at a delta."""
    for call in (
        lambda: convert.epsilon_for(0.1, delta0=0, total_delta=delta),
        lambda: convert.rho_for(1, total_delta=delta),
        lambda: convert.gdp_rho_for(1, total_delta=delta),
        lambda: convert.gaussian_stddev(1, delta),
        lambda: convert.gdp_epsilon(1, delta),
        lambda: convert.split_delta(delta, 2),
    ):
        with pytest.raises(InvalidParameter, match="delta = "):
            call()


@pytest.mark.parametrize("epsilon", [-1, math.nan, math.inf])
def test_refuses_bad_epsilon(epsilon):
    """A negative or undefined epsilon is refused in every conversion at an epsilon."""
    for call in (
        lambda: convert.zcdp_delta(0.1, epsilon),
        lambda: convert.delta_for(0.1, delta0=0, epsilon=epsilon),
        lambda: convert.rho_for(epsilon, total_delta=1e-6),
        lambda: convert.gdp_rho_for(epsilon, total_delta=1e-6),
        lambda: convert.pure_to_zcdp(epsilon),
        lambda: convert.bounded_range_to_zcdp(epsilon),
        lambda: convert.gaussian_stddev(epsilon, 1e-6),
        lambda: convert.gdp_delta(1, epsilon),
    ):
        with pytest.raises(InvalidParameter, match="epsilon = "):
            call()


def test_refuses_the_rest():
    """Failures of one, no parts, no sensitivity, amounts below the grid and deltas below the doubles are refused."""
    for call in (
        lambda: convert.delta_for(0.1, delta0=1, epsilon=1),
        lambda: convert.epsilon_for(0.1, delta0=-0.1, total_delta=1e-6),
        lambda: convert.split_delta(0.1, 0),
        lambda: convert.gaussian_stddev(1, 1e-6, l2_sensitivity=0),
        lambda: convert.zcdp_to_pure("1e-70"),
        lambda: convert.gdp_epsilon(1, "1e-301"),
        lambda: convert.pure_to_zcdp("1e41"),
    ):
        with pytest.raises(InvalidParameter):
            call()
