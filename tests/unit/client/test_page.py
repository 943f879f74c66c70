"""The page for analysts: every block runs in order, here against the shapes of the interface as it is written down."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import hushcount
from hushcount.app.sample import write_log
from tests.architecture.sources import ROOT, SRC
from tests.unit.client.scripted import ESTIMATE, PROBLEM, TOKEN, answer
from tests.unit.client.served import as_served

PAGE = (ROOT / "docs" / "analysts.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```(sh|python) server\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A reply with an answer that was really made."""
    folder = tmp_path_factory.mktemp("log")
    write_log(folder / "log.parquet", 2000)
    release = hushcount.top(folder / "log.parquet", user="reader", item="article", k=10, ledger=False)
    return as_served(release)


@pytest.fixture
def server(done):
    """A server that gives to each place of the interface one reply of its form; and what it was asked."""
    asked = []

    def play(handler):
        size = int(handler.headers.get("Content-Length") or 0)
        body = json.loads(handler.rfile.read(size)) if size else {}
        asked.append((handler.command, handler.path.partition("?")[0], body))
        if handler.headers.get("Authorization") != f"Bearer {TOKEN}":
            answer(401, {"code": "not-signed-in"}, PROBLEM)(handler)
            return
        answer(*_reply(handler, body, done))(handler)

    class Handler(BaseHTTPRequestHandler):
        do_GET = do_POST = play  # noqa: N815  (names of http.server)

        def log_message(self, *args):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}", asked
        running.shutdown()
        thread.join()


def _reply(handler, body, done):
    """What the interface says to a request."""
    place = (handler.command, handler.path.partition("?")[0])
    cost = body.get("max_cost", {}).get("releases", 1)
    if place == ("POST", "/v1/queries"):
        mode = body.get("mode", "estimate")
        if mode == "release" and not handler.headers.get("Idempotency-Key"):
            return 400, {"code": "invalid-parameter"}, PROBLEM
        if mode == "release" and cost < 1:
            return 403, {"code": "over-max-cost", "title": "It may cost more", "charged": False}, PROBLEM
        rehearsed = {"mode": "rehearse", "made_up": True, "release": done["release"]}
        return 200, {"estimate": ESTIMATE, "rehearse": rehearsed, "release": done}[mode]
    return {
        ("GET", "/v1/datasets"): (200, {"data": [{"id": "engagements"}], "next": None}),
        ("GET", "/v1/datasets/engagements/budget"): (200, {"left": {"releases": 6.2}}),
        ("GET", "/v1/queries"): (200, {"data": [], "next": None}),
        ("GET", "/v1/releases/r_7f3a"): (200, done["release"]),
        ("POST", "/v1/requests"): (201, {"id": "w_1"}),
    }.get(place, (404, {"code": "not-found"}, PROBLEM))


def test_every_block_of_the_page_runs(server, tmp_path, monkeypatch):
    """In order, Python in one namespace, the shell with an address and a token; none of it is sent elsewhere."""
    url, asked = server
    monkeypatch.setenv("URL", url)
    monkeypatch.setenv("TOKEN", TOKEN)
    monkeypatch.chdir(tmp_path)
    command = tmp_path / "bin" / "hushcount"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m hushcount.cli "$@"\n', encoding="utf-8")
    command.chmod(0o700)
    env = {
        **os.environ,
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(SRC),
        "HUSHCOUNT_HOME": str(tmp_path / "home"),
    }
    blocks, namespace = _BLOCK.findall(PAGE), {"__name__": "__main__"}
    for language, block in blocks:
        if language == "python":
            exec(compile(block, "analysts.md", "exec"), namespace)  # noqa: S102 (our own page)
            continue
        ran = subprocess.run(["bash", "-euo", "pipefail", "-c", block], env=env, capture_output=True, text=True)  # noqa: S603, S607, PLW1510 (as above)
        assert ran.returncode == 0, block + ran.stdout + ran.stderr

    assert [language for language, _ in blocks].count("sh") == 5
    assert [language for language, _ in blocks].count("python") == 5
    assert Path("articles.csv").exists()
    assert len(asked) > 10


def test_a_block_of_another_kind_is_not_forgotten():
    """Every fence of the page is one that is run."""
    fences = re.findall(r"^```(.+)$", PAGE, re.MULTILINE)

    assert set(fences) == {"sh server", "python server"}
