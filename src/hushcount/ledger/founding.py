"""Founding: what a new ledger begins with. One atomic, logged step on every store; opening never founds."""

from __future__ import annotations

from dataclasses import dataclass

from hushcount.ledger.limits import Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Founding:
    """What a ledger has from its first moment on.

    Attributes:
        owner: who owns it.
        limit: what every population may spend that has no rule of its own; None where nothing is limited.
        secret: the fingerprint of the secret under which its answers are drawn, as hexadecimal text. Never the secret.
    """

    owner: str
    limit: Limit | None
    secret: str
