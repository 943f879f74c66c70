"""A console on a real ledger, at a real port: one for all tests of a run, with people of their own for each test."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import uvicorn

from hushcount.api.app import make_app
from hushcount.app.sample import write_log
from hushcount.app.serving.callers.tokens import Wanted, make_token
from hushcount.app.serving.opening import open_service
from hushcount.app.serving.service import Service
from hushcount.app.serving.setup.config import Config
from hushcount.app.serving.setup.config_file import read_config
from hushcount.console.pages import routers

CHROMIUM = "/usr/bin/chromium"
_TOML = """
[server]
listen = "127.0.0.1:8443"
graceful = "2s"
rate = 0
[keys]
noise = "noise-key"
tokens = "token-key"
[ledger]
address = "ledger.sqlite"
[stores.files]
kind = "files"
place = "data"
[datasets.reading]
store = "files"
table = "reading.parquet"
person = "reader"
[datasets.hostile]
store = "files"
table = "hostile.parquet"
person = "who"
"""
_NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A console that is served.

    Attributes:
        service: what is behind it.
        url: where it is.
    """

    service: Service
    url: str

    def person(self, *, role: str = "analyst", dataset: str = "reading", scopes: tuple[str, ...] = ("manage", "ask")):
        """Somebody new with a role for a data set, and a token of theirs."""
        name = f"person{next(_NUMBERS)}"
        offer = self.service.served.find(dataset)
        self.service.ledger.grant(name, role, dataset=offer.id, by="olga")
        return name, self.token(name, scopes=scopes)

    def token(self, name: str, **wanted: Any) -> str:
        """Another token of somebody."""
        made = Wanted(label="a test", **wanted)
        return make_token(self.service.setting, self.service.tokens_key, owner=name, wanted=made).text.text


def make_files(folder: Path, hostile: list[tuple[str, str]]) -> Path:
    """Data and a configuration for it; where that is."""
    import duckdb

    data = folder / "data"
    data.mkdir()
    write_log(data / "reading.parquet", readers=4_000)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE rows (who VARCHAR, thing VARCHAR)")
        connection.executemany("INSERT INTO rows VALUES (?, ?)", hostile or [("a", "b")])
        connection.execute(f"COPY rows TO '{data / 'hostile.parquet'}' (FORMAT parquet)")
    for name in ("noise-key", "token-key"):
        (folder / name).write_bytes(os.urandom(32))
        (folder / name).chmod(0o600)
    config = folder / "hushcount.toml"
    config.write_text(_TOML, encoding="utf-8")
    return config


@contextmanager
def served(
    folder: Path,
    *,
    hostile: list[tuple[str, str]],
    alone: bool = False,
    before: Callable[[Config], object] = lambda _: None,
) -> Iterator[Site]:
    """A console at a port of its own; `alone` lets nobody sign in, `before` may write a past into its ledger."""
    config: Config = read_config(make_files(folder, hostile), {})
    before(config)
    if alone:
        config = replace(config, auth=replace(config.auth, tokens=False, person="olga"))
    with open_service(config) as service, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        service.ledger.grant("olga", "owner", by=service.setting.analyst)
        settings = uvicorn.Config(make_app(service, pages=routers()), log_config=None, lifespan="off")
        server = uvicorn.Server(settings)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            until = time.monotonic() + 30
            while not server.started:
                assert time.monotonic() < until
                time.sleep(0.01)
            yield Site(service=service, url=f"http://127.0.0.1:{listener.getsockname()[1]}")
        finally:
            server.should_exit = True
            thread.join(30)
