"""The Spark engine where things go wrong: what is missing, unreachable, broken, changed or stopped."""

from __future__ import annotations

import builtins
import socket
import threading
import time
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushcount
from hushcount.app.wiring import open_engine
from hushcount.engines.spark import session as spark_session
from hushcount.engines.spark.engine import open_spark
from hushcount.errors import (
    InvalidInput,
    InvalidParameter,
    MissingExtra,
    UnknownColumn,
    UnreadableSource,
)
from hushcount.model.inputs import Histogram
from hushcount.model.queries import Selection
from tests.local_spark import local_spark

SELECTION = Selection(user="user", item="item")
CANARY = "Ada Lovelace, 1815"


def frame(**columns):
    """A small DataFrame."""
    return local_spark().createDataFrame(pa.table(columns))


def test_missing_pyspark_is_told(monkeypatch):
    """With the command that gets it."""
    imported = builtins.__import__

    def without(name, *more):
        if name.partition(".")[0] == "pyspark":
            raise ModuleNotFoundError(name, name=name)
        return imported(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra) as caught:
        open_spark("events.parquet")

    assert str(caught.value) == (
        "this needs the package 'pyspark', which is not installed; get it with: pip install 'hushcount[spark]'"
    )


def test_missing_java_is_told(monkeypatch, tmp_path):
    """Before anything is started."""
    monkeypatch.setattr(spark_session, "_active", lambda: None)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MissingExtra, match="'Java 17', which is not installed; get it with: apt-get install"):
        spark_session.open_session()


def test_an_unreachable_master_is_told(monkeypatch):
    """At once, and for every address that was named."""
    monkeypatch.setattr(spark_session, "_active", lambda: None)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]  # bound and not listened to: nobody answers
        begun = time.monotonic()
        with pytest.raises(
            UnreadableSource, match="cannot be reached: nobody answers there; nothing was read or charged"
        ):
            spark_session.open_session(f"spark://127.0.0.1:{port},127.0.0.1:{port}")

    assert time.monotonic() - begun < 25


def test_another_master_than_the_sessions_is_refused():
    """A running session is never replaced."""
    local_spark()
    with pytest.raises(InvalidParameter, match=r"it must be left out, or 'local\[2\]'"):
        spark_session.open_session("spark://elsewhere:7077")


def test_files_with_other_columns_are_refused(tmp_path):
    """Spark would fill up the missing column and say nothing."""
    local_spark()
    pq.write_table(pa.table({"user": [1], "item": ["x"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"user": [1], "thing": ["x"]}), tmp_path / "b.parquet")
    with pytest.raises(UnreadableSource, match="its files do not have the same columns"):
        open_spark(tmp_path)


def test_what_spark_cannot_read_is_refused(tmp_path):
    """Broken Parquet, other objects, missing files and tables, addresses of servers, which are not repeated."""
    local_spark()
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(UnreadableSource, match="not whole Parquet"):
        open_spark(tmp_path / "broken.parquet")
    with pytest.raises(InvalidParameter, match="a Spark DataFrame, a file name or a table"):
        open_spark(7)
    with pytest.raises(UnreadableSource, match="there is no such file"):
        open_spark(tmp_path / "nothing.parquet")
    with pytest.raises(UnreadableSource, match=r"the table 'nothing\.here' cannot be read"):
        open_spark("nothing", table="here")
    for scheme in ("postgresql", "jdbc:postgresql", "s3a"):
        with pytest.raises((InvalidParameter, UnreadableSource)) as caught:
            open_spark(f"{scheme}://me:hidden@host/db.parquet")
        assert "hidden" not in str(caught.value)
        assert caught.value.__context__ is None


def test_columns_are_checked():
    """A missing column is told with the nearest; nested ones and two of one name are refused."""
    engine = open_spark(frame(user=[1], item=[["x"]], Item=["y"]))
    with pytest.raises(UnknownColumn, match="Did you mean 'user'"):
        engine.histogram(Selection(user="usr", item="Item"))
    with pytest.raises(InvalidInput, match="column 'item' holds lists or objects"):
        engine.histogram(SELECTION)
    assert engine.histogram(Selection(user="user", item="Item"), top=1).items.tolist() == ["y"]
    with pytest.raises(InvalidInput, match="two columns of the same name"):
        open_spark(frame(user=[1], item=["x"]).toDF("user", "user"))


def _failing(canary):
    def fail(block):
        raise ValueError(canary + str(block))

    return fail


def test_a_failed_job_tells_no_values():
    """Neither in its message nor attached to it; not from Python on a worker, nor from Java."""
    from pyspark.sql import functions as F

    engine = open_spark(frame(user=[1, 2], item=[CANARY, CANARY]))
    broken = frame(user=[1], item=[CANARY]).withColumn("item", F.raise_error(F.col("item")).cast("string"))
    for action in (
        lambda: engine.histogram(SELECTION).each(_failing(CANARY)),
        lambda: open_spark(broken).histogram(SELECTION, top=1),
        lambda: open_spark(broken).fingerprint(b"key"),
    ):
        with pytest.raises(UnreadableSource, match="Spark failed") as caught:
            action()

        assert "Lovelace" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None


def test_data_that_changes_meanwhile_is_refused(tmp_path):
    """Files by their stamp; frames by reading them again. Nothing stays in Spark's memory."""
    spark = local_spark()
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"user": [1], "item": ["x"]}), path)
    engine = open_spark(path)
    with pytest.raises(UnreadableSource, match="changed since it was opened"), engine.asking(str):
        _read_and_write(engine, path)
    view = open_spark(_unsteady(spark))
    view.fingerprint(b"key")
    with pytest.raises(UnreadableSource, match="the DataFrame changed since it was opened"), view.asking(str):
        view.histogram(SELECTION, top=1)

    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0  # noqa: SLF001


