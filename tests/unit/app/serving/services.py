"""A service on made-up data for tests: a folder with a log, a SQLite ledger, two analysts and an owner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.opening import open_service
from hushcount.app.serving.service import Service
from hushcount.app.serving.setup.config import (
    Config,
    DatasetConfig,
    KeyFiles,
    LedgerPlace,
    Privacy,
    Server,
    SignIn,
    StoreConfig,
)
from hushcount.ledger.ledger import SERVICE

PEOPLE = 4000
OLGA, ZOE, ADAM, NOBODY = (Caller(name=name) for name in ("olga", "zoe", "adam", "nobody"))


def write_log(path: Path, *, people: int = PEOPLE) -> Path:
    """The item of rank r is held by one in r people."""
    rows = [
        (f"p{who}", f"article {rank}", "NZ" if who % 3 else "AU")
        for rank in range(1, 41)
        for who in range(0, people, rank)
    ]
    who, what, where = zip(*rows, strict=True)
    pq.write_table(pa.table({"user_id": who, "article": what, "country": where}), path)
    return path


def make_config(folder: Path, **privacy: object) -> Config:
    """Everything in one folder."""
    for name in ("noise", "tokens"):
        key = folder / f"{name}.key"
        if not key.exists():
            key.write_bytes(bytes(range(32)) if name == "noise" else bytes(range(32, 64)))
            key.chmod(0o600)
    data = folder / "data"
    if not data.exists():
        data.mkdir()
        write_log(data / "events.parquet")
    return Config(
        server=Server(graceful=timedelta(seconds=5)),
        keys=KeyFiles(noise=folder / "noise.key", tokens=folder / "tokens.key"),
        ledger=LedgerPlace(address=str(folder / "ledger.sqlite")),
        stores=(StoreConfig(name="files", kind="files", place=str(data)),),
        datasets=(DatasetConfig(name="events", store="files", table="events.parquet", person="user_id"),),
        auth=SignIn(tokens=True),
        privacy=replace(Privacy(), **privacy),
    )


@contextmanager
def running_service(config: Config) -> Iterator[Service]:
    """A service with an owner and two analysts."""
    with open_service(config) as service:
        dataset = service.served.find("events").id
        service.ledger.grant("olga", "owner", by=SERVICE)
        for name in ("zoe", "adam"):
            service.ledger.grant(name, "analyst", dataset=dataset, by=SERVICE)
        yield service
