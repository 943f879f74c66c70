"""The systemd unit: systemd finds nothing wrong, it shuts in what it should, and the service still runs in it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from hushcount.app.sample import write_log
from hushcount.app.serving.setup.config_file import read_config
from hushcount.cli.main import main
from tests.deploy.confined import UNSUPPORTED
from tests.deploy.live import free_port, serving
from tests.deploy.shipped import UNIT, installed, need, run, unit

CONFINED = Path(__file__).with_name("confined.py")
# On systemd's own scale from 0 to 10; what is left is the network, which a service needs.
MOST_EXPOSED = 2.0
REQUIRED = {
    "User": "hushcount",
    "Type": "exec",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "NoNewPrivileges": "yes",
    "LimitCORE": "0",
    "MemoryDenyWriteExecute": "yes",
    "MemorySwapMax": "0",
    "UMask": "0077",
    "CapabilityBoundingSet": "",
    "Restart": "on-failure",
    "KillMode": "mixed",
    "ExecReload": "/bin/kill -HUP $MAINPID",
    "StateDirectory": "hushcount",
}


def verdict(text: str, root: Path) -> str:
    """What `systemd-analyze verify` says of a unit, in a root where the programs that it names are there."""
    for program in ("opt/hushcount/bin/hushcount", "bin/kill"):
        (root / program).parent.mkdir(parents=True, exist_ok=True)
        (root / program).write_text("#!/bin/sh\n", encoding="utf-8")
        (root / program).chmod(0o755)
    (root / "etc/systemd/system").mkdir(parents=True)
    (root / "etc/systemd/system/hushcount.service").write_text(text, encoding="utf-8")
    words = ["verify", f"--root={root}", "--man=no", "--recursive-errors=no", "/etc/systemd/system/hushcount.service"]
    done = run([need("systemd-analyze", "systemd"), *words])
    return f"{done.stdout}{done.stderr}" if done.returncode or done.stderr else ""


def test_systemd_finds_nothing_wrong(tmp_path):
    """Every directive is known and every value can be read."""
    assert verdict(UNIT.read_text(encoding="utf-8"), tmp_path) == ""


def test_a_misspelt_directive_is_seen(tmp_path):
    """The check can fail: a directive that systemd would ignore is told."""
    broken = UNIT.read_text(encoding="utf-8").replace("ProtectSystem=", "ProtectSytem=")

    assert "ProtectSytem" in verdict(broken, tmp_path)


def test_little_is_exposed():
    """Systemd's own measure of how much a unit may do."""
    words = [need("systemd-analyze", "systemd"), "security", "--offline=true", "--no-pager", str(UNIT)]
    said = run(words).stdout
    exposed = re.search(r"Overall exposure level for hushcount.service: ([0-9.]+)", said)

    assert exposed is not None
    assert float(exposed[1]) <= MOST_EXPOSED


def test_what_shuts_it_in_is_there():
    """Each required directive is set once, to the required value."""
    service = unit()["Service"]

    assert {key: service[key] for key in REQUIRED} == {key: [value] for key, value in REQUIRED.items()}


def test_what_would_break_it_is_not_there():
    """The ledger looks at the kernel's boot id."""
    service = unit()["Service"]

    assert service.get("ProcSubset", ["all"]) == ["all"]


def test_what_cannot_be_mended_is_not_tried_again():
    """Exit code 3, a service that could not start, and 2, a wrong configuration, end it; a crash does not."""
    codes = unit()["Service"]["RestartPreventExitStatus"][0].split()

    assert {"2", "3"} <= set(codes)
    assert not {"1", "70", "143"} & set(codes)


def test_it_starts_what_there_is():
    """The unit's command is one that the command line has, with options that it has."""
    program, verb, *options = shlex.split(unit()["Service"]["ExecStart"][0])
    known = {option for parameter in main.commands[verb].params for option in parameter.opts}

    assert Path(program).name == "hushcount"
    assert options == ["--config", "/etc/hushcount/hushcount.toml"]
    assert {option for option in options if option.startswith("--")} <= known


def test_it_gets_its_time_to_stop(tmp_path):
    """Systemd waits longer than the service gives to running questions, and a reload has a worker to spare."""
    config = read_config(installed("systemd", tmp_path), {})
    wait = timedelta(seconds=int(unit()["Service"]["TimeoutStopSec"][0].removesuffix("s")))

    assert wait >= config.server.graceful + timedelta(seconds=10)
    assert config.server.workers >= 2


