"""Every engine and every source gives exactly the answers of the reference engine."""

from __future__ import annotations

import itertools
from contextlib import closing
from dataclasses import replace
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hushcount.engines.duckdb import engine as duckdb_engine
from hushcount.engines.duckdb import keys
from hushcount.engines.duckdb.arrow import TextColumn
from hushcount.engines.duckdb.cursor import Cursor
from hushcount.engines.duckdb.items import ItemHashes
from hushcount.engines.filters import grammar
from hushcount.errors import InvalidInput, InvalidParameter, UnknownColumn
from hushcount.model.inputs import Bound, Clip, LengthWeights, Ranked, UniformWeights
from hushcount.model.queries import Selection, TextItems
from tests.conformance.engines.generated import BOUNDS, CHARACTERS, FILTERS, clips, tables
from tests.conformance.engines.openers import OPENERS, SPARK, open_reference
from tests.conformance.engines.plain import rows, summed
from tests.conformance.engines.reference import ReferenceEngine
from tests.plainly import plainly

SELECTION = Selection(user="user", item="item")
RULES = st.builds(UniformWeights, bound=BOUNDS, norm=st.sampled_from([1, 2]), share=st.sampled_from(["held", "bound"]))
RULE = UniformWeights(bound=Bound(max_items=1, salt=b"s"), norm=2, share="held")
EMPTY = {"user": [], "item": [], "age": [], "tag": [], "day": []}
TWO = (
    Ranked(items=np.array(["a", "b"], dtype=object), amplitudes=np.array([3, 4], dtype=np.int64)),
    [Clip(first=2, radius=5)],
)
# The folder is made once for all examples; each writes its files anew.
SEARCH = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


# Sources that are read by the code of another one are left out of the search; the examples below include them.
ALIKE = {"tsv", "compressed", "json array", "pattern", "arrow reader", "polars lazy", "connection"}
SEARCHED = [name for name in OPENERS if name not in ALIKE]


@pytest.fixture(params=SEARCHED)
def opened(request, tmp_path):
    """How to open a kind of source."""
    return lambda columns: OPENERS[request.param](columns, tmp_path)


@pytest.fixture(params=["reference", *OPENERS, "spark frame", "spark csv", "spark json lines"])
def any_opened(request, tmp_path):
    """The same, the reference engine and Spark included."""
    return lambda columns: {"reference": open_reference, **OPENERS, **SPARK}[request.param](columns, tmp_path)


def lists(found):
    """Bounded lists as plain values."""
    return [found.items[found.ids[a:b]].tolist() for a, b in itertools.pairwise(found.offsets.tolist())]


# Opening costs more than asking: one table, one engine, and each kind of question about it.
@SEARCH
@given(
    columns=tables(),
    cap=st.sampled_from([1, 1, 2, 1000]),
    top=st.none() | st.integers(1, 4),
    bounded_cap=st.sampled_from([1, 3]),
    rule=RULES,
)
@example(columns=EMPTY, cap=1, top=None, bounded_cap=1, rule=RULE)
@example(columns=EMPTY, cap=2, top=3, bounded_cap=3, rule=RULE)
def test_answers_agree(opened, columns, cap, top, bounded_cap, rule):
    """People per item or capped rows, of all items or of bounded lists; incidences; and the identity of the rows."""
    ours, theirs = opened(columns), ReferenceEngine(columns)

    _histograms_agree(ours, theirs, replace(SELECTION, per_item_cap=cap), top=top)
    _histograms_agree(ours, theirs, replace(SELECTION, per_item_cap=bounded_cap), bound=rule.bound, top=top)
    _incidences_agree(ours.incidence(SELECTION), theirs.incidence(SELECTION), rule)
    # Without rows each version is known by itself.
    if columns["user"]:
        assert ours.rows_identity(b"a key of the caller") == theirs.rows_identity(b"a key of the caller")


def _histograms_agree(ours, theirs, selection, **more):
    """All of them or the largest; with a bound, each person keeps the same items everywhere, whatever the cap."""
    assert rows(ours.histogram(selection, **more)) == rows(theirs.histogram(selection, **more))


def _incidences_agree(ours, theirs, rule):
    """Weights, counts and lists of an incidence, with either norm and share."""
    assert rows(ours.weights(rule)) == rows(theirs.weights(rule))
    assert rows(ours.counts(rule.bound)) == rows(theirs.counts(rule.bound))
    by_length = columns_of(rule.bound)
    assert summed(ours.sums(by_length)) == summed(theirs.sums(by_length))
    for order in ("key", "frequency"):
        assert lists(ours.lists(rule.bound, order)) == lists(theirs.lists(rule.bound, order))


