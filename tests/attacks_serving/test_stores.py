"""Stores: a slow one keeps nobody from another."""

from __future__ import annotations

import threading
from dataclasses import replace

from hushcount.app import answer as spine
from tests.api.served import COUNT, staged

MANY = 40


def two_stores(config):
    """The hidden data lies in a store of its own."""
    other = replace(config.stores[0], name="other")
    datasets = [replace(one, store="other") if one.name == "hidden" else one for one in config.datasets]
    return replace(config, stores=(*config.stores, other), datasets=tuple(datasets))


def test_a_slow_store_keeps_nobody_from_another(tmp_path, monkeypatch):
    """Who waits in one line takes no place in another."""
    go, real = threading.Event(), spine._draw  # noqa: SLF001  where data is read

    def draw(job, *given):
        assert job.call.dataset != "events" or go.wait(30)
        return real(job, *given)

    monkeypatch.setattr(spine, "_draw", draw)
    with staged(tmp_path, two_stores) as stage:
        try:
            for number in range(MANY):
                body = {**COUNT, "epsilon": "1e-6", "fresh": True, "mode": "release"}
                headers = {"Idempotency-Key": f"k{number}", "Prefer": "respond-async"}
                assert stage.analyst.request("POST", "/v1/queries", body, headers=headers).status == 202
            body = {**COUNT, "dataset": "hidden", "item": "item", "mode": "release"}
            reply = stage.owner.request(
                "POST", "/v1/queries", body, headers={"Idempotency-Key": "o", "Prefer": "wait=3"}
            )
            assert reply.status == 200
        finally:
            go.set()
