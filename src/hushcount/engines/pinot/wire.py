"""One connection to a machine, kept from request to request: as much of HTTP/1.1 as a cluster of Pinot speaks.

The library of Python reads the head of an answer as it would that of a letter, which takes longer than all else that
is done for a question. This reads what it needs, in one form, and refuses everything else: an answer that has no
length, or two, or more bytes than it said, is nobody's.
"""

from __future__ import annotations

import re
import select
import socket
import ssl
from typing import Final

# A head of more bytes, and an answer of more, are none of Pinot's.
_HEAD: Final = 65_536
_MOST: Final = 2**31
_READ = 2**20
_END = b"\r\n"
# What would end a line, or a word of it, and is in no name of a machine and no path.
_ODD = re.compile(r"[\x00-\x20\x7f]")
_ONCE = {b"content-length", b"transfer-encoding", b"connection"}
# Nobody in between may answer with what was true before.
_COMMON = "Accept: application/json\r\nCache-Control: no-store\r\n"


class Garbled(Exception):
    """What came is no answer, or ends before its end. It says nothing of it."""


class HttpWire:
    """A connection, made by the first request.

    Args:
        host: the machine.
        port: its port.
        timeout: how many seconds to wait for it to say something.
        trusted: whose certificates are trusted; None to speak without TLS.
    """

    def __init__(self, host: str, port: int, *, timeout: float, trusted: ssl.SSLContext | None) -> None:
        self._host, self._port, self._timeout, self._trusted = host, port, timeout, trusted
        self._socket: socket.socket | None = None
        self._buffer = b""
        self.stays = True

    def send(self, path: str, body: bytes, sign_in: str) -> None:
        """Ask for a path; with a body it is posted. `sign_in` is a line of its own, or empty."""
        name = f"[{self._host}]" if ":" in self._host else self._host
        if _ODD.search(name + path):
            raise Garbled
        kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        verb = "POST" if body else "GET"
        # A name in other letters than ASCII's is asked for as such machines are known.
        host = name if name.isascii() else name.encode("idna").decode()
        head = f"{verb} {path} HTTP/1.1\r\nHost: {host}:{self._port}\r\n{_COMMON}{sign_in}{kind}\r\n"
        self._connected().sendall(head.encode("ascii") + body)

    def receive(self) -> tuple[int, bytes]:
        """Status and body of the answer to what was sent last."""
        status, head = self._head()
        length, chunked = head.get(b"content-length"), head.get(b"transfer-encoding")
        if length is not None and chunked is None:
            if not (length.isdigit() and len(length) < len(str(_MOST))):
                raise Garbled
            body = self._exactly(int(length))
        elif chunked is not None and length is None and chunked.lower() == b"chunked":
            body = self._chunks()
        else:
            raise Garbled
        # Whoever says more than was asked for is not asked again.
        if self._buffer:
            raise Garbled
        self.stays = head.get(b"connection", b"").lower() != b"close"
        return status, body

    def close(self) -> None:
        """End it."""
        held, self._socket = self._socket, None
        if held is not None:
            held.close()

    def _connected(self) -> socket.socket:
        """The connection; over one that was used before nothing may have come since, and it may not have been closed.

        What came would be taken for the answer to what is asked now.
        """
        if self._socket is not None:
            waiting = select.poll()
            waiting.register(self._socket, select.POLLIN)
            if waiting.poll(0):
                raise ConnectionResetError
        else:
            made = socket.create_connection((self._host, self._port), self._timeout)
            try:
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._socket = made if self._trusted is None else self._secured(made, self._trusted)
            except BaseException:
                made.close()
                raise
        return self._socket

    def _secured(self, plain: socket.socket, trusted: ssl.SSLContext) -> socket.socket:
        return trusted.wrap_socket(plain, server_hostname=self._host)

    def _head(self) -> tuple[int, dict[bytes, bytes]]:
        """The status, and the fields by their names in small letters, each once."""
        head = self._until(_END + _END, _HEAD)
        first, *lines = head.split(_END)
        version, _, rest = first.partition(b" ")
        status = rest[:3]
        if version != b"HTTP/1.1" or not status.isdigit() or rest[3:4] not in {b"", b" "} or status < b"200":
            raise Garbled
        fields = dict[bytes, bytes]()
        for line in lines:
            name, colon, value = line.partition(b":")
            name = name.lower()
            # A line that goes on with a blank, and a length that is said twice, mean different things to different
            # readers.
            if not colon or not name or name != name.strip() or (name in fields and name in _ONCE):
                raise Garbled
            fields[name] = value.strip()
        return int(status), fields

    def _chunks(self) -> bytes:
        parts, total = list[bytes](), 0
        while True:
            size = self._until(_END, _HEAD).partition(b";")[0].strip()
            if not size or len(size) > 8 or size.strip(b"0123456789abcdefABCDEF"):
                raise Garbled
            length = int(size, 16)
            total += length
            if total > _MOST:
                raise Garbled
            if not length:
                break
            parts.append(self._exactly(length))
            if self._exactly(len(_END)) != _END:
                raise Garbled
        # Nothing is expected behind the last one.
        if self._exactly(len(_END)) != _END:
            raise Garbled
        return b"".join(parts)

    def _until(self, mark: bytes, most: int) -> bytes:
        """What comes before a mark; both are taken."""
        while (at := self._buffer.find(mark)) < 0:
            if len(self._buffer) > most:
                raise Garbled
            self._buffer += self._more(_READ)
        found, self._buffer = self._buffer[:at], self._buffer[at + len(mark) :]
        return found

    def _exactly(self, length: int) -> bytes:
        parts, missing = [self._buffer[:length]], length - len(self._buffer)
        self._buffer = self._buffer[length:]
        while missing > 0:
            parts.append(self._more(min(missing, _READ)))
            missing -= len(parts[-1])
        return b"".join(parts)

    def _more(self, most: int) -> bytes:
        if self._socket is None:
            raise Garbled
        found = self._socket.recv(most)
        if not found:
            raise Garbled
        return found
