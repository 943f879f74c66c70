"""A server whose ledger is away waits for it and says so; one whose ledger is wrong ends at once with the reason."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time

import pytest

from hushcount.app.serving.opening import open_setting
from hushcount.app.serving.setup.config_file import read_config
from tests.api.served import make_files
from tests.api.test_serve import COMMAND, PATIENCE, called, free_port
from tests.faults.server import children
from tests.forked import Forked
from tests.postgres import MISSING, find_programs, running_cluster

pytestmark = pytest.mark.skipif(find_programs() is None, reason=MISSING)


@pytest.fixture(scope="module")
def cluster():
    """A PostgreSQL of this file's own, that its tests stop and start."""
    with running_cluster() as made:
        yield made


@pytest.fixture
def place(cluster, tmp_path):
    """The configuration of a service on a database of its own there."""
    name = f"d{os.urandom(4).hex()}"
    cluster.run("createdb", "-h", str(cluster.folder), name)
    config = make_files(tmp_path)
    address = f"postgresql://postgres@/{name}?host={cluster.folder}"
    config.write_text(config.read_text(encoding="utf-8").replace("ledger.sqlite", address), encoding="utf-8")
    return config


def founded(config):
    """Found the ledger, in this process: it is there sooner."""
    open_setting(read_config(config, {})).close()


@contextlib.contextmanager
def started(config, *, workers=1, forked=True):
    """A server that was started, ready or not: the process, its port, the file of its log."""
    port, log = free_port(), config.parent / "log"
    variables = {"HUSHCOUNT_SERVER__WORKERS": str(workers), "HUSHCOUNT_SERVER__LISTEN": f"127.0.0.1:{port}"}
    words, how = ("--config", str(config)), {"env": {**os.environ, **variables}, "cwd": config.parent}
    with log.open("w", encoding="utf-8") as file:
        process = (
            Forked("tests.faults.entry:main", *words, output=file.fileno(), errors=file.fileno(), **how)
            if forked
            else subprocess.Popen((*COMMAND, *words), stdout=file, stderr=file, **how)  # noqa: S603  our own command
        )
    try:
        yield process, port, log
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)


def status(port, path):
    """The status of a path, None if nobody answers, and the code of a problem."""
    try:
        found, _, body = called(port, "GET", path)
    except OSError:
        return None, None
    return found, json.loads(body).get("code")


def await_(condition, log):
    """Wait until something holds."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, log.read_text(encoding="utf-8")
        time.sleep(0.02)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_ledger_that_comes_later_is_waited_for(cluster, place, workers):
    """Alive and not ready, a line in the log, callers told that nothing was charged; ready once the ledger is there."""
    cluster.stop()
    try:
        with started(place, workers=workers) as (process, port, log):
            await_(lambda: status(port, "/healthz")[0] == 200, log)

            assert status(port, "/readyz") == (503, "ledger-unavailable")
            assert status(port, "/v1/datasets") == (503, "ledger-unavailable")
            assert "trying again" in log.read_text(encoding="utf-8")
            assert process.poll() is None
            cluster.start()
            await_(lambda: status(port, "/readyz")[0] == 200, log)
            # Whoever stops it then stops it in good order.
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
            assert "Traceback" not in log.read_text(encoding="utf-8")
    finally:
        with contextlib.suppress(RuntimeError):
            cluster.start()


def test_a_server_that_waits_can_be_stopped(cluster, place):
    """SIGTERM while the ledger is away ends it at once, with 0."""
    cluster.stop()
    try:
        with started(place) as (process, port, log):
            await_(lambda: status(port, "/healthz")[0] == 200, log)
            process.send_signal(signal.SIGTERM)

            assert process.wait(PATIENCE) == 0
    finally:
        cluster.start()


def test_a_worker_that_is_replaced_while_the_ledger_is_away_ends_nothing(cluster, place):
    """The ledger stops, a worker dies, another takes its place and waits; all are ready when the ledger is back."""
    founded(place)
    with started(place, workers=2) as (process, port, log):
        await_(lambda: status(port, "/readyz")[0] == 200, log)
        cluster.stop()
        try:
            (gone, *_) = before = set(children(process.pid))
            assert len(before) == 2
            os.kill(gone, signal.SIGKILL)
            await_(lambda: len(set(children(process.pid)) - {gone}) == 2, log)
            await_(lambda: "trying again" in log.read_text(encoding="utf-8"), log)

            assert process.poll() is None
            assert status(port, "/healthz")[0] == 200
            assert status(port, "/readyz") == (503, "ledger-unavailable")
        finally:
            cluster.start()
        # Both workers answer; which one does is chance.
        await_(lambda: all(status(port, "/readyz")[0] == 200 for _ in range(20)), log)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0


def wrong_key(cluster, config):
    """Another key than the ledger was founded with."""
    del cluster
    (config.parent / "noise-key").write_bytes(os.urandom(32))


def newer(cluster, config):
    """A ledger of a version to come."""
    address = next(line for line in config.read_text(encoding="utf-8").splitlines() if line.startswith("address"))
    name = address.partition("@/")[2].partition("?")[0]
    update = "UPDATE hushcount.schema_version SET version = 99"
    cluster.run("psql", "-h", str(cluster.folder), "-d", name, "-c", update)


def no_database(cluster, config):
    """A database that is not there: the server answers, and says no."""
    del cluster
    text = config.read_text(encoding="utf-8").replace("postgres@/d", "postgres@/no-such-d")
    config.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "said", "away", "workers"),
    [
        (wrong_key, "another secret", False, 2),
        (newer, "version 99", False, 1),
        (no_database, "does not let", False, 1),
        (wrong_key, "another secret", True, 1),
        (newer, "version 99", True, 2),
    ],
)
def test_a_wrong_ledger_ends_the_server_with_the_reason(cluster, place, spoil, said, away, workers):
    """At once, or as soon as the ledger can be asked: exit code 3, and a sentence that says what is wrong."""
    founded(place)
    spoil(cluster, place)
    if away:
        cluster.stop()
    # Where it ends at once and has several workers, all of them are started as in the product, each from nothing.
    with started(place, workers=workers, forked=away or workers == 1) as (process, port, log):
        if away:
            try:
                await_(lambda: status(port, "/readyz")[0] == 503, log)
            finally:
                cluster.start()

        assert process.wait(PATIENCE) == 3
        told = log.read_text(encoding="utf-8")
        assert said in told
        assert ("trying again" in told) is away
        assert "Traceback" not in told
