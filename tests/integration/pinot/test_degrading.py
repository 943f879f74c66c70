"""Every way in which Pinot answers in part is provoked on a live cluster, and refused, never answered wrongly.

A twin that trusts what Pinot says of its own answers is asked beside it, and is wrong.
"""

from __future__ import annotations

import itertools
import json
import random
import shutil
import threading
import time
from contextlib import contextmanager

import pytest

from hushcount.engines.pinot import complete
from hushcount.engines.pinot.engine import open_pinot
from hushcount.engines.pinot.table import Table
from hushcount.errors import HushcountError, InvalidParameter, StoreFailed, StoreIncomplete
from hushcount.model.queries import Selection
from tests.conformance.engines.plain import rows
from tests.pinot import GROUPS, delete, get, post, shared_cluster
from tests.unit.engines.pinot.scripted import scripted

SELECTION = Selection(user="user", item="item")
KINDS = {"user": "STRING", "item": "STRING"}
DECOYS = 5100


def refused_at(ask):
    """The point that refuses a question."""
    with pytest.raises(StoreIncomplete) as caught:
        ask()
    assert "user" not in str(caught.value).replace("user and", "").replace("that user", "")
    return caught.value.point


@contextmanager
def opened(address):
    """A table, closed afterwards."""
    engine = open_pinot(address)
    try:
        yield engine
    finally:
        engine.close()


@pytest.fixture(scope="module")
def trimmed():
    """A table in which the item that most people have is the last on either server: six people, three on each.

    Every server holds thousands of items of its own that four people have.
    """
    shared = shared_cluster()
    parts = [
        [{"user": f"u{n}", "item": f"decoy {side} {item}"} for item in range(DECOYS) for n in range(4)]
        + [{"user": f"only {side} {n}", "item": "hidden"} for n in range(3)]
        for side in range(2)
    ]
    return shared.load("trimmed", KINDS, *parts)


def twin(sql, **options):
    """The rows that a twin takes, which trusts the flags alone."""
    told = shared_cluster().ask(sql, **options)
    assert told["exceptions"] == []
    assert told["numServersResponded"] == told["numServersQueried"] > 0
    assert told["numGroupsLimitReached"] is False
    return told["resultTable"]["rows"]


def test_trimmed_groups_are_not_lost(trimmed, monkeypatch):
    """Servers trim by default, without a word; the twin misses the largest item. Ours has it under hostile options."""
    asked = (
        'SELECT "item", DISTINCTCOUNT("user") FROM "trimmed" GROUP BY "item" '
        'ORDER BY DISTINCTCOUNT("user") DESC, "item" LIMIT 3'
    )
    wrong = twin(asked)
    # Servers do not trim now, but every segment does.
    within = twin(asked, minServerGroupTrimSize=-1, minSegmentGroupTrimSize=5)
    hostile = "minServerGroupTrimSize=5;minSegmentGroupTrimSize=5"
    with opened(trimmed) as engine:
        found = engine.histogram(SELECTION, top=3)
        monkeypatch.setattr(complete, "_TRIMS", hostile)
        again = engine.histogram(SELECTION, top=3)

    assert [count for _, count in wrong] == [count for _, count in within] == [4, 4, 4]
    assert rows(found) == rows(again)
    assert found.items.tolist()[0] == "hidden"
    assert found.counts.tolist() == [6, 4, 4]


def test_a_statement_without_an_order_or_a_limit_is_answered_in_part():
    """By the twin: ten groups of all without a LIMIT, and counts that are too small without an order. Ours has both."""
    shared, parts = shared_cluster(), []
    for side in range(2):
        # Either server meets the same items in an order of its own.
        people = [{"user": f"{side} {n}", "item": f"i{item}"} for item in range(4000) for n in range(2)]
        parts.append(random.Random(side).sample(people, len(people)))
    address = shared.load("unordered", KINDS, *parts)
    grouped = 'SELECT "item", DISTINCTCOUNT("user") FROM "unordered" GROUP BY "item"'
    few, small = twin(grouped), [row for limit in range(11, 20) for row in twin(f"{grouped} LIMIT {limit}")]
    with opened(address) as engine:
        every, most = rows(engine.histogram(SELECTION)), rows(engine.histogram(SELECTION, top=50))

    assert len(few) == 10
    assert {count for _, count in small} > {4}
    assert every[1] == [4] * 4000
    assert most[1] == [4] * 50


