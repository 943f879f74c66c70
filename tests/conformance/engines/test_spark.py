"""Spark gives exactly the answers of the reference engine and of DuckDB: integers, items, releases, versions."""

from __future__ import annotations

import functools
import itertools
import math
import sys
from dataclasses import replace
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hushcount.app.bounded import bounded_input
from hushcount.app.planning import make_plan
from hushcount.app.request import make_request
from hushcount.audit.asking import asked_by_name
from hushcount.engines import hashing
from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.filters import grammar
from hushcount.engines.incidence import incidence
from hushcount.engines.spark import blocks as blocks_module
from hushcount.engines.spark import incidence as spark_incidence
from hushcount.engines.spark import lists as lists_module
from hushcount.engines.spark.engine import open_spark
from hushcount.engines.spark.incidence import SparkIncidence
from hushcount.engines.spark.packed import packed_lists
from hushcount.errors import InvalidParameter
from hushcount.mechanisms.table import MECHANISMS
from hushcount.model.inputs import Bound, Clip, Ranked, UniformWeights
from hushcount.model.queries import Selection, TextItems
from hushcount.noise.source import KeyedSource, NoiseContext
from tests.conformance.engines import plain
from tests.conformance.engines.generated import BOUNDS, FILTERS, clips, tables
from tests.conformance.engines.openers import SPARK, TEXTS_OF_ALL_KINDS, spark_frame
from tests.conformance.engines.plain import rows, summed
from tests.conformance.engines.reference import ReferenceEngine
from tests.conformance.engines.test_answers import columns_of
from tests.conformance.engines.xxh64 import hash_bytes, signed
from tests.local_spark import local_spark
from tests.unit.mechanisms.made_inputs import PUBLIC, as_items, rows_of_people

