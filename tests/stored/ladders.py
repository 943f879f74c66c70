"""The tables of a standard release that come with the package: which they are, and how they are written anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hushcount.app.planning import make_plan
from hushcount.app.request import make_request
from hushcount.ledger.limits import NEW_ORDER
from hushcount.mechanisms.ladders import standard
from hushcount.mechanisms.ladders.tables import ladders


def rounds():
    """Of `vocab` as it is asked without further words, by a ledger and without one: rho, delta, items and cap."""
    request = make_request("vocab", user="user", item="item", options={})
    plans = [make_plan(request, order).plan for order in (None, NEW_ORDER)]
    return [(one.rho, one.delta, plan.max_items, one.cap) for plan in plans for one in plan.rounds]


def tables(rho, delta, max_items, cap):
    """The profiles of one round with their tables, made now."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(standard, "FILE", Path("nowhere"))
        return ladders.__wrapped__(rho, delta, max_items=max_items, cap=cap)


def store() -> None:
    """Write the tables of this very build."""
    named = {
        standard.name(rho, delta, max_items=items, cap=cap, number=number): chances.table
        for rho, delta, items, cap in rounds()
        for number, (_, chances) in enumerate(tables(rho, delta, items, cap))
    }
    np.savez_compressed(standard.FILE, **named)


if __name__ == "__main__":
    store()
