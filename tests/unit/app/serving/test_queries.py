"""Questions of a service: priced, rehearsed, released once, repeated for nothing, refused with help."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from hushcount.accounting import zcdp
from hushcount.app.budgets import make_limit
from hushcount.app.release import Release
from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.data.loans import LentEngine
from hushcount.app.serving.jobs import answering
from hushcount.app.serving.jobs.tasks import Order, Task
from hushcount.app.serving.questions import queries, releases
from hushcount.app.serving.questions.refusals import refused
from hushcount.app.serving.setup.config import Timing
from hushcount.errors import (
    BudgetExhausted,
    Busy,
    InvalidParameter,
    KeyReused,
    NotFound,
    NotPermitted,
    OverMaxCost,
    StoreFailed,
    StoreIncomplete,
)
from hushcount.ledger.jobs import Job, NewJob
from hushcount.ledger.ledger import Account
from tests.unit.app.serving.services import ADAM, NOBODY, OLGA, ZOE, make_config, running_service

TOP = Task(dataset="events", question="top", said={"item": "article", "k": 5})
COUNT = Task(dataset="events", question="count", said={"item": "article", "where": "country = 'NZ'"})


@pytest.fixture
def service(tmp_path):
    """A service of its own for each test."""
    with running_service(make_config(tmp_path)) as made:
        yield made


def order(task, **more):
    """One question."""
    return Order(tasks=(task,), **more)


def ended(service, job):
    """The job once it has ended."""
    done = service.runner.under_way(job.id)
    if done is not None:
        done.result(60)
    return service.ledger.jobs.find(job.id)


def released(service, caller, task, key):
    """The release of a question."""
    job = ended(service, queries.release(service, caller, order(task), key=key))
    assert job.state == "done", job.outcome
    (found,) = releases.answered(service, job)
    return found


@pytest.mark.parametrize("epsilon", [1, 2, 4])
def test_names_are_priced_and_answered_at_an_epsilon(service, epsilon):
    """Planned for the ledger's Renyi orders, and not for the fewer ones that its own epsilon needs."""
    task = Task(dataset="events", question="vocab", said={"item": "article", "epsilon": epsilon, "delta": "1e-5"})
    form = queries.price(service, ZOE, task)
    release = Release.from_bytes(released(service, ZOE, task, "one").stored.payload)

    assert form["cost"]["expert"]["rho"] == str(zcdp.spent(release.cost).rho)
    assert form["expected"]["cutoff"] == release.cutoff
    assert release.cost.order >= service.ledger.order


def test_a_price_costs_nothing_and_reads_nothing(service):
    """All that is shown is public."""
    form = queries.price(service, ZOE, TOP)

    assert form["cost"]["releases"] == 1.0
    assert form["fits"]
    assert form["left"]["like_this"] == 10
    assert form["translation"]["fetches"] == 1001
    assert form["free"] is None
    assert form["question"] == "the 5 articles that most user_ids have"
    assert [one["change"] for one in form["cheaper"]] == [{"preset": "cautious"}]
    assert not service.ledger.jobs.page(analyst=None)
    json.dumps(form)


def test_a_release_is_charged_once_and_repeated_for_nothing(service):
    """The same bytes under another key, for nothing; for a colleague at their own price."""
    first = released(service, ZOE, TOP, "one")
    again = released(service, ZOE, TOP, "two")
    other = released(service, ADAM, TOP, "one")

    assert first.stored.payload == again.stored.payload == other.stored.payload
    assert first.release.counts[0] == pytest.approx(4000, abs=200)
    costs = [releases.cost_form(one) for one in (first, again, other)]
    assert [cost["repeated"] for cost in costs] == [False, True, True]
    assert costs[0]["releases"] > 0
    assert costs[1]["releases"] == 0
    assert costs[2]["releases"] == costs[0]["releases"]
    assert queries.price(service, ZOE, TOP)["free"] is not None
    assert not service.ledger.verify().problems


