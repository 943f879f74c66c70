"""The audit chain: entries as canonical JSON, each holding the hash of the one before.

An entry cannot be changed, left out or put in without breaking every hash after it. Cutting off the newest entries, and
the balances with them, cannot be seen from the ledger alone; a `Proof` kept elsewhere, as every stored answer gives
one, shows that too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from hushcount.accounting.spent import EXACT

START = "0" * 64
_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical(body: Mapping[str, Any]) -> str:
    """The one JSON text of an entry: keys sorted, no spaces, ASCII."""
    return _JSON.encode(body)


def link(text: str) -> str:
    """The hash of an entry's canonical text, which holds the hash before it."""
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def digest(data: bytes) -> str:
    """The hash of stored bytes."""
    return hashlib.sha256(data).hexdigest()


def decimal_text(value: Decimal) -> str:
    """The one text of an exact amount: plain digits, no trailing zeros, every digit kept."""
    text = format(value.normalize(EXACT), "f")
    return "0" if text == "-0" else text
