"""HTTP to Pinot's machines: connections are kept, failures are told in our own words, a password is in one header."""

from __future__ import annotations

import base64
import gc
import json
import socket
import time

import pytest

from hushcount.engines.pinot.address import Machine, parse
from hushcount.engines.pinot.web import AT_ONCE, Web, WebRequest
from hushcount.errors import StoreFailed, StoreTimeout, UnreadableSource
from tests.unit.engines.pinot.scripted import scripted


@pytest.fixture
def machine():
    """A machine that says something under /fine."""
    with scripted() as made:
        made.says = {"/fine": {"a": 1}, "/denied": (403, {}), "/broken": (500, b"private words"), "/text": b"private"}
        yield made


def opened(machine, **more):
    """Connections to it, and what they call it."""
    said = "".join(f"&{name}={value}" for name, value in more.items())
    who = "ann@" if "password_file" in more else ""
    web = Web(parse(f"pinot://{who}127.0.0.1:{machine.port}/t?controller=127.0.0.1:{machine.port}{said}"))
    return web, Machine(role="the broker", host="127.0.0.1", port=machine.port)


def post(web, broker, body):
    """What is answered to a body."""
    [answer] = web.ask([WebRequest(machine=broker, path="/fine", body=body)])
    return answer.told()


def test_a_connection_is_used_again(machine):
    """Ten questions, one connection; none after closing."""
    web, broker = opened(machine)
    found = [web.get(broker, "/fine") for _ in range(5)] + [post(web, broker, {"x": 2}) for _ in range(5)]
    nothing = web.get(broker, "/none")
    web.close()

    assert found == [{"a": 1}] * 10
    assert nothing is None
    assert machine.connections == 1
    assert machine.heard[-2][2] == b'{"x": 2}'
    with pytest.raises(UnreadableSource, match="was closed"):
        web.get(broker, "/fine")


def test_a_connection_that_was_closed_meanwhile_is_replaced(machine):
    """As after a machine was started anew: nobody notices."""
    machine.hangs_up = True
    web, broker = opened(machine)
    found = [web.get(broker, "/fine") for _ in range(3)]
    web.close()

    assert found == [{"a": 1}] * 3
    assert machine.connections == 3


def test_the_next_is_sent_before_an_answer_is_read(machine):
    """Of several that are read one by one: a machine is about the second while the first is looked at, and no more."""
    web, broker = opened(machine)
    machine.gather(2)
    answers = web.each(WebRequest(machine=broker, path=path) for path in ("/fine", "/broken", "/fine", "/fine"))
    first, heard = next(answers), len(machine.heard)
    rest = list(answers)
    web.close()

    assert heard == 2
    assert [answer.said for answer in (first, *rest)] == [{"a": 1}, None, {"a": 1}, {"a": 1}]
    assert machine.connections == 2


def test_what_is_under_way_when_nobody_reads_on_meets_no_other_question(machine):
    """Its connection is closed: the answer to the second must not be taken for that of the next."""
    machine.says["/other"] = {"b": 2}
    web, broker = opened(machine)
    answers = web.each(WebRequest(machine=broker, path=path) for path in ("/fine", "/other", "/fine"))
    next(answers)
    answers.close()

    assert [web.get(broker, "/fine") for _ in range(3)] == [{"a": 1}] * 3
    web.close()


def test_much_json_is_read_without_the_garbage_collector(machine, monkeypatch):
    """It goes on afterwards, also if it was no JSON; where somebody else turned it off, it stays so."""
    seen, read = [], json.loads
    monkeypatch.setattr(json, "loads", lambda told: seen.append(gc.isenabled()) or read(told))
    machine.says |= {"/much": b"[" + b"1," * 600_000 + b"1]", "/none": b"x" * 2_000_000}
    web, broker = opened(machine)
    web.get(broker, "/fine")
    web.get(broker, "/much")
    with pytest.raises(StoreFailed):
        web.get(broker, "/none")
    after = gc.isenabled()
    gc.disable()
    try:
        web.get(broker, "/much")
        stays = gc.isenabled()
    finally:
        gc.enable()
    web.close()

    assert seen == [True, False, False, False]
    assert (after, stays) == (True, False)


