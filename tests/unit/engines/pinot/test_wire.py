"""One connection: what is no answer of HTTP/1.1 in every detail is refused, whoever sends it."""

from __future__ import annotations

import socket
import threading

import pytest

from hushcount.engines.pinot.address import Machine, parse
from hushcount.engines.pinot.web import Web, WebRequest
from hushcount.engines.pinot.wire import Garbled, HttpWire
from hushcount.errors import StoreFailed

FINE = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{"a": 1}'
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def speaker():
    """Somebody who says these bytes to whoever comes, in parts, and hangs up; the port, and what was heard."""
    listening = socket.create_server(("127.0.0.1", 0))
    said, heard = [], []

    def speak():
        while True:
            try:
                caller, _ = listening.accept()
            except OSError:
                return
            with caller:
                heard.append(caller.recv(65536))
                for part in said:
                    caller.sendall(part)

    thread = threading.Thread(target=speak, daemon=True)
    thread.start()
    yield listening.getsockname()[1], said, heard
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join()


def received(speaker, *parts):
    """What is made of these bytes."""
    port, said, _ = speaker
    said[:] = parts
    wire = HttpWire("127.0.0.1", port, timeout=5, trusted=None)
    try:
        wire.send("/x", b"", "")
        return wire.receive()
    finally:
        wire.close()


@pytest.mark.parametrize(
    "parts",
    [
        [FINE],
        [FINE[:n] for n in (20,)] + [FINE[20:]],
        [bytes([byte]) for byte in FINE],
        [FINE.replace(b"Content-Length", b"content-length").replace(b" OK", b"")],
        [CHUNKED + b'3\r\n{"a\r\n5;x=y\r\n": 1}\r\n0\r\n\r\n'],
        [bytes([byte]) for byte in CHUNKED + b'008\r\n{"a": 1}\r\n0\r\n\r\n'],
    ],
)
def test_answers_are_read_however_they_come(speaker, parts):
    """In one piece, in parts, byte by byte, with a length or in chunks."""
    assert received(speaker, *parts) == (200, b'{"a": 1}')


@pytest.mark.parametrize(
    "said",
    [
        b"",
        FINE[:-1],
        FINE + b"x",
        FINE + FINE,
        FINE.replace(b"HTTP/1.1", b"HTTP/1.0"),
        FINE.replace(b"HTTP/1.1", b"ICY"),
        FINE.replace(b" 200", b" 2000"),
        FINE.replace(b" 200", b" 20x"),
        FINE.replace(b" 200", b" 100"),
        FINE.replace(b"Content-Length: 8", b"Content-Length: -8"),
        FINE.replace(b"Content-Length: 8", b"Content-Length: 8, 8"),
        FINE.replace(b"Content-Length: 8", b"Content-Length: 0x8"),
        FINE.replace(b"Content-Length: 8", b"Content-Length: " + "٨".encode()),
        FINE.replace(b"Content-Length: 8", b"Content-Length: 99999999999"),
        FINE.replace(b"Content-Length: 8", b"Content-Length : 8"),
        FINE.replace(b"Content-Length: 8", b"Content-Length: 8\r\nContent-Length: 7"),
        FINE.replace(b"Content-Length: 8", b"Content-Length: 8\r\nTransfer-Encoding: chunked"),
        FINE.replace(b"Content-Length: 8\r\n", b""),
        FINE.replace(b"Content-Type: application/json", b"no field"),
        FINE.replace(b"Content-Type: application/json", b"A: b\r\n c"),
        FINE.replace(b"Content-Length: 8", b"Transfer-Encoding: gzip, chunked"),
        FINE.replace(b"\r\n\r\n", b"\n\n"),
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 20_000,
        CHUNKED + b'8\r\n{"a": 1}\r\n',
        CHUNKED + b'8\r\n{"a": 1}0\r\n\r\n',
        CHUNKED + b'-8\r\n{"a": 1}\r\n0\r\n\r\n',
        CHUNKED + b'+8\r\n{"a": 1}\r\n0\r\n\r\n',
        CHUNKED + b'\r\n{"a": 1}\r\n0\r\n\r\n',
        CHUNKED + b"fffffffff\r\n",
        CHUNKED + b'ffffffff\r\n{"a": 1}',
        CHUNKED + b'8\r\n{"a": 1}\r\n0\r\nA: b\r\n\r\n',
    ],
)
def test_what_is_no_answer_is_refused(speaker, said):
    """Cut, too long, of two lengths or none, in other forms; a body that ended early is never taken for a whole one."""
    with pytest.raises((Garbled, ConnectionError)):
        received(speaker, said)


