"""A small server on loopback that plays a script, one step for each request, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hushcount_client import Connection, Patience, connect

TOKEN = "hush_a1b2_not_a_real_one"  # noqa: S105  (of no server)
PROBLEM = "application/problem+json"

DONE = {
    "id": "q_01",
    "status": "done",
    "release": {
        "id": "r_7f3a",
        "complete": True,
        "asked_for": 10,
        "shown": 2,
        "cutoff": 96,
        "rows": [
            {"item": "GDPR in practice", "count": 3986, "low": 3962, "high": 4010},
            {"item": "=1+1", "count": 120, "low": 96, "high": 144},
        ],
        "interval": {"level": 0.95, "holds": "for each row"},
        "notes": ["2 of 10: no more items clear the cut-off of about 96 people."],
        "protects": "everything that any one user_id did in engagements",
        "as_of": "2026-11-14",
        "enforced": True,
        "receipt": {"id": "abc123", "question": "top"},
    },
    "cost": {"releases": 0.8, "held": 1.0, "given_back": 0.2, "repeated": False},
    "left": {"releases": 6.2, "like_this": 7, "renews": "2026-12-01T00:00:00Z"},
}
RUNNING = {"status": "running", "stage": "counting people", "held": {"releases": 1.0}}
ESTIMATE = {
    "mode": "estimate",
    "question": "the 10 articles that most user_ids have, where country = 'NZ'",
    "cost": {
        "releases": 1,
        "at_most": True,
        "expert": {"rho": "0.1", "delta": "1e-6", "information": 21, "calls": 1},
    },
    "expected": {"give_or_take": 24, "cutoff": 96, "rows": "at most 10, fewer if fewer clear the cut-off"},
    "fits": True,
    "left": {"like_this": 8, "sentence": "About 8 more questions like this until 1 December."},
    "free": None,
    "cheaper": [{"change": {"preset": "cautious"}, "releases": 0.1, "give_or_take": 76, "cutoff": 301}],
    "method": {
        "name": "unknown-gumbel",
        "reason": "unknown-gumbel: no public list of items, no bound on items per user",
    },
    "translation": {"fetches": 1001, "of": "top rows by distinct users"},
}
EXHAUSTED = {
    "type": "/problems/budget-exhausted",
    "code": "budget-exhausted",
    "status": 403,
    "title": "This question does not fit into what is left",
    "detail": "It may cost 1 release; 0.4 are left until 1 December. Nothing was charged.",
    "charged": False,
    "asked": {"releases": 1},
    "left": {"releases": 0.4},
    "short": ["your own budget"],
    "spent_on": [{"what": "top of article", "releases": 1, "when": "2026-11-03"}],
    "would_fit": [{"change": {"preset": "cautious"}, "releases": 0.1, "give_or_take": 76, "cutoff": 301}],
    "already_answered": [{"release": "/v1/releases/r_51", "what": "top of article, preset cautious"}],
    "ask": {"owners": ["olga"], "with": "POST /v1/requests"},
    "request_id": "req_9",
}


@dataclass(frozen=True)
class Seen:
    """A request as it arrived; the names of its headers are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


Step = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Script:
    """What the server will do, and what it has seen."""

    url: str
    steps: list[Step]
    seen: list[Seen] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


def answer(status: int, form: Any, kind: str = "application/json", **headers: str) -> Step:
    """A reply in JSON; underscores in the names of headers are hyphens."""
    return reply(status, json.dumps(form).encode(), kind, **headers)


def problem(status: int, code: str, **members: Any) -> Step:
    """A reply that states a problem."""
    form = {"type": f"/problems/{code}", "code": code, "status": status, "title": f"It is {code}", **members}
    return answer(status, form, PROBLEM)


def page(status: int, text: str = "<html><h1>Bad gateway</h1></html>") -> Step:
    """A page of a proxy."""
    return reply(status, text.encode(), "text/html")


def reply(status: int, body: bytes, kind: str, **headers: str) -> Step:
    """Any whole reply."""

    def play(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return play


def dropped(handler: BaseHTTPRequestHandler) -> None:
    """The request is read, and the connection breaks without a byte."""
    handler.close_connection = True


def cut_short(handler: BaseHTTPRequestHandler) -> None:
    """Less comes than was promised."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"status": "done"')


def cut_in_headers(handler: BaseHTTPRequestHandler) -> None:
    """The connection breaks before the headers are over."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConte")


@contextmanager
def playing(*steps: Step) -> Iterator[Script]:
    """The server with its script; every step must have been played at the end."""
    script = Script(url="", steps=list(steps))

    class Handler(BaseHTTPRequestHandler):
        def _play(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            text = self.rfile.read(size)
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = json.loads(text) if text else None
            script.seen.append(Seen(self.command, self.path, headers, body))
            step = script.steps.pop(0) if script.steps else answer(418, {"code": "beyond-the-script"}, PROBLEM)
            step(self)

        do_GET = do_POST = do_DELETE = _play  # noqa: N815  (names of http.server)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (as above)
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        script.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield script
        finally:
            script.over.set()
            server.shutdown()
            thread.join()
    assert not script.steps, f"{len(script.steps)} steps were not played"


class Sleeps(list[float]):
    """Pauses, written down instead of slept; time goes on by them."""

    def __call__(self, seconds: float) -> None:
        """A pause."""
        self.append(seconds)

    def clock(self) -> float:
        """The time by the pauses alone."""
        return sum(self)


def patient(sleeps: Sleeps | None = None, **said: Any) -> Patience:
    """Patience of which no test has to wait for anything."""
    sleeps = Sleeps() if sleeps is None else sleeps
    return Patience(sleep=sleeps, clock=sleeps.clock, **{"reply": 10.0, **said})


def connected(script: Script, sleeps: Sleeps | None = None, **said: Any) -> Connection:
    """A connection to the server, signed in."""
    return connect(script.url, TOKEN, patience=patient(sleeps, **said))
