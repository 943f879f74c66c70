"""Scheduled questions: asked once for each version of the data, by any worker, as if who saved them asked."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from hushcount.app.budgets import make_limit
from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.callers.tokens import WantedToken, make_token, revoke
from hushcount.app.serving.data.access import SNAPSHOT
from hushcount.app.serving.jobs import running
from hushcount.app.serving.opening import open_service
from hushcount.app.serving.owners import saved
from hushcount.app.serving.owners.schedules import Run, schedule_form
from hushcount.app.serving.questions import scheduling
from hushcount.app.serving.questions.left import budget_form
from hushcount.app.serving.questions.publishing import publish
from hushcount.app.serving.questions.scheduling import ask_scheduled
from hushcount.app.serving.setup.config import Server
from hushcount.errors import InvalidParameter, NotFound, NotPermitted
from hushcount.ledger.ledger import EVERY, SERVICE, Account, Page
from tests.unit.app.serving.services import ADAM, OLGA, ZOE, make_config, running_service, write_log

TOP = {"question": "top", "item": "article", "k": 3, "preset": "cautious"}


@pytest.fixture
def config(tmp_path, monkeypatch):
    """A service that looks after its schedules when it is told to."""
    monkeypatch.setattr(scheduling.Schedules, "tick", lambda _: None)
    return make_config(tmp_path)


@pytest.fixture
def service(config):
    """The service, on a ledger that adds up in the end."""
    with running_service(config) as made:
        yield made
        assert made.ledger.verify().problems == ()


def schedule(service, caller=ZOE, name="daily", **question):
    """A question that is asked by itself."""
    offer = service.served.find("events")
    return saved.save(service, caller, offer, name=name, question={**TOP, **question}, schedule="new data")


def again(service, caller=ZOE, name="daily"):
    """Set the schedule again."""
    return saved.set_schedule(service, caller, service.served.find("events"), name=name, when="new data")


def look(service, caller=ZOE, name="daily"):
    """The question as it stands after a look."""
    ask_scheduled(service)
    return saved.find_saved(service, caller, name)


def new_data(config, people):
    """Another version of the data."""
    write_log(Path(config.stores[0].place) / "events.parquet", people=people)


def balance(service, who):
    """What somebody has ever spent, in rho."""
    population = service.ledger.catalog.find("events", by="olga").population
    return service.ledger.balance(Account(kind="analyst", name=who, entity=population)).lifetime.rho


def limit(service, releases, who="zoe"):
    """Set what somebody may spend."""
    population = service.ledger.catalog.find("events", by="olga").population
    account = Account(kind="analyst", name=who, entity=population)
    service.ledger.set_limit(account, make_limit({"releases": releases}, window="none", mode="enforce"), by="olga")


def jobs(service, who="zoe"):
    """All queries of somebody, oldest first."""
    return list(reversed(service.ledger.jobs.page(analyst=who)))


def entries(service):
    """How many entries the log of rules has."""
    return len(service.ledger.history(Page(entity=EVERY, size=10_000), by="olga"))


def test_it_is_asked_once_for_each_version_and_charged_to_who_saved_it(service, config):
    """However often it is looked at; the newest release is that of the newest version."""
    schedule(service)
    first = look(service)
    before = balance(service, "zoe")
    same = look(service)
    new_data(config, people=3000)
    second = look(service)

    assert first.latest is not None
    assert same.latest == first.latest
    assert second.latest != first.latest
    assert len(jobs(service)) == 2
    assert float(balance(service, "zoe")) == pytest.approx(2 * float(before))
    assert balance(service, "olga") == balance(service, SERVICE) == 0
    assert second.schedule.run.state == "done"
    assert second.schedule.run.query == second.latest.replace("r_", "q_")


def test_a_look_that_changes_nothing_writes_nothing(service):
    """The log does not grow by the minute."""
    schedule(service)
    look(service)
    log = entries(service)
    for _ in range(3):
        look(service)

    assert entries(service) == log


def test_several_workers_ask_once(service, config):
    """Four workers look at the same moment, twice: one query and one charge for each version."""
    schedule(service)
    others = [open_service(config) for _ in range(3)]
    try:
        for people in (4000, 3000):
            new_data(config, people=people)
            start = threading.Barrier(4)

            def looking(worker, start=start):
                start.wait()
                ask_scheduled(worker)

            threads = [threading.Thread(target=looking, args=(worker,)) for worker in (service, *others)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        for worker in others:
            worker.close()

    one = saved.find_saved(service, ZOE, "daily")
    assert [job.state for job in jobs(service)] == ["done", "done"]
    assert one.latest == jobs(service)[-1].id.replace("q_", "r_")
    population = service.ledger.catalog.find("events", by="olga").population
    asked = service.ledger.history(Page(entity=population, size=1000), by="olga")
    assert sum(entry.kind == "reserve" for entry in asked) == 2


def test_a_worker_that_dies_over_it_is_taken_over_and_paid_once(service, config, monkeypatch):
    """The first worker begins and is never heard of again; the second answers, notes it, and nothing is paid twice."""
    schedule(service)
    monkeypatch.setattr(scheduling, "_PATIENCE", 0.2)
    with monkeypatch.context() as dead:
        dead.setattr(type(service.runner), "run", lambda *_, **__: None)
        left = look(service)
    assert (left.latest, [job.state for job in jobs(service)]) == (None, ["running"])
    monkeypatch.setattr(running, "SILENCE", timedelta(0))
    monkeypatch.setattr(scheduling, "_PATIENCE", 30.0)
    with open_service(config) as other:
        found = look(other)

    assert found.latest == jobs(service)[0].id.replace("q_", "r_")
    assert [job.state for job in jobs(service)] == ["done"]
    assert found.schedule.run.state == "done"


def test_it_outlasts_a_restart(config):
    """What was asked is not asked again; what is new is."""
    with running_service(config) as service:
        schedule(service)
        first = look(service)
    with open_service(config) as service:
        same = look(service)
        new_data(config, people=3000)
        second = look(service)

        assert (same.latest, len(jobs(service))) == (first.latest, 2)
        assert second.latest != first.latest


def test_a_budget_that_is_used_up_stops_it_and_says_why(service, config):
    """Nothing is charged, nothing is asked again, until it is set again; then it is asked on the data of that day."""
    schedule(service)
    first = look(service)
    limit(service, "0.1")
    new_data(config, people=3000)
    stopped, spent = look(service), balance(service, "zoe")
    limit(service, "5")
    still = look(service)
    rearmed = again(service)
    gone_on = look(service)

    assert stopped.schedule.stopped is not None
    assert "may cost" in stopped.schedule.stopped
    assert stopped.schedule.run.problem[0] == "budget-exhausted"
    assert schedule_form(stopped.schedule)["next"].startswith("Never")
    assert balance(service, "zoe") > spent
    assert still.schedule == stopped.schedule
    assert (stopped.latest, rearmed.schedule.stopped) == (first.latest, None)
    assert gone_on.latest not in {None, first.latest}


def test_setting_it_again_does_not_ask_again_what_was_answered(service):
    """The data is the same: nothing is asked, nothing paid."""
    schedule(service)
    first, spent = look(service), balance(service, "zoe")
    again(service)

    assert look(service).latest == first.latest
    assert (len(jobs(service)), balance(service, "zoe")) == (1, spent)


def test_data_that_cannot_be_read_is_a_problem_and_no_gap(service, config):
    """It is noted once, without the place, and asked as soon as the data is there again."""
    schedule(service)
    look(service)
    place = Path(config.stores[0].place) / "events.parquet"
    place.rename(place.with_suffix(".gone"))
    failed, log = look(service), entries(service)
    look(service)
    assert entries(service) == log
    new_data(config, people=3000)
    found = look(service)

    assert failed.schedule.run.state == "tried again"
    assert failed.schedule.run.problem[0] == "store-failed"
    assert str(place.parent) not in failed.schedule.run.problem[1]
    assert failed.schedule.stopped is None
    assert schedule_form(failed.schedule)["last_problem"]["code"] == "store-failed"
    assert (found.schedule.run.state, found.schedule.run.problem) == ("done", None)
    assert len(jobs(service)) == 2


def test_a_freeze_is_waited_for(service):
    """An owner who stops all questions stops no schedule."""
    schedule(service)
    service.ledger.records.put("freeze", "*", {"why": "x"}, owner="olga", by="olga")
    frozen = look(service)
    service.ledger.records.put("freeze", "*", None, owner="olga", by="olga")

    assert (frozen.latest, frozen.schedule.stopped, frozen.schedule.run.problem[0]) == (None, None, "frozen")
    assert look(service).latest is not None


def test_whoever_may_ask_no_more_is_not_asked_for(service):
    """A role that is taken away ends it."""
    schedule(service)
    service.ledger.grant("zoe", None, dataset=service.served.find("events").id, by="olga")
    one = look(service)

    assert one.latest is None
    assert one.schedule.stopped is not None
    assert jobs(service) == []


def test_the_bounds_of_a_token_hold_for_its_schedules(service, config):
    """Its cap is charged; when it is revoked its schedules end, and nobody else's."""
    setting, key = service.setting, service.tokens_key
    token = make_token(setting, key, owner="zoe", wanted=WantedToken(label="s", scopes=("ask",), cap="1")).token
    schedule(service, Caller(name="zoe", token=token))
    schedule(service, ADAM)
    first = look(service)
    new_data(config, people=3000)
    capped = look(service)
    assert first.latest is not None
    assert (capped.latest, capped.schedule.run.problem[0]) == (first.latest, "budget-exhausted")
    wide = make_token(setting, key, owner="zoe", wanted=WantedToken(label="t", scopes=("ask",))).token
    again(service, Caller(name="zoe", token=wide))
    revoke(setting, wide.id, by="zoe")
    revoked = look(service)

    assert wide.id in revoked.schedule.stopped
    assert (revoked.latest, len(jobs(service))) == (first.latest, 1)
    assert len(jobs(service, "adam")) == 2


