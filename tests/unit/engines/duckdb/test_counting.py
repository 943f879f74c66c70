"""Counting: with machine code and without it the histogram is the same, and so are incidences on the disk."""

from __future__ import annotations

from contextlib import nullcontext
from unittest.mock import patch

import duckdb
import pytest

from hushcount.engines.duckdb import encoding
from hushcount.engines.duckdb import engine as engine_module
from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.filters import grammar
from hushcount.model.queries import Selection
from tests.plainly import plainly

_TABLE = """SELECT n % 97 AS number, 'p' || (n % 97) AS name, (n % 97)::HUGEINT AS huge,
    (n % 97) * 100000000000 AS apart,
    CASE WHEN n % 13 > 0 THEN 'it' || (n % 11) END AS item, DATE '2026-01-01' + (n % 5)::INTEGER AS day,
    n % 2 = 0 AS truth FROM range(3000) r(n) UNION ALL
    SELECT NULL, NULL, NULL, NULL, 'nobody', NULL, NULL UNION ALL SELECT 5, 'p5', 5, 5, '', NULL, NULL"""


@pytest.fixture(scope="module")
def engine():
    """Columns of several kinds, with ties and missing values."""
    with duckdb.connect() as connection:
        return open_duckdb(connection.sql(_TABLE))


def ways(engine, selection, top):
    """The histogram with machine code and without."""
    found = [engine.histogram(selection, top=top)]
    with plainly():
        found.append(engine.histogram(selection, top=top))
    return [(made.items.tolist(), made.counts.tolist(), made.complete) for made in found]


@pytest.mark.parametrize("person", ["number", "name", "huge", "apart"])
@pytest.mark.parametrize("item", ["item", "day", "truth"])
@pytest.mark.parametrize("top", [None, 1, 4, 1000])
def test_both_ways_give_the_same(engine, person, item, top):
    """For every kind of person and item, integers far apart too, with and without a filter, for every cap."""
    for cap in (1, 3):
        for where in (None, "number < 50", "number > 1000"):
            asked = None if where is None else grammar.read(where)
            compiled, plain = ways(engine, Selection(user=person, item=item, where=asked, per_item_cap=cap), top)

            assert compiled == plain


@pytest.mark.parametrize("person", ["number", "name", "huge", "apart"])
def test_people_have_the_same_lists(engine, person):
    """Whatever numbers they have in between."""
    held = [engine.incidence(Selection(user=person, item="item"))]
    with plainly():
        held.append(engine.incidence(Selection(user=person, item="item")))

    assert as_lists(held[0]) == as_lists(held[1])


@pytest.mark.parametrize(
    "person",
    [
        "CASE WHEN n = 299999 THEN 1099511627776 ELSE n % 97 END",
        "CASE WHEN n % 2 = 0 THEN -9223372036854775808 + n % 5 ELSE 9223372036854775807 - n % 5 END",
        "(n % 5 - 2) * 1073741824",
        "CASE WHEN n = 299999 THEN -9223372036854775808 ELSE 9223372036854775807 - n % 7 END",
        "(n % 200 - 100)::TINYINT",
        "(n % 97)::UINTEGER + 4294967000::UINTEGER",
    ],
)
def test_nobody_is_taken_for_another(person):
    """Who is far from the first, late, or at an end of all integers, is neither lost nor written where others are."""
    rows = f"SELECT {person} AS person, 'it' || (n % 11) AS item FROM range(300000) r(n)"  # noqa: S608
    with duckdb.connect() as connection:
        engine = open_duckdb(connection.sql(rows))
        right = connection.execute(
            f"SELECT person::VARCHAR, list(DISTINCT item ORDER BY item) FROM ({rows}) GROUP BY person"  # noqa: S608
        ).fetchall()
    for way in (nullcontext(), plainly()):
        with way:
            found = as_lists(engine.incidence(Selection(user="person", item="item")))

        assert {user: items for user, (items, _) in found.items()} == dict(right)


def as_lists(held):
    """Each person's items and how often they have each, by the person's text."""
    everybody = held.whole()
    edges = zip(everybody.offsets[:-1], everybody.offsets[1:], strict=True)
    return {
        str(user): (held.items[everybody.ids[a:b]].tolist(), everybody.times[a:b].tolist())
        for user, (a, b) in zip(everybody.users.tolist(), edges, strict=True)
    }


@pytest.mark.parametrize("where", [None, "number < 299999", "number >= 0"])
def test_how_often_rows_are_read_tells_of_nobody(tmp_path, where):
    """Somebody far from all others makes nothing be read again, whether a filter lets them in or not."""
    path = tmp_path / "log.parquet"
    person = "CASE WHEN n = 299999 THEN 1099511627776 ELSE n % 97 END"
    rows = f"SELECT {person} AS person, 'it' || n AS item, n AS number FROM range(300000) r(n)"  # noqa: S608
    duckdb.sql(f"COPY ({rows}) TO '{path}'")
    engine = open_duckdb(path)
    asked = Selection(user="person", item="item", where=None if where is None else grammar.read(where))
    with patch.object(encoding, "_read", side_effect=encoding._read) as read:  # noqa: SLF001
        engine.histogram(asked)
        engine.histogram(asked)

    assert [call.kwargs["close"] for call in read.call_args_list] == [False, False]


def test_what_a_file_says_of_people_is_not_believed(tmp_path):
    """Rows are read again where they are farther apart than was said, and nobody is lost."""
    path = tmp_path / "log.parquet"
    duckdb.sql(f"COPY (SELECT n * 1099511627776 AS person, 'it' AS item FROM range(1000) r(n)) TO '{path}'")  # noqa: S608
    engine = open_duckdb(path)
    with patch.object(engine_module, "are_close", return_value=True):
        found = engine.histogram(Selection(user="person", item="item"))

    assert found.counts.tolist() == [1000]