SELECTION = Selection(user="user", item="item")
# Each question takes Spark a good part of a second here: few examples, several questions to each, and no shrinking.
SEARCH = settings(phases=(Phase.explicit, Phase.generate), suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module", autouse=True)
def _steps_travel_by_value():
    """Workers know nothing of the tests' modules."""
    local_spark()
    from pyspark import cloudpickle

    for module in (plain, sys.modules[__name__]):
        cloudpickle.register_pickle_by_value(module)
    yield
    for module in (plain, sys.modules[__name__]):
        cloudpickle.unregister_pickle_by_value(module)


@pytest.mark.parametrize(("kind", "examples"), [("spark frame", 5), ("spark parquet", 2), ("spark csv", 5)])
def test_spark_agrees_with_the_reference(kind, examples, tmp_path):
    """People per item, bounded and capped, filtered, and weighed. Parquet is what most other tests here read too."""

    @settings(SEARCH, max_examples=examples)
    @given(data=st.data())
    def search(data):
        columns, bound = data.draw(tables()), data.draw(BOUNDS)
        cap, top = data.draw(st.sampled_from([1, 3])), data.draw(st.integers(1, 4))
        ours, theirs = SPARK[kind](columns, tmp_path), ReferenceEngine(columns)
        capped = replace(SELECTION, per_item_cap=cap)
        filtered = replace(SELECTION, where=data.draw(FILTERS))
        rule = UniformWeights(
            bound=bound, norm=data.draw(st.sampled_from([1, 2])), share=data.draw(st.sampled_from(["held", "bound"]))
        )

        assert rows(ours.histogram(capped, top=top)) == rows(theirs.histogram(capped, top=top))
        assert rows(ours.histogram(capped, bound=bound)) == rows(theirs.histogram(capped, bound=bound))
        if _all_typed(columns):
            assert rows(ours.histogram(filtered)) == rows(theirs.histogram(filtered))
        with ours.asking(str):
            held, by_length = ours.incidence(SELECTION), columns_of(bound)
            assert rows(held.weights(rule)) == rows(theirs.incidence(SELECTION).weights(rule))
            assert summed(held.sums(by_length)) == summed(theirs.incidence(SELECTION).sums(by_length))

    search()


def test_clipped_sums_are_the_same_on_spark(tmp_path):
    """What clips leave and take, what an item of everybody weighs, listed pairs and the largest counts."""

    @settings(SEARCH, max_examples=3)
    @given(columns=tables(items=("few texts", "text")), bound=BOUNDS, clipped=clips())
    def search(columns, bound, clipped):
        ranked, chosen = clipped
        rule = UniformWeights(bound=bound, norm=2, share="held")
        engine = SPARK["spark parquet"](columns, tmp_path)
        with engine.asking(str):
            ours, theirs = engine.incidence(SELECTION), ReferenceEngine(columns).incidence(SELECTION)

            assert (
                ours.losses(ranked, chosen, unit=2**20).tolist() == theirs.losses(ranked, chosen, unit=2**20).tolist()
            )
            assert ours.clipped(ranked, chosen[0]).tolist() == theirs.clipped(ranked, chosen[0]).tolist()
            assert ours.everyone(rule) == theirs.everyone(rule)
            assert ours.held(ranked.items) == theirs.held(ranked.items)
            assert rows(ours.largest(2)) == rows(theirs.largest(2))

    search()


@pytest.mark.parametrize("few", [0, 1 << 22])
def test_sums_of_several_parts_are_added_up(few, monkeypatch):
    """By Spark, or here where they are few: each part tells its own sum. A grid too fine for that is refused."""
    monkeypatch.setattr(spark_incidence, "_FEW_SUMS", few)
    halves = [
        [(f"p{person}", item) for person in people for item in "abcdefgh"[: 1 + person % 7]]
        for people in (range(20), range(20, 50))
    ]
    tables = [pa.table({"person": users, "item": items}) for users, items in (zip(*one, strict=True) for one in halves)]
    parts = [packed_lists(local_spark().createDataFrame(table), cores=2) for table in tables]
    ours = SparkIncidence(name="two parts", packed=parts[0].unionAll(parts[1]), parts=2)
    theirs = incidence(*zip(*halves[0], *halves[1], strict=True))
    ranked, clip = Ranked(items=as_items(["a", "b", "c"]), amplitudes=np.array([3, 2, 2])), Clip(first=2, radius=3)
    rule = UniformWeights(bound=Bound(max_items=3, salt=bytes(32)), norm=2, share="held")

    # Else nothing would have to be added up.
    assert ours.packed.rdd.glom().map(len).filter(bool).count() == 2
    assert ours.losses(ranked, [clip], unit=2**20).tolist() == theirs.losses(ranked, [clip], unit=2**20).tolist()
    assert ours.clipped(ranked, clip).tolist() == theirs.clipped(ranked, clip).tolist()
    assert ours.everyone(rule) == theirs.everyone(rule)
    with pytest.raises(InvalidParameter, match="bits"):
        ours.everyone(replace(rule, norm=1, bits=31))
    with pytest.raises(InvalidParameter, match="unit"):
        ours.losses(ranked, [clip], unit=2**31)


def _all_typed(columns):
    """Whether every column that filters compare holds a value: one without any has another type in each source."""
    return all(any(value is not None for value in columns[name]) for name in ("age", "tag", "day"))


@pytest.mark.parametrize("kind", ["spark json lines", "spark json array", "spark view"])
def test_further_sources_agree(kind, tmp_path):
    """The same rows from other places."""
    columns = {"user": [1, 1, 2, None, 3], "item": ["x", "x", "y", "y", ""], "age": [1, 2, 3, 4, None]}
    engine = SPARK[kind](columns, tmp_path)
    selection = replace(SELECTION, where=grammar.read("age <= 3"))

    assert rows(engine.histogram(selection, top=5)) == (["x", "y"], [1, 1], True)
    assert {column.name for column in engine.describe().columns} == (set() if "json" in kind else set(columns))


def test_values_of_all_kinds_have_the_same_text(tmp_path):
    """Numbers, dates and moments, to the ends of their ranges, zones included, as DuckDB writes them."""
    pq.write_table(TEXTS_OF_ALL_KINDS, tmp_path / "kinds.parquet")
    ours, theirs = open_spark(tmp_path / "kinds.parquet"), open_duckdb(tmp_path / "kinds.parquet")

    names = TEXTS_OF_ALL_KINDS.column_names[1:]
    # One job for all columns.
    parts = [ours._rows(Selection(user="user", item=name)).selectExpr(f"'{name}' AS name", "item") for name in names]  # noqa: SLF001
    found = functools.reduce(lambda one, two: one.unionAll(two), parts).toArrow().to_pylist()

    for name in names:
        told = sorted({row["item"] for row in found if row["name"] == name})
        assert told == sorted(theirs.histogram(Selection(user="user", item=name)).items.tolist()), name


def test_collations_are_not_used():
    """A table may have one by which "A" and "a" are equal: they stay two people, two items, and two values."""
    texts = pa.table({"user": ["p", "P", "q"], "item": ["A", "a", "a"], "kind": ["x", "x", "X"]})
    collated = [f"collate({name}, 'UTF8_LCASE') AS {name}" for name in texts.column_names]
    engine = open_spark(local_spark().createDataFrame(texts).selectExpr(*collated))

    assert {column.kind for column in engine.describe().columns} == {"text"}
    assert rows(engine.histogram(SELECTION)) == (["a", "A"], [2, 1], True)
    assert rows(engine.histogram(SELECTION, bound=Bound(max_items=1, salt=b"salt"))) == (["a", "A"], [2, 1], True)
    assert rows(engine.histogram(replace(SELECTION, where=grammar.read("kind = 'x'")))) == (["A", "a"], [1, 1], True)


def test_moments_of_a_frame_have_the_same_text(tmp_path):
    """Those without a zone as they stand; those of the session's zone in UTC, as its own zone must not matter."""
    moments = [datetime(1411, 12, 30, 13, 40, 38, 26), datetime(2025, 3, 9, 2, 30), None]  # noqa: DTZ001  no zone
    columns = {"user": ["p", "q", "r"], "item": moments}
    zoned = spark_frame(columns).selectExpr("user", "timestamp '2025-01-01 00:00:00.5' AS item")

    assert rows(SPARK["spark frame"](columns, tmp_path).histogram(SELECTION)) == rows(
        ReferenceEngine(columns).histogram(SELECTION)
    )
    assert rows(open_spark(zoned).histogram(SELECTION)) == (["2025-01-01 05:00:00.5+00"], [3], True)


def test_words_agree():
    """Python itself splits texts, on the workers."""
    bodies = ["The cat, the CAT http://a.b/c", "日本 สวัสดี don’t", None, "e\u0301 İ Σ x-y"]
    columns = {"user": ["a", "b", "c", "d"], "body": bodies}
    selection = Selection(user="user", item=TextItems(column="body", shortest=1, longest=2), per_item_cap=3)
    engine = open_spark(local_spark().createDataFrame(pa.table(columns)))

    assert rows(engine.histogram(selection)) == rows(ReferenceEngine(columns).histogram(selection))


def test_sparks_own_hash_is_ours():
    """For every length up to two stripes, and for texts beyond ASCII."""
    from pyspark.sql import functions as F

    texts = ["x" * n for n in range(70)] + ["é日😀" * n for n in range(8)]
    first, second = hashing.role_keys(b"salt", b"item")
    column = F.xxhash64(F.lit(first).cast("bigint"), F.lit(second).cast("bigint"), F.col("text"))
    found = local_spark().createDataFrame(pa.table({"text": texts})).select("text", column).collect()

    assert len(found) == len(texts)
    for text, hashed in found:
        assert hashed == signed(hash_bytes(text.encode(), hashing.role_seed(b"salt", b"item")))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The people and items that all mechanisms are tried on, as a file."""
    users, items = rows_of_people(shuffle=1)
    path = tmp_path_factory.mktemp("made") / "made.parquet"
    pq.write_table(pa.table({"user": users, "item": items}), path)
    return path


def released(engine, mechanism, **more):
    """The outcome of a mechanism on an engine, with noise that is a function of the question alone."""
    few = mechanism.name in {"optimal", "tsgd", "tsgd-public"}
    options = asked_by_name(mechanism, max_items=2 if few else 20, k=4, keys=PUBLIC.tolist())
    options |= {"epsilon": "3", "delta": "1e-4", **more}
    planned = make_plan(make_request(mechanism.question, user="user", item="item", options=options))
    context = NoiseContext(query="q", data_version="v", mechanism=mechanism.name, mechanism_version=1)
    noise = KeyedSource(b"k" * 32, context)
    facts, selection = planned.request.facts, planned.request.selection
    data = bounded_input(engine, mechanism, plan=planned.plan, facts=facts, selection=selection, noise=noise)
    outcome = mechanism.run(data, planned.plan, noise)
    return outcome.items.tolist(), None if outcome.counts is None else outcome.counts.tolist(), outcome.cost


PARALLEL = [mechanism for mechanism in MECHANISMS if not mechanism.sequential]


@pytest.mark.parametrize("mechanism", PARALLEL, ids=lambda mechanism: mechanism.name)
def test_releases_are_the_same(mechanism, made):
    """Drawn block by block on workers, every mechanism shows what it shows in one process, to the last integer."""
    ours, theirs = open_spark(made), open_duckdb(made)
    with ours.asking(str):
        found = released(ours, mechanism)

    assert found == released(theirs, mechanism)
    assert found[0], "nothing was shown: the comparison would hold for any engine"


def test_sips_shuffles_less_than_the_paper(made, monkeypatch):
    """SIPS section 4.1: at most 3 (I - 1) + 2 shuffles for I rounds; ours are the exchanges of the executed plans."""
    engine = open_spark(made)
    plans = []
    collected = blocks_module._collected  # noqa: SLF001

    def counted(name, frame):
        answer = collected(name, frame)
        plans.append(frame._jdf.queryExecution().executedPlan().toString())  # noqa: SLF001
        return answer

    monkeypatch.setattr(blocks_module, "_collected", counted)
    sips = next(mechanism for mechanism in MECHANISMS if mechanism.name == "sips")
    with engine.asking(str):
        found = released(engine, sips)
    by_person = _exchanges(plans[0].partition("InMemoryRelation")[2])

    assert found == released(open_duckdb(made), sips)
    # One for each round, however many items were named; before them one of all rows, and one of what is packed.
    assert by_person == 2
    assert [_exchanges(_without_kept(plan)) for plan in plans] == [1, 1, 1]
    assert by_person + len(plans) <= 3 * (3 - 1) + 2


def _without_kept(plan):
    """A plan without what was kept before it: all that stands deeper than the line which says so."""
    lines, kept_at = [], math.inf
    for line in plan.splitlines():
        depth = len(line) - len(line.lstrip(" :+-"))
        if depth <= kept_at:
            lines.append(line)
            kept_at = depth if "InMemoryRelation" in line else math.inf
    return "\n".join(lines)


def _exchanges(plan):
    """The shuffles of a plan as it was run at last."""
    final = plan.partition("== Initial Plan ==")[0]
    return final.count("Exchange hashpartitioning") + final.count("Exchange RoundRobin")


def test_lists_are_refused(made):
    """Policies need them, and no cluster makes them faster."""
    with pytest.raises(InvalidParameter, match="method='sips'"):
        open_spark(made).incidence(SELECTION).lists(Bound(max_items=1, salt=b"s"), "key")


def test_named_items_are_left_out_either_way(made, monkeypatch):
    """A short list goes to every worker, a long one is shuffled; bounds, and names that no table can hold, agree."""
    named = np.array(["item 00", "item 03", "nobody", "\ud800"], dtype=object)
    theirs = open_duckdb(made)
    for few in (10**6, 0):
        monkeypatch.setattr(lists_module, "FEW_ITEMS", few)
        ours = open_spark(made)
        for bound in (
            Bound(max_items=3, salt=b"s", without=named),
            Bound(max_items=3, salt=b"s", only=named, without=named[:1]),
        ):
            assert pairs(ours.histogram(SELECTION, bound=bound)) == pairs(theirs.histogram(SELECTION, bound=bound))
            # Lists are held as numbers: which of the two ways is not asked of them.
            if few:
                held = ours.incidence(SELECTION)
                assert pairs(held.counts(bound)) == pairs(theirs.incidence(SELECTION).counts(bound))


def pairs(counts):
    """Items with their counts, in no order."""
    return set(zip(*rows(counts)[:2], strict=True))


def test_people_at_the_bound_and_over_it_agree():
    """Only people over the bound are ranked: with five items each, some repeated, one of them left out or none."""
    columns = {"user": ["p", "q", "r"] * 6, "item": [f"item {n // 3 % 5}" for n in range(18)]}
    engine = open_spark(local_spark().createDataFrame(pa.table(columns)))
    # What is kept of people's rows is kept for all bounds.
    with engine.asking(str):
        ours, theirs = engine.incidence(SELECTION), ReferenceEngine(columns).incidence(SELECTION)
        for most, without in itertools.product((1, 4, 5, 2**40), (None, np.array(["item 1"], dtype=object))):
            bound = Bound(max_items=most, salt=b"salt", without=without)
            rule = UniformWeights(bound=bound, norm=2, share="held")

            assert rows(ours.weights(rule)) == rows(theirs.weights(rule)), most
            assert pairs(ours.counts(bound)) == pairs(theirs.counts(bound)), most


def test_the_version_of_a_file_is_that_of_every_engine(made, monkeypatch):
    """By this process, or by the workers if the files are large."""
    expected = open_duckdb(made).fingerprint(b"key")

    assert open_spark(made).fingerprint(b"key") == expected
    monkeypatch.setattr("hushcount.engines.spark.recognising._FEW_BYTES", 0)
    assert open_spark(made).fingerprint(b"key") == expected


def test_the_version_of_a_frame_changes_with_its_rows():
    """With a value, a repeated row, a value in another column, a type; and not with the order of rows."""
    spark = local_spark()

    def version(table):
        return open_spark(spark.createDataFrame(table)).fingerprint(b"key")

    first = pa.table({"a": ["x", None, "y"], "b": [None, "x", "z"]})
    others = [
        pa.table({"a": ["x", None, "Y"], "b": [None, "x", "z"]}),
        pa.table({"a": ["x", None, "y", "y"], "b": [None, "x", "z", "z"]}),
        pa.table({"a": ["x", "x", "y"], "b": [None, None, "z"]}),
        pa.table({"b": ["x", None, "y"], "a": [None, "x", "z"]}),
    ]

    assert version(first) == version(first.take([2, 0, 1]))
    assert len({version(table) for table in [first, *others]}) == 5


def test_the_version_of_a_frame_tells_all_numbers_apart():
    """Also those that are equal and are written differently."""
    arrays = [pa.array([value], held) for held in (pa.float32(), pa.float64()) for value in (0.0, -0.0)]
    frames = [local_spark().createDataFrame(pa.table({"a": array})) for array in arrays]

    assert len({open_spark(frame).fingerprint(b"key") for frame in frames}) == 4