def test_it_is_told_in_our_own_words(speaker):
    """Nothing of what was said is repeated, and no cause is attached."""
    port, said, heard = speaker
    said[:] = [b"private words"]
    web = Web(parse(f"pinot://127.0.0.1:{port}/t?timeout=5"))
    with pytest.raises(StoreFailed, match="cannot be reached") as caught:
        web.get(Machine(role="the broker", host="127.0.0.1", port=port), "/x")
    web.close()

    assert "private" not in str(caught.value)
    assert caught.value.__context__ is None
    # Asked once: it was no connection that had been kept.
    assert len(heard) == 1


def test_a_request_is_one_line_and_its_fields(speaker):
    """With a length, its machine, and the wish that nobody in between answers from memory."""
    port, said, heard = speaker
    said[:] = [FINE]
    web = Web(parse(f"pinot://127.0.0.1:{port}/t?timeout=5"))
    web.ask(
        [WebRequest(machine=Machine(role="the broker", host="127.0.0.1", port=port), path="/q?a=%20", body={"x": "é"})]
    )
    web.close()
    head, _, body = heard[0].partition(b"\r\n\r\n")

    assert head.split(b"\r\n") == [
        b"POST /q?a=%20 HTTP/1.1",
        f"Host: 127.0.0.1:{port}".encode(),
        b"Accept: application/json",
        b"Cache-Control: no-store",
        b"Content-Type: application/json",
        f"Content-Length: {len(body)}".encode(),
    ]
    assert body == b'{"x": "\\u00e9"}'


@pytest.mark.parametrize("path", ["/a b", "/a\r\nX: y", "/a\tb", "/\x7f", "/\0"])
def test_nothing_is_slipped_into_a_request(speaker, path):
    """A path or a name with a blank or a break in it is not sent at all."""
    port, _, heard = speaker
    for host, asked in (("127.0.0.1", path), (f"a{path}", "/x")):
        with pytest.raises(Garbled):
            HttpWire(host, port, timeout=5, trusted=None).send(asked, b"", "")

    assert heard == []


def test_a_machine_that_says_so_is_not_kept(speaker):
    """It closes the connection, and the next question has one of its own."""
    port, said, heard = speaker
    said[:] = [FINE.replace(b"Content-Length", b"Connection: close\r\nContent-Length")]
    web = Web(parse(f"pinot://127.0.0.1:{port}/t?timeout=5"))
    found = [web.get(Machine(role="the broker", host="127.0.0.1", port=port), "/x") for _ in range(3)]
    web.close()

    assert found == [{"a": 1}] * 3
    assert len(heard) == 3


def test_what_comes_unasked_is_not_the_next_answer():
    """A machine that says more than it was asked for, a moment later: its connection is given up."""
    answers = [FINE.replace(b"1}", b"%d}" % number) for number in range(4)]
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        wire = HttpWire("127.0.0.1", port, timeout=5, trusted=None)
        wire.send("/x", b"", "")
        caller, _ = listening.accept()
        with caller:
            caller.sendall(answers[0])
            first = wire.receive()
            caller.sendall(answers[1])
            with pytest.raises(ConnectionError):
                wire.send("/y", b"", "")
        wire.close()

    assert first == (200, b'{"a": 0}')
