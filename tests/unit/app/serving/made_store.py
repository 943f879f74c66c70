"""Stores and offers that are made up: small files, and engines that take as long as a test says."""

from __future__ import annotations

import threading
from datetime import timedelta

from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.setup.config import StoreConfig


def made_store(place, **changes):
    """A store of files in a folder."""
    values = {
        "name": "logs",
        "kind": "files",
        "place": str(place),
        "password_file": None,
        "master": None,
        "snapshot": "none",
        "timeout": timedelta(seconds=30),
        "max_running": 16,
        "max_waiting": 100,
    }
    return StoreConfig(**{**values, **changes})


def made_offer(place, table="events.csv", **changes):
    """An offer of a file in a folder; changes are those of its store."""
    return Offer(id="", name="events", store=made_store(place, **changes), table=table, person="user")


def write_csv(path, people=600, tag="it"):
    """A made-up table; another tag is other data."""
    path.write_text("user,item\n" + "".join(f"u{n},{tag}{n % 3}\n" for n in range(people)), encoding="utf-8")
    return path


def wait_until(holds):
    """Look again and again, for half a minute at most."""
    looked = threading.Event()
    for _ in range(3000):
        if holds():
            return
        looked.wait(0.01)
    raise AssertionError("it did not come to pass")
