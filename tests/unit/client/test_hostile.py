"""What may stand between a client and its server, or call itself one: proxies' pages, floods, drips, other hosts."""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import hushcount_client
from hushcount_client import InvalidOption, NotUnderstood, ServiceError, Unreachable, connect
from hushcount_client.attempts import Line
from hushcount_client.origin import read_origin
from hushcount_client.tokens import find_token
from hushcount_client.wire import Wire
from tests.unit.client.scripted import DONE, TOKEN, answer, connected, page, patient, playing, reply


@pytest.fixture(autouse=True)
def no_token(monkeypatch):
    """No test takes a token or a proxy from whoever runs it."""
    for name in ("HUSHCOUNT_TOKEN", "HUSHCOUNT_TOKEN_FILE", "HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_refused(status):
    """Another host sees nothing at all, and so no token; the question does not go there either."""
    with playing() as other, playing(answer(status, {}, Location=f"{other.url}/v1/queries")) as script:
        with pytest.raises(NotUnderstood) as caught:
            connected(script).count("engagements", item="article")

        assert other.seen == []
    assert caught.value.code == "redirected"
    assert len(script.seen) == 1


@pytest.mark.parametrize(
    "step",
    [
        page(200, "<html>Sign in to the airport's network</html>"),
        page(403),
        reply(200, b"[1, 2]", "application/json"),
        reply(200, b"{", "application/json"),
        reply(200, b"[" * 100_000, "application/json"),
        reply(200, b"1" * 5_000, "application/json"),
        reply(200, json.dumps(DONE).encode(), "text/plain"),
        reply(200, b"\xff\xfe{}", "application/json"),
        reply(400, b"nothing", "application/problem+json"),
        reply(200, b"x", "application/json", Content_Encoding="gzip"),
    ],
)
def test_what_is_no_answer_is_said_to_be_none(step):
    """An error of one kind, with the status and none of the text."""
    with playing(step) as script, pytest.raises(NotUnderstood) as caught:
        connected(script).count("engagements", item="article", key="mine-1")

    assert "html" not in str(caught.value)
    assert caught.value.status in {200, 400, 403}
    assert caught.value.key == "mine-1"


@pytest.mark.parametrize(
    "change",
    [
        {"rows": None},
        {"rows": [{"count": 1}]},
        {"rows": [{"item": "a", "count": "7"}]},
        {"rows": [{"item": "a", "count": 7.5}]},
        {"rows": [{"item": "a", "count": True}]},
        {"rows": [{"item": 3}]},
        {"rows": {"item": ["a", "b"], "count": [1]}},
        {"rows": ["a"]},
        {"complete": False},
        {"cutoff": "many"},
    ],
)
def test_an_answer_that_is_not_whole_is_none(change):
    """A part of a table, a half number or a text in place of one is never shown as a release."""
    form = {**DONE, "release": {**DONE["release"], **change}}
    with playing(answer(200, form)) as script, pytest.raises(NotUnderstood):
        connected(script).count("engagements", item="article")


def test_a_body_beyond_the_limit_is_not_read_to_its_end():
    """Neither with a length that was told, nor as a stream without one."""

    def flood(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.end_headers()
        try:
            while not script.over.is_set():
                handler.wfile.write(b" " * 2**16)
        except OSError:
            cut.set()

    cut = threading.Event()
    with playing(flood, reply(200, b" " * 200_000, "application/json")) as script:
        wire = Wire(origin=read_origin(script.url), token=TOKEN, most_bytes=100_000)
        connection = hushcount_client.Connection(line=Line(wire=wire, patience=patient()))
        for _ in range(2):
            with pytest.raises(NotUnderstood, match="larger than 100,000 bytes"):
                connection.budget("engagements")

        assert cut.wait(10)


@pytest.mark.parametrize("within", ["headers", "body"])
def test_a_slow_drip_is_cut(within):
    """A byte now and then keeps a socket's timeout from ending; the time for the whole reply ends all the same."""

    def drip(handler):
        if within == "body":
            handler.send_response(200)
            handler.send_header("Content-Length", "100000")
            handler.end_headers()
        else:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        try:
            while not script.over.wait(0.02):
                handler.wfile.write(b"x")
        except OSError:
            cut.set()

    cut = threading.Event()
    with playing(drip) as script:
        with pytest.raises(Unreachable, match="took too long") as caught:
            connected(script, reply=0.4, attempts=1).budget("engagements")

        assert cut.wait(10)
    assert caught.value.sent


def test_a_server_that_says_nothing_is_left():
    """After the time for a reply."""
    with playing(lambda _: script.over.wait(10)) as script, pytest.raises(Unreachable, match="took too long"):
        connected(script, reply=0.4, attempts=1).budget("engagements")


def test_texts_of_a_server_do_nothing_to_a_terminal():
    """Signs that move a cursor or begin a line are written as their names, and no text is endless."""
    form = {"code": "x\x1b[2J", "title": "a\r\nb", "detail": "\x1b]0;owned\x07" + "y" * 100_000}
    with playing(answer(400, form, "application/problem+json")) as script, pytest.raises(ServiceError) as caught:
        connected(script).budget("engagements")

    assert str(caught.value).isprintable()
    assert caught.value.code.isprintable()
    assert len(str(caught.value)) < 5_000


@pytest.mark.parametrize(
    "url",
    [
        "https://user:hush_secret@counts.example",
        "https://hush_secret@counts.example",
        "ftp://counts.example/hush_secret",
        "https://counts.example/?token=hush_secret",
        "https://counts.example/#hush_secret",
        "counts.example",
        "https://",
        "https://counts.example:hush_secret",
        "https://counts.example\r\nX: hush_secret",
        "https://counts.exämple/hush_secret",
        "",
    ],
)
def test_addresses_that_hold_more_than_an_address_are_refused(url):
    """Also one with a password, and the error does not repeat it."""
    with pytest.raises(InvalidOption) as caught:
        connect(url)

    assert "hush_secret" not in str(caught.value)


def test_a_prefix_is_kept():
    """A service below a path of a larger site, with or without /v1 at its end."""
    with playing(answer(200, {}), answer(200, {})) as script:
        for end in ("/hush/", "/hush/v1"):
            connect(script.url + end, patience=patient()).budget("a")

    assert [seen.path for seen in script.seen] == ["/hush/v1/datasets/a/budget"] * 2


def test_a_token_crosses_no_network_in_the_clear():
    """Plain HTTP is for this computer only, unless it is said that the way is sealed otherwise."""
    with pytest.raises(InvalidOption, match="https"):
        connect("http://counts.example", TOKEN)

    for url in ("http://localhost:1", "http://127.0.0.9:1", "http://[::1]:1", "https://counts.example"):
        assert connect(url, TOKEN)
    assert connect("http://counts.example", TOKEN, plain_http=True)
    assert connect("http://counts.example")


def test_the_token_is_found_and_never_shown(tmp_path, monkeypatch):
    """Said, in a file, or in the environment, in this order; no value of ours repeats it."""
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n", encoding="utf-8")

    assert find_token() is None
    assert find_token(file) == TOKEN
    monkeypatch.setenv("HUSHCOUNT_TOKEN_FILE", str(file))
    assert find_token() == TOKEN
    monkeypatch.setenv("HUSHCOUNT_TOKEN", "hush_other")
    assert find_token() == "hush_other"
    assert find_token(TOKEN) == TOKEN
    assert TOKEN not in repr(connect("https://counts.example", TOKEN))


@pytest.mark.parametrize("token", ["", "  ", "hush_a\r\nX-Evil: 1", "hush_a b", "hush_é", "x" * 5000, Path("/nowhere")])
def test_what_cannot_be_a_token_is_refused(token):
    """Nothing is sent, and the error does not quote it."""
    with pytest.raises(InvalidOption) as caught:
        connect("https://counts.example", token)

    assert "Evil" not in str(caught.value)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 that no authority knows."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "made up")])
    now = dt.datetime.now(dt.UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(address, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "made-up.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture
def sealed(certificate):
    """A server that speaks TLS with it, and what it was asked."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.headers.get("Authorization"))
            answer(200, {"left": {}})(self)

        def log_message(self, *args):
            """Say nothing."""

    class Quiet(HTTPServer):
        def handle_error(self, request, client_address):
            """A client that leaves is what is tested."""

    with Quiet(("127.0.0.1", 0), Handler) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"https://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()
        thread.join()


def test_a_certificate_must_hold(sealed, certificate, monkeypatch):
    """One that no authority vouches for is refused before anything is sent, at once; named as trusted, it is taken."""
    url, asked = sealed
    with pytest.raises(NotUnderstood) as caught:
        connect(url, TOKEN, patience=patient()).budget("a")

    assert caught.value.code == "not-trusted"
    assert caught.value.charged is False
    assert asked == []

    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    connect(url, TOKEN, patience=patient()).budget("a")

    assert asked == [f"Bearer {TOKEN}"]


def test_a_proxy_is_asked_for_a_tunnel(monkeypatch):
    """What a proxy sees of a question is the name of the server, and no token."""
    lines = []

    class Proxy(BaseHTTPRequestHandler):
        def do_CONNECT(self):
            lines.append((self.path, self.headers.get("Authorization")))
            self.send_error(407)

        def log_message(self, *args):
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.server_address[1]}")
        monkeypatch.delenv("no_proxy", raising=False)
        with pytest.raises(Unreachable) as caught:
            connect("https://counts.example", TOKEN, patience=patient(attempts=1)).budget("a")
        proxy.shutdown()
        thread.join()

    assert lines == [("counts.example:443", None)]
    assert caught.value.charged is False
