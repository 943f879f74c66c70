"""Machines beside the cluster of the tests, in one Java of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.pinot import shared_cluster

PASSWORD = "hunter2"  # noqa: S105  of tests
_BASIC = "BasicAuthAccessControlFactory"


@pytest.fixture(scope="package")
def machines() -> Iterator[None]:
    """A broker that estimates; a broker that lowers limits and a controller, both behind TLS and a password."""
    shared = shared_cluster()
    broker, controller = "pinot.broker.access.control", "controller.admin.access.control"
    who = {"principals": "layer", "principals.layer.password": PASSWORD, "principals.layer.permissions": "READ"}
    strict = {
        "pinot.broker.enable.query.limit.override": "true",
        "pinot.broker.query.response.limit": "50",
        f"{broker}.class": f"org.apache.pinot.broker.broker.{_BASIC}",
        f"{broker}.principals.layer.tables": "public",
        **{f"{broker}.{name}": value for name, value in who.items()},
    }
    keeper = {
        f"{controller}.factory.class": f"org.apache.pinot.controller.api.access.{_BASIC}",
        **{f"{controller}.{name}": value for name, value in who.items()},
    }
    shared.begin(
        "machines",
        shared.write_controller("keeper", **keeper),
        shared.write_broker("estimating", **{"pinot.broker.use.approximate.function": "true"}),
        shared.write_broker("strict", secure=True, **strict),
    )
    shared.wait_for_machine("keeper", secure=True)
    shared.wait_for_machine("estimating")
    shared.wait_for_machine("strict", secure=True)
    yield
    shared.daemons.pop("machines").kill()