def test_all_is_sent_before_anything_is_read(machine):
    """Nobody answers before all have come; one that fails leaves the others theirs, and connections are kept."""
    web, broker = opened(machine)
    machine.gather(4)
    asked = [WebRequest(machine=broker, path=path) for path in ("/fine", "/broken", "/none", "/fine")]
    found = web.ask(asked)
    machine.gather(4)
    again = web.ask(asked)
    web.close()

    for answers in (found, again):
        assert [answer.said for answer in answers] == [{"a": 1}, None, None, {"a": 1}]
        assert [answer.failure is None for answer in answers] == [True, False, True, True]
    assert machine.connections == 4


def test_a_great_many_requests_go_in_parts(machine):
    """As where every one of thousands of segments is asked for: the answers are in order, connections are few."""
    web, broker = opened(machine)
    machine.says |= {f"/{n}": n for n in range(100)}
    found = web.ask([WebRequest(machine=broker, path=f"/{n}") for n in range(100)])
    web.close()

    assert [answer.told() for answer in found] == list(range(100))
    assert machine.connections == AT_ONCE


def test_a_connection_with_an_answer_to_come_is_not_used_again(machine):
    """Or the answer to one question would be taken for that to the next."""
    web, broker = opened(machine, timeout=0.3)
    web.get(broker, "/fine")
    machine.says["/slow"] = lambda _: time.sleep(0.6) or {"late": 1}
    late = [web.ask([WebRequest(machine=broker, path="/slow")])[0] for _ in range(2)]
    after = web.get(broker, "/fine")
    web.close()

    for answer in late:
        with pytest.raises(StoreTimeout, match=r"within 0.3 s"):
            answer.told()
    assert after == {"a": 1}
    assert machine.connections == 3


@pytest.mark.parametrize(
    ("path", "words"),
    [("/denied", "denies access"), ("/broken", "HTTP 500"), ("/text", "not answer with JSON")],
)
def test_failures_are_told_in_our_own_words(machine, path, words):
    """A machine's words may quote values; nothing of them is attached either."""
    web, broker = opened(machine)
    with pytest.raises(StoreFailed, match=words) as caught:
        web.get(broker, path)
    web.close()

    assert "private" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_machine_that_is_away_is_told():
    """Nobody listens; or somebody does and says nothing."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        broker = Machine(role="the broker", host="127.0.0.1", port=port)
        web = Web(parse(f"pinot://127.0.0.1:{port}/t?timeout=0.2"))
        with pytest.raises(StoreFailed, match="cannot be reached") as caught:
            web.get(broker, "/fine")
        silent.listen()
        with pytest.raises(StoreTimeout, match=r"within 0.2 s"):
            web.get(broker, "/fine")
        web.close()

    assert caught.value.__context__ is None


@pytest.mark.parametrize("place", [("127.0.0.1", 99_999), ("a..b", 1), ("x" * 70, 1), ("a\r\nb", 1), ("a b", 1)])
def test_a_place_that_is_none_is_told(machine, place):
    """A controller may name any as that of a server."""
    web, _ = opened(machine)
    host, port = place
    with pytest.raises(StoreFailed, match="a server of Pinot cannot be reached") as caught:
        web.get(Machine(role="a server", host=host, port=port), "/fine")
    web.close()

    assert caught.value.__context__ is None


def test_json_without_end_is_told(machine):
    """As deep as a message can be."""
    machine.says["/deep"] = b"[" * 500_000
    web, broker = opened(machine)
    with pytest.raises(StoreFailed, match="not answer with JSON"):
        web.get(broker, "/deep")
    web.close()


def test_a_password_is_sent_in_one_header(machine, tmp_path):
    """It is read from its file, and is in no text of ours."""
    (tmp_path / "p").write_text("hunter2\n", encoding="utf-8")
    web, broker = opened(machine, password_file=tmp_path / "p")
    web.get(broker, "/fine")
    web.close()
    sent = machine.heard[-1][1]["Authorization"]

    assert base64.b64decode(sent.removeprefix("Basic ")) == b"ann:hunter2"
    assert "hunter2" not in repr(web)


def test_files_that_cannot_be_read_are_told(tmp_path):
    """A password that is missing or empty, certificates that are none."""
    (tmp_path / "empty").touch()
    for name in ("none", "empty"):
        with pytest.raises(UnreadableSource, match="check password_file"):
            Web(parse(f"pinot://ann@127.0.0.1/t?password_file={tmp_path / name}"))
    for name in ("none", "empty"):
        with pytest.raises(UnreadableSource, match="ca_file"):
            Web(parse(f"pinots://b/t?ca_file={tmp_path / name}"))
