"""Items of several columns, and of hours, days, weeks and months: Spark gives the answers of the reference."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from hushcount.engines.spark.engine import open_spark
from hushcount.errors import InvalidParameter
from hushcount.model.queries import Part, Selection, TupleItems
from tests.conformance.engines.generated import made_of_parts
from tests.conformance.engines.openers import SPARK
from tests.conformance.engines.plain import rows
from tests.conformance.engines.reference import ReferenceEngine
from tests.conformance.engines.test_parts import counted
from tests.local_spark import local_spark

SEARCH = settings(phases=(Phase.explicit, Phase.generate), suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize(("kind", "examples"), [("spark frame", 12), ("spark csv", 8)])
def test_parts_agree(kind, examples, tmp_path):
    """The same tuples with the same people, whatever separators, missing values, zones and formats there are."""

    @settings(SEARCH, max_examples=examples)
    @given(made=made_of_parts())
    def search(made):
        columns, items = made
        selection = Selection(user="user", item=items)

        ours, theirs = SPARK[kind](columns, tmp_path), ReferenceEngine(columns)
        assert rows(ours.histogram(selection, top=50)) == rows(theirs.histogram(selection, top=50))

    search()


def test_a_change_of_clocks_and_all_formats_agree(tmp_path):
    """Clocks set back; points in time, which the session's zone does not move; day before month; numbers since 1970."""
    begin = datetime(2026, 10, 24, 20, tzinfo=UTC)
    moments = [begin + timedelta(minutes=30 * n) for n in range(24)]
    table = {
        "user": [f"u{n}" for n in range(len(moments))],
        "zoned": pa.array(moments, pa.timestamp("us", tz="UTC")),
        "text": [moment.strftime("%d/%m/%Y %H:%M") for moment in moments],
        "since": [int(moment.timestamp()) for moment in moments],
    }
    pq.write_table(pa.table(table), tmp_path / "at.parquet")
    plain = {**table, "zoned": [moment.replace(tzinfo=None) for moment in moments]}
    local_spark()
    ours, theirs = open_spark(tmp_path / "at.parquet"), ReferenceEngine(plain)
    for name, more in (
        ("zoned", {}),
        ("text", {"date_format": "%d/%m/%Y %H:%M"}),
        ("since", {"date_format": "seconds"}),
    ):
        asked = {"zone": "Europe/Berlin", **more}
        selections = [
            Selection(user="user", item=TupleItems(parts=(Part(column=name, unit=unit),), **asked))
            for unit in ("hour", "day")
        ]
        for selection in selections:
            found, expected = ours.histogram(selection, top=99), theirs.histogram(selection, top=99)
            assert rows(found) == rows(expected), (name, selection)
    assert ("2026-10-25 02:00",) in counted(theirs, Part(column="zoned", unit="hour"), zone="Europe/Berlin")


def test_a_zone_that_java_does_not_know_is_refused(tmp_path):
    """Before anything is charged."""
    pq.write_table(pa.table({"user": ["a"], "at": [datetime(2026, 1, 1)]}), tmp_path / "at.parquet")  # noqa: DTZ001
    local_spark()
    items = TupleItems(parts=(Part(column="at", unit="day"),), zone="Europe/Atlantis")

    with pytest.raises(InvalidParameter, match="that Spark knows"):
        open_spark(tmp_path / "at.parquet").validate(Selection(user="user", item=items))