def test_what_cannot_be_kept_is_refused(service):
    """A role by a group of the sign-in alone, fresh noise, somebody else's question, a token that only reads."""
    offer = service.served.find("events")
    service.ledger.grant("group:ads", "analyst", dataset=offer.id, by="olga")
    with pytest.raises(NotPermitted, match="given to yourself"):
        schedule(service, Caller(name="guest", groups=("ads",)))
    with pytest.raises(InvalidParameter, match="fresh"):
        schedule(service, fresh=True)
    schedule(service)
    with pytest.raises(NotFound):
        again(service, ADAM)
    token = make_token(
        service.setting, service.tokens_key, owner="zoe", wanted=WantedToken(label="r", scopes=("read",))
    )
    with pytest.raises(NotPermitted):
        again(service, Caller(name="zoe", token=token.token))


def test_it_is_asked_no_more_when_it_is_taken_back_or_removed(service, config):
    """Taken back, the question stays; removed, it is gone."""
    schedule(service)
    schedule(service, name="other", k=2)
    offer = service.served.find("events")
    saved.set_schedule(service, ZOE, offer, name="daily", when=None)
    saved.remove(service, ZOE, "other")

    assert look(service).schedule is None
    assert jobs(service) == []


def test_what_is_published_is_republished(service, config):
    """Readers read the newest without anybody asking."""
    one = schedule(service)
    first = look(service)
    offer = service.served.find("events")
    publish(service, OLGA, one.id, offer=offer, name="top-articles")
    new_data(config, people=3000)
    second = look(service)

    assert saved.latest(service, ADAM, "top-articles", offer=offer) == second.latest != first.latest


