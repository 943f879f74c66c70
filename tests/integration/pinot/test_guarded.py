"""A cluster behind TLS and passwords: broker, controller and server; and one whose segments are on both servers."""

from __future__ import annotations

import time
from contextlib import contextmanager

import pytest

from hushcount.engines.pinot.engine import open_pinot
from hushcount.errors import StoreFailed, StoreIncomplete
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
    """Broker, controller, and the server that speaks TLS; a lowered LIMIT is refused."""
    shared = shared_cluster()
    with opened(guarded("right")) as engine, opened(shared.address("public")) as plain:
        found, same = rows(engine.histogram(FEW, top=5)), rows(plain.histogram(FEW, top=5))
        versions = {one.fingerprint(b"k") for one in (engine, plain)}
        machines = vars(vars(vars(engine)["_table"])["_observer"])["_servers"].values()
        points = [_refused_at(lambda: engine.histogram(ITEMS, top=60)), _refused_at(lambda: engine.incidence(FEW))]

    assert found == same
    assert len(versions) == 1
    assert {(machine.port, machine.tls) for machine in machines} == {
        (shared.ports["admin1"], False),
        (shared.ports["secure2"], True),
    }
    # The plan shows it for groups, the number of rows for rows.
    assert points == [9, 10]


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
