"""Agreement with two independent libraries: Google's dp-accounting and OpenDP."""

from __future__ import annotations

from decimal import Decimal

import dp_accounting
import opendp.prelude as dp
import pytest
from dp_accounting import pld, rdp
from opendp.mod import GLOBAL_FEATURES

from hushcount.accounting import convert, gdp, zcdp
from hushcount.model.costs import Cost, DiscreteGaussian, Gaussian, Pure

RHOS = ["0.001", "0.1", "0.5", "8.4375"]


@pytest.fixture(autouse=True)
def _contributed():
    """OpenDP's measures are behind a flag, which each test raises for itself: others may have taken it down."""
    dp.enable_features("contrib")


@pytest.mark.parametrize("time", ["first", "second"])
def test_the_flag_is_up_whatever_was_before(time):
    """A test that takes OpenDP's flag down is in nobody's way, in whichever order they run."""
    assert "contrib" in GLOBAL_FEATURES, time
    dp.disable_features("contrib")


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", [1e-5, 1e-9])
def test_zcdp_against_google_rdp(rho, delta):
    """At our order Google's RDP accountant finds our epsilon; at its own coarser orders it finds no less."""
    ours = zcdp.epsilon(Cost.of(DiscreteGaussian(rho=Decimal(rho))), delta)
    event = dp_accounting.ZCDpEvent(rho=float(rho))
    at_our_order, at_its_orders = (
        rdp.RdpAccountant(orders=[convert.zcdp_order(rho, ours)]).compose(event).get_epsilon(delta),
        rdp.RdpAccountant().compose(event).get_epsilon(delta),
    )

    assert ours == pytest.approx(at_our_order, rel=1e-9)
    assert ours <= at_its_orders * (1 + 1e-12)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", [1e-5, 1e-9])
def test_zcdp_against_opendp(rho, delta):
    """OpenDP's conversion from zCDP gives our epsilon, and never a smaller rho-to-epsilon curve than a part in 1e6."""
    measurement = dp.m.make_gaussian(
        dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=(1 / (2 * float(rho))) ** 0.5
    )
    theirs = dp.c.make_zCDP_to_approxDP(measurement).map(1).epsilon(delta)

    assert convert.epsilon_for(measurement.map(1), delta0=0, total_delta=delta) == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_pure_against_opendp(epsilon):
    """OpenDP charges epsilon²/2 for a pure step; ours is never more, and all but the same for small epsilon."""
    measurement = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1 / epsilon)
    theirs = dp.c.make_pureDP_to_zCDP(measurement).map(1)
    ours = float(zcdp.spent(Cost.of(Pure(epsilon=Decimal(str(epsilon))))).rho)

    assert theirs * (1 - epsilon**2 / 6) <= ours <= theirs


@pytest.mark.parametrize(("rho", "times"), [("0.02", 10), ("0.3", 4)])
def test_gaussian_composition_against_google_pld(rho, times):
    """Composed privacy loss distributions of Gaussian noise give our GDP numbers, within their discretisation."""
    accountant = pld.PLDAccountant(value_discretization_interval=1e-3)
    accountant.compose(dp_accounting.GaussianDpEvent((1 / (2 * float(rho))) ** 0.5), times)
    cost = Cost.of((Gaussian(rho=Decimal(rho)), times))

    assert gdp.epsilon(cost, 1e-6) == pytest.approx(accountant.get_epsilon(1e-6), rel=3e-3)
    assert gdp.delta(cost, 1.0) == pytest.approx(accountant.get_delta(1.0), rel=1e-2)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-5), (1.0, 1e-9), (3.0, 2.27e-5)])
def test_analytic_gaussian_against_google(epsilon, delta):
    """Google's analytic calibration finds our standard deviation."""
    theirs = dp_accounting.get_sigma_gaussian(epsilon, delta)

    assert convert.gaussian_stddev(epsilon, delta) == pytest.approx(theirs, rel=1e-5)
    assert convert.gdp_epsilon(1 / theirs, delta) == pytest.approx(
        dp_accounting.get_epsilon_gaussian(theirs, delta), rel=1e-5
    )
