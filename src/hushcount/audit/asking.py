"""How a mechanism is asked for by name: its record says which options it needs and takes."""

from __future__ import annotations

from collections.abc import Sequence

from hushcount.app.request import Options
from hushcount.mechanisms.mechanism import Mechanism


def asked_by_name(mechanism: Mechanism, *, max_items: int, k: int, keys: Sequence[str]) -> Options:
    """The options that ask for it: a bound where it takes one, a length and a public list only where it needs them."""
    options: Options = {"method": mechanism.name}
    if "max_items" in mechanism.needs | mechanism.takes:
        options["max_items_per_user"] = max_items
    if "k" in mechanism.needs:
        options["k"] = k
    if "public_items" in mechanism.needs:
        options["keys"] = keys
    return options
