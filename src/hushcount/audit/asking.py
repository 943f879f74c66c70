"""How a mechanism is asked for by name: its record says which options it needs and takes."""

from __future__ import annotations

from collections.abc import Sequence

from hushcount.app.options import Options
from hushcount.mechanisms.mechanism import Mechanism


def asked_by_name(
    mechanism: Mechanism, *, max_items: int, k: int, keys: Sequence[str], per_item_cap: int = 1
) -> Options:
    """The options that ask for it: a bound and a cap where it takes them, a length and a list where it needs them."""
    options: Options = {"method": mechanism.name}
    if per_item_cap > 1 and "per_item_cap" in mechanism.needs | mechanism.takes:
        options["per_item_cap"] = per_item_cap
    if "max_items" in mechanism.needs | mechanism.takes:
        options["max_items_per_user"] = max_items
    if "k" in mechanism.needs:
        options["k"] = k
    if "public_items" in mechanism.needs:
        options["keys"] = keys
    return options
