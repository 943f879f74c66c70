"""Alerts: each once, signed, to one listed place, tried again, and with nothing of any question in them."""

from __future__ import annotations

import hashlib
import hmac
import http.server
import json
import shutil
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from hushcount.app.serving.alerts.alerts import Alerts
from hushcount.app.serving.alerts.hooks import Hook
from hushcount.app.serving.jobs import answering
from hushcount.app.serving.jobs.tasks import Order
from hushcount.app.serving.news import News
from hushcount.app.serving.opening import open_setting
from hushcount.app.serving.owners.heads import freeze_if_restored, keep_heads
from hushcount.app.serving.owners.log import read_heads
from hushcount.app.serving.owners.saved import put_schedule, save
from hushcount.app.serving.owners.schedules import Run
from hushcount.app.serving.owners.wishes import make_wish
from hushcount.app.serving.questions import queries
from hushcount.errors import StoreIncomplete
from hushcount.ledger.ledger import EVERY, SERVICE, Account, Entry, Proof, Verdict
from hushcount.ledger.limits import rho_limit
from tests.unit.app.serving.services import ZOE, make_config, running_service
from tests.unit.app.serving.test_queries import COUNT, TOP, ended, released

SECRET = "a shared secret"  # noqa: S105  of this test


class Receiver(http.server.ThreadingHTTPServer):
    """A receiver of hooks on loopback that keeps what it got; `status` is what it answers."""

    def __init__(self):
        self.got, self.status, self.elsewhere = [], 204, []
        self.hangs, self.called, self.well = None, 0, threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self):
        """Where hooks go."""
        return f"http://127.0.0.1:{self.server_port}/hook"

    def bodies(self, kind):
        """What came of a kind."""
        return [form for _, form in map(_read, self.got) if form["kind"] == kind]


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        # A redirect that is followed comes as a GET, without a body.
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.called += 1
        if self.server.hangs is not None and not self.server.well.is_set():
            for letter in self.server.hangs:
                with suppress(OSError):
                    self.wfile.write(bytes([letter]))
                if self.server.well.wait(0.1):
                    break
            self.server.well.wait(60)
            self.close_connection = True
            return
        if self.path != "/hook":
            self.server.elsewhere.append(self.path)
        if self.server.status < 300:
            self.server.got.append((dict(self.headers), body))
        self.send_response(self.server.status)
        if self.server.status == 302:
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
        self.end_headers()

    do_GET = do_POST  # noqa: N815  the library's name

    def log_message(self, *_):
        """Nothing."""


def _read(got):
    """A hook as its receiver checks it: signed over its moment and its bytes."""
    headers, body = got
    said = dict(part.split("=", 1) for part in headers["Hushcount-Signature"].split(","))
    right = hmac.new(SECRET.encode(), f"{said['t']}.".encode() + body, hashlib.sha256).hexdigest()

    assert hmac.compare_digest(said["v1"], right)
    assert abs(time.time() - int(said["t"])) < 60
    return headers, json.loads(body)


@contextmanager
def receiving():
    """A receiver that runs."""
    with Receiver() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def scene(tmp_path):
    """A service, a receiver, and what watches for alerts on two machines."""
    config = make_config(tmp_path)
    with running_service(config) as service, receiving() as receiver:
        both = [Alerts(lambda: open_setting(config), Hook(url=receiver.url, secret=SECRET)) for _ in range(2)]
        for one in both:
            one.round()
        yield service, receiver, both
        for one in both:
            one.close()


def rounds(both, times=2):
    """Some rounds on both machines."""
    for _ in range(times):
        for one in both:
            one.round()


def test_steps_of_a_budget_are_told_once_by_one_of_two_machines(scene):
    """The data's and an analyst's, at 50, 80 and 100 %; a step that was jumped over is not told after a higher one."""
    service, receiver, both = scene
    population = service.ledger.catalog.find("events", by="olga").population
    for account, rho in (
        (Account(kind="dataset", name=population, entity=population), "0.25"),
        (Account(kind="analyst", name="zoe", entity=EVERY), "0.2"),
    ):
        service.ledger.set_limit(account, rho_limit(Decimal(rho), "0.1"), by="olga")
    for k in (1, 2):
        released(service, ZOE, replace(TOP, said={"item": "article", "k": k, "method": "unknown-gumbel"}), f"b{k}")
        rounds(both)
    found = receiver.bodies("budget")

    assert [(one["of"], one.get("analyst"), one["percent"], one["dataset"]) for one in found] == [
        ("analyst", "zoe", 50, "events"),
        ("dataset", None, 80, "events"),
        ("analyst", "zoe", 100, "events"),
    ]
    assert len({one["id"] for one in found}) == len(found)
    before = len(receiver.got)
    rounds(both)
    assert len(receiver.got) == before


