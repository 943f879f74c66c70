"""Counting: both ways give the same histogram, and which one is taken depends on kinds of columns alone."""

from __future__ import annotations

import duckdb
import pytest

from hushcount.engines.duckdb import counting
from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.filters import grammar
from hushcount.model.queries import Selection

_TABLE = """SELECT n % 97 AS number, 'p' || (n % 97) AS name, (n % 97)::HUGEINT AS huge,
    CASE WHEN n % 13 > 0 THEN 'it' || (n % 11) END AS item, DATE '2026-01-01' + (n % 5)::INTEGER AS day,
    n % 2 = 0 AS truth FROM range(3000) r(n) UNION ALL
    SELECT NULL, NULL, NULL, 'nobody', NULL, NULL UNION ALL SELECT 5, 'p5', 5, '', NULL, NULL"""


@pytest.fixture(scope="module")
def engine():
    """Columns of several kinds, with ties and missing values."""
    with duckdb.connect() as connection:
        return open_duckdb(connection.sql(_TABLE))


def ways(monkeypatch, engine, selection, top):
    """The histogram as integers and by SQL."""
    found = []
    for pushed in (False, True):
        monkeypatch.setattr(counting, "_pushes_down", lambda rows, pushed=pushed: pushed)
        made = engine.histogram(selection, top=top)
        found.append((made.items.tolist(), made.counts.tolist(), made.complete))
    return found


@pytest.mark.parametrize("person", ["number", "name", "huge"])
@pytest.mark.parametrize("item", ["item", "day", "truth"])
@pytest.mark.parametrize("top", [None, 1, 4, 1000])
def test_both_ways_give_the_same(monkeypatch, engine, person, item, top):
    """For every kind of person and item, with and without a filter, for every cap."""
    for cap in (1, 3):
        for where in (None, "number < 50", "number > 1000"):
            asked = None if where is None else grammar.read(where)
            selection = Selection(user=person, item=item, where=asked, per_item_cap=cap)
            integers, pushed = ways(monkeypatch, engine, selection, top)

            assert integers == pushed


@pytest.mark.parametrize(
    ("person", "item", "top", "pushed"),
    [
        ("name", "item", 10, True),
        ("name", "item", None, True),
        ("huge", "item", 10, True),
        ("number", "item", 10, False),
        ("number", "item", None, False),
        ("number", "day", 10, False),
        ("number", "truth", 10, False),
    ],
)
def test_the_way_depends_on_kinds_alone(monkeypatch, engine, person, item, top, pushed):
    """And on whether few rows are wanted: the same for a filter that finds nothing."""
    taken = []
    by_sql = counting._counted_in_sql  # noqa: SLF001  which of the two is taken shows nowhere else
    monkeypatch.setattr(counting, "_counted_in_sql", lambda *given: taken.append(1) or by_sql(*given))
    for where in (None, grammar.read("number > 1000")):
        engine.histogram(Selection(user=person, item=item, where=where), top=top)

    assert len(taken) == (2 if pushed else 0)
