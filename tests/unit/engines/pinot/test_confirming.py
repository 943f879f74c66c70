"""While groups are used the table is looked at once more: who stands in `asking` is refused before anything leaves."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from hushcount.app import answer as spine
from hushcount.app.answer import answer
from hushcount.app.request import make_request
from hushcount.app.setting import passing_setting
from hushcount.engines.engine import asking
from hushcount.engines.pinot.engine import open_pinot
from hushcount.engines.pinot.watch import TableWatch
from hushcount.errors import StoreIncomplete
from hushcount.model.queries import Selection

SELECTION = Selection(user="user", item="item")
ADDRESS = "pinot://127.0.0.1:9/t"


@pytest.fixture
def engine(liar):
    """The table, which was looked at."""
    opened = open_pinot(ADDRESS)
    opened.fingerprint(b"k")
    return opened


def changing(liar):
    """As soon as groups were asked for, a segment has another time: it was pushed meanwhile."""

    def groups(told):
        liar.lies["/zk/getChildren"] = _later
        return told

    liar.lies["groups"] = groups


def _later(nodes):
    return [{**node, "simpleFields": {**node["simpleFields"], "segment.push.time": "6"}} for node in nodes]


def test_whoever_does_not_stand_in_it_is_refused_at_once(liar, engine):
    """No histogram is handed out."""
    changing(liar)
    found = []
    with pytest.raises(StoreIncomplete) as caught:
        found.append(engine.histogram(SELECTION, top=2))

    assert caught.value.point == 11
    assert found == []


def test_whoever_stands_in_it_is_refused_on_leaving(liar, engine):
    """Groups are there before that, and the table is looked at in the meantime."""
    changing(liar)
    found = []
    with pytest.raises(StoreIncomplete) as caught, asking(engine, lambda _: None):
        found.append(engine.histogram(SELECTION, top=2))

    assert caught.value.point == 11
    assert found[0].items.tolist() == ["a", "b"]


def test_what_is_read_in_rows_is_refused_at_once(liar, engine):
    """Who weighs lists takes longer than a machine waits for somebody to listen."""
    liar.lies["rows"] = lambda told: liar.lies.update({"/zk/getChildren": _later}) or told
    found = []
    with asking(engine, lambda _: None), pytest.raises(StoreIncomplete):
        found.append(engine.incidence(SELECTION))

    assert found == []


def test_another_thread_is_refused_at_once(liar, engine):
    """It does not stand in it, whoever else does."""
    changing(liar)
    found = []

    def ask():
        with pytest.raises(StoreIncomplete):
            found.append(engine.histogram(SELECTION, top=2))
        found.append("refused")

    with asking(engine, lambda _: None):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()

    assert found == ["refused"]


def test_what_was_asked_within_it_is_all_confirmed(liar, engine):
    """The first of two answers was about another state, the second was not: both are refused."""
    changing(liar)

    def twice():
        with asking(engine, lambda _: None):
            engine.histogram(SELECTION, top=2)
            liar.lies.clear()
            engine.histogram(SELECTION, top=2)

    with pytest.raises(StoreIncomplete) as caught:
        twice()

    assert caught.value.point == 11
    with asking(engine, lambda _: None):
        assert engine.histogram(SELECTION, top=2).items.tolist() == ["a", "b"]


def test_one_within_another_confirms_what_is_its_own(liar, engine):
    """The inner one when it is left, the outer one the rest."""

    def within():
        with asking(engine, lambda _: None):
            engine.histogram(SELECTION, top=2)
            with asking(engine, lambda _: None):
                engine.histogram(SELECTION, top=2)
            left.append("inner")
            changing(liar)
            engine.histogram(SELECTION, top=2)
            left.append("outer")

    left = []
    with pytest.raises(StoreIncomplete):
        within()

    assert left == ["inner", "outer"]


def test_a_failure_within_it_is_told_as_it_is(liar, engine):
    """And leaves nothing behind: the next question is a new one."""
    changing(liar)
    with pytest.raises(ZeroDivisionError), asking(engine, lambda _: None):
        assert engine.histogram(SELECTION, top=1 // len(engine.histogram(SELECTION, top=2).items[2:]))
    liar.lies.clear()
    with asking(engine, lambda _: None):
        found = engine.histogram(SELECTION, top=2)

    assert found.items.tolist() == ["a", "b"]


def asked(engine, monkeypatch):
    """What a question shows, and whether its mechanism ran."""
    ran, make = [], spine.make_plan

    def plan(*words):
        planned = make(*words)
        run = planned.mechanism.run
        return replace(planned, mechanism=replace(planned.mechanism, run=lambda *told: ran.append(1) or run(*told)))

    request = make_request("top", user="user", item="item", options={"k": 1, "method": "unknown-gumbel"})
    with monkeypatch.context() as watched, suppress(StoreIncomplete):
        watched.setattr(spine, "make_plan", plan)
        return answer(request, engine, passing_setting()), ran
    return None, ran


def test_nothing_leaves_that_was_not_confirmed(liar, engine, monkeypatch):
    """The mechanism has run on it, and its release is refused all the same. A twin that forgets to confirm shows it."""
    changing(liar)
    shown, ran = asked(engine, monkeypatch)
    liar.lies.clear()
    well, _ = asked(engine, monkeypatch)
    changing(liar)

    assert (shown, ran) == (None, [1])
    assert well is not None

    @contextmanager
    def forgetful(self):
        self._unsure.looks = []
        yield

    monkeypatch.setattr(TableWatch, "confirming", forgetful)
    assert asked(engine, monkeypatch)[0] is not None
