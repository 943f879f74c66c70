"""A real server as those who run it start it: a process of its own, on a free port, with made-up data and an owner."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from hushcount.app.sample import write_log
from hushcount.cli.main import main
from tests.architecture.sources import ROOT

# Nobody waits longer than this for a server; a machine that runs other tests at the same time may be slow.
LONGEST = 180.0
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
            with urllib.request.urlopen(request, timeout=LONGEST) as reply:  # noqa: S310 (our own server)
                return reply.status, json.loads(reply.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def end(self, number: int = signal.SIGTERM) -> int:
        """Stop it, and return its exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=LONGEST)


def make_world(folder: Path) -> Path:
    """The smallest configuration of the page, with its keys and data; where it is."""
    (folder / "data").mkdir()
    write_log(folder / "data" / "log.parquet", readers=2_000)
    for name in ("noise-key", "token-key"):
        (folder / name).touch(mode=0o600)
        (folder / name).write_bytes(os.urandom(32))
    blocks = re.findall(r"^```toml\n(.*?)^```$", _PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (folder / "hushcount.toml").write_text(blocks[0], encoding="utf-8")
    return folder / "hushcount.toml"


def invited(config: Path, person: str, variables: dict[str, str]) -> str:
    """The text of an invitation, as `--init` prints it; in this process, since another one takes a while to start."""
    with chdir(config.parent):
        done = CliRunner(env=variables).invoke(main, ["serve", "--config", str(config), "--init", person])
    found = re.search(r'"invitation": "([^"]+)"', done.stdout)

    assert found is not None, done.output
    return found[1]


@contextmanager
def serving(config: Path, *people: str, start: tuple[str, ...] = HUSHCOUNT, **variables: str) -> Iterator[Live]:
    """The server of a configuration, with a first token for each of these people, until the block ends.

    Args:
        config: the configuration.
        people: who is invited before it starts.
        start: how the program is started, if not as usual.
        variables: what goes before the configuration. Where it listens is chosen here.
    """
    address = f"127.0.0.1:{free_port()}"
    told = {"HUSHCOUNT_SERVER__LISTEN": address, **variables}
    invitations = {person: invited(config, person, told) for person in people}
    log = (config.parent / "server.log").open("a", encoding="utf-8")
    process = subprocess.Popen(  # noqa: S603 (our own)
        [*start, "serve", "--config", str(config)],
        cwd=config.parent,
        env={**os.environ, **told},
        stdout=log,
        stderr=log,
        text=True,
    )
    live = Live(process=process, folder=config.parent, url=f"http://{address}")
    try:
        await_ready(live)
        for person, text in invitations.items():
            live.tokens[person] = live.call("POST", "/v1/invitations", {"invitation": text})[1]["token"]
        yield live
    finally:
        if process.poll() is None:
            live.end()
        log.close()


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def await_ready(live: Live) -> None:
    """Wait until it takes questions; what it said, if it does not."""
    latest = time.monotonic() + LONGEST
    while time.monotonic() < latest and live.process.poll() is None:
        # It may be bound to its port and not listen there yet.
        with suppress(OSError):
            if live.call("GET", "/readyz")[0] == 200:
                return
        time.sleep(0.02)
    raise AssertionError((live.folder / "server.log").read_text(encoding="utf-8"))
