"""Items of several columns, and of hours, days, weeks and months: every source gives the answers of the reference."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings

from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.errors import InvalidInput, InvalidParameter, UnknownColumn
from hushcount.model.queries import Part, Selection, TupleItems
from hushcount.model.tuples import split
from tests.conformance.engines.generated import made_of_parts
from tests.conformance.engines.openers import OPENERS, open_reference
from tests.conformance.engines.plain import rows
from tests.conformance.engines.reference import ReferenceEngine
from tests.conformance.engines.test_answers import SEARCHED

SEARCH = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
BERLIN, AUCKLAND = "Europe/Berlin", "Pacific/Auckland"


@pytest.fixture(params=SEARCHED)
def opened(request, tmp_path):
    """How to open a kind of source."""
    return lambda columns: OPENERS[request.param](columns, tmp_path)


def counted(engine, *parts, **more):
    """People per item."""
    items = TupleItems(parts=tuple(parts), **more)
    found = engine.histogram(Selection(user="user", item=items))
    return {split(item, len(parts)): count for item, count in zip(found.items, found.counts.tolist(), strict=True)}


@SEARCH
@given(made=made_of_parts())
@example(
    made=(
        {"user": ["ann", "bob"], "a": ["x\x1f", "x"], "b": ["y", "\x1fy"], "at": [None, None]},
        TupleItems(parts=(Part(column="a"), Part(column="b"))),
    )
)
@example(
    made=(
        {"user": ["ann", "bob"], "a": ["\\", "\\s"], "b": ["s", ""], "at": [None, None]},
        TupleItems(parts=(Part(column="a"), Part(column="b"))),
    )
)
def test_parts_agree(opened, made):
    """The same tuples with the same people, whatever separators, missing values, zones and formats there are."""
    columns, items = made
    selection = Selection(user="user", item=items)

    assert rows(opened(columns).histogram(selection)) == rows(ReferenceEngine(columns).histogram(selection))


def test_every_hour_of_a_change_of_clocks_agrees(tmp_path):
    """Forward and back again, in zones of whole and odd hours, from moments and from texts."""
    begins = [datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 10, 24, tzinfo=UTC), datetime(2026, 4, 4, tzinfo=UTC)]
    moments = [(begin + timedelta(minutes=30 * n)).replace(tzinfo=None) for begin in begins for n in range(96)]
    columns = {"user": [f"u{n}" for n in range(len(moments))], "at": moments}
    texts = {**columns, "at": [f"{moment.isoformat()}Z" for moment in moments]}
    for zone in (BERLIN, AUCKLAND, "Australia/Lord_Howe", "Asia/Kathmandu", "America/St_Johns"):
        for unit in ("hour", "day", "week", "month"):
            part = Part(column="at", unit=unit)
            expected = counted(ReferenceEngine(columns), part, zone=zone)

            assert counted(OPENERS["parquet"](columns, tmp_path), part, zone=zone) == expected, (zone, unit)
            assert counted(OPENERS["csv"](texts, tmp_path), part, zone=zone) == expected, (zone, unit)


@pytest.mark.parametrize("name", ["reference", "csv", "parquet", "json lines"])
def test_what_days_are(name, tmp_path):
    """Leap days, the days around new year by ISO week, offsets in texts, dates in texts, and what is no moment."""
    texts = {
        "2024-02-29": "2024-02-29",
        "2023-02-29": None,
        "2026-01-01T00:30:00+01:00": "2025-12-31",
        "2026-01-01T00:30:00+0100": "2025-12-31",
        "2025-12-31 23:30": "2025-12-31",
        "2025-12-31T23:59:59.999999-00:01": "2026-01-01",
        "0001-01-01": "0001-01-01",
        "9999-12-31T23:59:59Z": "9999-12-31",
        "yesterday": None,
        "": None,
        "2026-1-1": None,
        "2026-01-01T25:00": None,
        "2026-01-01T12:00+15:00": None,
    }
    columns = {"user": [f"u{n}" for n in range(len(texts))], "at": list(texts)}
    engine = open_reference(columns, tmp_path) if name == "reference" else OPENERS[name](columns, tmp_path)
    days = [day for day in texts.values() if day is not None]

    assert counted(engine, Part(column="at", unit="day")) == {(day,): days.count(day) for day in days}
    assert counted(engine, Part(column="at", unit="week"))[("2026-W01",)] == days.count("2025-12-31") + 1
    assert ("2024-02",) in counted(engine, Part(column="at", unit="month"))
    # A date in a text has no hour, and no zone moves it.
    assert len(counted(engine, Part(column="at", unit="hour"))) == 3
    assert ("2024-02-29",) in counted(engine, Part(column="at", unit="day"), zone="America/New_York")


def test_a_date_format_is_followed(tmp_path):
    """Day before month, one digit or two, and nothing else; numbers since 1970 in two grains, from text and numbers."""
    written = {"1/2/2026": "2026-02-01", "01/02/2026": "2026-02-01", "31/02/2026": None, "2026-02-01": None, "": None}
    columns = {"user": [f"u{n}" for n in range(len(written))], "at": list(written)}
    numbers = {"user": ["a", "b", "c"], "at": [0, 86_399, -1]}
    for engine in (ReferenceEngine(columns), OPENERS["csv"](columns, tmp_path), OPENERS["parquet"](columns, tmp_path)):
        assert counted(engine, Part(column="at", unit="day"), date_format="%d/%m/%Y") == {("2026-02-01",): 2}
    for engine in (ReferenceEngine(numbers), OPENERS["csv"](numbers, tmp_path), OPENERS["parquet"](numbers, tmp_path)):
        day = Part(column="at", unit="day")
        assert counted(engine, day, date_format="seconds") == {("1970-01-01",): 2, ("1969-12-31",): 1}
        assert counted(engine, day, date_format="seconds", zone=AUCKLAND)[("1970-01-02",)] == 1
        hour = counted(engine, Part(column="at", unit="hour"), date_format="milliseconds")
        assert hour == {("1970-01-01 00:00",): 2, ("1969-12-31 23:00",): 1}


def test_signs_that_are_not_seen_are_kept_apart(tmp_path):
    """A NUL, a separator and a backslash in a value: tuples that differ stay different, and come back as they were."""
    odd = ["", "\x00", "\x1f", "\\", "\\s", "s", "\x1f\\", "é\x1f日"]
    pairs = [(first, second) for first in odd for second in odd]
    columns = {"user": [f"u{n}" for n in range(len(pairs))], "a": [a for a, _ in pairs], "b": [b for _, b in pairs]}
    engine = OPENERS["parquet"](columns, tmp_path)

    assert counted(engine, Part(column="a"), Part(column="b")) == dict.fromkeys(pairs, 1)


def test_years_beyond_9999_have_five_digits(tmp_path):
    """And what is infinite, or too far for the database, is missing instead of an error after the charge."""
    path = tmp_path / "far.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            "CREATE TABLE events AS SELECT * FROM (VALUES ('a', TIMESTAMP '12026-03-29 23:30:00'), "
            "('b', TIMESTAMP 'infinity'), ('c', TIMESTAMP '294247-01-10 04:00:54.775806')) AS rows(\"user\", \"at\")"
        )
    engine = open_duckdb(path)

    assert counted(engine, Part(column="at", unit="day"), zone="Asia/Tokyo") == {("12026-03-30",): 1}
    assert ("12026-W13",) in counted(engine, Part(column="at", unit="week"))


def test_moments_with_a_zone_are_points_in_time(tmp_path):
    """A column that knows its zone is converted from it."""
    at = pa.array([datetime(2026, 3, 29, 23, 30, tzinfo=UTC)], pa.timestamp("us", tz="America/New_York"))
    pq.write_table(pa.table({"user": ["a"], "at": at}), tmp_path / "zoned.parquet")
    engine = open_duckdb(tmp_path / "zoned.parquet")

    assert counted(engine, Part(column="at", unit="day")) == {("2026-03-29",): 1}
    assert counted(engine, Part(column="at", unit="day"), zone=BERLIN) == {("2026-03-30",): 1}


TABLE = {"user": ["a"], "day": [datetime(2026, 3, 29).date()], "n": [1], "name": ["x"], "at": [datetime(2026, 3, 29)]}  # noqa: DTZ001


@pytest.mark.parametrize("name", ["reference", "parquet"])
def test_what_cannot_be_is_refused_before_anything_is_read(name, tmp_path):
    """Hours of dates, days of numbers, a zone or a format that nothing is read by, a column that is not there."""
    engine = open_reference(TABLE, tmp_path) if name == "reference" else OPENERS[name](TABLE, tmp_path)

    def refused(error, words, *parts, **more):
        with pytest.raises(error, match=words):
            engine.validate(Selection(user="user", item=TupleItems(parts=parts, **more)))

    refused(InvalidInput, "holds dates, which have no hours", Part(column="day", unit="hour"))
    refused(InvalidInput, "--date-format seconds", Part(column="n", unit="day"))
    refused(InvalidInput, "which have no hours", Part(column="name", unit="hour"), date_format="%Y-%m-%d")
    refused(InvalidParameter, "timezone = 'Europe/Berlin' cannot be used", Part(column="day", unit="day"), zone=BERLIN)
    refused(InvalidParameter, "no column is read by it", Part(column="at", unit="day"), date_format="%Y-%m-%d")
    refused(UnknownColumn, "Did you mean 'name'", Part(column="nam"), Part(column="at", unit="day"))
    if name == "parquet":
        refused(InvalidParameter, "that DuckDB knows", Part(column="at", unit="day"), zone="Europe/Atlantis")


def test_a_person_is_no_part_of_an_item():
    """Nor is a column one twice, nor are there more parts than eight."""
    with pytest.raises(InvalidParameter, match="A person is not their own item"):
        Selection(user="a", item=TupleItems(parts=(Part(column="b"), Part(column="a", unit="day"))))
    with pytest.raises(InvalidParameter, match="columns that differ"):
        TupleItems(parts=(Part(column="a"), Part(column="a")))
    with pytest.raises(InvalidParameter, match="one to 8 columns"):
        TupleItems(parts=tuple(Part(column=str(n)) for n in range(9)))
