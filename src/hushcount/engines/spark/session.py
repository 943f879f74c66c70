"""A Spark session: the one that is there or a new one; its failures in our words; and one question watched over.

A session may belong to somebody else: none of its settings are changed, and it is never stopped here.
"""

from __future__ import annotations

import atexit
import importlib
import itertools
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from hushcount.errors import InvalidParameter, MissingExtra, UnreadableSource

Session: TypeAlias = Any  # pyspark.sql.SparkSession; pyspark is imported only where it is used
_Context: TypeAlias = Any  # pyspark.SparkContext
_T = TypeVar("_T")

_JAVA = "Java 17"
_GET_JAVA = "apt-get install openjdk-17-jre-headless, or set JAVA_HOME to where it is"
# How long a master may take to accept a connection. Spark itself would go on trying for minutes.
_PATIENCE = 10.0
# On one machine, partitions for each core: more only cost, fewer leave cores without work at the end.
_PARTITIONS_FOR_EACH_CORE = 4
# Progress is told after one second, then less and less often, so that hours do not fill a log.
_FIRST_WORD, _LAST_WORD = 1.0, 15.0
_questions = itertools.count(1)
_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


def open_session(master: str | None = None) -> Session:
    """The active session, or a new one.

    Args:
        master: the address of a cluster, or local[*]. None: the session's own, or that of spark-submit or of Spark's
            configuration, or SPARK_MASTER, or else local[*].

    Raises:
        MissingExtra: pyspark, pyarrow or Java is not installed.
        InvalidParameter: another master than that of the session that is there.
        UnreadableSource: the cluster cannot be reached, or Spark cannot start.
    """
    found = _active()
    if found is None:
        return _started(master)
    own = found.sparkContext.master
    if master is not None and master != own:
        raise InvalidParameter("master", master, f"left out, or {own!r}", "A Spark session of that master is running.")
    return found


def _active() -> Session | None:
    return require_pyspark().SparkSession.getActiveSession()


def require_pyspark() -> Any:  # noqa: ANN401  the module pyspark.sql
    """The module, if it is installed."""
    try:
        from pyspark import sql

        # Without these Spark hands nothing to Python.
        importlib.import_module("pandas")
        importlib.import_module("pyarrow")
    except ImportError as error:
        package = error.name if error.name in {"pandas", "pyarrow"} else "pyspark"
        raise MissingExtra(package, "pip install 'hushcount[spark]'") from None
    return sql


def _started(master: str | None) -> Session:
    from pyspark import SparkConf

    if "PYSPARK_GATEWAY_PORT" not in os.environ and not _finds_java():
        raise MissingExtra(_JAVA, _GET_JAVA)
    master = master or os.environ.get("SPARK_MASTER")
    if master is not None:
        _check_reachable(master)

    def start() -> Session:
        conf = SparkConf()
        if master is not None:
            conf.set("spark.master", master)
        conf.setIfMissing("spark.master", "local[*]")
        conf.setIfMissing("spark.app.name", "hushcount")
        conf.setIfMissing("spark.log.level", "ERROR")
        conf.setIfMissing("spark.ui.showConsoleProgress", "false")
        if conf.get("spark.master", "").startswith("local"):
            conf.setIfMissing("spark.ui.enabled", "false")
            conf.setIfMissing("spark.sql.shuffle.partitions", str(_PARTITIONS_FOR_EACH_CORE * (os.cpu_count() or 1)))
        _check_reachable(conf.get("spark.master", ""))
        with quietly():
            return require_pyspark().SparkSession.builder.config(conf=conf).getOrCreate()

    session = attempt("Spark", start, hint=f"check the address of the master, and that {_JAVA} or newer is installed")
    if is_local(session) and "PYSPARK_PYTHON" not in os.environ:
        # Else Spark takes the first python3 of the path, which may not be this one.
        session.sparkContext.pythonExec = sys.executable
    return session


def _finds_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return shutil.which(str(Path(home) / "bin" / "java") if home else "java") is not None


def _check_reachable(master: str) -> None:
    """Refuse a standalone master that nobody answers for; other kinds are left to Spark."""
    if not master.startswith("spark://"):
        return
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        with suppress(OSError, ValueError), socket.create_connection((host, int(port)), timeout=_PATIENCE):
            return
    raise UnreadableSource(
        f"Spark's master {master} cannot be reached: nobody answers there; nothing was read or charged. "
        "Check the address and that the cluster is up"
    )


@contextmanager
def quietly() -> Iterator[None]:
    """Without the warning that Spark gives for a new pandas, of which nothing is used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        yield


def mapped(frame: Any, function: Callable[[Iterator[Any]], Iterator[Any]], schema: str) -> Any:  # noqa: ANN401  DataFrames
    """A DataFrame of what a Python function makes of a DataFrame's Arrow batches, partition by partition."""
    with quietly():
        return frame.mapInArrow(function, schema)


def literal_path(path: str) -> str:
    """A path in which Spark sees no pattern."""
    return "".join(f"\\{sign}" if sign in "*?[]{}\\" else sign for sign in path)


def is_local(session: Session) -> bool:
    """Whether everything runs in this one machine's process."""
    return str(session.sparkContext.master).startswith("local") and "local-cluster" not in session.sparkContext.master


