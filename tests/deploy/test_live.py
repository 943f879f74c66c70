"""What the shipped files count on: health checks, exit codes, a reload that drops nobody, a stop in good order."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from urllib.parse import quote

import pytest
import yaml

from hushcount.app.serving.opening import open_setting
from hushcount.app.serving.setup.config_file import read_config
from tests.conftest import IN_CI
from tests.deploy.live import HUSHCOUNT, LONGEST, await_ready, make_world, serving
from tests.deploy.shipped import COMPOSE, installed, instructions, run
from tests.postgres import MISSING, find_programs, running_cluster

_PORT = "8443"


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """A server of two workers with an owner."""
    config = make_world(tmp_path_factory.mktemp("live"))
    with serving(config, "olga", HUSHCOUNT_SERVER__WORKERS="2", HUSHCOUNT_OBSERVE__LOGS="json") as made:
        yield made


def health_checks() -> dict[str, str]:
    """The scripts of both health checks."""
    ((_, words),) = [line for line in instructions(-1) if line[0] == "HEALTHCHECK"]
    compose = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]["hushcount"]["healthcheck"]["test"]
    return {"Containerfile": json.loads(words.partition("CMD ")[2])[-1], "compose": compose[-1]}


@pytest.mark.parametrize("kind", ["Containerfile", "compose"])
def test_the_health_checks_work(live, kind):
    """Each, word for word but for the port, says yes to the server and no to a port where nobody is."""
    port = live.url.rpartition(":")[2]
    script = health_checks()[kind]

    assert run([sys.executable, "-c", script.replace(_PORT, port)]).returncode == 0
    assert run([sys.executable, "-c", script.replace(_PORT, "1")]).returncode != 0


def test_the_first_owner_owns_it(live):
    """Whoever was invited is known, and is the owner; whoever was not is nobody."""
    status, form = live.call("GET", "/v1/me", who="olga")

    assert (status, form["name"]) == (200, "olga")
    assert live.call("GET", "/v1/me")[0] == 401


def test_a_reload_replaces_the_workers_and_drops_nobody(live):
    """SIGHUP, as the unit sends it: other processes answer afterwards, at the same port, and nobody was refused."""
    before = workers_of(live.process.pid)
    live.process.send_signal(signal.SIGHUP)
    latest = time.monotonic() + LONGEST
    while workers_of(live.process.pid) & before and time.monotonic() < latest:
        assert live.call("GET", "/healthz")[0] == 200
        # New processes need the time that asking takes.
        time.sleep(0.02)
    await_ready(live)

    assert len(before) == 2
    assert not workers_of(live.process.pid) & before
    assert live.call("GET", "/v1/me", who="olga")[0] == 200


def workers_of(process: int) -> set[int]:
    """The worker processes of a server."""
    with open(f"/proc/{process}/task/{process}/children", encoding="utf-8") as file:  # noqa: PTH123 (of the kernel)
        children = {int(number) for number in file.read().split()}
    return {number for number in children if "spawn_main" in command(number)}


def command(process: int) -> str:
    """The command line of a process; empty if it is gone."""
    try:
        with open(f"/proc/{process}/cmdline", encoding="utf-8") as file:  # noqa: PTH123 (of the kernel)
            return file.read()
    except OSError:
        return ""


def test_a_stop_is_in_good_order(tmp_path):
    """SIGTERM ends it with 0, and the ledger is whole and takes questions at the next start."""
    config = make_world(tmp_path)
    with serving(config, "olga") as live:
        question = {"mode": "release", "dataset": "reading", "question": "top", "item": "article", "k": 3}
        paid = live.call("POST", "/v1/queries", question, who="olga", Idempotency_Key="k1", Prefer="wait=30")
        token = live.tokens["olga"]

        assert live.end() == 0
    with serving(config) as again:
        again.tokens["olga"] = token
        repeated = again.call("POST", "/v1/queries", question, who="olga", Idempotency_Key="k2", Prefer="wait=30")

        assert paid[0] == repeated[0] == 200
        assert repeated[1]["release"]["rows"] == paid[1]["release"]["rows"]
        assert repeated[1]["cost"]["releases"] == 0
        assert again.call("POST", "/v1/log/verify", {}, who="olga")[1]["whole"] is True


def test_what_a_start_fails_with(tmp_path):
    """2 for a configuration that cannot be used; 3 where the ledger is that of another key: both end the unit."""
    open_setting(read_config(make_world(tmp_path), {})).close()
    (tmp_path / "noise-key").write_bytes(os.urandom(32))
    other_key = run([*HUSHCOUNT, "serve", "--config", "hushcount.toml", "--port", "0"], cwd=tmp_path)
    wrong = run([*HUSHCOUNT, "serve", "--config", "nowhere.toml"], cwd=tmp_path)

    assert other_key.returncode == 3
    assert "secret" in other_key.stderr
    assert wrong.returncode == 2


@pytest.fixture(scope="module")
def cluster():
    """A PostgreSQL server of our own. Without its programs the test is skipped, and says so; in CI it fails."""
    if find_programs() is None:
        (pytest.fail if IN_CI else pytest.skip)(MISSING)
    with running_cluster() as running:
        yield running


def test_the_containers_configuration_serves_on_postgresql(cluster, tmp_path):
    """As shipped, but for where the database is: it founds its ledger there, and two workers answer from it."""
    place = f"postgresql://postgres@{quote(str(cluster.folder), safe='')}/postgres"
    with serving(installed("container", tmp_path), "olga", HUSHCOUNT_LEDGER__ADDRESS=place) as live:
        question = {"mode": "release", "dataset": "engagements", "question": "top", "item": "article", "k": 3}
        key = {"Idempotency_Key": "k1", "Prefer": "wait=30"}
        paid = [live.call("POST", "/v1/queries", question, who="olga", **key) for _ in range(4)]

        assert [status for status, _ in paid] == [200] * 4
        assert len({form["release"]["id"] for _, form in paid}) == 1
        assert live.call("POST", "/v1/log/verify", {}, who="olga")[1]["whole"] is True
