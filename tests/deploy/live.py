"""A real server as those who run it start it: a process of its own, on a free port, with made-up data and an owner."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hushcount.app.sample import write_log
from tests.architecture.sources import ROOT
from tests.deploy.shipped import run

_LONGEST = 60.0
_PAGE = ROOT / "docs" / "serve" / "config.md"
HUSHCOUNT = (sys.executable, "-m", "hushcount.cli")


@dataclass(slots=True)
class Live:
    """A server that runs.

    Attributes:
        process: its first process.
        folder: where its configuration is.
        url: its address.
        tokens: of those who were invited.
    """

    process: subprocess.Popen[str]
    folder: Path
    url: str
    tokens: dict[str, str] = field(default_factory=dict)

    def call(self, method: str, path: str, body: object = None, *, who: str | None = None, **headers: str) -> Any:
        """The status of a reply and its JSON."""
        sent = None if body is None else json.dumps(body).encode()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if who is not None:
            given["Authorization"] = f"Bearer {self.tokens[who]}"
        if sent is not None:
            given["Content-Type"] = "application/json"
        request = urllib.request.Request(f"{self.url}{path}", data=sent, headers=given, method=method)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=_LONGEST) as reply:  # noqa: S310 (our own server)
                return reply.status, json.loads(reply.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def end(self, number: int = signal.SIGTERM) -> int:
        """Stop it, and return its exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=_LONGEST)


def make_world(folder: Path) -> Path:
    """The smallest configuration of the page, with its keys and data."""
    (folder / "data").mkdir()
    write_log(folder / "data" / "log.parquet", readers=2_000)
    for name in ("noise-key", "token-key"):
        (folder / name).touch(mode=0o600)
        (folder / name).write_bytes(os.urandom(32))
    blocks = re.findall(r"^```toml\n(.*?)^```$", _PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (folder / "hushcount.toml").write_text(blocks[0], encoding="utf-8")
    return folder


def invited(folder: Path, person: str) -> str:
    """The text of an invitation, as `--init` prints it."""
    done = run([*HUSHCOUNT, "serve", "--config", "hushcount.toml", "--init", person], cwd=folder)
    found = re.search(r'"invitation": "([^"]+)"', done.stdout)

    assert found is not None, done.stderr
    return found[1]


@contextmanager
def serving(folder: Path, *people: str, **variables: str) -> Iterator[Live]:
    """The server of a folder, with a first token for each of these people, until the block ends."""
    invitations = {person: invited(folder, person) for person in people}
    log = (folder / "server.log").open("a", encoding="utf-8")
    process = subprocess.Popen(  # noqa: S603 (our own)
        [*HUSHCOUNT, "serve", "--config", "hushcount.toml", "--port", "0"],
        cwd=folder,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    try:
        live = Live(process=process, folder=folder, url=process.stdout.readline().strip().rpartition(" ")[2])
        await_ready(live)
        for person, text in invitations.items():
            live.tokens[person] = live.call("POST", "/v1/invitations", {"invitation": text})[1]["token"]
        yield live
    finally:
        if process.poll() is None:
            live.end()
        process.stdout.close()
        log.close()


def await_ready(live: Live) -> None:
    """Wait until it takes questions; what it said, if it does not."""
    latest = time.monotonic() + _LONGEST
    while time.monotonic() < latest and live.process.poll() is None:
        try:
            if live.call("GET", "/readyz")[0] == 200:
                return
        except OSError:
            # It is bound to its port, and does not listen there yet.
            time.sleep(0.05)
    raise AssertionError((live.folder / "server.log").read_text(encoding="utf-8"))
