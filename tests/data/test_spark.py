"""Spark on real logs: the same integers and the same names as DuckDB."""

from __future__ import annotations

import duckdb
import pytest

from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.spark.engine import open_spark
from hushcount.mechanisms.counts.ntm import run_ntm
from hushcount.mechanisms.counts.ntm_plan import plan_ntm
from hushcount.mechanisms.selection.sips import plan_sips, run_sips
from hushcount.model.budgets import rho_budget
from hushcount.model.inputs import Bound, UniformWeights
from hushcount.model.queries import Selection
from hushcount.noise.source import KeyedSource, NoiseContext
from tests.conformance.engines.plain import rows
from tests.local_spark import local_spark

SELECTION = Selection(user="user", item="item")
BOUND = Bound(max_items=20, salt=b"a salt of a round")


# Of every so many people one, with all that is theirs: the larger log shows nothing more as a whole.
PEOPLE = {"definitelytyped_packages": 1, "git_commit_words": 8}


@pytest.fixture(params=PEOPLE)
def engines(request, data_dir, tmp_path):
    """One file, opened by both."""
    local_spark()
    whole, file = data_dir / f"{request.param}.parquet", tmp_path / "log.parquet"
    people = f"SELECT * FROM '{whole}' WHERE md5_number_lower(user::VARCHAR) % {PEOPLE[request.param]} = 0"  # noqa: S608
    duckdb.sql(people).write_parquet(str(file))
    ours, theirs = open_spark(file), open_duckdb(file)
    with ours.asking(str):
        yield ours, theirs


def test_integers_are_the_same(engines):
    """Version, the largest counts, counts of bounded lists, and weights on their grid."""
    ours, theirs = engines
    rule = UniformWeights(bound=BOUND, norm=2, share="held")

    assert ours.fingerprint(b"key") == theirs.fingerprint(b"key")
    assert rows(ours.histogram(SELECTION, top=1000)) == rows(theirs.histogram(SELECTION, top=1000))
    assert rows(ours.histogram(SELECTION, bound=BOUND)) == rows(theirs.histogram(SELECTION, bound=BOUND))
    assert rows(ours.incidence(SELECTION).weights(rule)) == rows(theirs.incidence(SELECTION).weights(rule))


def test_sips_names_the_same_items(engines):
    """Three rounds, each with a fresh bound and without what was named before, drawn on workers under one key."""
    plan = plan_sips(rho_budget("0.1", "1e-5"), 100)
    context = NoiseContext(query="q", data_version="v", mechanism="sips", mechanism_version=1)
    source = KeyedSource(b"k" * 32, context)
    ours, theirs = (run_sips(engine.incidence(SELECTION), plan, source) for engine in engines)

    assert len(theirs.items) > 50
    assert ours.items.tolist() == theirs.items.tolist()


def test_ntm_gives_the_same_release(engines):
    """Names, choices, clipped sums and losses, added up on workers: the same items, counts and ends."""
    plan = plan_ntm(rho_budget("0.5", "1e-6"))
    context = NoiseContext(query="q", data_version="v", mechanism="ntm", mechanism_version=2)
    source = KeyedSource(b"k" * 32, context)
    ours, theirs = (run_ntm(engine.incidence(SELECTION), plan, source) for engine in engines)

    assert len(theirs.items) > 10
    assert ours.items.tolist() == theirs.items.tolist()
    assert ours.counts.tolist() == theirs.counts.tolist()
    assert (ours.low.tolist(), ours.high.tolist()) == (theirs.low.tolist(), theirs.high.tolist())
    assert ours.cost == theirs.cost
