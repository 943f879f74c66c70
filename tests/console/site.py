"""A console on a real ledger, at a real port: one for all tests of a run, with people of their own for each test."""

from __future__ import annotations

import itertools
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import uvicorn

from hushcount.api.app import make_app
from hushcount.app.sample import write_log
from hushcount.app.serving.callers import sessions
from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.callers.tokens import WantedToken, know_token, make_token
from hushcount.app.serving.opening import open_service
from hushcount.app.serving.service import Service
from hushcount.app.serving.setup.config import Config
from hushcount.app.serving.setup.config_file import read_config
from hushcount.console.pages import routers
from hushcount.ledger.ledger import Role

CHROMIUM = "/usr/bin/chromium"
# What somebody might call a data set.
ODD = '<i>مرحبا</i> & "it\'s" ${7*7} {{7*7}}'
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
[datasets.{odd}]
store = "files"
table = "odd.parquet"
person = "<b>who</b>"
"""
_NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A console that is served.

    Attributes:
        service: what is behind it.
        url: where it is.
        app: the application.
    """

    service: Service = field(repr=False)
    url: str
    app: Any = field(default=None, repr=False)

    def forgive(self) -> None:
        """Forget who failed to sign in."""
        self.app.state.worker.door.attempts._failed.clear()  # noqa: SLF001  nobody but a test may

    def person(
        self, *, role: Role = "analyst", dataset: str = "reading", scopes: tuple[str, ...] = ("manage", "ask")
    ) -> tuple[str, str]:
        """Somebody new with a role for a data set, and a token of theirs."""
        name = f"person{next(_NUMBERS)}"
        offer = self.service.served.find(dataset)
        self.service.ledger.grant(name, role, dataset=offer.id, by="olga")
        return name, self.token(name, scopes=scopes)

    def cookie(self, token: str) -> dict[str, str]:
        """The session of whoever signs in with a token, as a browser keeps it."""
        known = know_token(self.service.setting, self.service.tokens_key, token)
        caller = Caller(name=known.owner, token=known)
        made = sessions.begin(self.service.setting, self.service.tokens_key, caller=caller)
        return {"name": sessions.COOKIE, "value": made.text, "url": self.url, "sameSite": "Strict"}

    def token(self, name: str, **wanted: Any) -> str:
        """Another token of somebody."""
        made = WantedToken(label="a test", **wanted)
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
        odd = """SELECT range AS "<b>who</b>", 'x' AS "<script>it</script>", 'y' AS "a'b" FROM range(900)"""
        connection.execute(f"COPY ({odd}) TO '{data / 'odd.parquet'}' (FORMAT parquet)")
    for name in ("noise-key", "token-key"):
        (folder / name).write_bytes(os.urandom(32))
        (folder / name).chmod(0o600)
    config = folder / "hushcount.toml"
    config.write_text(_TOML.replace("{odd}", json.dumps(ODD, ensure_ascii=False)), encoding="utf-8")
    return config


def alone(config: Config) -> Config:
    """As `hushcount serve FILE` without --user: nobody signs in, and nobody said who a person is."""
    files = tuple(replace(one, person="") for one in config.datasets if one.name == "reading")
    return replace(config, auth=replace(config.auth, tokens=False, person="olga"), datasets=files)


@contextmanager
def served(
    folder: Path, *, hostile: list[tuple[str, str]], change: Callable[[Config], Config] = lambda config: config
) -> Iterator[Site]:
    """A console at a port of its own; `change` gives another configuration."""
    config = change(read_config(make_files(folder, hostile), {}))
    with open_service(config) as service, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        service.ledger.grant("olga", "owner", by=service.setting.analyst)
        app = make_app(service, pages=routers())
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            until = time.monotonic() + 30
            while not server.started:
                assert time.monotonic() < until
                time.sleep(0.01)
            yield Site(service=service, url=f"http://127.0.0.1:{listener.getsockname()[1]}", app=app)
        finally:
            server.should_exit = True
            thread.join(30)


def fetched(
    site: Site, path: str, token: str, body: Any = None, *, method: str | None = None, headers: Any = ()
) -> Any:
    """What the interface says, to whoever has this token."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **dict(headers)}
    data = None if body is None else json.dumps(body).encode()
    # Our own server, at the address that it has.
    with urlopen(Request(site.url + path, data=data, headers=headers, method=method), timeout=60) as reply:  # noqa: S310
        return json.loads(reply.read())


def got(site: Site, path: str, token: str, **headers: str) -> tuple[int, str]:
    """A page as it leaves the server, whatever its status."""
    request = Request(site.url + path, headers={"Authorization": f"Bearer {token}", **headers})  # noqa: S310  as above
    try:
        with urlopen(request, timeout=60) as reply:  # noqa: S310
            return reply.status, reply.read().decode()
    except HTTPError as refused:
        return refused.code, refused.read().decode()
