"""DuckDB's SQL: types become kinds, and no literal of a filter is ever text of a query."""

from __future__ import annotations

import duckdb
import pytest

from hushcount.engines.duckdb.sql import DuckDBColumn, filter_sql
from hushcount.engines.filters import grammar

KINDS = {
    "UTINYINT": "integer",
    "HUGEINT": "integer",
    "UHUGEINT": "integer",
    "DECIMAL(6, 2)": "decimal",
    "FLOAT": "real",
    "DOUBLE": "real",
    "VARCHAR": "text",
    "ENUM('a, b', 'c')": "text",
    "UUID": "text",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "moment",
    "TIMESTAMP_NS": "moment",
    "TIMESTAMP WITH TIME ZONE": "zoned",
    "BLOB": "other",
    "TIME": "other",
    "INTERVAL": "other",
    "VARCHAR[]": "nested",
    "INTEGER[2]": "nested",
    "ENUM('a', 'b')[]": "nested",
    "STRUCT(a INTEGER)": "nested",
    "MAP(VARCHAR, INTEGER)": "nested",
    "UNION(a INTEGER, b VARCHAR)": "nested",
    "JSON": "nested",
}


@pytest.mark.parametrize("type_name", KINDS)
def test_types_become_kinds(type_name):
    """Every type as DuckDB itself names it."""
    described = duckdb.sql(f"DESCRIBE SELECT NULL::{type_name} AS held").fetchall()

    assert DuckDBColumn(name="held", type_name=described[0][1]).kind == KINDS[type_name]


def test_literals_are_parameters():
    """No literal is in the text of the SQL."""
    columns = {
        "country": DuckDBColumn(name="country", type_name="VARCHAR"),
        "age": DuckDBColumn(name="age", type_name="INTEGER"),
    }
    condition = grammar.read("country = 'x''); DROP TABLE data; --' AND age IN (1, 2)")
    sql, values = filter_sql(condition, columns)

    assert sql == '("country" = ?::VARCHAR) AND ("age" IN (?::BIGINT, ?::BIGINT))'
    assert values == ["x'); DROP TABLE data; --", 1, 2]
