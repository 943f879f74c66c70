"""`hushcount serve` as a process: ready soon, one or several workers, ended in good order, refused with a sentence."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from hushcount.app.serving.opening import open_setting
from hushcount.app.serving.setup.config_file import read_config
from tests.api.served import TOP, make_files

COMMAND = (sys.executable, "-m", "hushcount.cli", "serve")
PATIENCE = 60


def free_port():
    """A port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def running(folder, *words):
    """A server that is ready, with its address; ended whatever happens."""
    environment = {**os.environ, "HUSHCOUNT_HOME": str(folder / "home")}
    process = subprocess.Popen(  # noqa: S603  our own command
        (*COMMAND, *words), cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        told = process.stdout.readline()
        address = re.fullmatch(r"Serving at http://127\.0\.0\.1:(\d+)\n", told)
        assert address, (told, process.stderr.read())
        port = int(address[1])
        until = time.monotonic() + PATIENCE
        while not ready(port):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < until
            time.sleep(0.02)
        yield process, port
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)
        process.stdout.close()
        process.stderr.close()


def ready(port):
    """Whether a server answers that it is ready."""
    try:
        return called(port, "GET", "/readyz")[0] == 200
    except OSError:
        return False


def called(port, method, path, body=None, **headers):
    """One exchange over a socket: status, headers, body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    sent = None if body is None else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, sent, {"Content-Type": "application/json", **named} if sent else named)
        reply = connection.getresponse()
        return reply.status, dict(reply.getheaders()), reply.read()
    finally:
        connection.close()


def scraped(port, word):
    """What a collector gets, as soon as a word is in it."""
    until = time.monotonic() + PATIENCE
    while True:
        status, _, counted = called(port, "GET", "/metrics")
        assert status == 200
        if word in counted:
            return counted
        assert time.monotonic() < until, counted
        time.sleep(0.1)


def test_one_file_is_served_to_the_person_at_this_machine(tmp_path):
    """No sign-in, lines to try, an answer, an end in good order with exit code 0."""
    make_files(tmp_path)
    with running(tmp_path, "data/events.csv", "--user", "user_id", "--port", str(free_port())) as (process, port):
        assert process.stdout.readline() == f"Try:  curl http://127.0.0.1:{port}/v1/datasets\n"
        assert process.stdout.readline() == f"Open: http://127.0.0.1:{port}/console\n"
        status, headers, body = called(port, "POST", "/v1/queries", {**TOP, "mode": "release"}, Idempotency_Key="k1")
        assert status == 200, body
        assert "Transfer-Encoding" not in headers
        assert "server" not in {name.lower() for name in headers}
        assert int(headers["content-length"]) == len(body)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        # A library may tell of what it could not let go.
        assert "leak" not in process.stderr.read()


def test_several_workers_share_one_ledger_and_metrics(tmp_path):
    """Two processes answer at one port; a key joins across them; counters add up, and name no data set or person."""
    config = make_files(tmp_path)
    port, metrics = free_port(), free_port()
    text = config.read_text(encoding="utf-8").replace("127.0.0.1:8443", f"127.0.0.1:{port}")
    text = text.replace('graceful = "2s"', 'graceful = "2s"\nworkers = 2') + (
        f'[observe]\nmetrics = "127.0.0.1:{metrics}"\nlogs = "json"\n'
    )
    config.write_text(text, encoding="utf-8")
    invited = subprocess.run(  # noqa: S603  our own command
        (*COMMAND, "--config", str(config), "--init", "olga"), capture_output=True, text=True, check=True, cwd=tmp_path
    )
    invitation = re.search(r"hushinvite_[a-z0-9]+", invited.stdout)[0]
    with running(tmp_path, "--config", str(config)) as (process, found):
        assert found == port
        status, _, body = called(port, "POST", "/v1/invitations", {"invitation": invitation})
        assert status == 201
        signed = {"Authorization": f"Bearer {json.loads(body)['token']}"}
        asked = {**TOP, "mode": "release"}
        replies = [called(port, "POST", "/v1/queries", asked, Idempotency_Key="k1", **signed) for _ in range(6)]
        assert [reply[0] for reply in replies] == [200] * 6
        assert len({json.loads(reply[2])["id"] for reply in replies}) == 1
        counted = scraped(metrics, b"hushcount_releases_left")
        assert b'hushcount_requests_total{route="/v1/queries",status="200"} 6.0' in counted
        assert b"hushcount_request_seconds_count" in counted
        assert not re.search(rb'seconds_[a-z]+\{[^}]*route="/v1/queries', counted)
        assert b"hushcount_ledger_seconds_count" in counted
        assert b'hushcount_reservations_ended_total{outcome="settled"} 0.0' in counted
        assert b"hushcount_reservations_open" in counted
        # Data sets are named where it is told what is left of them, in whole releases, and nowhere else.
        assert set(re.findall(rb".*events.*", counted)) == {b'hushcount_releases_left{dataset="events"} 10.0'}
        assert not any(word in counted for word in (b"olga", b"article"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        # Every line: no library says anything beside.
        lines = [json.loads(line) for line in process.stderr.read().splitlines()]
    assert {"request_id", "route", "status", "caller", "dataset"} <= set(
        next(line for line in lines if line.get("route") == "/v1/queries")
    )


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "serve FILE"),
        (("nothing.csv", "--user", "user_id"), 3, "nothing.csv"),
        (("--config", "nothing.toml"), 2, "nothing.toml"),
        (("--config", "hushcount.toml", "--port", "{taken}"), 3, ""),
        (("--config", "broken.toml", "--port", "0"), 3, "secret"),
    ],
)
def test_what_cannot_start_says_why_and_exits(tmp_path, words, code, said):
    """Each failed start has its exit code; 3 where everything was said rightly and it still cannot be."""
    config = make_files(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    broken = config.read_text(encoding="utf-8").replace('noise = "noise-key"', 'noise = "token-key"')
    (tmp_path / "broken.toml").write_text(broken, encoding="utf-8")
    if "broken.toml" in words:
        # The ledger is founded with one key, and then opened with another.
        open_setting(read_config(config, {})).close()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        typed = [word.format(taken=taken.getsockname()[1]) for word in words]
        done = subprocess.run(  # noqa: S603  our own command
            (*COMMAND, *typed), capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE, check=False
        )
    assert done.returncode == code, (done.stdout, done.stderr)
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_check_says_what_it_would_do_and_starts_nothing(tmp_path):
    """The configuration in sentences; no ledger is founded."""
    config = make_files(tmp_path)
    done = subprocess.run(  # noqa: S603  our own command
        (*COMMAND, "--config", str(config), "--check"), capture_output=True, text=True, check=True
    )
    assert "It listens at 127.0.0.1:8443" in done.stdout
    assert done.stdout.endswith("Nothing was started.\n")
    assert not (tmp_path / "ledger.sqlite").exists()
