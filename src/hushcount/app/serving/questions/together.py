"""Several questions together: one price for all of them."""

from __future__ import annotations

from typing import Any

from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.jobs.tasks import Order
from hushcount.app.serving.questions import queries
from hushcount.app.serving.service import Service


def price_together(service: Service, caller: Caller, order: Order) -> dict[str, Any]:
    """All prices and their sum. Whether all fit together is decided when they are held."""
    prices = [queries.price(service, caller, task) for task in order.tasks]
    return {
        "mode": "estimate",
        "cost": {"releases": sum(price["cost"]["releases"] for price in prices), "at_most": True},
        "fits": all(price["fits"] for price in prices),
        "questions": prices,
    }
