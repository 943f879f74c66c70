"""A machine that says what a test wants it to say, over real HTTP with connections that are kept."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _Server(ThreadingHTTPServer):
    # Many come at once.
    request_queue_size = 128


class Scripted:
    """One machine that plays all roles; `says` maps a path to what is answered, or to a status and that."""

    def __init__(self) -> None:
        self.says: dict[str, Any] = {}
        self.heard: list[tuple[str, dict[str, str], bytes]] = []
        self.connections = 0
        self.hangs_up = False
        self._awaited, self._coming = 0, threading.Condition()
        self.server = _Server(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]

    def gather(self, number: int) -> None:
        """None of the next so many requests is answered before all of them have come."""
        self._awaited = number

    def _arrive(self) -> None:
        with self._coming:
            self._awaited -= 1
            self._coming.notify_all()
            # Whoever waits in vain fails by its own timeout.
            self._coming.wait_for(lambda: self._awaited <= 0, timeout=30)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        machine = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body in one packet, or each answer waits for the other side.
            wbufsize = -1

            def setup(self) -> None:
                machine.connections += 1
                super().setup()

            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                machine.heard.append((self.path, dict(self.headers), body))
                machine._arrive()
                said = machine.says.get(self.path.partition("?")[0], (404, {}))
                said = said(body) if callable(said) else said
                status, told = said if isinstance(said, tuple) else (200, said)
                data = told if isinstance(told, bytes) else json.dumps(told).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                # As a machine that was started anew between two questions: it says nothing of it beforehand.
                self.close_connection = machine.hangs_up

            do_POST = do_GET  # noqa: N815 (the name of the library)

            def log_message(self, *words: object) -> None:
                pass

        return Handler


@contextmanager
def scripted() -> Iterator[Scripted]:
    """A machine that listens, and stops afterwards."""
    machine = Scripted()
    thread = threading.Thread(target=machine.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield machine
    finally:
        machine.server.shutdown()
        machine.server.server_close()
        thread.join()
