"""The engine on a machine that says what a test wants: states, versions, and what is refused before it is asked."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import numpy as np
import pytest

from hushcount.engines.filters import grammar
from hushcount.engines.pinot import engine as engine_module
from hushcount.engines.pinot.engine import open_pinot
from hushcount.engines.pinot.sql import quoted
from hushcount.errors import InvalidInput, InvalidParameter, StoreFailed, StoreIncomplete, UnknownColumn, UnsafeFilter
from hushcount.model.inputs import Bound
from hushcount.model.queries import Selection, TextItems
from tests.unit.engines.pinot.scripted import scripted
from tests.unit.engines.pinot.test_complete import sample

SELECTION = Selection(user="user", item="item")
SCHEMA = {
    "dimensionFieldSpecs": [
        {"name": "user", "dataType": "STRING"},
        {"name": "item", "dataType": "STRING", "defaultNullValue": "nothing"},
        {"name": "age", "dataType": "INT"},
        {"name": "tags", "dataType": "STRING", "singleValueField": False},
        {"name": "yes", "dataType": "BOOLEAN"},
        {"name": "share", "dataType": "DOUBLE"},
    ],
    "metricFieldSpecs": [{"name": "clicks", "dataType": "LONG"}],
    "dateTimeFieldSpecs": [{"name": "at", "dataType": "TIMESTAMP", "format": "1:MILLISECONDS:EPOCH"}],
    "timeFieldSpec": {"incomingGranularitySpec": {"name": "day", "dataType": "INT"}},
}
SERVER = "Server_127.0.0.1_1"


@pytest.fixture
def machine():
    """One machine in all roles, with a table of two segments of three rows each."""
    with scripted() as made:
        view = {"OFFLINE": {"t_0": {SERVER: "ONLINE"}, "t_1": {SERVER: "ONLINE"}}, "REALTIME": None}
        crc = {"t_0": "11", "t_1": "22"}
        metadata = {"segment.total.docs": "3", "segment.push.time": "5"}
        made.says = {
            "/tables/t": {"OFFLINE": {"tableName": "t_OFFLINE"}},
            "/tables/t/schema": SCHEMA,
            "/tables/t/idealstate": view,
            "/tables/t/externalview": view,
            f"/instances/{SERVER}": {"hostName": "127.0.0.1", "adminPort": made.port},
            "/tables/t_OFFLINE/segments/crc": crc,
            "/segments/t/t_0/metadata": {**metadata, "segment.crc": "11"},
            "/segments/t/t_1/metadata": {**metadata, "segment.crc": "22"},
        }
        yield made


@pytest.fixture
def opened(machine):
    """How to open the table of the machine; all are closed at the end."""
    engines = []

    def open_():
        engines.append(open_pinot(f"pinot://127.0.0.1:{machine.port}/t?controller=127.0.0.1:{machine.port}&timeout=5"))
        return engines[-1]

    yield open_
    for engine in engines:
        engine.close()


def met(say):
    """What a broker says of the table itself, and to all else what it is told to say."""

    def speak(body):
        sql = json.loads(body)["sql"]
        if sql.startswith("SELECT DISTINCT "):
            return answered(["$segmentName"], ["STRING"], ["t_0"], ["t_1"])
        return answered(["count(*)"], ["LONG"], [6]) if sql == 'SELECT COUNT(*) FROM "t"' else say(body)

    return speak


def answered(columns, types, *rows):
    """A complete answer."""
    told = sample("0.11.0", "complete")
    schema = {"columnNames": columns, "columnDataTypes": types}
    counters = {"numSegmentsQueried": 2, "numSegmentsProcessed": 2, "totalDocs": 6}
    return {**told, **counters, "resultTable": {"dataSchema": schema, "rows": list(rows)}}


def nobody(body):
    """What a broker says of a table of whose rows none counts."""
    sql = json.loads(body)["sql"]
    if sql.startswith("EXPLAIN"):
        root = f"BROKER_REDUCE(sort:[distinctcount(user) DESC, item ASC],limit:{sql.rpartition(' ')[2]})"
        return answered(["Operator"], ["STRING"], [root])
    if "GROUP BY" in sql:
        return answered(["item", "distinctcount(user)"], ["STRING", "INT"])
    return answered(["distinctcount(item)"], ["INT"], [0 if "WHERE" in sql else 1])


def test_columns_have_kinds(opened):
    """By Pinot's types; several values in a cell are nested."""
    kinds = {column.name: column.kind for column in opened().describe().columns}

    assert kinds == {
        "user": "text",
        "item": "text",
        "age": "integer",
        "tags": "nested",
        "yes": "boolean",
        "share": "other",
        "clicks": "integer",
        "at": "moment",
        "day": "integer",
    }


