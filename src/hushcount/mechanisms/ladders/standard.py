"""Tables of a standard release, made in advance: to certify them takes longer than to answer from a small file.

They are what `tables` makes, and were certified when `python -m tests.stored.ladders` wrote them down, bit for bit. A
test makes and certifies them again, and finds no other numbers, up to the last bits of exponentials. Whoever asks for
another budget, or has the package where no file can be opened, waits for tables of their own.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import count, takewhile
from pathlib import Path

import numpy as np

from hushcount.noise.chances import Chances

FILE = Path(__file__).with_suffix(".npz")


def tables(rho: Decimal, delta: Decimal, *, max_items: int, cap: float) -> tuple[Chances, ...]:
    """The tables of one round, one for each profile; none if they were not made in advance."""
    if not FILE.is_file():
        return ()
    with np.load(FILE) as kept:
        names = (name(rho, delta, max_items=max_items, cap=cap, number=number) for number in count())
        found = [kept[one] for one in takewhile(kept.files.__contains__, names)]
    # In this machine's own order of bytes.
    return tuple(Chances(table.astype(np.float64).tobytes()) for table in found)


def name(rho: Decimal, delta: Decimal, *, max_items: int, cap: float, number: int) -> str:
    """What the table of one profile is called in the file."""
    return f"{rho} {delta} {max_items} {cap} {number}"
