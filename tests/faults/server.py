"""A real server of four workers on a ledger of its own, and a client of it that speaks plain HTTP."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from hushcount.app.serving.callers.tokens import WantedToken, make_token
from hushcount.app.serving.opening import open_setting
from hushcount.app.serving.setup.config import Config
from hushcount.app.serving.setup.config_file import read_config
from hushcount.app.setting import Setting
from hushcount.ledger.ledger import EVERY, Account
from hushcount.ledger.limits import rho_limit
from tests.faults.entry import VARIABLE
from tests.faults.history import Facts, read_facts
from tests.forked import ROOT, Forked

ANALYSTS = ("ana", "bo", "cy", "di")
# Small enough that part of what is asked is refused; windows are never renewed, so that sums tell.
CEILINGS = {"dataset": Decimal(4), "analyst": Decimal("1.5")}
_PATIENCE = 60.0
_OK, _BROKEN = 200, 500

_TOML = """
[server]
listen = "127.0.0.1:8443"
workers = {workers}
graceful = "2s"
[keys]
noise = "noise-key"
tokens = "token-key"
[ledger]
address = "{ledger}"
[stores.files]
kind = "files"
place = "data"
timeout = "20s"
max_running = 8
[datasets.events]
store = "files"
table = "events.csv"
person = "user_id"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder with data, keys and a configuration, and the tokens of those who ask."""

    folder: Path
    config: Config
    tokens: dict[str, str]

    @property
    def kills(self) -> list[str]:
        """The steps at which workers died."""
        file = self.folder / "kills"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def plan(self, *points: str) -> None:
        """Let workers that start from now on die at these points, one each."""
        folder = self.folder / "plans"
        folder.mkdir(exist_ok=True)
        first = len(list(folder.iterdir()))
        for number, point in enumerate(points, start=first):
            (folder / f"plan-{number:04}").write_text(point, encoding="utf-8")

    def facts(self) -> Facts:
        """What its ledger holds."""
        setting = open_setting(self.config)
        try:
            return read_facts(setting.ledger)  # type: ignore[arg-type]
        finally:
            setting.close()


def make_place(
    folder: Path, *, ledger: str = "ledger.sqlite", workers: int = 4, ceilings: Any = None, people: int = 1500
) -> Place:
    """Data of so many people, keys and a ledger with its rules; every analyst has a token."""
    data = folder / "data"
    data.mkdir(parents=True)
    chance = random.Random(7)
    rows = [
        f"u{person},a{int(chance.expovariate(0.4))},{chance.choice(('NZ', 'AU', 'FJ'))}"
        for person in range(people)
        for _ in range(3)
    ]
    (data / "events.csv").write_text("user_id,article,country\n" + "\n".join(rows) + "\n", encoding="utf-8")
    for name in ("noise-key", "token-key"):
        (folder / name).write_bytes(os.urandom(32))
        (folder / name).chmod(0o600)
    (folder / "hushcount.toml").write_text(_TOML.format(ledger=ledger, workers=workers), encoding="utf-8")
    config = read_config(folder / "hushcount.toml", {})
    setting = open_setting(config)
    try:
        tokens = _people(setting, (folder / "token-key").read_bytes(), ceilings or CEILINGS)
    finally:
        setting.close()
    return Place(folder=folder, config=config, tokens=tokens)


def _people(setting: Setting, key: bytes, ceilings: Any) -> dict[str, str]:
    ledger = setting.ledger
    if ledger is None:
        raise LookupError
    for person in ANALYSTS:
        ledger.grant(person, "analyst", by=setting.analyst)
    for kind, rho in ceilings.items():
        limit = rho_limit(rho, "0.1", window="none")
        ledger.set_limit(Account(kind=kind, name=EVERY, entity=EVERY), limit, by=setting.analyst)
    return {
        person: make_token(setting, key, owner=person, wanted=WantedToken(label="test")).text.text
        for person in ANALYSTS
    }


@dataclass(slots=True)
class Server:
    """The processes of one service; started anew if all of them have ended, as whoever keeps services running does."""

    place: Place
    faults: dict[str, Any]
    port: int = 0
    starts: int = 0
    process: Forked | None = None
    _log: list[Path] = field(default_factory=list)

    def start(self) -> None:
        """Start it, at the same port as before, and wait until it is ready."""
        self.starts += 1
        log = self.place.folder / f"server-{self.starts}.log"
        self._log.append(log)
        environment = {**os.environ, VARIABLE: json.dumps(self.faults)}
        words = ("--config", str(self.place.folder / "hushcount.toml"), "--port", str(self.port))
        with log.open("w", encoding="utf-8") as errors:
            self.process = Forked("tests.faults.entry:main", *words, env=environment, cwd=ROOT, errors=errors.fileno())
        if self.process.stdout is None:
            raise LookupError
        said = self.process.stdout.readline()
        if not said.startswith("Serving at "):
            raise RuntimeError(f"the server does not start: {said}{self.log()}")
        self.port = int(said.rsplit(":", 1)[1])
        self.await_ready()

    def await_ready(self) -> None:
        """Wait until it answers; if it has ended, start it again."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            if self.process is not None and self.process.poll() is not None:
                self.start()
                return None
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.request("GET", "/readyz")[0] == _OK:
                    return self._greet()
            time.sleep(0.05)
        raise RuntimeError(f"the server is not ready: {self.log()}")

    def _greet(self) -> None:
        """Refuse to go on with a server that knows nobody: nothing that it does would mean anything."""
        token = self.place.tokens[ANALYSTS[0]]
        status, _, body = self.request("GET", "/v1/me", headers={"Authorization": f"Bearer {token}"})
        if status >= _BROKEN and self.starts == 1:
            raise RuntimeError(f"the server answers {status} {body!r}: {self.log()}")

    def keep(self) -> bool:
        """Start it again if it has ended; whether it had."""
        if self.process is not None and self.process.poll() is not None:
            self.start()
            return True
        return False

    def workers(self) -> list[int]:
        """The processes that serve."""
        return [] if self.process is None or self.process.poll() is not None else children(self.process.pid)

    def kill(self, pid: int) -> None:
        """Kill one worker, as nobody expects it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def fill_disk(self, size: int) -> None:
        """Let no file of any worker grow beyond a size, as if the disk were full."""
        for pid in self.workers():
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def stop(self) -> int:
        """Stop it in good order; its exit code."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return self.process.wait(10)

    def log(self) -> str:
        """All that it wrote."""
        return "".join(log.read_text(encoding="utf-8") for log in self._log)

    def request(
        self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None, timeout: float = 15
    ) -> tuple[int, dict[str, str], bytes]:
        """One exchange on a connection of its own, so that any worker may have it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            sent = None if body is None else json.dumps(body)
            kind = {} if sent is None else {"Content-Type": "application/json"}
            connection.request(method, path, sent, {**kind, **(headers or {}), "Connection": "close"})
            reply = connection.getresponse()
            return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()
        finally:
            connection.close()


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in task.read_text(encoding="ascii").split()]
    return found


@contextmanager
def serving(place: Place, **faults: Any) -> Iterator[Server]:
    """A running server, ended afterwards whatever happens."""
    said = {"plans": str(place.folder / "plans"), "kills": str(place.folder / "kills"), **faults}
    server = Server(place, said)
    try:
        server.start()
        yield server
    finally:
        server.stop()