def test_what_is_the_callers_already_is_there_when_the_question_is_taken(service, monkeypatch):
    """No thread is waited for and no store is asked; what a colleague paid for runs like any other."""
    released(service, ZOE, TOP, "one")
    monkeypatch.setattr(LentEngine, "histogram", None)

    assert queries.release(service, ZOE, order(TOP), key="two").state == "done"
    assert queries.release(service, ZOE, order(TOP), key="two").state == "done"
    theirs = queries.release(service, ADAM, order(TOP), key="two")
    assert theirs.state == "running"
    assert ended(service, theirs).state == "done"


def test_the_same_key_joins_the_same_job(service):
    """However often, from however many threads; with another question it is refused."""
    with ThreadPoolExecutor(16) as pool:
        jobs = list(pool.map(lambda _: queries.release(service, ZOE, order(TOP), key="k"), range(32)))
    assert len({job.id for job in jobs}) == 1
    assert ended(service, jobs[0]).state == "done"

    with pytest.raises(KeyReused):
        queries.release(service, ZOE, order(COUNT), key="k")
    # Keys are each caller's own.
    assert queries.release(service, ADAM, order(COUNT), key="k").id != jobs[0].id


def test_two_who_ask_the_same_at_once_make_one_run(service):
    """The second waits for the first and is given its answer."""
    callers = (ZOE, ADAM)
    with ThreadPoolExecutor(2) as pool:
        jobs = list(pool.map(lambda caller: queries.release(service, caller, order(COUNT), key="same"), callers))
    # The second is taken up by this worker as soon as the first has ended, or by its heartbeat.
    end = time.monotonic() + 60
    while {service.ledger.jobs.find(job.id).state for job in jobs} != {"done"} and time.monotonic() < end:
        time.sleep(0.02)
    answers = [releases.answered(service, service.ledger.jobs.find(job.id))[0] for job in jobs]

    assert answers[0].stored.payload == answers[1].stored.payload
    assert sorted(one.stored.repeated for one in answers) == [False, True]


def test_what_may_cost_too_much_is_refused(service):
    """Before anything is held."""
    with pytest.raises(OverMaxCost, match="Nothing was charged"):
        queries.release(service, ZOE, order(TOP, most="0.5"), key="a")
    with pytest.raises(InvalidParameter):
        queries.release(service, ZOE, order(TOP, most="nan"), key="a")
    assert ended(service, queries.release(service, ZOE, order(TOP, most="1"), key="a")).state == "done"


def limited(service, releases):
    """Let all of the data's questions cost so much a month."""
    entity = service.ledger.catalog.find("events", by="olga").population
    limit = make_limit({"releases": releases}, window="month", mode="enforce")
    service.ledger.set_limit(Account(kind="dataset", name=entity, entity=entity), limit, by="olga")


def test_a_refusal_helps(service):
    """What was asked, what is left, what would fit, whom to ask."""
    limited(service, "1.5")
    released(service, ZOE, TOP, "first")
    with pytest.raises(BudgetExhausted) as told:
        queries.release(service, ZOE, order(COUNT), key="last")

    form = refused(service, ZOE, told.value, dataset="events").to_form()
    assert form["code"] == "budget-exhausted"
    assert form["charged"] is False
    assert form["asked"] == {"releases": 1.0}
    assert 0 < form["left"]["releases"] < 1
    assert form["short"] == ["the data's shared budget"]
    assert "olga" in form["ask"]["owners"]
    json.dumps(form)


def test_who_has_no_role_sees_nothing(service):
    """What is not shared and what is not there look the same."""
    told = []
    for caller, name in ((NOBODY, "events"), (NOBODY, "nothing"), (ZOE, "nothing")):
        with pytest.raises(NotFound) as error:
            queries.price(service, caller, Task(dataset=name, question="count", said={"item": "article"}))
        told.append(str(error.value))
    assert len(set(told)) == 1


def test_a_reader_may_price_and_not_release(service):
    """And an auditor may neither."""
    service.ledger.grant("rita", "reader", by="olga")
    rita = Caller(name="rita")
    assert queries.price(service, rita, TOP)["fits"]
    with pytest.raises(NotPermitted):
        queries.release(service, rita, order(TOP), key="a")