def test_the_version_is_that_of_segments_and_columns(machine, opened):
    """Pushing the same again does not change it; other rows or another schema do."""
    first = opened().fingerprint(b"k")
    machine.says["/segments/t/t_0/metadata"]["segment.refresh.time"] = "9"
    again = opened().fingerprint(b"k")
    machine.says["/tables/t/schema"] = {**SCHEMA, "metricFieldSpecs": []}
    columns = opened().fingerprint(b"k")
    machine.says["/tables/t_OFFLINE/segments/crc"] = {"t_0": "11", "t_1": "23"}
    machine.says["/segments/t/t_1/metadata"]["segment.crc"] = "23"
    rows = opened().fingerprint(b"k")

    assert first == again
    assert len({first, columns, rows}) == 3


def test_an_open_table_is_about_one_state(machine, opened):
    """A push within an answer refuses it, also of the same rows: the table may have been another one meanwhile."""
    engine = opened()
    version = engine.fingerprint(b"k")

    def pushed_meanwhile(body):
        machine.says["/segments/t/t_0/metadata"]["segment.refresh.time"] = "9"
        return nobody(body)

    machine.says["/query/sql"] = met(pushed_meanwhile)
    for _ in range(2):
        with pytest.raises(StoreIncomplete, match="changed meanwhile") as caught:
            engine.histogram(SELECTION, top=3)

        assert caught.value.point == 11
    # The next question begins after it, with the same version.
    assert engine.fingerprint(b"k") == version
    assert engine.histogram(SELECTION, top=3).items.tolist() == []


def test_another_version_refuses_an_open_table(machine, opened):
    """Whoever goes on must open it again."""
    engine = opened()
    engine.fingerprint(b"k")
    machine.says["/tables/t_OFFLINE/segments/crc"] = {"t_0": "11", "t_1": "23"}
    machine.says["/segments/t/t_1/metadata"]["segment.crc"] = "23"
    for _ in range(2):
        with pytest.raises(StoreIncomplete, match="on the next day") as caught:
            engine.fingerprint(b"k")

        assert caught.value.point == 11


@pytest.mark.parametrize(
    ("path", "said", "point"),
    [
        ("/tables/t", {"REALTIME": {}}, 7),
        ("/tables/t", {}, 7),
        ("/tables/t", (404, {}), 7),
        ("/tables/t/idealstate", (404, {}), 11),
        ("/tables/t_OFFLINE/segments/crc", (404, {}), 11),
        ("/tables/t/externalview", {"OFFLINE": None, "REALTIME": None}, 11),
        ("/tables/t/idealstate", {"OFFLINE": {}, "REALTIME": None}, 11),
        ("/tables/t_OFFLINE/segments/crc", {"t_0": "11"}, 11),
        ("/tables/t_OFFLINE/segments/crc", {"t_0": "11", "t_1": "23"}, 11),
        ("/tables/t_OFFLINE/segments/crc", (500, {}), 11),
        (f"/instances/{SERVER}", {"hostName": "127.0.0.1", "adminPort": 1}, 11),
        (f"/instances/{SERVER}", {}, 11),
        ("/segments/t/t_1/metadata", {"segment.crc": "23"}, 11),
        ("/segments/t/t_1/metadata", {"segment.crc": "22"}, 11),
        ("/segments/t/t_1/metadata", [], 11),
    ],
)
def test_a_state_that_is_not_whole_refuses(machine, opened, path, said, point):
    """Before anything is read, and so before anything is charged."""
    machine.says[path] = said
    with pytest.raises(StoreIncomplete) as caught:
        opened()

    assert caught.value.point == point


