"""A cluster behind TLS and passwords: broker, controller and server; and one whose segments are on both servers."""

from __future__ import annotations

import base64
import logging
import time
import traceback
from contextlib import contextmanager, suppress

import pytest
from click.testing import CliRunner

from hushcount.cli.main import main
from hushcount.engines.pinot.engine import open_pinot
from hushcount.errors import HushcountError, StoreFailed, StoreIncomplete
from hushcount.model.queries import Selection
from tests.conformance.engines.plain import rows
from tests.integration.pinot.conftest import PASSWORD
from tests.pinot import get, post, shared_cluster
from tests.pinot_tls import CA_FILE

ITEMS, FEW = Selection(user="user", item="item"), Selection(user="user", item="country")
KINDS = {"user": "STRING", "item": "STRING", "country": "STRING"}


@contextmanager
def opened(address):
    """A table, closed afterwards."""
    engine = open_pinot(address)
    try:
        yield engine
    finally:
        engine.close()


def made_rows(side):
    """Two hundred people."""
    return [
        {"user": f"u{n}", "item": f"i{n % 100}", "country": f"c{n % 3}"} for n in range(side * 200, side * 200 + 200)
    ]


@pytest.fixture(scope="module")
def guarded(machines, tmp_path_factory):
    """How to write an address: broker and controller speak TLS and let in who has the password."""
    shared, folder = shared_cluster(), tmp_path_factory.mktemp("passwords")
    shared.load("public", KINDS, made_rows(0), made_rows(1))
    for name, password in (("right", PASSWORD), ("wrong", f"not {PASSWORD}")):
        (folder / name).write_text(f"{password}\n", encoding="utf-8")
    keeper, strict = shared.ports["keeper"], shared.ports["strict"]

    def address(password=None, *, controller=f"127.0.0.1:{keeper}", trusted=True):
        said = [f"controller={controller}"]
        said += [f"ca_file={shared.folder / CA_FILE}"] if trusted else []
        said += [f"password_file={folder / password}"] if password else []
        return f"pinots://{'layer@' if password else ''}127.0.0.1:{strict}/public?{'&'.join(said)}"

    return address


def test_a_cluster_behind_tls_and_passwords_answers(guarded):
    """Broker, controller, and the server that speaks TLS."""
    shared = shared_cluster()
    with opened(guarded("right")) as engine, opened(shared.address("public")) as plain:
        found, same = rows(engine.histogram(FEW, top=5)), rows(plain.histogram(FEW, top=5))
        versions = {one.fingerprint(b"k") for one in (engine, plain)}
        machines = vars(engine)["_table"].watch._observer._servers.values()  # noqa: SLF001
        # Of rows it is their number that shows a lowered LIMIT.
        point = _refused_at(lambda: engine.incidence(FEW))

    assert found == same
    assert len(versions) == 1
    assert {(machine.port, machine.tls) for machine in machines} == {
        (shared.ports["admin1"], False),
        (shared.ports["secure2"], True),
    }
    assert point == 10


def test_a_lowered_limit_is_refused(guarded):
    """The twin takes fifty of a hundred items for all of them: no flag tells it, and no column."""
    sql = 'SELECT "item", DISTINCTCOUNT("user") FROM "public" GROUP BY "item" ORDER BY 2 DESC, 1 LIMIT 200'
    with opened(guarded("right")) as engine, opened(shared_cluster().address("public")) as plain:
        [told] = vars(engine)["_table"]._ask(sql)  # noqa: SLF001  over TLS, and with the password
        whole = rows(plain.histogram(ITEMS))
        points = [_refused_at(lambda top=top: rows(engine.histogram(ITEMS, top=top))) for top in (None, 60)]

    assert told["exceptions"] == []
    assert told["numServersResponded"] == told["numServersQueried"] == 2
    assert told["numGroupsLimitReached"] is False
    assert told["resultTable"]["dataSchema"]["columnNames"] == ["item", "distinctcount(user)"]
    assert (len(told["resultTable"]["rows"]), len(whole[0])) == (50, 100)
    assert points == [9, 9]


