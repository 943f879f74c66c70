"""A server dies while the service answers from Pinot: nothing is answered from half of the data, and nothing is lost.

One story, told once: a question is answered; the second server is killed in the middle of the next; half a minute later
Pinot answers from what is left as if that were all; the server comes back. What was seen is held against what
must be.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from hushcount.app.serving.setup.config import StoreConfig
from hushcount.engines.pinot.engine import open_pinot
from hushcount.engines.pinot.table import Table
from hushcount.errors import StoreIncomplete
from hushcount.model.queries import Selection
from tests.api.served import COUNT, TOP, released, staged
from tests.conformance.engines.plain import rows
from tests.pinot import Cluster, shared_cluster

ARTICLES, COUNTRIES = Selection(user="user_id", item="article"), Selection(user="user_id", item="country")
PEOPLE = 2000
# Of rows and of groups, with a filter, a list, two columns, and of everybody.
OTHERS: dict[str, dict[str, Any]] = {
    "names": {"question": "vocab", "item": "country"},
    "everybody": {"question": "people"},
    "counted": {"question": "count", "item": "country", "method": "pcr", "where": "country = 'NZ'"},
}
RAW = 'SELECT "country", DISTINCTCOUNT("user_id") FROM "events" GROUP BY "country" ORDER BY 2 DESC, 1 LIMIT 5'


@dataclass
class Story:
    """What was seen: replies of the service, points of refusals, what a trusting twin took, what is left."""

    replies: dict[str, Any] = field(default_factory=dict)
    left: dict[str, float] = field(default_factory=dict)
    points: dict[str, set[int | None]] = field(default_factory=dict)
    counts: dict[str, Any] = field(default_factory=dict)
    twin: list[Any] = field(default_factory=list)


def made_rows(side: int) -> list[dict[str, object]]:
    """Half of the people, each with an article of a hundred and a country of two."""
    mine = range(side * PEOPLE // 2, (side + 1) * PEOPLE // 2)
    return [{"user_id": f"u{n}", "article": f"a{n % 100}", "country": "NZ" if n % 2 else "AU"} for n in mine]


def served_by_pinot(shared: Cluster) -> Any:
    """A change of the configuration: the data set lies in Pinot."""
    here = "127.0.0.1"
    store = StoreConfig(
        name="olap",
        kind="pinot",
        place=f"http://{here}:{shared.ports['broker']}",
        controller=f"{here}:{shared.ports['controller']}",
    )

    def change(config: Any) -> Any:
        events, *others = config.datasets
        moved = replace(events, store="olap", table="events")
        return replace(config, stores=(*config.stores, store), datasets=(moved, *others))

    return change


def point_of(ask: Any) -> int | None:
    """The point that refuses; zero if it is answered."""
    try:
        ask()
    except StoreIncomplete as refused:
        return refused.point
    return 0


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    """The story, once."""
    shared = shared_cluster()
    kinds = {"user_id": "STRING", "article": "STRING", "country": "STRING"}
    address = shared.load("events", kinds, made_rows(0), made_rows(1))
    told = Story()
    try:
        with staged(tmp_path_factory.mktemp("story"), served_by_pinot(shared)) as stage:
            _live(told, stage, shared, address)
            assert stage.service.ledger.verify().problems == ()
    finally:
        if shared.daemons["server2"].process.poll() is not None:
            _start_again(shared)
    return told


def _live(told: Story, stage: Any, shared: Cluster, address: str) -> None:
    analyst, engine = stage.analyst, open_pinot(address)

    def ask(name: str, body: Any, key: str) -> None:
        told.replies[name] = released(analyst, body, key=key)
        told.left[name] = analyst.get("/v1/datasets/events/budget").form["accounts"][0]["releases"]["left"]

    country = {**TOP, "item": "country", "k": 1}
    for name, body in OTHERS.items():
        ask(name, {"dataset": "events", **body}, name)
    ask("first", TOP, "k1")
    told.counts["before"] = rows(engine.histogram(ARTICLES, top=3))
    _killing_once(shared, lambda: ask("killed", country, "k2"))
    ask("down", {**COUNT, "item": "country"}, "k3")
    told.points["at once"] = {point_of(lambda: engine.histogram(COUNTRIES, top=3)) for _ in range(3)}
    told.points["silent"] = _through_the_silence(told, shared, engine, address)
    _start_again(shared)
    told.counts["after"] = rows(engine.histogram(ARTICLES, top=3))
    engine.close()
    ask("again", country, "k2")
    ask("repeated", country, "k2")
    ask("first repeated", TOP, "k1")


def _killing_once(shared: Cluster, ask: Any) -> None:
    """Ask, and kill the second server when the state was found well and the first statement is about to be sent."""
    whole, killed = Table._ask, []  # noqa: SLF001

    def asking(self: Table, *statements: str) -> Any:
        if not killed:
            killed.append(shared.daemons["server2"].kill())
        return whole(self, *statements)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Table, "_ask", asking)
        ask()
    assert killed


def _through_the_silence(told: Story, shared: Cluster, engine: Any, address: str) -> set[int | None]:
    """Ask on until Pinot has forgotten the server, and a little longer; what refused."""
    points, end = set[int | None](), time.monotonic() + 90
    while not told.twin and time.monotonic() < end:
        points |= {point_of(lambda: engine.histogram(COUNTRIES, top=3)), point_of(lambda: open_pinot(address).close())}
        raw = shared.ask(RAW)
        if raw["exceptions"] == [] and raw["numServersResponded"] == raw["numServersQueried"]:
            told.twin = raw["resultTable"]["rows"]
        time.sleep(0.3)
    return points | {point_of(lambda: engine.histogram(COUNTRIES, top=3)) for _ in range(3)}


def _start_again(shared: Cluster) -> None:
    shared.start_second()
    shared.wait_for("events", PEOPLE)
    end = time.monotonic() + 60
    while point_of(lambda: open_pinot(shared.address("events")).close()) != 0:
        assert time.monotonic() < end
        time.sleep(0.2)


def test_the_service_answers_from_pinot(story):
    """An analyst's question, as from any other store."""
    reply = story.replies["first"]

    assert reply.status == 200, reply.body
    assert story.left["first"] < 10
    for name in OTHERS:
        assert story.replies[name].status == 200, story.replies[name].body


