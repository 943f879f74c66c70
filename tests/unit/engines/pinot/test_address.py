"""Addresses of Pinot: how they are written, and that no password is in one."""

from __future__ import annotations

from pathlib import Path

import pytest

from hushcount.app.wiring import open_engine
from hushcount.engines.pinot.address import parse
from hushcount.errors import InvalidParameter


def test_an_address_names_broker_controller_and_table():
    """With usual ports where none is said, and the controller on the broker's machine."""
    short, long = parse("pinot://b/events"), parse("pinots://ann@b:1/events_OFFLINE?controller=c:2&password_file=/p")

    assert (short.broker.host, short.broker.port, short.table) == ("b", 8099, "events")
    assert (short.controller.host, short.controller.port) == ("b", 9000)
    assert (short.broker.tls, short.controller.tls, short.user, short.timeout) == (False, False, None, 60.0)
    assert (long.broker.port, long.controller.host, long.controller.port) == (1, "c", 2)
    assert (long.broker.tls, long.controller.tls) == (True, True)
    assert (long.user, long.table, long.password_file) == ("ann", "events", Path("/p"))
    assert parse("pinot://[::1]/t").controller.host == "::1"
    mixed = parse("pinots://b/t?controller=http://c:9000")
    assert (mixed.broker.tls, mixed.controller.tls, mixed.controller.host) == (True, False, "c")
    assert parse("pinot://b", "events").table == "events"
    assert parse("pinot://[::1]:8/t?controller=[::1]:9&timeout=2.5").controller.host == "::1"


@pytest.mark.parametrize(
    "given",
    [
        "pinot://",
        "pinot:///t",
        "pinot://b",
        "pinot://b/",
        "pinot://b:x/t",
        "pinot://b/t;DROP",
        "pinot://b/a%22b",
        "pinot://b/t_REALTIME",
        "pinot://b/t?contrller=c:1",
        "pinot://b/t?controller=c:1&controller=d:1",
        "pinot://b/t?controller=ann@c:1",
        "pinot://b/t?controller=c:x",
        "pinot://b/t?controller=ftp://c:1",
        "pinot://b/t?controller=c:1/x",
        "pinot://b/t?timeout=0",
        "pinot://b/t?timeout=-1",
        "pinot://b/t?ca_file=/ca",
        "pinot://b/t#x",
        "pinots://ann@b/t",
        "pinots://b/t?password_file=/p",
    ],
)
def test_other_texts_are_refused(given):
    """Before anybody is asked."""
    with pytest.raises(InvalidParameter):
        parse(given)


@pytest.mark.parametrize(
    "given",
    [
        "pinot://ann:hunter2@b/t",
        "pinots://ann:hunter2@b/t?password_file=/p",
        "pinot://b/t?password=hunter2",
        "pinot://b/t?controller=ann:hunter2@c:1",
    ],
)
def test_a_password_is_never_typed(given):
    """It is refused, and not shown."""
    with pytest.raises(InvalidParameter) as caught:
        parse(given)

    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(caught.value.value)


def test_a_password_goes_over_tls_or_stays_on_this_machine():
    """Plain HTTP to another machine is refused, also if only the controller is another one."""
    assert parse("pinot://ann@localhost/t?password_file=/p").user == "ann"
    assert parse("pinot://ann@127.0.0.1/t?password_file=/p&controller=[::1]:1").user == "ann"
    for plain in (
        "pinots://ann@b/t?password_file=/p&controller=http://c:1",
        "pinot://ann@b/t?password_file=/p",
        "pinot://ann@127.0.0.1/t?password_file=/p&controller=c:1",
    ):
        with pytest.raises(InvalidParameter, match="pinots://"):
            parse(plain)


def test_a_table_is_named_once():
    """In the address, or beside it."""
    assert parse("pinot://b/t", "t").table == "t"
    with pytest.raises(InvalidParameter):
        parse("pinot://b/t", "u")


def test_engines_and_addresses_go_together():
    """An address is for this engine alone, and this engine takes nothing else."""
    for source, more, words in (
        ("pinot://b/t", {"engine": "duckdb"}, "'pinot' for an address of Pinot"),
        ("pinot://b/t", {"engine": "spark"}, "'pinot' for an address of Pinot"),
        ("pinot://b/t", {"master": "local"}, "left out unless Spark"),
        ("events.csv", {"engine": "pinot"}, "such as pinot://broker:8099/table"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            open_engine(source, more.pop("engine", None), **more)