def test_a_password_is_nowhere_but_in_its_file(guarded, tmp_path, monkeypatch, caplog, capsys):
    """Asked, refused, denied: not in what is printed, logged, kept or shown of any object, plain or as it is sent."""
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HUSHCOUNT_LEDGER", raising=False)
    caplog.set_level(logging.DEBUG)
    seen = []
    for address, question in ((guarded("right"), "country"), (guarded("right"), "item"), (guarded("wrong"), "country")):
        words = ["top", address, "--user", "user", "--item", question, "-k", "2", "--method", "unknown-gumbel"]
        done = CliRunner().invoke(main, [*words, "--json"])
        seen += [done.output, str(done.exception), *traceback.format_exception(*done.exc_info)]
        with suppress(HushcountError), opened(address) as engine:
            seen += [repr(engine), *_told_of(vars(engine)["_table"])]
            engine.histogram(ITEMS, top=60)
    kept = [path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file()]
    seen += [caplog.text, *capsys.readouterr()]
    secrets = [word for one in (PASSWORD, f"not {PASSWORD}") for word in (one, _sent(one))]

    assert any("public" in text for text in seen)
    assert kept
    assert not [word for word in secrets for text in seen if word in text]
    assert not [word for word in secrets for data in kept if word.encode() in data]


def _told_of(made):
    """What is shown of an object and of all that it is made of."""
    inner = getattr(made, "__dict__", {}).values()
    return [
        repr(made),
        *(text for one in inner if type(one).__module__.startswith("hushcount") for text in _told_of(one)),
    ]


def _sent(password):
    """The password as a request has it."""
    return base64.b64encode(f"layer:{password}".encode()).decode()


def _refused_at(ask):
    with pytest.raises(StoreIncomplete) as caught:
        ask()
    return caught.value.point


def test_who_has_no_password_is_refused(guarded):
    """By the controller, before anything is asked; by the broker, which says so in an answer like any other."""
    plain = f"http://127.0.0.1:{shared_cluster().ports['controller']}"
    for password in ("wrong", None):
        with pytest.raises(StoreFailed, match="the controller of Pinot denies access") as denied:
            open_pinot(guarded(password))
        with (
            opened(guarded(password, controller=plain)) as engine,
            pytest.raises(StoreIncomplete, match="Access was denied") as caught,
        ):
            engine.histogram(FEW, top=5)

        assert caught.value.point == 2
        assert not [one for one in (denied, caught) if PASSWORD in str(one.value)]


def test_a_certificate_of_strangers_is_refused(guarded):
    """Of the controller, and of the broker."""
    plain = f"http://127.0.0.1:{shared_cluster().ports['controller']}"
    with pytest.raises(StoreFailed, match="certificate of the controller"):
        open_pinot(guarded("right", trusted=False))
    with (
        opened(guarded("right", controller=plain, trusted=False)) as engine,
        pytest.raises(StoreFailed, match="certificate of the broker"),
    ):
        engine.histogram(FEW, top=5)


def test_segments_on_two_servers_are_counted_once():
    """Every replica must have them: with one server disabled the table is refused, although all rows are there."""
    shared = shared_cluster()
    twice = {"schemaName": "twice", "replication": "2"}
    parts = [made_rows(side) for side in (0, 1)]
    address = shared.load("twice", KINDS, *parts, segmentsConfig=twice)
    once = shared.load("once", KINDS, *parts)
    where = get(f"{shared.controller}/tables/twice/idealstate")["OFFLINE"]
    with opened(address) as engine, opened(once) as plain:
        pairs = [
            [rows(ask(one)) for one in (engine, plain)]
            for ask in (
                lambda one: one.histogram(ITEMS, top=7),
                lambda one: one.histogram(ITEMS),
                lambda one: one.incidence(FEW).largest(3),
            )
        ]
        state = f"{shared.controller}/instances/{min(where['twice_0'])}/state"
        engine.fingerprint(b"k")
        try:
            post(state, "disable", kind="text/plain")
            _until(lambda: _seen(shared) != where)
            with pytest.raises(StoreIncomplete) as caught:
                engine.fingerprint(b"k")
            raw = shared.ask('SELECT COUNT(*) FROM "twice"')
        finally:
            post(state, "enable", kind="text/plain")
        _until(lambda: _seen(shared) == where)

    assert {len(servers) for servers in where.values()} == {2}
    assert all(ours == theirs for ours, theirs in pairs)
    assert caught.value.point == 11
    assert raw["totalDocs"] == 400


def _seen(shared):
    return get(f"{shared.controller}/tables/twice/externalview")["OFFLINE"]


def _until(ready):
    """Wait for something that comes by itself."""
    end = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.1)
