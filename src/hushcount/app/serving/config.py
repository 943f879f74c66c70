"""The configuration of a service, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal, TypeAlias

StoreKind: TypeAlias = Literal["files", "duckdb", "sqlite", "postgres", "spark", "pinot"]
Snapshot: TypeAlias = Literal["none", "day"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    """A place where data lies, and how much may be asked of it at once.

    Attributes:
        name: what the configuration calls it.
        kind: what it is.
        place: a folder of files, a database file, or an address without a password.
        password_file: the file that holds the password.
        master: where Spark runs.
        snapshot: "day" if versions change on schedule only.
        timeout: the longest that one question may read.
        max_running: so many questions read at once.
        max_waiting: so many more wait for their turn; the next is refused.
    """

    name: str
    kind: StoreKind
    place: str | None
    password_file: Path | None
    master: str | None
    snapshot: Snapshot
    timeout: timedelta
    max_running: int
    max_waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetConfig:
    """Data that the service offers.

    Attributes:
        name: what people call it.
        store: the name of the store that it lies in.
        table: the table; for files, the path relative to the store's place.
        person: the column that says who a row belongs to.
        items: the columns that may be counted; None for all.
        people: a name that data sets about the same people share.
    """

    name: str
    store: str
    table: str | None
    person: str
    items: tuple[str, ...] | None
    people: str | None
