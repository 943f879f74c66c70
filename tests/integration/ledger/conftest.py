"""The stores of the conformance suite, here for crashes, stress and broken machines."""

from __future__ import annotations

import pytest

from tests.conformance.ledgers.stores import clock, cluster, known, ledger, server_store, store

__all__ = ["clock", "cluster", "ledger", "server_store", "store"]


@pytest.fixture
def asked_ledger(server_store):
    """A ledger on a server that knows the data; by the server's own clock, as it is used."""
    server_store.found()
    opened = server_store.over(server_store.served())
    known(opened, "visits")
    yield opened
    opened.close()
