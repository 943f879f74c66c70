"""Segments that are still being written, by a stream into a live cluster: refused, alone and beside OFFLINE ones."""

from __future__ import annotations

import time

import pytest

from hushcount.engines.pinot import complete
from hushcount.engines.pinot.engine import open_pinot
from hushcount.errors import StoreIncomplete
from hushcount.model.queries import Selection
from tests.conformance.engines.plain import rows
from tests.pinot import delete, get, shared_cluster
from tests.pinot_stream import running_stream

SELECTION = Selection(user="user", item="item")
KINDS = {"user": "STRING", "item": "STRING"}
NOW = 1_700_000_000_000


@pytest.fixture(scope="module")
def stream():
    """Kafka, for the tests of this file."""
    with running_stream(shared_cluster()) as made:
        yield made


def made_rows(first, last):
    """One person for each number."""
    return [{"user": f"u{n}", "item": "a", "at": NOW + n} for n in range(first, last)]


def counted(table, least):
    """What a broker tells of a table, once it has so many rows of it."""
    sql = f'SELECT "item", DISTINCTCOUNT("user") FROM "{table}" GROUP BY "item" ORDER BY 2 DESC'  # noqa: S608  our own
    end = time.monotonic() + 60
    while True:
        told = shared_cluster().ask(sql)
        if not told["exceptions"] and told["totalDocs"] >= least:
            return told
        assert time.monotonic() < end, told
        time.sleep(0.1)


def refusal(ask):
    """How a question is refused."""
    with pytest.raises(StoreIncomplete) as caught:
        ask()
    return caught.value


def eventually(ask):
    """The answer, once it is no longer refused."""
    end = time.monotonic() + 60
    while True:
        try:
            return ask()
        except StoreIncomplete:
            assert time.monotonic() < end
            time.sleep(0.2)


def test_a_segment_that_is_still_written_is_refused(stream):
    """Its answer has no exception and no flag; a twin that trusts them counts while rows come in."""
    shared = shared_cluster()
    stream.feed("fed", KINDS, made_rows(0, 50))
    try:
        first = counted("fed", 50)
        stream.send("fed", made_rows(50, 70))
        second = counted("fed", 70)
        [states] = get(f"{shared.controller}/tables/fed/idealstate")["REALTIME"].values()
        refused = refusal(lambda: complete.check_answer(second, segments=1, docs=70))
        unopened = refusal(lambda: open_pinot(shared.address("fed")))
    finally:
        delete(f"{shared.controller}/tables/fed")

    assert set(states.values()) == {"CONSUMING"}
    assert [told["resultTable"]["rows"] for told in (first, second)] == [[["a", 50]], [["a", 70]]]
    assert second["numConsumingSegmentsQueried"] == 1
    assert (refused.point, unopened.point) == (7, 7)
    assert "still being written" in str(refused)
    assert "OFFLINE" in str(unopened)


def test_a_stream_into_a_table_that_is_open_is_refused(stream):
    """An OFFLINE table of closed days gets a live part: the open engine refuses from then on, until that is gone."""
    shared = shared_cluster()
    shared.make_schema("mixed", KINDS, at="at")
    timed = {"schemaName": "mixed", "timeColumnName": "at", "replication": "1", "segmentPushType": "APPEND"}
    engine = open_pinot(shared.load("mixed", None, made_rows(0, 5), made_rows(5, 9), segmentsConfig=timed))
    before, version = rows(engine.histogram(SELECTION, top=3)), engine.fingerprint(b"k")
    day = 86_400_000
    try:
        stream.feed("mixed", KINDS, [{**row, "at": row["at"] + 3 * day} for row in made_rows(9, 30)])
        told = counted("mixed", 30)
        asked = refusal(lambda: engine.histogram(SELECTION, top=3))
        looked = refusal(lambda: engine.fingerprint(b"k"))
        unopened = refusal(lambda: open_pinot(shared.address("mixed")))
    finally:
        delete(f"{shared.controller}/tables/mixed?type=realtime")
    again = eventually(lambda: rows(engine.histogram(SELECTION, top=3)))

    assert before == again == (["a"], [9], True)
    assert engine.fingerprint(b"k") == version
    assert told["numConsumingSegmentsQueried"] == 1
    # The statement itself is about more segments than the table has; looking finds the live part.
    assert asked.point in {5, 6, 7}
    assert (looked.point, unopened.point) == (7, 7)
    engine.close()
