"""The watch port: what those who run a service ask of its ledger. It reads little, whatever the ledger has seen."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from hushcount.model.frozen import frozen


@frozen
class Vitals:
    """What a ledger says of itself.

    Attributes:
        version: the version of its tables.
        newest: the version that this program writes.
        secret: the fingerprint of the secret that it was founded with.
        now: the moment by the store's clock.
    """

    version: int
    newest: int
    secret: str
    now: datetime


class Watch(Protocol):
    """A ledger from outside. Each verb is one short read."""

    def vitals(self) -> Vitals:
        """What it says of itself."""

    def running(self) -> int:
        """How many reservations are open."""
