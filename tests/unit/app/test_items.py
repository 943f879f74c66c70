"""What is counted, as it is said: parts, words, lists; and what would not be used is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from hushcount.app.files import write_rows
from hushcount.app.items import column_names, make_items, public_items, tuple_words
from hushcount.app.release import Release
from hushcount.app.request import make_request
from hushcount.app.serving.questions.formats import to_parquet
from hushcount.app.setting import passing_setting
from hushcount.errors import InvalidParameter, UnreadableSource
from hushcount.library import questions
from hushcount.model.queries import Part, TextItems, TupleItems
from hushcount.model.tuples import join

PAIR = TupleItems(parts=(Part(column="country"), Part(column="at", unit="day")))


def test_a_column_as_it_is_stays_a_name():
    """However it is said, so that the same question has the same noise as ever."""
    assert make_items("article", {}) == make_items(["article"], {}) == make_items((), {"by": "article"}) == "article"
    assert make_items("article", {"trim": False, "lower": False}) == "article"


def test_parts_are_read_in_their_order():
    """What it is asked by comes first; a unit with its column in parentheses is a part of a moment."""
    assert make_items(["country", "day(at)"], {}) == PAIR
    assert make_items("day(at)", {"by": ["country"]}) == PAIR
    assert make_items("month(odd (name))", {}).parts == (Part(column="odd (name)", unit="month"),)
    assert make_items("year(at)", {}) == "year(at)"


def test_the_same_question_has_one_key():
    """By which its noise is drawn; another order, zone, format or dress is another question."""
    said = [
        {"item": ["country", "day(at)"]},
        {"item": ["day(at)", "country"]},
        {"item": ["country", "day(at)"], "timezone": "Europe/Berlin"},
        {"item": ["country", "day(at)"], "date_format": "%Y/%m/%d"},
        {"item": ["country", "day(at)"], "trim": True},
        {"item": ["country", "day(at)"], "lower": True},
        {"item": ["country", "hour(at)"]},
        {"item": ["country", "at"]},
    ]

    def key(said):
        options = {name: value for name, value in said.items() if name != "item"}
        return make_request("count", user="u", item=said["item"], options=options).canonical()

    assert len({key(one) for one in said}) == len(said)
    assert key(said[0]) == make_request("count", user="u", item="day(at)", options={"by": "country"}).canonical()


@pytest.mark.parametrize(
    ("item", "options", "words"),
    [
        ("a", {"ngrams": "1-2"}, "ngrams = '1-2' cannot be used: it must be left out where the values of a column"),
        ("a", {"timezone": "UTC"}, r"timezone = 'UTC' cannot be used: it must be said with day\(COLUMN\)"),
        ("a", {"date_format": "%Y"}, "date_format = '%Y' cannot be used"),
        ("day(a)", {"timezone": "Mars/Olympus"}, "the name of a time zone"),
        ("day(a)", {"timezone": "../etc/passwd"}, "the name of a time zone"),
        ("day(a)", {"date_format": "%d.%m."}, "made of %Y %m %d"),
        ("day(a)", {"date_format": "%Y%Y-%m-%d"}, "each once"),
        ("day(a)", {"date_format": "%d %b %Y"}, "made of %Y %m %d"),
        ("day(a)", {"date_format": "%Y-%m-%d%"}, "made of %Y %m %d"),
        ("day(a)", {"date_format": "%Y-%m-%d\x00"}, "made of %Y %m %d"),
        ("day(a)", {"date_format": "%Y-%m-%d\ud800"}, "made of %Y %m %d"),
        (None, {"text": "a", "trim": True}, "left out where the words of a text are counted"),
        (None, {"text": "a", "by": "b"}, "left out where the words of a text are counted"),
        (None, {}, "given, or else a text column"),
        ("a", {"text": "b"}, "left out where the words of a text"),
    ],
)
def test_what_would_not_be_used_is_refused(item, options, words):
    """With what to do instead."""
    with pytest.raises(InvalidParameter, match=words):
        make_items(item, options)


def test_a_public_list_of_several_columns_is_csv_with_their_names(tmp_path):
    """In any order, with others beside; or tuples; each once."""
    path = tmp_path / "keys.csv"
    path.write_text('day(at),note,country\n2026-01-01,x,"N,Z"\n2026-01-01,y,"N,Z"\n2026-01-02,,FR\n', encoding="utf-8")
    expected = [join(("N,Z", "2026-01-01")), join(("FR", "2026-01-02"))]

    assert public_items(path, PAIR).tolist() == expected
    assert public_items([("N,Z", "2026-01-01"), ("FR", "2026-01-02")], PAIR).tolist() == expected
    assert public_items(["a", "b", "a"], "country").tolist() == ["a", "b"]
    assert public_items(None, PAIR) is None


def test_a_list_that_does_not_fit_is_told(tmp_path):
    """A column is missing, a line is short, a tuple is too long."""
    path = tmp_path / "keys.csv"
    for text, words in (
        ("country\nNZ\n", r"has no column 'day\(at\)'.*first line is country,day\(at\)"),
        ("country,day(at)\n", "or no rows"),
        ("country,day(at)\nNZ,2026-01-01\nFR\n", "line 3 has too few columns"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UnreadableSource, match=words):
            public_items(path, PAIR)
    with pytest.raises(InvalidParameter, match="tuples of 2 texts"):
        public_items([("a", "b", "c")], PAIR)
    with pytest.raises(InvalidParameter, match="must be texts"):
        public_items([("a", "b")], "country")


def test_words_and_names():
    """What a receipt says of the items, and what their columns are called."""
    berlin = TupleItems(parts=PAIR.parts, zone="Europe/Berlin", trim=True, lower=True)

    assert tuple_words(PAIR) == "country and day of at"
    assert tuple_words(berlin).endswith("by the clock of Europe/Berlin, trimmed and in lower case")
    assert column_names(PAIR) == ("country", "day(at)")
    assert column_names(TextItems(column="title")) == ("item",)


def release_of(columns, items, counts):
    """A release of these columns."""
    frame = pa.table({"user": ["a"], "item": ["x"]})
    made = questions.count(frame, user="user", item="item", keys=["x"], max_items_per_user=1, setting=passing_setting())
    numbers = np.array(counts, dtype=np.int64)
    return replace(
        made,
        items=np.array([join(one) for one in items], dtype=object),
        counts=numbers,
        low=numbers - 1,
        high=numbers + 1,
        receipt=replace(made.receipt, columns=columns),
    )


def test_an_answer_has_the_columns_by_their_names():
    """Also after it was stored; one that is called as our numbers are gets another name."""
    made = release_of(("country", "count"), [("NZ", "x"), ("FR", "y")], [5, 4])
    expected = {"country": ["NZ", "FR"], "item_count": ["x", "y"], "count": [5, 4], "low": [4, 3], "high": [6, 5]}

    assert made.to_dict() == expected
    assert Release.from_bytes(made.to_bytes()).to_dict() == expected


def test_columns_whose_new_names_are_taken_stay_apart():
    """None is lost, whatever they are called."""
    made = release_of(("count", "item_count"), [("a", "b")], [5])

    assert made.to_dict() == {"item_item_count": ["a"], "item_count": ["b"], "count": [5], "low": [4], "high": [6]}


@pytest.mark.parametrize(("column", "name"), [("Count", "item_Count"), ("LOW", "item_LOW"), ("High", "item_High")])
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".json"])
def test_a_column_that_differs_from_ours_by_capital_letters_stays_apart(tmp_path, column, name, suffix):
    """In SQL the two are one: files would have a count_1 in place of the count, or none could be written."""
    import duckdb

    made = release_of((column,), [("a",)], [5])
    path = tmp_path / f"rows{suffix}"
    write_rows(made.to_dict(), path, made.receipt)
    served = tmp_path / "served.parquet"
    served.write_bytes(to_parquet(made, {}))

    for file in (path, served):
        found = duckdb.sql(f"SELECT * FROM '{file}'")  # noqa: S608  our own file
        assert (found.columns, found.fetchall()) == ([name, "count", "low", "high"], [("a", 5, 4, 6)])


def test_names_differ_in_more_than_capital_letters():
    """Those of two columns of the data, too."""
    made = release_of(("Day", "day"), [("a", "b")], [5])

    assert list(made.to_dict()) == ["Day", "item_day", "count", "low", "high"]


def test_rows_are_sorted_by_group():
    """And within each as before."""
    made = release_of(("country", "product"), [("NZ", "x"), ("FR", "y"), ("NZ", "a"), ("FR", "x")], [9, 8, 7, 6])

    assert made.grouped(1).to_dict()["country"] == ["FR", "FR", "NZ", "NZ"]
    assert made.grouped(1).to_dict()["count"] == [8, 6, 9, 7]