def columns_of(bound):
    """Three columns of weights that differ for every length, one of them large."""
    lengths = range(1, bound.max_items + 1)
    columns = (tuple(7 * d for d in lengths), tuple(2**40 // d for d in lengths), tuple(d % 2 for d in lengths))
    return LengthWeights(bound=bound, columns=columns)


@SEARCH
@given(columns=tables(items=("few texts", "integer")), rule=RULES, clipped=clips(), top=st.integers(1, 4))
@example(
    columns=EMPTY, rule=UniformWeights(bound=Bound(max_items=1, salt=b"s"), norm=2, share="held"), clipped=TWO, top=1
)
def test_clipped_sums_agree(opened, columns, rule, clipped, top):
    """What a clip leaves and what it takes, what an item of everybody weighs, listed pairs, and the largest counts."""
    ours, theirs = opened(columns).incidence(SELECTION), ReferenceEngine(columns).incidence(SELECTION)
    ranked, clips = clipped

    assert ours.losses(ranked, clips, unit=2**20).tolist() == theirs.losses(ranked, clips, unit=2**20).tolist()
    assert ours.clipped(ranked, clips[0]).tolist() == theirs.clipped(ranked, clips[0]).tolist()
    assert ours.everyone(rule) == theirs.everyone(rule)
    assert ours.held(ranked.items) == theirs.held(ranked.items)
    assert rows(ours.largest(top)) == rows(theirs.largest(top))


@SEARCH
@given(columns=tables(people=("integer",), items=("few texts",)), where=FILTERS)
def test_filters_agree(opened, columns, where):
    """The same rows pass a filter in SQL and in Python, from typed and from untyped sources."""
    everything = {name: [*values, None] for name, values in columns.items()}
    selection = replace(SELECTION, where=where)

    assert rows(opened(everything).histogram(selection)) == rows(ReferenceEngine(everything).histogram(selection))


TEXT_ROWS = st.lists(
    st.tuples(
        st.none() | st.sampled_from(["ann", "bob"]),
        st.none()
        | st.text(CHARACTERS, max_size=30)
        | st.lists(
            st.sampled_from(
                ["The", "cat", "don’t", "http://a.b/c", "日本", "สวัสดี", "İ", "Σ", "e\u0301", "x-y", "it's", "1st"]
            )
        ).map(" ".join),
    ),
    max_size=6,
)


@cache
def _counted_plainly(people, bodies, selection):
    """What the reference engine says; of the huge texts, which are asked of every source, once."""
    return rows(ReferenceEngine({"user": people, "body": bodies}).histogram(selection))


@SEARCH
@given(data=TEXT_ROWS, sizes=st.sampled_from([(1, 1), (1, 3), (2, 2), (3, 8)]), lower=st.booleans())
@example(data=[("ann", "word " * 50_000), ("bob", "x" * 300_000)], sizes=(1, 2), lower=True)
@example(data=[("ann", ""), ("bob", None)], sizes=(1, 1), lower=True)
def test_text_agrees(opened, data, sizes, lower):
    """Texts give the same words and runs of words, huge texts and any script included."""
    people, bodies = zip(("nobody", None), *data, strict=True)
    items = TextItems(column="body", shortest=sizes[0], longest=sizes[1], lower=lower)
    selection = Selection(user="user", item=items, per_item_cap=3)

    found = rows(opened({"user": people, "body": bodies}).histogram(selection))

    assert found == _counted_plainly(people, bodies, selection)


@SEARCH
@given(columns=tables(), cap=st.sampled_from([1, 2]), top=st.none() | st.integers(1, 4), rule=RULES, clipped=clips())
def test_answers_beyond_memory_agree(tmp_path, columns, cap, top, rule, clipped):
    """Rows that do not fit into memory go to the disk by person and come back in portions, with the same answers."""
    ours, theirs = OPENERS["parquet"](columns, tmp_path), ReferenceEngine(columns)
    plain = theirs.incidence(SELECTION)
    # Every batch but the first finds memory full; of small tables there is one, which is cut.
    with patch.object(keys, "_FILES", 3), patch.object(Cursor, "batches", one_by_one(Cursor.batches)):
        ours._room = replace(ours._room, rows=2)  # noqa: SLF001
        held = ours.incidence(SELECTION)
        _histograms_agree(ours, theirs, replace(SELECTION, per_item_cap=cap), top=top)
        _incidences_agree(held, plain, rule)
    ranked, some = clipped

    assert held.losses(ranked, some, unit=2**20).tolist() == plain.losses(ranked, some, unit=2**20).tolist()
    assert held.clipped(ranked, some[0]).tolist() == plain.clipped(ranked, some[0]).tolist()
    assert held.everyone(rule) == plain.everyone(rule)
    assert held.held(ranked.items) == plain.held(ranked.items)


@SEARCH
@given(columns=tables(), where=FILTERS, cap=st.sampled_from([1, 2]), rule=RULES)
@pytest.mark.parametrize("hashes", ["their own", "one for many"])
def test_answers_by_hashes_agree(tmp_path, hashes, columns, where, cap, rule):
    """Items that are read by hashes of their texts, whether two texts have the same hash or not."""
    ours, theirs = OPENERS["parquet"](columns, tmp_path), ReferenceEngine(columns)
    selection = replace(SELECTION, where=where)
    sql = ItemHashes.sql if hashes == "their own" else "(strlen(item) % 2)::UBIGINT"
    with patch.object(duckdb_engine, "are_few", return_value=True), patch.object(ItemHashes, "sql", sql):
        _histograms_agree(ours, theirs, replace(selection, per_item_cap=cap), top=None)
        _incidences_agree(ours.incidence(selection), theirs.incidence(selection), rule)


def one_by_one(batches):
    """Rows come one after the other."""

    def cut(self, *given):
        with closing(batches(self, *given)) as found:
            for columns in found:
                texts = [isinstance(column, TextColumn) for column in columns]
                rows = len(columns[0].edges) - 1 if texts[0] else len(columns[0])
                for row in range(rows):
                    yield tuple(
                        TextColumn(column.buffer, column.edges[row : row + 2]) if text else column[row : row + 1]
                        for column, text in zip(columns, texts, strict=True)
                    )

    return cut


@SEARCH
@given(columns=tables(), cap=st.sampled_from([1, 2]), top=st.none() | st.integers(1, 4), rule=RULES)
def test_answers_without_machine_code_agree(tmp_path, columns, cap, top, rule):
    """Where nothing could be compiled SQL counts and numbers, with the same answers."""
    ours, theirs = OPENERS["parquet"](columns, tmp_path), ReferenceEngine(columns)
    with plainly():
        _histograms_agree(ours, theirs, replace(SELECTION, per_item_cap=cap), top=top)
        _incidences_agree(ours.incidence(SELECTION), theirs.incidence(SELECTION), rule)


TABLE = {
    "user": ["ann", "ann", "bob", "bob", None, "eve"],
    "item": ["x", "x", "x", "y", "y", None],
    "age": [1, 2, 3, 4, 5, 6],
    "tag": ["a", "b", "a", "b", "a", "b"],
    "day": [None] * 6,
}


def test_missing_people_and_items_are_left_out(any_opened):
    """A row without a person or without an item counts nowhere; the empty text is an item."""
    columns = {"user": ["ann", None, "bob", "eve"], "item": ["", "x", None, ""]}

    assert rows(any_opened(columns).histogram(SELECTION)) == ([""], [2], True)


def test_nan_is_missing(any_opened):
    """NaN is how a missing number is written, for people and items alike; both zeros are one value."""
    nan = float("nan")
    columns = {"user": [1.0, 2.0, nan, 3.0, 3.0], "item": [0.5, nan, 0.5, 0.0, -0.0]}

    assert rows(any_opened(columns).histogram(SELECTION)) == (["0.0", "0.5"], [1, 1], True)


@pytest.mark.parametrize("people", [TABLE["user"], [1, 1, 2, 2, None, 3]], ids=["texts", "numbers"])
def test_complete_means_that_nothing_is_missing(any_opened, people):
    """A histogram cut to `top` says whether there is more, whichever way people of that kind are counted."""
    engine = any_opened({**TABLE, "user": people})

    assert rows(engine.histogram(SELECTION, top=1)) == (["x"], [2], False)
    assert rows(engine.histogram(SELECTION, top=2)) == (["x", "y"], [2, 1], True)
    assert rows(engine.histogram(SELECTION, top=3)) == (["x", "y"], [2, 1], True)


def test_describe_names_the_columns(any_opened):
    """Names in order; the fingerprint is the same when asked twice."""
    engine = any_opened(TABLE)
    described = engine.describe()

    assert tuple(column.name for column in described.columns) == (tuple(TABLE) if described.listed else ())
    assert engine.fingerprint(b"key") == engine.fingerprint(b"key")


def test_an_unknown_column_is_told(any_opened):
    """The error lists the columns and suggests the nearest, for the person, the item, the text and the filter.

    Of CSV only the nearest: where the first line is missing, the list would be somebody's values. Of JSON nothing.
    """
    engine = any_opened(TABLE)
    described = engine.describe()
    listed = "; the columns are user, item, age, tag, day" if described.told else ""
    if not described.listed:
        assert engine.validate(Selection(user="usr", item="item")) is None
        return
    for selection in (
        Selection(user="usr", item="item"),
        Selection(user="tag", item="usr"),
        Selection(user="tag", item=TextItems(column="usr")),
        Selection(user="tag", item="item", where=grammar.read("usr = 'x'")),
    ):
        for ask in (engine.validate, engine.histogram, engine.incidence):
            with pytest.raises(UnknownColumn) as caught:
                ask(selection)

            assert str(caught.value) == f"there is no column 'usr'{listed}. Did you mean 'user'?"
            assert caught.value.columns == (tuple(TABLE) if described.told else ())
            assert caught.value.nearest == "user"


def test_incidences_need_a_cap_of_one(any_opened):
    """Weighing lists counts people, not rows."""
    with pytest.raises(InvalidParameter, match="per_item_cap = 2 cannot be used"):
        any_opened(TABLE).incidence(replace(SELECTION, per_item_cap=2))


def test_words_come_from_text_columns(tmp_path):
    """Numbers have no words."""
    for opener in (open_reference, OPENERS["parquet"]):
        with pytest.raises(InvalidInput, match="column 'age' holds values of kind integer, not text"):
            opener(TABLE, tmp_path).validate(Selection(user="user", item=TextItems(column="age")))