def test_others_jobs_are_not_there(service):
    """An owner sees them."""
    job = queries.release(service, ZOE, order(TOP), key="a")

    assert queries.find(service, OLGA, job.id).id == job.id
    for caller in (NOBODY, ADAM):
        with pytest.raises((NotFound, NotPermitted)):
            queries.find(service, caller, job.id)


def test_fresh_noise_is_new_and_paid_again(service):
    """Each time."""
    fresh = Task(dataset="events", question="count", said={"item": "article", "fresh": True})
    one, two = (released(service, ZOE, fresh, key) for key in ("a", "b"))

    assert one.stored.payload != two.stored.payload
    assert releases.cost_form(two)["releases"] > 0


def asked_together(count):
    """So many questions at once."""
    wheres = [f"country = '{place}'" for place in range(count)]
    return Order(
        tasks=tuple(Task(dataset="events", question="count", said={"item": "article", "where": one}) for one in wheres)
    )


def test_a_batch_is_all_or_nothing(service):
    """Held together, or none of it is."""
    limited(service, "3.5")
    late = ended(service, queries.release(service, ZOE, asked_together(4), key="late"))
    assert late.state == "failed"
    assert json.loads(late.outcome)["code"] == "budget-exhausted"
    assert json.loads(late.outcome)["charged"] is False
    assert queries.price(service, ZOE, TOP)["left"]["like_this"] == 3

    job = ended(service, queries.release(service, ZOE, asked_together(3), key="batch"))
    assert job.state == "done"
    found = releases.answered(service, job)
    assert [one.id[-2:] for one in found] == ["-1", "-2", "-3"]
    assert not service.ledger.verify().problems


def test_a_stopping_service_leaves_its_jobs_to_others(tmp_path):
    """What one worker left, the next one answers."""
    config = make_config(tmp_path)
    with running_service(config) as first:
        first.runner.close(timedelta(0))
        with pytest.raises(Busy):
            queries.release(first, ZOE, order(TOP), key="a")


def test_what_passes_may_be_tried_again_under_its_key(service, monkeypatch):
    """A store that failed before anything was held: the same key is a new try, and one answer."""
    real, calls = answering.answer, []

    def failing(*given, **more):
        calls.append(1)
        if len(calls) == 1:
            raise StoreFailed("it was away")
        return real(*given, **more)

    monkeypatch.setattr(answering, "answer", failing)
    job = ended(service, queries.release(service, ZOE, order(TOP), key="a"))
    assert (job.state, json.loads(job.outcome)["code"]) == ("failed", "store-failed")
    again = queries.release(service, ZOE, order(TOP), key="a")

    assert again.id == job.id
    assert ended(service, again).state == "done"


def test_a_part_of_an_answer_is_asked_for_again_for_what_is_held(service, monkeypatch):
    """A store that gave a part after the worst case was held: the same key is a new try, one answer, one charge."""
    real, calls = LentEngine.histogram, []

    def failing(*given, **more):
        calls.append(1)
        if len(calls) == 1:
            raise StoreIncomplete("a server was away", point=5)
        return real(*given, **more)

    monkeypatch.setattr(LentEngine, "histogram", failing)
    job = ended(service, queries.release(service, ZOE, order(TOP), key="a"))
    told = json.loads(job.outcome)
    held = queries.price(service, ZOE, TOP)["left"]
    again = queries.release(service, ZOE, order(TOP), key="a")

    assert (job.state, told["code"], told["charged"]) == ("failed", "store-incomplete", True)
    assert "same key" in told["detail"]
    assert "a server was away" not in told["detail"]
    assert again.id == job.id
    assert ended(service, again).state == "done"
    assert queries.price(service, ZOE, TOP)["left"] == held
    assert not service.ledger.verify().problems


def test_a_receipt_tells_when_it_was_asked(service):
    """Not when it was made: that would tell how long it took."""
    found = released(service, ZOE, TOP, "one")

    assert found.release.receipt.made == found.job.made.isoformat(timespec="seconds")