def test_separate_analysts_are_told_nothing_of_others(config):
    """A schedule that stops for want of the data's budget names nobody and no amounts of others."""
    apart = replace(config, privacy=replace(config.privacy, analysts="separate"))
    with running_service(apart) as service:
        population = service.ledger.catalog.find("events", by="olga").population
        account = Account(kind="dataset", name=population, entity=population)
        schedule(service, ADAM, item="country")
        look(service, ADAM)
        service.ledger.set_limit(account, make_limit({"releases": "0.1"}, window="none", mode="enforce"), by="olga")
        schedule(service)
        stopped = look(service).schedule.stopped

    assert "shared" in stopped
    assert "adam" not in stopped


def test_days_that_nobody_asked_on_are_told(config, tmp_path):
    """Of five days since the last run one had the same data; the others are missed, and told until they are too old."""
    (store,) = config.stores
    daily = replace(config, stores=(replace(store, snapshot="day"),), server=Server(state=tmp_path / "state"))
    with running_service(daily) as service:
        one = schedule(service)
        now = service.setting.clock()
        days = [(now - timedelta(days=back)).date().isoformat() for back in range(5)]
        last = Run(version="old", state="done", at=now - timedelta(days=4))
        saved.put_schedule(service, one, replace(one.schedule, run=last), by=SERVICE)
        (present,) = service.ledger.records.page(SNAPSHOT)
        name = present.id.replace(days[0], days[3])
        service.ledger.records.put(SNAPSHOT, name, {**present.body, "version": "old"}, owner=SERVICE, by=SERVICE)
        found = look(service)

    assert found.schedule.run.missed == (days[2], days[1])
    assert schedule_form(found.schedule)["missed"] == [days[2], days[1]]


def test_a_service_looks_by_itself(tmp_path):
    """Within moments of its start, in a thread of its own."""
    with running_service(make_config(tmp_path)) as service:
        schedule(service)
        ended = threading.Event()
        for _ in range(100):
            if saved.find_saved(service, ZOE, "daily").latest is not None:
                break
            # The first look may have been before it was saved; the next is a minute later.
            service.runner._due = 0.0  # noqa: SLF001
            ended.wait(0.2)

        assert saved.find_saved(service, ZOE, "daily").schedule.run.state == "done"


def test_what_is_published_is_counted_once_for_each_release(service, config):
    """Published, taken back and published again is known once; the next release is known too."""
    one = schedule(service)
    look(service)
    offer = service.served.find("events")
    for name in ("first", "second"):
        publish(service, OLGA, one.id, offer=offer, name=name)
        once = budget_form(service, ADAM, offer)["known"]["published"]["releases"]
        saved.take_back(service, OLGA, name, offer=offer)
        # It is told to six digits.
        assert once == pytest.approx(10 * float(balance(service, "zoe")), abs=5e-7)
    publish(service, OLGA, one.id, offer=offer, name="third")
    new_data(config, people=3000)
    look(service)

    assert budget_form(service, ADAM, offer)["known"]["published"]["releases"] == pytest.approx(2 * once)
    assert budget_form(service, ZOE, offer)["known"] == {
        **budget_form(service, ADAM, offer)["known"],
        "own": {"releases": pytest.approx(2 * once)},
        "published": {"releases": 0},
    }