def test_a_waiting_request_and_a_failed_store_are_told_without_what_was_said(scene, monkeypatch):
    """The id of the request and the code of the failure; not why, not what was asked."""
    service, receiver, both = scene
    offer = service.served.find("events")
    wish = make_wish(
        service, ZOE, offer, releases="2", why="for the canary", until=datetime.now(UTC) + timedelta(days=3)
    )

    def incomplete(*_, **__):
        raise StoreIncomplete("the canary")

    monkeypatch.setattr(answering, "answer", incomplete)
    for key in ("x", "y"):
        job = queries.release(service, ZOE, Order(tasks=(COUNT,)), key=key)
        assert ended(service, job).state == "failed"
    rounds(both)

    assert [(one["request"], one["dataset"]) for one in receiver.bodies("request")] == [(wish.id, "events")]
    # Two in an hour are one alert.
    assert [(one["code"], one["dataset"]) for one in receiver.bodies("store")] == [("store-incomplete", "events")]
    sent = b"".join(body for _, body in receiver.got)
    assert not any(word in sent for word in (b"canary", b"article", b"country", b"NZ"))


def test_a_scheduled_question_that_came_to_nothing_and_missed_days_are_told(scene):
    """Once a day for each reason, with whose it is and not what it asks; what an owner stopped is no news to them."""
    service, receiver, both = scene
    offer = service.served.find("events")
    asked = {"question": "count", "item": "article", "where": "country = 'canary'"}
    one = save(service, ZOE, offer, name="canary", question=asked, schedule="new data")
    day = datetime(2026, 11, 17, 9, tzinfo=UTC)
    failed = Run(version="", state="tried again", at=day, problem=("store-failed", "canary"))
    for run, stopped in (
        (replace(failed, problem=("frozen", "canary")), None),
        (failed, None),
        (replace(failed, at=day + timedelta(hours=1)), None),
        (replace(failed, at=day + timedelta(days=1)), None),
        (Run(version="v", state="done", at=day, missed=("2026-11-15", "2026-11-16")), None),
        (replace(failed, state="failed", problem=("budget-exhausted", "canary")), "canary"),
    ):
        one = put_schedule(service, one, replace(one.schedule, run=run, stopped=stopped), by=SERVICE)
        rounds(both)
    told = receiver.bodies("schedule")

    assert {(form["question"], form["analyst"], form["dataset"]) for form in told} == {(one.id, "zoe", "events")}
    assert [(form.get("code"), form.get("stopped"), form.get("missed")) for form in told] == [
        ("store-failed", False, None),
        ("store-failed", False, None),
        (None, None, ["2026-11-15", "2026-11-16"]),
        ("budget-exhausted", True, None),
    ]
    assert b"canary" not in b"".join(body for _, body in receiver.got)


def test_a_broken_chain_is_told(scene, monkeypatch):
    """Once a day it is checked."""
    service, receiver, both = scene
    monkeypatch.setattr(type(service.ledger), "verify", lambda *_: Verdict(problems=("secret words",)))
    rounds(both)
    assert receiver.bodies("chain") == []
    for one in both:
        one.check_chain()
    rounds(both)

    (told,) = receiver.bodies("chain")
    assert "secret words" not in json.dumps(told)


def test_the_newest_links_of_a_whole_ledger_are_told_once_a_day(scene):
    """Whoever gets them keeps them elsewhere, and finds them in the log later; a rewritten log has others."""
    service, receiver, both = scene
    for one in both:
        one.check_chain()
    rounds(both)

    (told,) = receiver.bodies("heads")
    kept = read_heads(told["heads"])
    forged = {entity: replace(head, hash="0" * 64) for entity, head in kept.items()}
    assert EVERY in kept
    assert service.ledger.verify(kept).problems == ()
    assert len(service.ledger.verify(forged).problems) == len(kept)


def test_what_was_not_taken_is_sent_again_under_the_same_id_and_no_redirect_is_followed(scene):
    """A receiver that fails gets it later; one that sends elsewhere has not taken it."""
    service, receiver, both = scene
    offer = service.served.find("events")
    for receiver.status in (503, 302):
        make_wish(service, ZOE, offer, releases="1", why="more", until=datetime.now(UTC) + timedelta(days=3))
        rounds(both)
        assert receiver.got == []
    receiver.status = 204
    rounds(both)

    assert len(receiver.bodies("request")) == 2
    assert len({form["id"] for form in receiver.bodies("request")}) == 2
    assert receiver.elsewhere == []


def test_what_a_machine_that_died_had_claimed_is_sent_by_another(scene, monkeypatch):
    """After a while, under the same id."""
    service, receiver, (first, second) = scene
    receiver.status = 503
    make_wish(
        service,
        ZOE,
        service.served.find("events"),
        releases="1",
        why="more",
        until=datetime.now(UTC) + timedelta(days=3),
    )
    first.round()
    receiver.status = 204
    second.round()
    second.adopt()
    second.round()
    assert receiver.got == []
    monkeypatch.setattr("hushcount.app.serving.alerts.alerts.SILENCE", timedelta(0))
    second.adopt()
    second.round()

    assert len(receiver.bodies("request")) == 1
    # It is on record that it was sent: whoever lives on after all does not send it again.
    first.round()
    assert len(receiver.bodies("request")) == 1