def test_all_segments_are_told_at_once_where_that_may_be_asked(machine, opened):
    """The same state, in one answer; one that lists other segments is refused."""
    one_by_one = opened().fingerprint(b"k")
    nodes = [
        {"id": name, "simpleFields": machine.says.pop(f"/segments/t/{name}/metadata"), "mapFields": {}}
        for name in ("t_1", "t_0")
    ]
    machine.says |= {"/cluster/info": {"clusterName": "pinot"}, "/zk/getChildren": nodes}
    engine = opened()

    assert engine.fingerprint(b"k") == one_by_one
    assert any("path=%2Fpinot%2FPROPERTYSTORE%2FSEGMENTS%2Ft_OFFLINE" in path for path, _, _ in machine.heard)
    machine.says["/zk/getChildren"] = nodes[:1]
    with pytest.raises(StoreIncomplete, match="lists of segments differ"):
        engine.fingerprint(b"k")


def test_one_look_is_one_round_of_requests(machine, opened):
    """All who are known are asked before any answers; a server that is new is asked afterwards."""
    nodes = [{"id": name, "simpleFields": machine.says.pop(f"/segments/t/{name}/metadata")} for name in ("t_0", "t_1")]
    machine.says |= {"/cluster/info": {"clusterName": "pinot"}, "/zk/getChildren": nodes}
    engine = opened()
    engine.fingerprint(b"k")
    # Nobody answers before all six have come.
    machine.gather(6)
    engine.fingerprint(b"k")
    asked = [path for path, _, _ in machine.heard[-6:]]
    moved = {"OFFLINE": {"t_0": {SERVER: "ONLINE"}, "t_1": {"Server_new": "ONLINE"}}, "REALTIME": None}
    machine.says |= {"/tables/t/idealstate": moved, "/tables/t/externalview": moved}
    machine.says["/instances/Server_new"] = machine.says[f"/instances/{SERVER}"]
    engine.fingerprint(b"k")

    assert sorted(path.partition("?")[0] for path in asked) == [
        "/tables/t",
        "/tables/t/externalview",
        "/tables/t/idealstate",
        "/tables/t/schema",
        "/tables/t_OFFLINE/segments/crc",
        "/zk/getChildren",
    ]
    *first, last = [path for path, _, _ in machine.heard[-3:]]
    assert (sorted(first), last) == (
        ["/instances/Server_new", "/zk/get?path=%2Fpinot%2FCONFIGS%2FPARTICIPANT%2FServer_new"],
        "/tables/t_OFFLINE/segments/crc",
    )


def test_a_server_that_speaks_tls_alone_is_asked_over_tls(machine, opened):
    """The controller's own answer has no port of it; ZooKeeper has. Here nobody speaks TLS there, so it is refused."""
    nodes = [{"id": name, "simpleFields": machine.says.pop(f"/segments/t/{name}/metadata")} for name in ("t_0", "t_1")]
    secure = {"id": SERVER, "simpleFields": {"adminHttpsPort": str(machine.port)}}
    machine.says |= {"/cluster/info": {"clusterName": "pinot"}, "/zk/getChildren": nodes, "/zk/get": secure}
    version = opened().fingerprint(b"k")
    machine.says[f"/instances/{SERVER}"] = {"hostName": "127.0.0.1", "adminPort": -1}
    with pytest.raises(StoreIncomplete, match="does not tell what it has loaded"):
        opened()
    machine.says["/zk/get"] = (403, {})
    with pytest.raises(StoreIncomplete, match="does not tell what it has loaded"):
        opened()

    # Where it has both, and the controller speaks plainly, so does the server.
    assert version.startswith("pinot-")


