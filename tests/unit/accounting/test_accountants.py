"""The three accountants: prices of single events, refusals, and what a cost means as (epsilon, delta)."""

from __future__ import annotations

from decimal import Decimal

import pytest

from hushcount.accounting import basic, convert, gdp, zcdp
from hushcount.accounting.spent import EXACT, Spent
from hushcount.errors import InvalidParameter, UnsupportedCost
from hushcount.model.costs import (
    KINDS,
    Approximate,
    BoundedRange,
    Concentrated,
    Cost,
    DiscreteGaussian,
    Failure,
    Gaussian,
    Pure,
    Truncated,
)

TENTH, TINY = Decimal("0.1"), Decimal("1e-7")
ONE_OF_EACH = {
    Gaussian: Gaussian(rho=TENTH),
    DiscreteGaussian: DiscreteGaussian(rho=TENTH),
    Concentrated: Concentrated(rho=TENTH),
    Truncated: Truncated(rho=TENTH, order=Decimal(16)),
    BoundedRange: BoundedRange(epsilon=TENTH),
    Pure: Pure(epsilon=TENTH),
    Approximate: Approximate(epsilon=TENTH, delta=TINY),
    Failure: Failure(delta=TINY),
}
SUPPORTED = {
    zcdp: set(ONE_OF_EACH),
    gdp: {Gaussian, Failure},
    basic: {BoundedRange, Pure, Approximate, Failure},
}
PAIRS = [(accountant, kind) for accountant in SUPPORTED for kind in ONE_OF_EACH]


def of(event):
    """The zCDP price of one event."""
    return zcdp.spent(Cost.of(event))


def test_every_kind_is_tested():
    """A new kind of event must be added to the table above, and to each accountant with a theorem for it."""
    assert set(ONE_OF_EACH) == set(KINDS.values())


@pytest.mark.parametrize(("accountant", "kind"), PAIRS)
def test_supports_says_yes_and_no(accountant, kind):
    """Each accountant says yes to the kinds it has a theorem for and no to all others, alone or among others."""
    event = ONE_OF_EACH[kind]

    assert accountant.supports(Cost.of(event)) is (kind in SUPPORTED[accountant])
    assert accountant.supports(Cost.of(event, ONE_OF_EACH[Failure])) is (kind in SUPPORTED[accountant])


@pytest.mark.parametrize(("accountant", "kind"), [(a, k) for a, k in PAIRS if k not in SUPPORTED[a]])
def test_unsupported_is_refused_by_name(accountant, kind):
    """An event without a theorem is refused, also beside supported ones; the text names event and accountant."""
    cost = Cost.of(ONE_OF_EACH[kind], ONE_OF_EACH[Failure])
    for call in (lambda: accountant.epsilon(cost, 1e-3), lambda: accountant.delta(cost, 1)):
        with pytest.raises(
            UnsupportedCost, match=f"the {accountant.NAME} accountant has no theorem for {kind.__name__}"
        ):
            call()


@pytest.mark.parametrize("accountant", SUPPORTED)
def test_unknown_kind_is_refused(accountant):
    """A kind that no table knows is refused, never skipped."""

    class Novelty:
        """A kind of event that is not in the model."""

    cost = Cost(((Novelty(), 1),))

    assert not accountant.supports(cost)
    with pytest.raises(UnsupportedCost, match="Novelty"):
        accountant.epsilon(cost, 1e-3)


@pytest.mark.parametrize("kind", [Gaussian, DiscreteGaussian, Concentrated])
def test_rho_is_charged_as_it_stands(kind):
    """Events stated in rho cost that rho and no delta."""
    assert of(kind(rho=Decimal("0.123"))) == Spent(rho=Decimal("0.123"))


def test_prices():
    """Bounded range epsilon²/8; pure epsilon tanh(epsilon/2); approximate the same and delta; failures delta."""
    half_tanh = convert.pure_to_zcdp("0.3")

    assert of(BoundedRange(epsilon=Decimal("0.15"))) == Spent(rho=Decimal("0.0028125"))
    assert of(Pure(epsilon=Decimal("0.3"))) == Spent(rho=half_tanh)
    assert of(Approximate(epsilon=Decimal("0.3"), delta=TINY)) == Spent(rho=half_tanh, delta=TINY)
    assert of(Failure(delta=TINY)) == Spent(delta=TINY)
    assert Decimal("0.0446") < half_tanh < Decimal("0.045")


def test_price_is_rounded_up_to_the_grid():
    """What does not lie on the grid of 1e-36 is charged the next grid point."""
    assert of(Gaussian(rho=Decimal("1e-40"))).rho == Decimal("1e-36")
    assert of(Failure(delta=Decimal("1e-36") + Decimal("1e-50"))).delta == Decimal("2e-36")


def test_sums_lose_no_digit():
    """A charge of 1e-36 beside one of a million is not lost, as it would be with decimal's 28 digits."""
    cost = Cost.of(Gaussian(rho=Decimal("1e6")), DiscreteGaussian(rho=Decimal("1e-36")))

    assert Decimal("1e6") + Decimal("1e-36") == Decimal("1e6")
    assert zcdp.spent(cost).rho == EXACT.add(Decimal("1e6"), Decimal("1e-36")) > Decimal("1e6")