def attempt(name: str, action: Callable[[], _T], *, hint: str = "") -> _T:
    """Do something with Spark; if it fails, say so without Spark's own words, which may quote values."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        return action()
    except (PySparkException, Py4JError, ConnectionError, RuntimeError) as error:
        kind = _kind(error)
    # Raised outside the handler, so that Spark's exception, with values and a Java trace, is not attached to it either.
    hint = hint or "look into the logs of the cluster, where the data may be seen"
    raise UnreadableSource(
        f"{name} cannot be read: Spark failed ({kind}; no values are shown: they are private); {hint}"
    )


def _kind(error: Exception) -> str:
    """The class of a failure as Spark names it: a fixed word, never a part of a message."""
    name = type(error).__name__
    condition = getattr(error, "getCondition", None)
    with suppress(Exception):
        found = condition() if condition is not None else None
        if isinstance(found, str) and found.replace("_", "").replace(".", "").isalnum():
            return f"{name}, {found}"
    return name


@contextmanager
def watched(session: Session, say: Callable[[str], None]) -> Iterator[Callable[[], None]]:
    """One question: its jobs in a group, progress told, and no job left running if it fails or is stopped.

    Gives what ends its jobs from any thread, also those that it has not begun yet.
    """
    context = session.sparkContext
    before = [context.getLocalProperty(name) for name in _GROUP]
    group = f"hushcount-{os.getpid()}-{next(_questions)}"
    context.setJobGroup(group, "hushcount", interruptOnCancel=True)
    over = threading.Event()
    teller = threading.Thread(target=_tell, args=(context, group, say, over), daemon=True)
    if shows_progress(session):
        # Two bars on one terminal would write over each other.
        say("")
        over.set()
    teller.start()
    try:
        with _plain_interrupts():
            yield lambda: _cancel(context, group)
    except BaseException:
        # Also on KeyboardInterrupt: a job that nobody waits for must not go on reading.
        _cancel(context, group)
        raise
    finally:
        over.set()
        teller.join(timeout=_LAST_WORD)
        for name, value in zip(_GROUP, before, strict=True):
            with suppress(Exception):
                context.setLocalProperty(name, value)


def shows_progress(session: Session) -> bool:
    """Whether Spark itself draws on the terminal how far it is."""
    shown: str = session.sparkContext.getConf().get("spark.ui.showConsoleProgress", "false")
    return shown.lower() == "true"


def _cancel(context: _Context, group: str) -> None:
    """End the jobs of a question, also one that another thread submits in this very moment or later.

    Python's own `cancelJobGroup` misses those. What does not is Java's alone; no group's name is ever used again.
    """
    try:
        context._jsc.sc().cancelJobGroupAndFutureJobs(group)  # noqa: SLF001 (the only way there)
    except Exception:  # noqa: BLE001 (a Spark without it, or a session that is gone)
        with suppress(Exception):
            context.cancelJobGroup(group)


@contextmanager
def _plain_interrupts() -> Iterator[None]:
    """Ctrl-C stops this question alone, without words of Spark's own.

    Spark's handler would cancel all jobs of the session, also those of others, and fails where it interrupts a call to
    Java; the bridge to Java then prints traces.
    """
    loggers = [logging.getLogger(name) for name in (None, "py4j", "py4j.java_gateway", "py4j.clientserver")]
    for logger in loggers:
        logger.addFilter(_not_of_bridge)
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.default_int_handler) if main else None
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGINT, before)
        for logger in loggers:
            logger.removeFilter(_not_of_bridge)


def _not_of_bridge(record: logging.LogRecord) -> bool:
    return record.module not in {"java_gateway", "clientserver"}


def _tell(context: _Context, group: str, say: Callable[[str], None], over: threading.Event) -> None:
    pause, last = _FIRST_WORD, ""
    while not over.wait(pause):
        with suppress(Exception):  # a session that is stopped meanwhile has nothing to tell
            word = progress(context, group)
            if word and word != last:
                say(word)
                last, pause = word, min(2 * pause, _LAST_WORD)


def progress(context: _Context, group: str) -> str:
    """How far the running stages of a group's jobs are; empty if none runs."""
    tracker = context.statusTracker()
    running = set(tracker.getActiveStageIds())
    jobs = [job for job in map(tracker.getJobInfo, tracker.getJobIdsForGroup(group)) if job is not None]
    own = running & {int(stage) for job in jobs for stage in job.stageIds}
    stages = [stage for stage in map(tracker.getStageInfo, sorted(own)) if stage is not None]
    if not stages:
        return ""
    done, tasks = sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
    return f"Spark: {done:,} of {tasks:,} tasks of stage {max(own)}"


_shipped: set[str] = set()
_shipping = threading.Lock()


def ship_package(session: Session) -> None:
    """Give the workers of a cluster this very version of hushcount, so that they compute the same functions.

    Python, NumPy, pyarrow and cryptography must be there already.
    """
    context = session.sparkContext
    with _shipping:
        if is_local(session) or context.applicationId in _shipped:
            return
        package = Path(__file__).resolve().parents[2]
        folder = tempfile.mkdtemp(prefix="hushcount-")
        # Workers that join later fetch it too, so it stays as long as this process does.
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        archive = Path(folder) / "hushcount.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(package.rglob("*.py")):
                file.write(path, path.relative_to(package.parent))
        attempt("Spark", lambda: context.addPyFile(str(archive)))
        _shipped.add(context.applicationId)