def test_a_server_that_came_back_elsewhere_is_found(machine, opened):
    """One that does not answer is asked for anew; one that has left the table is asked no more."""
    engine = opened()
    engine.fingerprint(b"k")
    found = machine.says[f"/instances/{SERVER}"]
    machine.says[f"/instances/{SERVER}"] = {**found, "adminPort": 1}
    machine.says["/tables/t_OFFLINE/segments/crc"] = (500, {})
    with pytest.raises(StoreIncomplete, match="does not tell what it has loaded"):
        engine.fingerprint(b"k")
    with pytest.raises(StoreIncomplete, match="does not tell what it has loaded"):
        engine.fingerprint(b"k")
    machine.says |= {f"/instances/{SERVER}": found, "/tables/t_OFFLINE/segments/crc": {"t_0": "11", "t_1": "22"}}

    assert engine.fingerprint(b"k") == opened().fingerprint(b"k")


def test_groups_take_one_round_of_statements(machine, opened):
    """Groups, their number and the plan at the same time; how many values a column has is asked once for a state."""
    heard = []

    def say(body):
        sql = json.loads(body)["sql"]
        heard.append(sql.split(" FROM ")[0])
        if sql.startswith("EXPLAIN"):
            root = "BROKER_REDUCE(sort:[distinctcount(user) DESC, item ASC],limit:4)"
            return answered(["Operator"], ["STRING"], [root])
        if "GROUP BY" in sql:
            return answered(["item", "distinctcount(user)"], ["STRING", "INT"], ["a", 2], ["b", 1])
        return answered(["distinctcount(item)"], ["INT"], [2 if "WHERE" in sql else 6])

    machine.says["/query/sql"] = met(say)
    engine = opened()
    first = engine.histogram(SELECTION, top=3)
    del heard[:]
    machine.gather(3)
    again = engine.histogram(SELECTION, top=3)

    assert first.items.tolist() == again.items.tolist() == ["a", "b"]
    assert again.complete
    assert sorted(heard) == [
        'EXPLAIN PLAN FOR SELECT "item", DISTINCTCOUNT("user")',
        'SELECT "item", DISTINCTCOUNT("user")',
        'SELECT DISTINCTCOUNT("item")',
    ]


def test_more_groups_than_a_column_has_values_are_refused(machine, opened):
    """The LIMIT went by them, so groups may have been trimmed."""

    def say(body):
        sql = json.loads(body)["sql"]
        if sql.startswith("EXPLAIN"):
            return answered(["Operator"], ["STRING"], ["BROKER_REDUCE"])
        if "GROUP BY" in sql:
            return answered(["item", "distinctcount(user)"], ["STRING", "INT"], ["a", 2])
        return answered(["distinctcount(item)"], ["INT"], [11 if "WHERE" in sql else 1])

    machine.says["/query/sql"] = met(say)
    with pytest.raises(StoreIncomplete) as caught:
        opened().histogram(SELECTION, top=3)

    assert caught.value.point == 1


def test_a_controller_that_is_away_is_told(machine, opened):
    """It is not incomplete, it failed."""
    machine.says["/tables/t"] = (500, {})
    with pytest.raises(StoreFailed, match="the controller of Pinot answered with HTTP 500"):
        opened()


def test_names_that_cannot_be_asked_for_are_refused(machine, opened):
    """Those that no segment of Pinot can hold, its own, and two that differ in capital letters alone."""
    for names in (["a\nb"], ["$segmentName"], ["a\\b"], [""], ["*"], ["Item", "item"]):
        specs = [{"name": name, "dataType": "STRING"} for name in names]
        machine.says["/tables/t/schema"] = {"dimensionFieldSpecs": specs}
        with pytest.raises(InvalidInput, match="in the schema"):
            opened()