def test_a_server_killed_within_a_question_refuses_it(story):
    """What was held stays held, since data may have been read; nothing of the data or of Pinot's words is shown."""
    reply = story.replies["killed"]

    assert (reply.status, reply.code) == (502, "store-incomplete")
    assert reply.form["charged"] is True
    assert "AU" not in reply.form["detail"]
    assert story.left["killed"] < story.left["first"]


def test_while_a_server_is_away_nothing_is_charged(story):
    """It is found out before the ledger is asked."""
    reply = story.replies["down"]

    assert (reply.status, reply.code) == (502, "store-incomplete")
    assert reply.form["charged"] is False
    assert "Nothing was charged" in reply.form["detail"]
    assert "of 11" in reply.form["detail"]
    assert story.left["down"] == story.left["killed"]


def test_half_of_the_data_is_never_taken_for_all(story):
    """The twin that trusts Pinot's flags takes half; ours refused from the first moment to the last."""
    assert story.points["at once"] <= {2, 4, 5, 11}
    assert story.points["silent"] <= {2, 4, 5, 11}
    assert sum(count for _, count in story.twin) == PEOPLE // 2


def test_the_same_state_gives_the_same_answer_again(story):
    """An engine that was open all the while goes on when the server is back."""
    assert story.counts["after"] == story.counts["before"]


def test_a_retry_is_answered_and_charged_once(story):
    """Under the same key; asked once more it is the same, and costs nothing."""
    again, repeated = story.replies["again"], story.replies["repeated"]

    assert again.status == repeated.status == 200, again.body
    assert again.form["release"] == repeated.form["release"]
    assert story.left["killed"] <= story.left["again"] == story.left["repeated"] < story.left["first"]
    assert story.replies["first repeated"].form["release"] == story.replies["first"].form["release"]


def test_no_process_is_left_behind():
    """The cluster of the tests has exactly the programs that it started."""
    shared = shared_cluster()

    assert {"zk", "pinot", "server2"} <= shared.daemons.keys()
    assert all(Path(f"/proc/{daemon.process.pid}").exists() for daemon in shared.daemons.values())
