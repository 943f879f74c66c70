"""All machines of a cluster in one, which tells the truth about a small table until it is told to lie."""

from __future__ import annotations

import json

from hushcount.engines.pinot.web import WebAnswer
from tests.unit.engines.pinot.test_complete import sample

CANARY = "ann@example.org"
SERVER = "Server_127.0.0.1_1"
SEGMENTS = (f"t_{CANARY}'_0", "t_1")
PAIRS = [["ann", "a"], ["bob", "a"], ["eve", "a"], ["ann", "b"], ["bob", "b"], ["eve", "c"]]
GROUPS = [["a", 3], ["b", 2], ["c", 1]]


def whole(columns, types, *found):
    """A complete answer."""
    told = sample("0.11.0", "complete")
    schema = {"columnNames": columns, "columnDataTypes": types}
    counters = {"numSegmentsQueried": 2, "numSegmentsProcessed": 2, "totalDocs": 6}
    return {**told, **counters, "resultTable": {"dataSchema": schema, "rows": list(found)}}


def spoken():
    """What a controller and a server say under each path."""
    view = {"OFFLINE": {name: {SERVER: "ONLINE"} for name in SEGMENTS}, "REALTIME": None}
    specs = [{"name": name, "dataType": "STRING"} for name in ("user", "item")]
    nodes = [
        {"id": name, "simpleFields": {"segment.total.docs": "3", "segment.crc": str(n), "segment.push.time": "5"}}
        for n, name in enumerate(SEGMENTS)
    ]
    return {
        "/cluster/info": {"clusterName": "pinot"},
        "/tables/t": {"OFFLINE": {"tableName": "t_OFFLINE"}},
        "/tables/t/schema": {"dimensionFieldSpecs": specs},
        "/tables/t/idealstate": view,
        "/tables/t/externalview": view,
        "/zk/getChildren": nodes,
        "/zk/get": {"id": SERVER, "simpleFields": {}},
        f"/instances/{SERVER}": {"hostName": "127.0.0.1", "adminPort": 7},
        "/tables/t_OFFLINE/segments/crc": {name: str(n) for n, name in enumerate(SEGMENTS)},
    }


def answered(sql):
    """What a broker says, and what kind of statement it was."""
    limit = sql.rpartition(" ")[2]
    if sql.startswith("EXPLAIN"):
        root = f"BROKER_REDUCE(sort:[distinctcount(user) DESC, item ASC],limit:{limit})"
        return "plan", whole(["Operator"], ["STRING"], [root])
    if "GROUP BY" in sql:
        return "groups", whole(["item", "distinctcount(user)"], ["STRING", "INT"], *GROUPS[: int(limit)])
    if "$segmentName" in sql and "DISTINCT" in sql:
        return "segments", whole(["$segmentName"], ["STRING"], *[[name] for name in SEGMENTS])
    if "DISTINCTCOUNT" in sql:
        return "number", whole(["distinctcount(item)"], ["INT"], [3])
    if "COUNT(*)" in sql:
        return "count", whole(["count(*)"], ["LONG"], [6])
    return "rows", whole(["user", "item"], ["STRING", "STRING"], *PAIRS)


class Liar:
    """All machines of a cluster. `lie` changes what one kind of question is answered by."""

    def __init__(self):
        self.lies = {}

    def say(self, request):
        """An answer, through JSON as over a wire."""
        path = request.path.partition("?")[0]
        kind, told = (path, spoken()[path]) if request.body is None else answered(request.body["sql"])
        told = json.loads(json.dumps(told))
        if kind in self.lies:
            told = self.lies[kind](told)
        return WebAnswer(said=told)


class Said:
    """Answers that have come."""

    def __init__(self, found):
        self._found = found

    def answers(self):
        """All of them."""
        return self._found

    def close(self):
        """Nothing is open."""