def _read_and_write(engine, path):
    engine.incidence(SELECTION)
    pq.write_table(pa.table({"user": [1, 2], "item": ["x", "y"]}), path)


def _unsteady(spark):
    from pyspark.sql import functions as F

    # New values each time that it is read.
    with spark_session.quietly():
        fresh = F.udf(lambda: uuid4().hex).asNondeterministic()
        return spark.range(5).select(F.col("id").alias("user"), fresh().alias("item"))


def _slow(block):
    time.sleep(60)
    return block.items, block.counts


def test_a_stopped_question_leaves_no_job():
    """Progress is told while it runs; when it is stopped, its jobs are, and the session's own job group is back."""
    spark = local_spark()
    context = spark.sparkContext
    context.setLocalProperty("spark.jobGroup.id", "of the owner")
    engine, told, stopped = open_spark(frame(user=[1, 2], item=["x", "y"])), [], threading.Event()

    def interrupt():
        while not any("Spark" in word for word in told) and not stopped.wait(0.2):
            pass
        assert context.statusTracker().getActiveJobsIds()
        context.cancelAllJobs()  # what a keyboard interrupt does first

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(UnreadableSource, match="Spark failed"), engine.asking(told.append):
        engine.histogram(SELECTION).each(_slow)
    stopped.set()
    thread.join()

    assert told[0].startswith("Spark: 0 of ")
    assert list(context.statusTracker().getActiveJobsIds()) == []
    assert context.getLocalProperty("spark.jobGroup.id") == "of the owner"
    context.setLocalProperty("spark.jobGroup.id", None)


def test_an_interrupt_cancels_the_group(tmp_path):
    """Also a job that another thread waits for."""
    engine, errors, begun = open_spark(frame(user=[1, 2], item=["x", "y"])), [], str(tmp_path / "begun")

    def slow(block):
        Path(begun).touch()
        return _slow(block)

    from pyspark import InheritableThread

    def ask():
        try:
            engine.histogram(SELECTION).each(slow)
        except UnreadableSource as error:
            errors.append(error)

    thread = InheritableThread(target=ask)
    with pytest.raises(KeyboardInterrupt):
        _interrupted(engine, thread, Path(begun))
    thread.join(timeout=50)

    assert not thread.is_alive()
    assert len(errors) == 1


def test_a_job_that_comes_after_the_interrupt_is_cancelled_too():
    """A thread of the question that submits its job just too late: the job fails. Before, it ran to its end."""
    from py4j.protocol import Py4JJavaError
    from pyspark import InheritableThread

    context, told, stopped = local_spark().sparkContext, [], threading.Event()

    def late():
        stopped.wait(30)
        try:
            told.append(context.parallelize(range(4), 2).count())
        except Py4JJavaError as error:
            told.append("cancelled" if "cancelled" in str(error) else str(error))

    thread = InheritableThread(target=late)
    with pytest.raises(KeyboardInterrupt):
        _stopped_early(thread)
    stopped.set()
    thread.join(timeout=50)

    assert told == ["cancelled"]
    assert context.parallelize(range(4), 2).count() == 4


def _stopped_early(thread):
    with spark_session.watched(local_spark(), str):
        thread.start()
        raise KeyboardInterrupt


def _interrupted(engine, thread, begun):
    with engine.asking(str):
        thread.start()
        # A question is several jobs, one after the other: the last one must be there.
        while not begun.exists():
            time.sleep(0.1)
        raise KeyboardInterrupt


def test_blocks_and_empty_partitions_are_one_answer():
    """Blocks of two items give what one block gives; no data gives nothing."""
    spark = local_spark()
    before = spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    engine = open_spark(frame(user=list(range(9)), item=[f"i{n % 5}" for n in range(9)]))
    try:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "2")
        items, counts = engine.histogram(SELECTION).each(_same)
    finally:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", before)
    whole = engine.histogram(SELECTION, top=9)

    assert dict(zip(items, counts, strict=True)) == dict(zip(whole.items, whole.counts, strict=True))
    none = open_spark(frame(user=pa.array([], pa.int64()), item=pa.array([], pa.string())))
    assert [len(part) for part in none.histogram(SELECTION).each(_same)] == [0, 0]
    assert none.histogram(SELECTION, top=3).complete


def _same(block):
    assert isinstance(block, Histogram)
    assert len(block.items) <= 2
    return block.items, block.counts


@pytest.fixture(autouse=True)
def _steps_travel_by_value():
    """Workers know nothing of this module."""
    import sys

    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def test_a_spark_frame_is_known_by_itself(tmp_path, monkeypatch):
    """`hushcount.count(frame, ...)` needs no word about Spark; policies are refused before anything is paid."""
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    data = frame(user=list(range(400)), item=["often"] * 399 + ["once"])
    release = hushcount.vocab(
        data, user="user", item="item", max_items_per_user=2, ledger=str(tmp_path / "ledger.sqlite")
    )

    assert release.items.tolist() == ["often"]
    with pytest.raises(InvalidParameter, match="its choice for each depends on all before"):
        hushcount.vocab(data, user="user", item="item", method="policy-gaussian", ledger=str(tmp_path / "other.sqlite"))
    with pytest.raises(InvalidParameter, match="'spark' for data that Spark holds"):
        open_engine(data, "duckdb")
    with pytest.raises(InvalidParameter, match="left out unless Spark reads the data"):
        open_engine(tmp_path / "x.parquet", "duckdb", master="local[2]")
