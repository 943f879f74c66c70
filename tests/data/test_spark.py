"""Spark on real logs: the same integers and the same names as DuckDB."""

from __future__ import annotations

import pytest

from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.spark.engine import open_spark
from hushcount.mechanisms.selection.sips import plan_sips, run_sips
from hushcount.model.budgets import rho_budget
from hushcount.model.inputs import Bound, UniformWeights
from hushcount.model.queries import Selection
from hushcount.noise.source import KeyedSource, NoiseContext
from tests.conformance.engines.plain import rows
from tests.local_spark import local_spark

SELECTION = Selection(user="user", item="item")
BOUND = Bound(max_items=20, salt=b"a salt of a round")


@pytest.fixture(params=["definitelytyped_packages", "git_commit_words"])
def engines(request, data_dir):
    """One file, opened by both."""
    local_spark()
    file = data_dir / f"{request.param}.parquet"
    spark, duckdb = open_spark(file), open_duckdb(file)
    with spark.asking(str):
        yield spark, duckdb


def test_integers_are_the_same(engines):
    """Version, the largest counts, counts of bounded lists, and weights on their grid."""
    spark, duckdb = engines
    rule = UniformWeights(bound=BOUND, norm=2, share="held")

    assert spark.fingerprint(b"key") == duckdb.fingerprint(b"key")
    assert rows(spark.histogram(SELECTION, top=1000)) == rows(duckdb.histogram(SELECTION, top=1000))
    assert rows(spark.histogram(SELECTION, bound=BOUND)) == rows(duckdb.histogram(SELECTION, bound=BOUND))
    assert rows(spark.incidence(SELECTION).weights(rule)) == rows(duckdb.incidence(SELECTION).weights(rule))


def test_sips_names_the_same_items(engines):
    """Three rounds, each with a fresh bound and without what was named before, drawn on workers under one key."""
    plan = plan_sips(rho_budget("0.1", "1e-5"), 100)
    context = NoiseContext(query="q", data_version="v", mechanism="sips", mechanism_version=1)
    source = KeyedSource(b"k" * 32, context)
    ours, theirs = (run_sips(engine.incidence(SELECTION), plan, source) for engine in engines)

    assert len(theirs.items) > 50
    assert ours.items.tolist() == theirs.items.tolist()
