"""The tables of a standard release that come with the package: which they are, and how they are written anew."""

from __future__ import annotations

import math

import numpy as np

from hushcount.app.planning import make_plan
from hushcount.app.request import make_request
from hushcount.ledger.limits import NEW_ORDER
from hushcount.mechanisms.ladders import standard
from hushcount.mechanisms.ladders.profiles import profiles
from hushcount.mechanisms.ladders.tables import made


def rounds():
    """Of `vocab` as it is asked without further words, by a ledger and without one: rho, delta, items and cap."""
    request = make_request("vocab", user="user", item="item", options={})
    plans = [make_plan(request, order).plan for order in (None, NEW_ORDER)]
    return [(one.rho, one.delta, plan.max_items, one.cap) for plan in plans for one in plan.rounds]


def tables(rho, delta, max_items, cap):
    """The profiles of one round with their tables, made now."""
    shapes = profiles(max_items)[: 1 if cap == math.inf else None]
    return made(rho, delta, shapes, cap=cap)


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
