"""The command line on a cluster: what it shows and leaves, how it stops, and what it says if something is missing."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
import venv
from contextlib import suppress
from pathlib import Path

import pytest

import hushcount
from tests.integration.spark.sessions import ALONE, asks, wait_until, write_settings
from tests.spark import kill_session, spark_environment

ASK = ("--user", "user", "--item", "item", "--engine", "spark")


@pytest.fixture
def environment(home, tmp_path):
    """What a shell of ours would hold: small executors, a home, a ledger."""
    return spark_environment(
        SPARK_CONF_DIR=str(write_settings(ALONE, tmp_path)),
        HUSHCOUNT_HOME=str(home),
        HUSHCOUNT_LEDGER=str(tmp_path / "ledger.sqlite"),
    )


def command(*words, environment, **more):
    """One hushcount command in a process of its own."""
    words = [sys.executable, "-m", "hushcount.cli", *map(str, words)]
    return subprocess.run(  # noqa: S603 (our own words)
        words, env=environment, capture_output=True, text=True, check=False, timeout=300, **more
    )


def test_the_command_line_asks_a_cluster(cluster, log, environment, tmp_path):
    """--engine spark --master: the table, one charge, the same as without, and no file is left behind."""
    left = tmp_path / "left"
    left.mkdir()
    aside = {**environment, "TMPDIR": str(left)}
    done = command("top", log, *ASK, "-k", "5", "--master", cluster.url, "--json", environment=aside)
    beside = hushcount.top(log, user="user", item="item", k=5, ledger=False)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == [
        dict(zip(beside.to_dict(), row, strict=True)) for row in zip(*beside.to_dict().values(), strict=True)
    ]
    assert asks(Path(environment["HUSHCOUNT_LEDGER"])) == [("settled", True)]
    assert not list(left.glob("hushcount-*"))


def test_an_unreachable_master_is_told(log, environment):
    """Nobody listens there: a sentence within a bounded time, and nothing is charged."""
    begun = time.monotonic()
    done = command("count", log, *ASK, "--master", "spark://127.0.0.1:9", environment=environment)

    assert done.returncode == 3, done.stderr
    assert "spark://127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr
    assert time.monotonic() - begun < 100
    assert asks(Path(environment["HUSHCOUNT_LEDGER"])) == []


def test_missing_java_is_told(log, environment, tmp_path):
    """Without Java: a sentence that says what to install, and nothing is charged."""
    bare = tmp_path / "bin"
    bare.mkdir()
    for program in ("bash", "env", "dirname", "python3", "ps", "uname"):
        found = shutil.which(program)
        if found:
            (bare / program).symlink_to(found)
    without = {name: value for name, value in environment.items() if name != "JAVA_HOME"}
    done = command("count", log, *ASK, environment={**without, "PATH": str(bare)})

    assert done.returncode in {3, 5}, done.stderr
    assert "Java" in done.stderr
    assert "Traceback" not in done.stderr
    assert asks(Path(environment["HUSHCOUNT_LEDGER"])) == []


def test_a_stopped_question_stays_charged_and_leaves_no_job(cluster, many, environment):
    """Ctrl-C after data was touched: a sentence, exit code 130, the reservation stays, and the cluster is free."""
    ledger = Path(environment["HUSHCOUNT_LEDGER"])
    words = [sys.executable, "-m", "hushcount.cli", "vocab", str(many), *ASK, "--master", cluster.url]
    process = subprocess.Popen(  # noqa: S603 (our own words)
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        wait_until(lambda: asks(ledger) == [("open", True)] and cluster.applications(), seconds=240)
        # As a terminal does: all processes of the group hear of it.
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=120)
    finally:
        kill_session(process)

    assert process.returncode == 130, said
    assert "stopped" in said
    assert "Traceback" not in said
    assert asks(ledger) == [("open", True)]
    wait_until(lambda: not any("hushcount" in name for name in cluster.applications()), seconds=30)


def test_workers_without_what_they_need_are_told(cluster, log, environment, tmp_path):
    """A Python without NumPy: a sentence with what to install or set, before the charge, and no Java trace."""
    bare = tmp_path / "bare"
    venv.create(bare, with_pip=False)
    python = bare / "bin" / "python"
    without = {**environment, "PYSPARK_PYTHON": str(python)}
    done = command("count", log, *ASK, "--master", cluster.url, environment=without)

    # Lines may be broken anywhere.
    said = "".join(done.stderr.split())

    assert done.returncode == 3, done.stderr
    assert f"theirPython,{python},hasnonumpyandnopyarrowandnopandasandnocryptography" in said
    assert "PYSPARK_PYTHON=/path/to/python" in said
    assert "Traceback" not in done.stderr
    assert "\tat " not in done.stderr
    assert asks(Path(environment["HUSHCOUNT_LEDGER"])) == []


@pytest.mark.parametrize("shown", [False, True])
def test_one_of_two_bars_is_silent(log, environment, tmp_path, shown):
    """On a terminal either Spark's own bar tells how far it is, if it was submitted with one, or ours; never both."""
    words = [sys.executable, "-m", "hushcount.cli"]
    if shown:
        program = tmp_path / "program.py"
        program.write_text("from hushcount.cli.main import main\n\nmain()\n", encoding="utf-8")
        submit = str(Path(sys.executable).with_name("spark-submit"))
        words = [submit, "--conf", "spark.ui.showConsoleProgress=true", "--master", "local[2]", str(program)]
    said = on_terminal([*words, "top", str(log), *ASK, "-k", "5"], environment)

    # Without Spark's bar ours is there: it would show itself in the other case, too.
    assert ("Spark: " in said) is not shown
    assert shown or "[Stage " not in said


def on_terminal(words, environment):
    """What a command writes to a terminal, where it is told that it has one."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(  # noqa: S603 (our own words)
        words,
        env={**environment, "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        said = bytearray()
        # Reading fails where the last who could write has ended.
        with suppress(OSError):
            while more := os.read(ours, 4096):
                said += more
        os.close(ours)
        assert process.wait(timeout=300) == 0, said.decode()
    return said.decode()