def test_a_quote_in_a_name_stays_in_the_name():
    """Doubled, as everywhere in SQL: what follows it is not read as a statement."""
    assert quoted('a" OR 1=1 --') == '"a"" OR 1=1 --"'
    assert quoted("a'b") == '"a\'b"'


@pytest.mark.parametrize("item", ["share", "at", "tags"])
def test_only_plain_values_are_counted(opened, item):
    """Other types have no text that is the same everywhere."""
    for selection in (Selection(user="user", item=item), Selection(user=item, item="item")):
        with pytest.raises(InvalidInput):
            opened().validate(selection)


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("share > 1.5", UnsafeFilter),
        ("user > 1", UnsafeFilter),
        ("user = DATE '2024-01-01'", UnsafeFilter),
        ("yes IS NULL", UnsafeFilter),
        ("at IS NULL", UnsafeFilter),
        ("clicks IS NULL", UnsafeFilter),
        ("age > 1e17", UnsafeFilter),
        ("tags = 'a'", UnsafeFilter),
        ("usr = 'a'", UnknownColumn),
    ],
)
def test_filters_that_pinot_cannot_answer_are_refused(opened, where, error):
    """Before anything is charged."""
    with pytest.raises(error):
        opened().validate(replace(SELECTION, where=grammar.read(where)))


def test_a_filter_that_nothing_passes_asks_nobody(machine, opened):
    """Its answer is known: nothing."""
    never = replace(SELECTION, where=grammar.read("age > 99999999999"))
    engine = opened()

    assert engine.histogram(never, top=3).items.tolist() == []
    assert engine.histogram(never).of(np.array(["a"], dtype=object)).tolist() == [0]
    assert engine.incidence(never).items.tolist() == []
    assert not [path for path, _, _ in machine.heard if path == "/query/sql"]


def test_large_tables_are_not_read_row_by_row(opened, monkeypatch):
    """Lists, caps, words and bounds are refused with the way out; the identity is that of the segments."""
    engine = opened()
    engine.validate_lists()
    monkeypatch.setattr(engine_module, "MOST_ROWS", 5)
    words = Selection(user="user", item=TextItems(column="item"))
    for ask in (
        engine.validate_lists,
        lambda: engine.validate(words),
        lambda: engine.validate(replace(SELECTION, per_item_cap=2)),
        lambda: engine.incidence(SELECTION),
        lambda: engine.histogram(SELECTION, bound=Bound(max_items=1, salt=b"s")),
    ):
        with pytest.raises(InvalidParameter, match="engine='spark'"):
            ask()

    engine.validate(SELECTION)
    assert engine.rows_identity(b"k") == engine.rows_identity(b"k") != engine.rows_identity(b"l")


def test_rows_that_are_not_all_there_are_refused(machine, opened):
    """A page of fewer rows than were counted, and pages that do not add up."""
    counts = iter([6, 6, 6, 5])

    def say(body):
        sql = json.loads(body)["sql"]
        if "COUNT" in sql:
            return answered(["count(*)"], ["LONG"], [next(counts)])
        return answered(["user", "item"], ["STRING", "STRING"], *[["ann", "a"]] * 5)

    machine.says["/query/sql"] = met(say)
    engine, points = opened(), []
    for _ in range(2):
        with pytest.raises(StoreIncomplete) as caught:
            engine.incidence(SELECTION)
        points.append(caught.value.point)

    assert points == [10, 10]


def test_an_approximate_count_of_items_is_refused(machine, opened):
    """It decides the LIMIT, so it must be exact."""
    machine.says["/query/sql"] = met(lambda _: answered(["distinctcounthll(item)"], ["LONG"], [3]))
    with pytest.raises(StoreIncomplete) as caught:
        opened().histogram(SELECTION, top=3)

    assert caught.value.point == 8


def test_many_may_ask_at_once(machine, opened):
    """Each has a connection of its own."""
    machine.says["/query/sql"] = met(nobody)
    engine, found = opened(), []
    threads = [
        threading.Thread(target=lambda: found.append(engine.histogram(SELECTION, top=3).complete)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [True] * 8