def test_it_writes_where_it_may(tmp_path):
    """The ledger is in the state folder, keys and data where nothing can be written."""
    config = read_config(installed("systemd", tmp_path), {})
    service = unit()["Service"]
    variables = dict(word.split("=", 1) for word in service["Environment"][0].split())

    state = tmp_path / "var" / "lib" / service["StateDirectory"][0]
    assert Path(config.ledger.address).is_relative_to(state)
    assert config.server.state.is_relative_to(state)
    assert variables["HOME"] == service["WorkingDirectory"][0] == f"/var/lib/{service['StateDirectory'][0]}"
    assert "CacheDirectory" not in service
    assert config.keys.noise.is_relative_to(tmp_path / "etc")


def allowed_calls() -> list[str]:
    """The system calls that the unit allows, by systemd's own lists: later lines add, or take away with a tilde."""
    allowed: set[str] = set()
    for line in unit()["Service"]["SystemCallFilter"]:
        calls = {call for name in line.removeprefix("~").split() for call in calls_of(name)}
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return sorted(allowed)


def calls_of(name: str) -> set[str]:
    """The calls of a set, also of sets within it; a call is itself."""
    if not name.startswith("@"):
        return {name}
    words = [need("systemd-analyze", "systemd"), "syscall-filter", "--no-pager", name]
    lines = run(words).stdout.splitlines()[1:]
    return {call for line in lines if line.strip() and "#" not in line for call in calls_of(line.strip())}


@pytest.fixture(scope="module")
def filtered() -> list[str]:
    """The allowed calls, once."""
    found = calls_of("@default") | set(allowed_calls())

    assert {"read", "mmap", "mprotect", "socket", "fsync"} <= found
    assert not {"mount", "ptrace", "bpf", "init_module", "setuid", "reboot"} & found
    return sorted(found)


def run_confined(folder: Path, words: list[str], **wanted: object) -> subprocess.CompletedProcess[str]:
    """Run hushcount with the unit's environment, its places in a folder, and no capability."""
    variables = dict(word.split("=", 1) for word in unit()["Service"]["Environment"][0].split())
    places = {"HOME": folder, "HUSHCOUNT_HOME": folder, "TMPDIR": folder}
    kept = {name: os.environ[name] for name in ("PYTHONPATH", "VIRTUAL_ENV") if name in os.environ}
    confined = [sys.executable, str(CONFINED), json.dumps(wanted)]
    return run(
        [*confined, sys.executable, "-m", "hushcount.cli", *words],
        env={**kept, **variables, **{name: str(place) for name, place in places.items()}, "HUSHCOUNT_DEBUG": "1"},
        cwd=folder,
    )


@pytest.fixture
def home(tmp_path) -> Path:
    """A folder with made-up data."""
    write_log(tmp_path / "log.parquet", readers=2_000)
    return tmp_path


ASKED = ("log.parquet", "--user", "reader", "--item", "article", "--json")


@pytest.mark.parametrize("verb", ["count", "vocab"])
def test_questions_are_answered_under_the_filter(home, filtered, verb):
    """DuckDB and SQLite do with the system calls that the unit allows, without root."""
    done = run_confined(home, [verb, *ASKED], calls=filtered)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"]


def test_the_service_answers_under_the_filter(tmp_path, filtered):
    """The shipped configuration, two workers, a question for a list: under the unit's own filter."""
    config = installed("systemd", tmp_path)
    start = (sys.executable, str(CONFINED), json.dumps({"calls": filtered}), sys.executable, "-m", "hushcount.cli")
    question = {"mode": "release", "dataset": "engagements", "question": "vocab", "item": "article"}
    # Metrics are listened to at a port of the shipped file, which may be taken here.
    places = {"HUSHCOUNT_OBSERVE__METRICS": f"127.0.0.1:{free_port()}"}
    with serving(config, "olga", start=start, **places) as live:
        key = {"Idempotency_Key": "k1", "Prefer": "wait=60"}
        status, form = live.call("POST", "/v1/queries", question, who="olga", **key)

        assert status == 200, form
        assert form["release"]["rows"]
        assert live.end() == 0


def test_a_filter_that_is_too_tight_is_seen(home, filtered):
    """The check can fail: without fsync neither the secret nor the ledger can be kept."""
    tight = [call for call in filtered if call not in {"fsync", "fdatasync"}]
    done = run_confined(home, ["count", *ASKED], calls=tight)

    assert done.returncode != 0
    assert "cannot be kept" in done.stderr


@pytest.mark.parametrize("verb", ["count", "vocab"])
def test_questions_are_answered_without_memory_that_is_written_and_executed(home, verb):
    """Why the unit may set MemoryDenyWriteExecute: nothing is compiled at run time."""
    done = run_confined(home, [verb, *ASKED], strict_memory=True)
    if done.returncode == UNSUPPORTED:
        pytest.skip("this kernel cannot refuse such memory (Linux 6.3 can)")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"]
