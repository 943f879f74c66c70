"""Questions to Spark in a service: they have the store's time, and no more."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from hushcount.app.serving.data.loans import Loan
from hushcount.app.serving.data.shelves import Access
from hushcount.app.serving.data.stores import Stores
from hushcount.app.serving.jobs.tasks import Order, Task
from hushcount.app.serving.problems import Problem
from hushcount.app.serving.questions import queries
from hushcount.engines.engine import Distributed, asking
from hushcount.engines.spark import engine as spark_engine
from hushcount.engines.spark.session import quietly
from hushcount.errors import StoreTimeout, UnreadableSource
from hushcount.ledger.sql import SqlLedger
from hushcount.model.queries import Selection
from tests.local_spark import local_spark
from tests.unit.app.serving.made_store import made_offer
from tests.unit.app.serving.services import ZOE, make_config, running_service

ASKED = Selection(user="user", item="item")
TOP = Task(dataset="events", question="top", said={"item": "article", "k": 5})


def slowly(frame):
    """A frame each of whose rows takes a second."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import BooleanType

    def wait(_):
        time.sleep(1)
        return True

    with quietly():
        return frame.where(F.udf(wait, BooleanType())(frame.columns[0]))


def running_stages(session):
    """How many stages of Spark run."""
    return len(session.sparkContext.statusTracker().getActiveStageIds())


def test_a_slow_question_is_given_up_and_nothing_runs_on():
    """At the deadline whoever waits is freed with the store's name, and Spark reads no more for it."""
    session = local_spark()
    rows = session.createDataFrame([(f"u{n}", f"i{n % 3}") for n in range(80)], "user string, item string")
    stores = Stores(Access(open=lambda offer: spark_engine.open_spark(slowly(rows)), stamp=lambda *_: None))
    offer = made_offer("/nowhere", kind="spark", timeout=timedelta(seconds=3))
    with stores.lend(offer) as engine:
        assert isinstance(engine, Distributed)
    with (
        pytest.raises(StoreTimeout, match="'logs' did not answer within 3 s") as refused,
        stores.lend(offer) as engine,
        asking(engine, lambda _: None),
    ):
        engine.histogram(ASKED, top=5)

    assert refused.value.__cause__ is None
    until = time.monotonic() + 30
    while running_stages(session):
        assert time.monotonic() < until
        time.sleep(0.1)
    assert stores.load(offer) == (0, 0)
    stores.close()


def test_a_failure_in_time_stays_what_it_is():
    """Only what the deadline ended is called late."""
    session = local_spark()
    rows = session.createDataFrame([("u", "i")], "user string, item string")
    stores = Stores(Access(open=lambda offer: spark_engine.open_spark(rows), stamp=lambda *_: None))
    offer = made_offer("/nowhere", kind="spark", timeout=timedelta(seconds=60))
    with (
        pytest.raises(UnreadableSource, match="broken"),
        stores.lend(offer) as engine,
        asking(engine, lambda _: None),
    ):
        raise UnreadableSource("broken")
    with stores.lend(offer) as engine, asking(engine, lambda _: None):
        assert engine.histogram(ASKED, top=5).counts.tolist() == [1]
    stores.close()


def late_once_touched(monkeypatch):
    """Let the deadline of a question come a second after its reservation says that data is read."""
    touched, touch, stop = threading.Event(), SqlLedger.touch, Loan._stop  # noqa: SLF001

    def touching(ledger, held):
        touch(ledger, held)
        touched.set()

    def stopping(loan, thread, over, stopped):
        while not touched.is_set() and not over.wait(0.02):
            pass
        loan._until = time.monotonic() + 1  # noqa: SLF001
        stop(loan, thread, over, stopped)

    monkeypatch.setattr(SqlLedger, "touch", touching)
    monkeypatch.setattr(Loan, "_stop", stopping)


def test_a_service_tells_that_a_late_question_was_charged(tmp_path, monkeypatch):
    """Data was read for it: `store-timeout`, charged; none of Spark's words."""
    local_spark()
    config = make_config(tmp_path)
    store = replace(config.stores[0], kind="spark", timeout=timedelta(seconds=60))
    with running_service(replace(config, stores=(store,))) as service:
        late_once_touched(monkeypatch)
        real = spark_engine.select_rows
        monkeypatch.setattr(spark_engine, "select_rows", lambda *given, **more: slowly(real(*given, **more)))
        job = queries.release(service, ZOE, Order(tasks=(TOP,)), key="late")
        service.runner.under_way(job.id).result(120)
        found = service.ledger.jobs.find(job.id)
        problem = Problem.from_text(found.outcome)

        assert (found.state, problem.code, problem.charged) == ("failed", "store-timeout", True)
        assert "stays charged" in problem.detail
        assert service.ledger.recall("zoe", "late") is not None