def test_a_limit_of_groups_is_refused_where_it_is_reached():
    """Of more items than servers count in a segment; few groups of the same table are answered."""
    shared = shared_cluster()
    parts = [[{"user": f"u{n % 50}", "item": f"{side} {n}"} for n in range(GROUPS + 1)] for side in range(2)]
    with opened(shared.load("many", KINDS, *parts)) as engine:
        point = refused_at(lambda: engine.histogram(SELECTION, top=3))
        few = engine.histogram(Selection(user="item", item="user"), top=1)

    assert point == 3
    assert few.counts.tolist() == [2 * (GROUPS // 50) + 2]


def test_a_timeout_is_refused(trimmed, monkeypatch):
    """Pinot gives up after a millisecond."""
    monkeypatch.setattr(complete, "options", lambda _: "timeoutMs=1")
    with opened(trimmed) as engine:
        assert refused_at(lambda: engine.histogram(SELECTION, top=3)) == 2


def test_a_server_that_is_disabled_is_refused():
    """Its segments are offline; enabled again, the same question is answered."""
    shared = shared_cluster()
    parts = [[{"user": f"u{side}", "item": "a"}] for side in range(2)]
    address = shared.load("disabled", KINDS, *parts)
    [server] = get(f"{shared.controller}/tables/disabled/idealstate")["OFFLINE"]["disabled_1"]
    with opened(address) as engine:
        before = rows(engine.histogram(SELECTION, top=3))
        try:
            post(f"{shared.controller}/instances/{server}/state", "disable", kind="text/plain")
            _until(lambda: shared.ask('SELECT COUNT(*) FROM "disabled"')["totalDocs"] < 2)
            points = [refused_at(lambda: engine.histogram(SELECTION, top=3)), refused_at(lambda: open_pinot(address))]
        finally:
            post(f"{shared.controller}/instances/{server}/state", "enable", kind="text/plain")
        shared.wait_for("disabled", 2)
        after = _eventually(lambda: rows(engine.histogram(SELECTION, top=3)))

    # The statement itself says that segments are unavailable; opening finds it in the state.
    assert points == [2, 11]
    assert before == after == (["a"], [2], True)


def test_a_segment_in_error_is_refused():
    """A server that finds its file broken, here and in the deep store, leaves the segment in ERROR and goes on.

    All counters fit each other, and no flag is set: a twin that goes by them takes half of the people for all.
    """
    shared = shared_cluster()
    address = shared.load("broken", KINDS, *[[{"user": f"u{side}", "item": "a"}] for side in range(2)])
    [server] = get(f"{shared.controller}/tables/broken/idealstate")["OFFLINE"]["broken_1"]
    number = 1 if server.endswith(f"_{shared.ports['net1']}") else 2
    state = f"{shared.controller}/instances/{server}/state"
    engine = open_pinot(address)
    before = rows(engine.histogram(SELECTION, top=3))
    post(state, "disable", kind="text/plain")
    try:
        _until(lambda: _seen(shared, "broken_1", server) in {None, "OFFLINE"})
        shutil.rmtree(shared.folder / f"server{number}" / "index" / "broken_OFFLINE" / "broken_1")
        (shared.folder / "controller" / "broken" / "broken_1").write_bytes(b"no segment")
    finally:
        post(state, "enable", kind="text/plain")
    _until(lambda: _seen(shared, "broken_1", server) == "ERROR")
    sql = 'SELECT "item", DISTINCTCOUNT("user") FROM "broken" GROUP BY "item" ORDER BY 2 DESC, 1 LIMIT 5'
    told = shared.ask(sql)
    points = [refused_at(lambda: engine.histogram(SELECTION, top=3)), refused_at(lambda: open_pinot(address))]
    engine.close()
    # Its server could not be disabled any more.
    delete(f"{shared.controller}/tables/broken")

    assert before == (["a"], [2], True)
    assert told["numServersResponded"] == told["numServersQueried"] == told["numSegmentsProcessed"] == 1
    assert told["numGroupsLimitReached"] is False
    assert told["resultTable"]["rows"] == [["a", 1]]
    assert points == [2, 11]


def _seen(shared, segment, server):
    view = get(f"{shared.controller}/tables/broken/externalview")["OFFLINE"] or {}
    return view.get(segment, {}).get(server)


def test_a_table_without_segments_is_refused():
    """And so is one whose settings rewrite statements, or leave out segments."""
    shared = shared_cluster()
    shared.make_table("empty", KINDS)
    shared.make_table("rewriting", KINDS, query={"useApproximateFunction": True})
    shared.make_table("pruning", KINDS, routing={"segmentPrunerTypes": ["time"]})

    assert refused_at(lambda: open_pinot(shared.address("empty"))) == 11
    assert refused_at(lambda: open_pinot(shared.address("rewriting"))) == 7
    assert refused_at(lambda: open_pinot(shared.address("no_such_table"))) == 7
    with pytest.raises(StoreIncomplete):
        open_pinot(shared.address("pruning"))


def test_replacement_under_load_is_refused_or_whole():
    """While a segment is replaced again and again, every answer is that of the version that it goes by."""
    shared = shared_cluster()
    # As many rows in either: only checksums tell them apart.
    few, many = ([{"user": f"u{n % people}", "item": "a"} for n in range(7)] for people in (1, 7))
    address = shared.load("replaced", KINDS, few, [{"user": "other", "item": "a"}])
    over = threading.Event()

    def replace_again():
        for turn in itertools.cycle(range(2)):
            if over.is_set():
                return
            shared.push("replaced", "replaced_0", few if turn else many)
            # So long that a question fits between two of them, now and then.
            over.wait(0.3)

    pushing = threading.Thread(target=replace_again, daemon=True)
    pushing.start()
    told, refusals = {}, 0
    end = time.monotonic() + 60
    while (len(told) < 2 or not refusals) and time.monotonic() < end:
        try:
            with opened(address) as engine:
                version = engine.fingerprint(b"k")
                count = engine.histogram(SELECTION, top=1).counts.tolist()[0]
        except StoreIncomplete:
            refusals += 1
        else:
            told.setdefault(version, set()).add(count)
    over.set()
    pushing.join()

    assert refusals
    assert all(len(counts) == 1 for counts in told.values())
    assert {count for counts in told.values() for count in counts} == {2, 8}


def test_a_segment_pushed_a_moment_ago_is_whole_or_refused():
    """It is listed before it is loaded; the twin answers without it, and nothing shows that."""
    shared = shared_cluster()
    address = shared.load("fresh", KINDS, [{"user": "u0", "item": "a"}])
    sql = 'SELECT "item", DISTINCTCOUNT("user") FROM "fresh" GROUP BY "item" ORDER BY 2 DESC, 1 LIMIT 5'
    missed, refusals, answers = [], [], []
    for number in range(1, 6):
        shared.push("fresh", f"fresh_{number}", [{"user": f"u{number}", "item": "a"}])
        [[_, taken]] = twin(sql)
        missed.append(taken < number + 1)
        for _ in range(100):
            try:
                with opened(address) as engine:
                    answers.append((engine.histogram(SELECTION, top=1).counts.tolist()[0], number + 1))
                break
            except StoreIncomplete as refused:
                refusals.append(refused.point)

    assert any(missed)
    assert set(refusals) <= {5, 6, 11}
    assert 11 in refusals
    assert [found for found, _ in answers] == [whole for _, whole in answers] == [2, 3, 4, 5, 6]


def test_an_estimating_broker_is_refused(machines):
    """It counts by sketches; only the name of a column tells."""
    shared = shared_cluster()
    shared.load(
        "estimated", KINDS, *[[{"user": f"u{n}", "item": "a"} for n in range(side, 90, 2)] for side in range(2)]
    )
    estimating = shared.ports["estimating"]
    # Under a name of its own nothing tells it.
    named = (
        'SELECT "item", DISTINCTCOUNT("user") AS people FROM "estimated" GROUP BY "item" ORDER BY people DESC LIMIT 3'
    )
    taken = twin(named, broker=estimating)
    with opened(shared.address("estimated", broker=estimating)) as engine:
        assert refused_at(lambda: engine.histogram(SELECTION, top=3)) == 8
    assert [item for item, _ in taken] == ["a"]


@contextmanager
def standing_between(change):
    """A broker that does something else than it is asked for, in every statement; its port."""
    shared = shared_cluster()

    def say(body):
        said = json.loads(body)
        return post(f"http://127.0.0.1:{shared.ports['broker']}/query/sql", {**said, "sql": change(said["sql"])})

    with scripted() as machine:
        machine.says["/query/sql"] = say
        yield machine.port


def _filtered(sql):
    """With a filter of somebody else's: a rule about rows that the asker may not see."""
    head, where, rest = sql.partition(" WHERE ")
    if where:
        return f"{head} WHERE \"user\" <> 'eve' AND {rest}"
    table = 'FROM "ruled"'
    return sql.replace(table, f"{table} WHERE \"user\" <> 'eve'")


@pytest.mark.parametrize("change", [_filtered, lambda sql: sql.replace('FROM "ruled"', 'FROM "Ruled"')])
def test_a_broker_that_answers_about_other_rows_is_refused(change, monkeypatch):
    """All eleven points but one hold: it leaves out somebody's rows everywhere, or means a table of another name."""
    shared = shared_cluster()
    parts = [[{"user": user, "item": "a"} for user in people] for people in (("ann", "bob"), ("eve", "dan"))]
    others = [[{"user": "zoe", "item": "a"}] * 2] * 2
    if not _RULED:
        _RULED.append(shared.load("ruled", KINDS, *parts))
        shared.load("Ruled", KINDS, *others)
    with standing_between(change) as port, opened(shared.address("ruled", broker=port)) as engine:
        points = [
            refused_at(lambda: engine.histogram(SELECTION, top=3)),
            refused_at(lambda: engine.incidence(SELECTION)),
        ]
        monkeypatch.setattr(Table, "_meet", lambda _: None)
        believed = rows(engine.histogram(SELECTION, top=3))
    with opened(_RULED[0]) as engine:
        truth = rows(engine.histogram(SELECTION, top=3))

    assert points == [6, 6]
    assert truth == (["a"], [4], True)
    assert believed[1][0] < 4


_RULED = []


def test_nothing_but_refusals_leaves_a_dead_cluster():
    """A port that nobody listens at, and a broker that answers for the controller."""
    shared = shared_cluster()
    with pytest.raises(StoreFailed, match="the controller"):
        open_pinot("pinot://127.0.0.1:9/t?controller=127.0.0.1:9")
    with pytest.raises(HushcountError):
        open_pinot(f"pinot://127.0.0.1:{shared.ports['broker']}/t?controller=127.0.0.1:{shared.ports['broker']}")
    with pytest.raises(InvalidParameter):
        open_pinot("pinot://127.0.0.1/a;b")


def _until(ready):
    """Wait for something that comes by itself."""
    end = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.1)


def _eventually(ask):
    """The answer, once it is no longer refused."""
    end = time.monotonic() + 60
    while True:
        try:
            return ask()
        except StoreIncomplete:
            assert time.monotonic() < end
            time.sleep(0.2)
