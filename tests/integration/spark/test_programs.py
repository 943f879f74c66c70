"""Programs that use a cluster: the command line, spark-submit, and what each says when something is missing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushcount
from tests.integration.spark.sessions import SETTINGS, asks, wait_until, write_log
from tests.spark import kill_session, spark_environment

ASK = ("--user", "user", "--item", "item", "--engine", "spark")
SCRIPT = """
import json, sys
from pyspark.sql import SparkSession
import hushcount

spark = SparkSession.builder.getOrCreate()
release = hushcount.count(spark.read.parquet(sys.argv[1]), user="user", item="item", ledger=False)
print("released", json.dumps(release.to_dict()))
spark.stop()
"""


@pytest.fixture
def environment(home, tmp_path):
    """What a shell of ours would hold: small executors, a home, a ledger."""
    settings = tmp_path / "conf"
    settings.mkdir()
    lines = [f"{name} {value}" for name, value in SETTINGS.items() if not name.startswith("spark.ui.port")]
    (settings / "spark-defaults.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return spark_environment(
        SPARK_CONF_DIR=str(settings), HUSHCOUNT_HOME=str(home), HUSHCOUNT_LEDGER=str(tmp_path / "ledger.sqlite")
    )


def command(*words, environment, **more):
    """One hushcount command in a process of its own."""
    words = [sys.executable, "-m", "hushcount.cli", *map(str, words)]
    return subprocess.run(  # noqa: S603 (our own words)
        words, env=environment, capture_output=True, text=True, check=False, timeout=300, **more
    )


def test_the_command_line_asks_a_cluster(cluster, log, environment, tmp_path):
    """--engine spark --master: the table, one charge, the same as without, and no file is left behind."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    aside = {**environment, "TMPDIR": str(scratch)}
    done = command("count", log, *ASK, "--master", cluster.url, "--json", environment=aside)
    beside = hushcount.count(log, user="user", item="item", ledger=False)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == beside.to_dict()
    assert asks(Path(environment["HUSHCOUNT_LEDGER"])) == [("settled", True)]
    assert not list(scratch.glob("hushcount-*"))


def test_a_submitted_program_asks_its_session(cluster, log, environment, tmp_path):
    """spark-submit runs a program that hands its own frame to hushcount."""
    script = tmp_path / "program.py"
    script.write_text(SCRIPT, encoding="utf-8")
    submit = shutil.which("spark-submit", path=str(Path(sys.executable).parent))
    assert submit is not None
    done = subprocess.run(  # noqa: S603 (our own words)
        [submit, "--master", cluster.url, str(script), str(log)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    told = [line for line in done.stdout.splitlines() if line.startswith("released ")]

    assert done.returncode == 0, done.stderr[-3000:]
    rows = json.loads(told[0].partition(" ")[2])
    # A frame has another version than its file, so other noise; these three are far apart, and all hold the first.
    assert rows["item"][:3] == ["thing é 1", "thing é 2", "thing é 3"]
    assert abs(rows["count"][0] - 3000) < 600


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


def test_files_that_do_not_fit_together_are_refused(cluster, environment, tmp_path):
    """Two Parquet files of one folder disagree about a column: a sentence, without a value from either."""
    folder = tmp_path / "parts"
    folder.mkdir()
    pq.write_table(pa.table({"user": [1, 2], "item": ["secret a", "secret b"]}), folder / "1.parquet")
    pq.write_table(pa.table({"user": [1.5, 2.5], "item": [[7], [8]]}), folder / "2.parquet")
    done = command("count", folder, *ASK, "--master", cluster.url, environment=environment)

    assert done.returncode == 3, done.stderr
    assert str(folder) in done.stderr
    assert "secret" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_stopped_question_stays_charged_and_leaves_no_job(cluster, environment, tmp_path):
    """Ctrl-C after data was touched: a sentence, exit code 130, the reservation stays, and the cluster is free."""
    log = write_log(tmp_path / "long.parquet", people=20_000, rare=500_000)
    ledger = Path(environment["HUSHCOUNT_LEDGER"])
    words = [sys.executable, "-m", "hushcount.cli", "vocab", str(log), *ASK, "--master", cluster.url]
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
