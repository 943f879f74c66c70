"""The stores of the conformance suite, here for crashes, stress and broken machines."""

from __future__ import annotations

from tests.conformance.ledgers.stores import clock, cluster, ledger, server_store, store

__all__ = ["clock", "cluster", "ledger", "server_store", "store"]
