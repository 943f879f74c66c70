"""A private Spark cluster for tests and benchmarks: a master and workers on loopback, in processes of their own.

Spark comes with the package pyspark; Java 17 or newer must be there (Debian: the package `openjdk-17-jre-headless`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import IN_CI, RUNNING

MISSING = "no Java 17 or newer: install the package 'openjdk-17-jre-headless' to run these tests"
_OLDEST = 17
# Starting a Java program takes seconds, on a busy machine many.
_PATIENCE = 240.0
# Tests are over before Java's second compiler pays, and Spark's own classes need no check by each of a dozen programs.
QUICK_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)


@cache
def find_java() -> Path | None:
    """The Java program that Spark would start, of JAVA_HOME or on the path, if it is new enough; else None."""
    home, found = os.environ.get("JAVA_HOME"), shutil.which("java")
    said = str(Path(home) / "bin" / "java") if home else found
    if said is None or shutil.which(said) is None:
        return None
    told = subprocess.run([said, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 (our own words)
    version = re.search(r'version "(?:1\.)?(\d+)', told.stderr)
    return Path(said) if version and int(version.group(1)) >= _OLDEST else None


def need_spark() -> None:
    """Fail a test that is not known to be one of Spark; skip one where there is no Java, or in CI fail it too.

    Tests of Spark run in one process, one after the other: another one would start a second Spark beside theirs.
    """
    if any(item.get_closest_marker("spark") is None for item in RUNNING):
        pytest.fail("this test starts Spark: put it into a folder named spark, or into a file test_spark.py")
    if find_java() is None:
        if IN_CI:
            pytest.fail(f"{MISSING} (CI is set, so this is a failure and not a skip)")
        pytest.skip(MISSING)


def spark_home() -> Path:
    """Where the package pyspark keeps Spark."""
    import pyspark

    return Path(str(pyspark.__file__)).parent


def spark_environment(**more: str) -> dict[str, str]:
    """What a program needs to start Spark on loopback, with workers of the same Python; nothing inherited of Spark."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return {
        **inherited,
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        # Of the small program that Spark starts first, only to write down the command of the real one.
        "SPARK_LAUNCHER_OPTS": QUICK_JAVA,
        **more,
    }


def in_session(leader: int) -> list[int]:
    """The processes that were started by a session's leader, it included, whatever groups they made since."""
    found = []
    for place in Path("/proc").iterdir():
        # A process may end while we look at it.
        with suppress(OSError, ValueError):
            if place.name.isdigit() and os.getsid(int(place.name)) == leader:
                found.append(int(place.name))
    return found


def kill_session(process: subprocess.Popen[Any]) -> None:
    """End a process that leads a session, and all that it started, at once."""
    for number in in_session(process.pid):
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    process.wait(timeout=_PATIENCE)


@dataclass(frozen=True, kw_only=True)
class Daemon:
    """A master or a worker: its process, which leads a session, and where it writes."""

    process: subprocess.Popen[bytes]
    log: Path

    def wait_for(self, pattern: str) -> str:
        """Wait until the log holds a line with the pattern; the pattern's first group."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            found = re.search(pattern, self.log.read_text(encoding="utf-8"))
            if found is not None:
                return found.group(1)
            time.sleep(0.05)
        raise RuntimeError(f"Spark did not say {pattern!r}: {self.log.read_text(encoding='utf-8')[-2000:]}")


class Cluster:
    """A standalone cluster that belongs to nobody else."""

    def __init__(self, folder: Path, *, cores: int = 1, memory: str = "1g") -> None:
        self.folder, self._cores, self._memory = folder, cores, memory
        self.workers: list[Daemon] = []
        self._started = 0
        self._master = self._start("Master", "--port", "0")
        self.url = self._master.wait_for(r"Starting Spark master at (spark://\S+)")
        self._page = self._master.wait_for(r"MasterWebUI to \S+, and started at (http://\S+)")

    def add_workers(self, number: int) -> None:
        """So many more workers, started at the same time, known to the master."""
        words = ("--cores", str(self._cores), "--memory", self._memory, "--work-dir", str(self.folder / "work"))
        added = [self._start("Worker", "--port", "0", *words, self.url) for _ in range(number)]
        self.workers += added
        for worker in added:
            worker.wait_for(r"(Successfully registered with master)")

    def kill_worker(self, worker: Daemon) -> None:
        """The machine is gone: the worker, its executors and their Python processes, without a word."""
        self.workers.remove(worker)
        kill_session(worker.process)

    def state(self) -> dict[str, Any]:
        """What the master says of its workers and applications."""
        with urllib.request.urlopen(f"{self._page}/json/", timeout=60) as answer:  # noqa: S310  our own master
            told: dict[str, Any] = json.load(answer)
        return told

    def applications(self) -> list[str]:
        """The names of the applications that are running."""
        return [application["name"] for application in self.state()["activeapps"]]

    def stop(self) -> None:
        """End everything."""
        for daemon in [*self.workers, self._master]:
            kill_session(daemon.process)

    def _start(self, kind: str, *words: str) -> Daemon:
        self._started += 1
        log = self.folder / f"{kind}-{self._started}.log"
        command = [str(spark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind.lower()}.{kind}"]
        with log.open("wb") as file:
            process = subprocess.Popen(  # noqa: S603 (our own words)
                [*command, "--host", "127.0.0.1", "--webui-port", "0", *words],
                env=spark_environment(
                    SPARK_CONF_DIR=str(self.folder),
                    SPARK_DAEMON_MEMORY="256m",
                    # Executors write here too, and are killed with their worker: nothing is left behind.
                    SPARK_LOCAL_DIRS=str(self.folder),
                    SPARK_DAEMON_JAVA_OPTS=QUICK_JAVA,
                    SPARK_MASTER_OPTS="-Dspark.master.rest.enabled=false",
                ),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return Daemon(process=process, log=log)


@contextmanager
def running_cluster(*, workers: int = 2, cores: int = 1, memory: str = "1g") -> Iterator[Cluster]:
    """A running cluster, ended and removed afterwards, whatever happens."""
    if find_java() is None:
        raise FileNotFoundError(MISSING)
    folder = Path(tempfile.mkdtemp(prefix="hushcount-spark-"))
    try:
        cluster = Cluster(folder, cores=cores, memory=memory)
        try:
            cluster.add_workers(workers)
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
