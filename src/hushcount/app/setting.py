"""The setting of a question: all that it needs beside the data, built once by `wiring` and passed down.

Nothing below the command line and `library.surroundings` looks at the environment, the working directory or the
user's name: what they said is here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from hushcount.app.secret import Secret, passing_secret
from hushcount.engines.digests import Digests
from hushcount.ledger.catalog import Catalog
from hushcount.ledger.ledger import Ledger
from hushcount.model.frozen import frozen


def utc_now() -> datetime:
    """The clock on the wall."""
    return datetime.now(UTC)


@frozen
class Places:
    """Where things are kept and who asks, as it was said: nothing is opened yet.

    Attributes:
        home: the folder of the secret, the receipts and the user's own ledger.
        ledger: the ledger's file or PostgreSQL address; None to search for it from the data's folder.
        analyst: who asks.
        owner: who owns a ledger that a question founds; the analyst, unless they only say who they are.
    """

    home: Path
    ledger: str | None = field(repr=False)
    analyst: str
    owner: str | None = None


@frozen
class Setting:
    """Secret, ledger with its catalog, receipts, and who asks. Shared by any number of questions and threads.

    Attributes:
        secret: what makes answers consistent.
        ledger: who keeps count; None for data in which nobody needs protecting.
        receipts: the folder of receipts; None where none are kept.
        digests: digests of large files that were made before; None where none are kept.
        analyst: who asks.
        clock: tells when a receipt is made; a ledger goes by its store's own clock.
        notes: what was done on the way that a person should know, such as a new ledger.
    """

    secret: Secret
    ledger: Ledger | None = None
    receipts: Path | None = None
    digests: Digests | None = None
    analyst: str = "somebody"
    clock: Callable[[], datetime] = utc_now
    notes: tuple[str, ...] = ()

    @property
    def catalog(self) -> Catalog | None:
        """What is known of data; None where nobody keeps count."""
        return None if self.ledger is None else self.ledger.catalog

    def close(self) -> None:
        """Let go of the ledger."""
        if self.ledger is not None:
            self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def passing_setting() -> Setting:
    """A setting that keeps nothing: for made-up data."""
    return Setting(secret=passing_secret())