@pytest.mark.parametrize(
    "event",
    [
        Gaussian(rho=Decimal(-1)),
        DiscreteGaussian(rho=Decimal("NaN")),
        Concentrated(rho=Decimal("Infinity")),
        BoundedRange(epsilon=Decimal(-1)),
        Pure(epsilon=Decimal("NaN")),
        Approximate(epsilon=Decimal(1), delta=Decimal(-1)),
        Failure(delta=Decimal("NaN")),
        Failure(delta=Decimal(1)),
        Gaussian(rho=Decimal("1e50")),
    ],
)
def test_absurd_amounts_are_refused(event):
    """No negative, undefined or absurd amount can enter a total: a negative one would be a refund."""
    for accountant in (a for a, kinds in SUPPORTED.items() if type(event) in kinds):
        with pytest.raises(InvalidParameter):
            accountant.epsilon(Cost.of(event), 0.5)


def test_epsilon_of_a_mixed_cost():
    """A mixed cost has the epsilon of its summed rho and delta, by corollary 9 of DP-SIPS."""
    cost = Cost.of(
        (BoundedRange(epsilon=Decimal("0.15")), 3000),
        (Failure(delta=Decimal("1e-10")), 30),
    )

    assert zcdp.epsilon(cost, "7e-9") == pytest.approx(32.861, abs=5e-4)
    assert zcdp.delta(cost, zcdp.epsilon(cost, "7e-9")) == pytest.approx(7e-9, rel=1e-9)


def test_gdp_is_tighter_than_zcdp():
    """Three rounds of DP-SIPS: exact composition gives a smaller epsilon than zCDP at the same delta."""
    rounds = Cost.of(
        *(Gaussian(rho=Decimal(r)) for r in ("0.01", "0.03", "0.06")),
        *(Failure(delta=Decimal(d)) for d in ("1e-6", "3e-6", "6e-6")),
    )

    assert zcdp.epsilon(rounds, "4.9551e-5") == pytest.approx(1.765, abs=1e-4)
    assert gdp.epsilon(rounds, "4.9551e-5") < 1.62
    assert gdp.delta(rounds, 1.765) < zcdp.delta(rounds, 1.765) == pytest.approx(4.9551e-5, rel=1e-5)


def test_gdp_refuses_discrete_noise_with_advice():
    """The discrete Gaussian is not exactly Gaussian DP: refused, with the kinds that would do."""
    with pytest.raises(UnsupportedCost, match="it knows Gaussian, Failure"):
        gdp.spent(Cost.of(DiscreteGaussian(rho=TENTH)))


@pytest.mark.parametrize("accountant", [zcdp, gdp])
def test_failures_alone(accountant):
    """Failures alone cost no epsilon at a delta that holds them, and are refused at one that does not."""
    cost = Cost.of((Failure(delta=TINY), 10))

    assert accountant.epsilon(cost, "1e-6") == 0.0
    assert accountant.delta(cost, 0) == pytest.approx(1e-6)
    with pytest.raises(InvalidParameter, match="already spent on failures"):
        accountant.epsilon(cost, "0.9e-6")


@pytest.mark.parametrize("accountant", SUPPORTED)
def test_nothing_costs_nothing(accountant):
    """The empty cost is (0, 0)-DP for every accountant."""
    assert accountant.epsilon(Cost(), 1e-9) == 0.0
    assert accountant.delta(Cost(), 0) == 0.0


@pytest.mark.parametrize("accountant", [zcdp, gdp])
def test_summed_failures_of_one_say_nothing(accountant):
    """Failures that add up to one and more leave delta = 1, not a number above it."""
    cost = Cost.of((Failure(delta=Decimal("0.4")), 3), *([Gaussian(rho=TENTH)]))

    assert accountant.delta(cost, 1) == 1.0
    with pytest.raises(InvalidParameter, match=r"above the 1\.20* already spent on failures"):
        accountant.epsilon(cost, 0.999)


def test_basic_adds_up():
    """Two k-TSGD tables and a bounded-range step: epsilons and deltas are exact sums."""
    cost = Cost.of(
        (Approximate(epsilon=Decimal("0.5"), delta=Decimal("1e-6")), 2),
        BoundedRange(epsilon=TENTH),
        Pure(epsilon=TENTH),
    )

    assert basic.guarantee(cost) == basic.Guarantee(epsilon=Decimal("1.2"), delta=Decimal("2e-6"))
    assert basic.epsilon(cost, 1e-5) == pytest.approx(1.2)
    assert basic.delta(cost, "1.2") == pytest.approx(2e-6)
    assert basic.delta(cost, "1.19") == 1.0
    with pytest.raises(InvalidParameter, match="already spent on failures"):
        basic.epsilon(cost, 1e-6)


def test_basic_beats_the_detour():
    """One (1, 1e-5) step is (1, 1e-5)-DP; by way of zCDP it would be dearer."""
    cost = Cost.of(Approximate(epsilon=Decimal(1), delta=Decimal("1e-5")))

    assert basic.epsilon(cost, "2e-5") == 1.0 < zcdp.epsilon(cost, "2e-5")


@pytest.mark.parametrize("accountant", SUPPORTED)
def test_bad_targets_are_refused(accountant):
    """A total delta outside (0, 1) and a negative epsilon are refused by name."""
    for total in (0, 1, -1e-6, float("nan")):
        with pytest.raises(InvalidParameter, match="total_delta = "):
            accountant.epsilon(Cost.of(Failure(delta=TINY)), total)
    with pytest.raises(InvalidParameter, match="epsilon = "):
        accountant.delta(Cost.of(Failure(delta=TINY)), -1)
