"""Jobs: one key is one job, one question runs once, a silent worker's job is taken over once, on every store."""

from __future__ import annotations

import multiprocessing
import threading
from collections import Counter
from contextlib import suppress
from datetime import timedelta

import pytest

from hushcount.errors import InvalidParameter, KeyReused, NotFound
from hushcount.ledger.jobs import NewJob
from hushcount.ledger.sql import SqlLedger
from tests.conformance.ledgers.stores import OWNER, START, answered, ask

STALE = timedelta(seconds=30)


def new(name: str = "q_1", **changes) -> NewJob:
    """A job whose key, body and question are named after it."""
    said = {"id": name, "analyst": "ann", "key": name, "dataset": "visits", "body": f"body {name}", "question": name}
    return NewJob(**{**said, **changes})


@pytest.fixture
def jobs(ledger):
    """The jobs of a ledger."""
    return ledger.jobs


def at_once(count: int, deed) -> list:
    """What many threads got that did the same at one moment."""
    gate, got = threading.Barrier(count), []

    def do(number: int) -> None:
        gate.wait()
        got.append(deed(number))

    threads = [threading.Thread(target=do, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == count
    return got


def test_a_new_job_runs_at_once(jobs):
    """It is its worker's, and found as it was begun."""
    job, fresh = jobs.begin(new(), worker="w1")

    assert fresh
    assert (job.state, job.worker, job.stage, job.stop, job.outcome) == ("running", "w1", "", False, None)
    assert (job.id, job.analyst, job.key, job.dataset) == ("q_1", "ann", "q_1", "visits")
    assert (job.body, job.question, job.made, job.changed) == ("body q_1", "q_1", START, START)
    assert jobs.find("q_1") == job
    assert jobs.find("q_2") is None


def test_the_same_key_is_the_same_job(jobs):
    """Asked again under its key, a job is joined, whatever became of it; the id of the second is not used."""
    first, _ = jobs.begin(new(), worker="w1")
    second, fresh = jobs.begin(new("q_2", key="q_1", body="body q_1"), worker="w2")
    jobs.finish("q_1", worker="w1", state="done", outcome="{}")
    third, _ = jobs.begin(new("q_3", key="q_1", body="body q_1", question="newer data"), worker="w2")

    assert (second, fresh) == (first, False)
    assert (third.id, third.state) == ("q_1", "done")
    assert jobs.find("q_2") is None


def test_a_key_with_another_body_is_refused(jobs):
    """The same key for another question, or about other data, is a mistake; another analyst's key is their own."""
    jobs.begin(new(), worker="w1")
    for changed in ({"body": "other"}, {"dataset": "clicks"}):
        with pytest.raises(KeyReused, match="nothing was charged"):
            jobs.begin(new("q_2", **{"key": "q_1", "body": "body q_1", **changed}), worker="w1")

    assert jobs.begin(new("q_2", key="q_1", analyst="bob", body="other"), worker="w1")[1]


def test_the_same_question_waits(jobs):
    """While a question runs, the same of somebody else waits, and can be claimed once the first is finished."""
    jobs.begin(new(), worker="w1")
    job, fresh = jobs.begin(new("q_2", analyst="bob", question="q_1"), worker="w2")
    early = jobs.claim("q_2", worker="w2")
    unseen = jobs.waiting(stale=STALE)
    jobs.finish("q_1", worker="w1", state="done", outcome="{}")
    seen = jobs.waiting(stale=STALE)

    assert (job.state, job.worker, fresh) == ("waiting", "", True)
    assert (early, unseen) == (False, ())
    assert [one.id for one in seen] == ["q_2"]
    assert jobs.claim("q_2", worker="w3")
    assert (jobs.find("q_2").state, jobs.find("q_2").worker) == ("running", "w3")
    assert not jobs.claim("q_2", worker="w4")
    assert not jobs.claim("q_9", worker="w4")


def test_of_eight_threads_that_ask_the_same_one_runs(store, ledger):
    """Two ask at once: one run. Each thread is a service of its own, as in other processes."""
    ledgers = [store.open() for _ in range(8)]
    for turn in range(5):
        got = at_once(
            8,
            lambda n, turn=turn: ledgers[n].jobs.begin(
                new(f"q_{turn}_{n}", analyst=f"a{n}", question=f"same {turn}"), worker=f"w{n}"
            ),
        )

        assert Counter(job.state for job, _ in got) == {"running": 1, "waiting": 7}
        assert all(fresh for _, fresh in got)


def test_of_eight_threads_with_one_key_one_is_new(store, ledger):
    """A client that sends the same request eight times at once has one job."""
    ledgers = [store.open() for _ in range(8)]
    got = at_once(
        8,
        lambda n: ledgers[n].jobs.begin(new(f"q_{n}", key="k", body="b", question="q"), worker=f"w{n}"),
    )

    assert sorted(fresh for _, fresh in got) == [False] * 7 + [True]
    assert len({job.id for job, _ in got}) == 1


def begin_in_a_process(store, number: int, gate, results) -> None:
    """One process of the next test."""
    ledger = SqlLedger(store.database())
    gate.wait()
    job, _ = ledger.jobs.begin(new(f"q_{number}", analyst=f"a{number}", question="same"), worker=f"w{number}")
    ledger.close()
    results.put(job.state)


def test_of_eight_processes_that_ask_the_same_one_runs(store, ledger):
    """As with threads."""
    context = multiprocessing.get_context("fork")
    gate, results = context.Barrier(8), context.Queue()
    processes = [context.Process(target=begin_in_a_process, args=(store, n, gate, results)) for n in range(8)]
    for process in processes:
        process.start()
    states = Counter(results.get(timeout=60) for _ in processes)
    for process in processes:
        process.join()

    assert states == {"running": 1, "waiting": 7}


def test_a_silent_workers_job_is_taken_over_by_one(store, ledger, clock):
    """After its worker was silent for too long a job waits; of eight who want it one gets it, and the old one lost."""
    ledger.jobs.begin(new(), worker="dead")
    ledger.jobs.begin(new("q_2"), worker="alive")
    clock.forward(seconds=29)
    ledger.jobs.tell({}, worker="alive")
    early = ledger.jobs.waiting(stale=STALE)
    clock.forward(seconds=2)
    ledgers = [store.open(clock) for _ in range(8)]

    def take(number: int) -> list[bool]:
        mine = ledgers[number].jobs
        return [mine.claim(job.id, worker=f"w{number}") for job in mine.waiting(stale=STALE)]

    taken = at_once(8, take)
    job = ledger.jobs.find("q_1")

    assert early == ()
    assert sum(sum(got) for got in taken) == 1
    assert job.worker.startswith("w")
    assert not ledger.jobs.finish("q_1", worker="dead", state="done", outcome="{}")
    assert ledger.jobs.tell({"q_1": "counting"}, worker="dead") == ()
    assert ledger.jobs.find("q_1") == job
    assert ledger.jobs.finish("q_1", worker=job.worker, state="done", outcome='{"rows": 1}')
    assert ledger.jobs.find("q_2").worker == "alive"


def test_a_worker_that_died_under_a_clock_set_ahead_is_taken_over(jobs, clock):
    """Its last word is dated three days from now: without a second look nobody could go on before that."""
    jobs.begin(new(), worker="dead")
    jobs.begin(new("q_2"), worker="alive")
    clock.forward(days=3)
    jobs.tell({}, worker="dead")
    jobs.tell({}, worker="alive")
    clock.forward(days=-3)
    jobs.tell({}, worker="alive")

    assert [job.id for job in jobs.waiting(stale=STALE)] == ["q_1"]
    assert jobs.claim("q_1", worker="w3")
    assert jobs.find("q_2").worker == "alive"


def test_stages_are_told_and_wishes_heard(jobs, clock):
    """One call says that the worker lives, at which stage its jobs are, and hears which should stop."""
    for name in ("q_1", "q_2", "q_3"):
        jobs.begin(new(name), worker="w1")
    jobs.begin(new("q_4"), worker="w2")
    jobs.stop("q_2")
    jobs.stop("q_4")
    clock.forward(seconds=5)
    wished = jobs.tell({"q_1": "counting people", "q_2": "", "q_4": "not mine", "q_9": "nobody's"}, worker="w1")

    assert wished == ("q_2",)
    assert [jobs.find(f"q_{n}").stage for n in (1, 2, 3, 4)] == ["counting people", "", "", ""]
    assert jobs.find("q_1").changed == clock.now
    assert jobs.find("q_3").changed == START


def test_a_worker_that_leaves_lets_its_jobs_wait(jobs):
    """A graceful stop: others may claim at once, and the worker that left finishes nothing any more."""
    jobs.begin(new(), worker="w1")
    jobs.begin(new("q_2"), worker="w2")
    jobs.leave("w1")

    assert [job.id for job in jobs.waiting(stale=STALE)] == ["q_1"]
    assert not jobs.finish("q_1", worker="w1", state="done", outcome="{}")
    assert jobs.claim("q_1", worker="w2")
    assert jobs.find("q_2").state == "running"


def test_a_question_that_left_may_be_asked_by_somebody_else_first(jobs):
    """While a job waits after its worker left, the same question of another may run; then it waits for that."""
    jobs.begin(new(), worker="w1")
    jobs.leave("w1")
    job, _ = jobs.begin(new("q_2", question="q_1"), worker="w2")

    assert job.state == "running"
    assert jobs.waiting(stale=STALE) == ()
    assert not jobs.claim("q_1", worker="w3")


def test_stop(jobs):
    """A job that nobody ran is cancelled at once; one that was begun is told, since it may hold something."""
    jobs.begin(new(), worker="w1")
    jobs.begin(new("q_2", question="q_1"), worker="w1")
    waiting, running = jobs.stop("q_2"), jobs.stop("q_1")
    jobs.leave("w1")
    left = jobs.stop("q_1")
    (again,) = jobs.waiting(stale=STALE)

    assert (waiting.state, waiting.stop) == ("cancelled", True)
    assert (running.state, running.stop) == ("running", True)
    assert (left.state, left.stop) == ("waiting", True)
    assert (again.id, again.stop) == ("q_1", True)
    assert not jobs.claim("q_2", worker="w2")
    with pytest.raises(NotFound, match="Nothing was charged"):
        jobs.stop("q_9")


def test_what_is_finished_stays(jobs):
    """A second ending, a wish to stop and a worker that leaves change nothing; a job cannot end by waiting."""
    jobs.begin(new(), worker="w1")
    with pytest.raises(InvalidParameter, match="done, failed, cancelled"):
        jobs.finish("q_1", worker="w1", state="waiting", outcome="{}")
    first = jobs.finish("q_1", worker="w1", state="failed", outcome='{"code": "x"}')
    again = jobs.finish("q_1", worker="w1", state="done", outcome="{}")
    jobs.leave("w1")
    job = jobs.stop("q_1")

    assert (first, again) == (True, False)
    assert (job.state, job.outcome, job.stop) == ("failed", '{"code": "x"}', False)


def test_pages_are_newest_first(jobs, clock):
    """By the moment they came in, and by id where that is one; of one analyst, of one data set, before one of them."""
    for number in range(6):
        jobs.begin(
            new(f"q_{number}", analyst="ann" if number % 2 else "bob", dataset="visits" if number < 4 else "clicks"),
            worker="w1",
        )
        clock.forward(seconds=number % 2)
    everybody = [job.id for job in jobs.page(analyst=None)]
    first = jobs.page(analyst=None, size=2)
    rest = jobs.page(analyst=None, before=first[-1].id)

    assert everybody == [f"q_{number}" for number in (5, 4, 3, 2, 1, 0)]
    assert [job.id for job in (*first, *rest)] == everybody
    assert [job.id for job in jobs.page(analyst="ann")] == ["q_5", "q_3", "q_1"]
    assert [job.id for job in jobs.page(analyst="ann", dataset="visits", before="q_3")] == ["q_1"]
    assert jobs.page(analyst=None, before="never heard of") == ()


def test_jobs_go_by_the_stores_clock(server_store):
    """With PostgreSQL no machine's own clock is asked: silence is told by the server's."""
    server_store.found()
    ledger = SqlLedger(server_store.served())
    job, _ = ledger.jobs.begin(new(), worker="w1")

    assert ledger.jobs.waiting(stale=timedelta(hours=1)) == ()
    assert [one.id for one in ledger.jobs.waiting(stale=timedelta(0))] == ["q_1"]
    assert abs(job.made - START) > timedelta(days=1)
    ledger.close()


def test_a_job_leaves_the_chain_alone(ledger):
    """Jobs are no entries of the log: taking questions costs no link of the chain."""
    before = ledger.verify()
    ledger.jobs.begin(new(), worker="w1")
    ledger.jobs.finish("q_1", worker="w1", state="done", outcome="{}")

    assert ledger.verify() == before


def test_only_jobs_need_not_wait_for_the_disk(store, ledger):
    """After a job was noted, what is charged is on the disk again before it returns."""
    said = "PRAGMA synchronous" if store.kind == "sqlite" else "SHOW synchronous_commit"
    database = store.database()
    found = []
    for opened in (database.writing, database.jotting, database.writing):
        with opened() as rows:
            found.append(str(rows.fetch(said)[0][0]))
    with suppress(ZeroDivisionError), database.jotting() as rows:
        rows.write([("DELETE FROM jobs", ())])
        raise ZeroDivisionError
    with database.writing() as rows:
        found.append(str(rows.fetch(said)[0][0]))
    database.close()

    assert found == (["2", "1", "2", "2"] if store.kind == "sqlite" else ["on", "off", "on", "on"])


def test_what_is_charged_never_takes_the_short_way(store, ledger, monkeypatch):
    """No verb but those of jobs jots."""

    def refuse(_self):
        raise AssertionError("not durable")

    monkeypatch.setattr(type(store.database()), "jotting", refuse)
    answered(ledger, ask("q"))
    ledger.refund(ledger.reserve(ask("r")))
    ledger.records.put("wish", "w", {}, owner="ann", by="ann")
    ledger.grant("rae", "reader", dataset="visits", by=OWNER)

    with pytest.raises(AssertionError, match="not durable"):
        ledger.jobs.begin(new(), worker="w1")


def test_a_long_question_is_one_question(jobs):
    """A question with a long public list is told from others and from none; its body is kept as it is."""
    long = "x" * 100_000
    first, _ = jobs.begin(new(body=long, question=f"{long} 1"), worker="w1")
    same, _ = jobs.begin(new("q_2", question=f"{long} 1"), worker="w1")
    other, _ = jobs.begin(new("q_3", question=f"{long} 2"), worker="w1")
    odd, _ = jobs.begin(new("q_4", question="\x00\ud800"), worker="w1")

    assert [job.state for job in (first, same, other, odd)] == ["running", "waiting", "running", "running"]
    assert jobs.find("q_1").body == long


@pytest.mark.parametrize("odd", ["\x00", "\ud800", "a\nb", ""])
def test_what_is_no_name_is_not_found(ledger, odd):
    """Whatever comes in an address is looked for without a failure of the store."""
    ledger.jobs.begin(new(), worker="w1")

    assert ledger.jobs.find(odd) is None
    assert not ledger.jobs.claim(odd, worker="w1")
    assert ledger.records.find("token", odd) is None
    assert ledger.recall("ann", odd) is None
    assert ledger.role_of(odd) is None
    assert ledger.jobs.page(analyst="ann", dataset=odd) == ()
    with pytest.raises(NotFound):
        ledger.jobs.stop(odd)
    for job in (new(odd), *(new("q_2", **{name: odd}) for name in ("analyst", "key", "dataset"))):
        with pytest.raises(InvalidParameter):
            ledger.jobs.begin(job, worker="w1")
    if odd in {"\x00", "\ud800"}:
        with pytest.raises(InvalidParameter):
            ledger.jobs.begin(new("q_2", body=odd), worker="w1")


def test_a_job_that_failed_may_be_run_again(jobs):
    """Once by one worker, and not while another job asks the same; what is done or runs is not run again."""
    jobs.begin(new(), worker="w1")
    assert not jobs.again("q_1", worker="w2")
    jobs.finish("q_1", worker="w1", state="failed", outcome='{"code": "store-failed"}')
    jobs.begin(new("q_2", question="q_1"), worker="w1")
    assert not jobs.again("q_1", worker="w2")
    jobs.finish("q_2", worker="w1", state="done", outcome="{}")

    assert sorted(at_once(8, lambda number: jobs.again("q_1", worker=f"w{number}"))) == [False] * 7 + [True]
    found = jobs.find("q_1")
    assert (found.state, found.outcome) == ("running", None)
    assert not jobs.again("q_2", worker="w2")