def test_a_job_that_waited_here_and_that_another_worker_took_is_forgotten(service):
    """One that still waits is kept in mind; a worker that lives for months does not gather names."""
    runner, jobs = service.runner, service.ledger.jobs

    def begun(name, question):
        new = NewJob(id=name, analyst="zoe", key=name, dataset="d", body="{}", question=question)
        return jobs.begin(new, worker="elsewhere")[0]

    first, taken, stays = begun("q_1", "one"), begun("q_2", "one"), begun("q_3", "one")
    assert (taken.state, stays.state) == ("waiting", "waiting")
    runner.park(taken)
    runner.park(stays)
    jobs.finish(first.id, worker="elsewhere", state="done", outcome="{}")
    assert jobs.claim(taken.id, worker="elsewhere")
    until = time.monotonic() + 20
    while runner._parked.names != {stays.id}:  # noqa: SLF001
        assert time.monotonic() < until, runner._parked.names  # noqa: SLF001
        # As if a minute were over; again and again, since a look that was under way ends with a minute to go.
        runner._due = 0.0  # noqa: SLF001
        time.sleep(0.05)

    assert jobs.find(stays.id).state == "waiting"
    # Whoever has the other one tells that it lives, or this worker would take it up.
    jobs.stop(stays.id)
    jobs.finish(taken.id, worker="elsewhere", state="done", outcome="{}")


@pytest.mark.parametrize("asked_before", [False, True])
def test_what_comes_too_late_is_lost_whoever_asked_first(asked_before):
    """With a fixed delay: an answer that was there, and took longer when somebody asked first, is as late as it was."""
    made = datetime(2026, 11, 16, tzinfo=UTC)
    timing = Timing(kind="fixed", every=timedelta(seconds=10))
    service = SimpleNamespace(config=SimpleNamespace(privacy=SimpleNamespace(timing=timing, analysts="separate")))
    took = timedelta(seconds=0.1 if asked_before else 12)
    outcome = json.dumps({"shows": (made + timedelta(seconds=400)).isoformat()} if asked_before else {})
    seen = [
        queries.show(
            service,
            Job(
                id="q_1", analyst="zoe", key="k", dataset="d", body="{}", question="q", state="done", stage="",
                worker="w", stop=False, outcome=outcome, made=made, changed=made + took,
                read=made + timedelta(seconds=after),
            ),
        ).state
        for after in (9, 11, 401)
    ]  # fmt: skip

    assert seen == ["running", "failed", "failed"]


def test_a_store_is_free_for_the_next_one_before_an_answer_is_on_record(service, monkeypatch):
    """Writing an answer down takes a disk, and not the store: nobody waits for it in the store's line."""
    seen, settle = [], service.ledger.settle

    def settling(*given, **named):
        seen.append(service.stores.load(service.served.find("events")))
        return settle(*given, **named)

    monkeypatch.setattr(service.ledger, "settle", settling)
    released(service, ZOE, TOP, "k1")

    assert seen == [(0, 0)]


@pytest.mark.parametrize("timing", [Timing(kind="off"), Timing(kind="grid", every=timedelta(milliseconds=100))])
def test_what_ended_under_a_clock_set_ahead_is_seen_when_the_clock_is_right_again(service, timing):
    """Stopped while the clock stood three days ahead: who asks again is told at once, and not in three days."""
    made = datetime.now(UTC) - timedelta(seconds=30)
    job = Job(
        id="q_1",
        analyst="zoe",
        key="k",
        dataset="events",
        body="{}",
        question="q",
        state="cancelled",
        stage="",
        worker="",
        stop=True,
        outcome=None,
        made=made,
        changed=made + timedelta(days=3),
        read=made + timedelta(seconds=30),
    )
    told = SimpleNamespace(config=SimpleNamespace(privacy=SimpleNamespace(timing=timing, analysts="colleagues")))

    assert queries.show(told, job).state == "cancelled"