def wish(service):
    """Something to be told."""
    until = datetime.now(UTC) + timedelta(days=3)
    return make_wish(service, ZOE, service.served.find("events"), releases="1", why="more", until=until)


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 204 No Content\r\nX-Slow: " + b"x" * 10_000], ids=["silent", "slow"]
)
def test_a_receiver_that_hangs_holds_nothing_up(tmp_path, caplog, answer):
    """One that says nothing, or a byte at a time for ever: a round ends, questions are answered, and the log tells it.

    While it answers a byte at a time it is not called again; once it is well it gets what it missed.
    """
    config = make_config(tmp_path)
    with running_service(config) as service, receiving() as receiver:
        receiver.hangs, seconds = answer, 0.5
        alerts = Alerts(lambda: open_setting(config), Hook(url=receiver.url, secret=SECRET, seconds=seconds))
        alerts.round()
        made = [wish(service).id for _ in range(3)]
        looking = threading.Thread(target=lambda: [alerts.round() for _ in range(3)], daemon=True)
        looking.start()
        assert released(service, ZOE, TOP, "meanwhile").stored.payload
        # Far more than three rounds take, far less than the receiver would.
        looking.join(30)
        assert not looking.is_alive()
        told = [one.kind for one in caplog.records if one.msg == "an alert was not taken; trying again"]
        called = receiver.called
        receiver.well.set()
        deadline = time.monotonic() + 30
        while len(receiver.bodies("request")) < 3 and time.monotonic() < deadline:
            alerts.round()
        alerts.close()

        assert told == ["request"] * 3
        assert called == 1 or (called <= 3 and not answer)
        assert sorted({one["request"] for one in receiver.bodies("request")}) == sorted(made)


def test_a_server_ends_while_a_receiver_hangs(tmp_path):
    """The thread of alerts keeps no process alive, and to close them waits for nobody."""
    config = make_config(tmp_path)
    with running_service(config) as service, receiving() as receiver:
        receiver.hangs = b""
        alerts = Alerts(lambda: open_setting(config), Hook(url=receiver.url, secret=SECRET, seconds=60))
        alerts.round()
        wish(service)
        alerts.start()
        deadline = time.monotonic() + 30
        while not receiver.called and time.monotonic() < deadline:
            time.sleep(0.01)
        began = time.monotonic()
        alerts.close()
        took = time.monotonic() - began
        threads = {one.name: one.daemon for one in threading.enumerate()}
        receiver.well.set()

        assert receiver.called == 1
        assert took < 30
        assert threads["alerts"]
        assert threads["hook"]


def test_a_ledger_that_was_put_back_is_told_each_time(tmp_path):
    """Once by one of two machines, with nothing but that; putting the same copy back again is told again.

    A freeze by an owner is no alert: they know.
    """
    config = make_config(tmp_path)
    ledger, copy, kept = (tmp_path / name for name in ("ledger.sqlite", "copy.sqlite", "heads.json"))
    with running_service(config) as service:
        service.ledger.records.put("freeze", "*", {"why": "for the canary"}, owner="olga", by="olga")
        service.ledger.records.put("freeze", "*", None, owner="olga", by="olga")
    shutil.copy(ledger, copy)
    with receiving() as receiver:
        for times in (1, 2):
            with running_service(config) as service:
                service.ledger.records.put("freeze", "*", None, owner="olga", by="olga")
                released(service, ZOE, TOP, "forgotten")
                keep_heads(service.ledger, kept)
            for side in ("", "-wal", "-shm"):
                ledger.with_name(f"{ledger.name}{side}").unlink(missing_ok=True)
            shutil.copy(copy, ledger)
            both = [Alerts(lambda: open_setting(config), Hook(url=receiver.url, secret=SECRET)) for _ in range(2)]
            with running_service(config) as service:
                rounds(both)
                assert len(receiver.bodies("frozen")) == times - 1
                assert freeze_if_restored(service.ledger, kept, by="the service")
                rounds(both)
                assert len(receiver.bodies("frozen")) == times
            for one in both:
                one.close()
        found = receiver.bodies("frozen")

        assert len({one["id"] for one in found}) == 2
        assert all(set(one) == {"id", "at", "kind"} for one in found)


def test_news_go_on_in_a_ledger_that_was_put_back():
    """Whoever has read further than the older ledger goes looks at it as if for the first time."""
    ledger = Scripted(list("abcdef"))
    news = News(back=2)
    assert [one.kind for one in news.since(ledger, by="me")] == ["e", "f"]
    ledger.entries = list("abcx")

    assert [one.kind for one in news.since(ledger, by="me")] == ["c", "x"]
    assert list(news.since(ledger, by="me")) == []


class Scripted:
    """A ledger with one book, of letters."""

    def __init__(self, entries):
        self.entries = entries

    def heads(self):
        """Its newest link."""
        return [Proof(entity="one", seq=len(self.entries), hash="")]

    def history(self, page, *, by):
        """What comes after."""
        del by
        found = list(enumerate(self.entries, start=1))[page.after : page.after + page.size]
        now = datetime.now(UTC)
        return [Entry(entity="one", seq=seq, at=now, kind=kind, by="", body={}, hash="") for seq, kind in found]
