"""JSON: of each object exactly the named values are read, as text; which keys there are is nobody's business."""

from __future__ import annotations

import gzip
import json
import traceback

import pytest

from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.filters import grammar
from hushcount.engines.spark.engine import open_spark
from hushcount.errors import HushcountError, InvalidInput, InvalidParameter
from hushcount.model.queries import Description, Selection, TextItems
from tests.conformance.engines.plain import rows
from tests.local_spark import local_spark

SELECTION = Selection(user="user", item="item")
CANARY = "diagnosed_hiv_2019"
PLAIN = [{"user": n, "item": f"item {n % 3}", "age": n} for n in range(30)]


@pytest.fixture(params=["duckdb", "spark"])
def open_file(request):
    """Both engines that read JSON."""
    if request.param == "spark":
        local_spark()
    return {"duckdb": open_duckdb, "spark": open_spark}[request.param]


def write(path, objects):
    """Lines or an array, compressed or not, as the name says."""
    texts = [json.dumps(each) for each in objects]
    text = "\n".join(texts) if ".jsonl" in path.name else "[" + ",\n".join(texts) + "]"
    path.write_bytes(gzip.compress(text.encode()) if path.name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson.gz", "a.jsonl.gz", "a.json", "a.json.gz"])
def test_all_forms_are_read(open_file, tmp_path, name):
    """Lines and arrays, compressed and not."""
    path = tmp_path / name.replace("ndjson", "jsonl")
    engine = open_file(write(path, PLAIN))

    assert rows(engine.histogram(SELECTION, top=9)) == ([f"item {n}" for n in range(3)], [10] * 3, True)
    assert engine.describe() == Description(columns=(), listed=False)


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_extra_keys_change_nothing(open_file, tmp_path, name):
    """One, or twenty, or a nested one in a single row: the same answers and no word of them, whatever goes wrong."""
    extra = {**PLAIN[0], **{f"{CANARY} {n}": n for n in range(20)}, CANARY: {CANARY: [CANARY]}}
    engine = open_file(write(tmp_path / name, [extra, *PLAIN[1:]]))
    plain = open_file(write(tmp_path / f"plain-{name}", PLAIN))

    assert rows(engine.histogram(SELECTION, top=9)) == rows(plain.histogram(SELECTION, top=9))
    assert engine.describe() == plain.describe()
    for selection in (
        Selection(user="user", item="itme"),
        Selection(user="usr", item=TextItems(column="text")),
        Selection(user="user", item="item", where=grammar.read("x = 1")),
    ):
        engine.validate(selection)
        assert rows(engine.histogram(selection, top=3)) == ([], [], True)
    for wrong in (Selection(user="", item="item"), Selection(user="user", item="\ud800")):
        with pytest.raises(HushcountError) as caught:
            engine.histogram(wrong)
        assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_values_become_texts(open_file, tmp_path):
    """Numbers as Python writes them, strings as they are, nested values without spaces; null and absent are missing."""
    numbers = ["1", "-0", "1.10", "1e5", "1e16", "1e-5", "123456789012345678901234567890", "18446744073709551616"]
    numbers += ["1e400", "0.1", "-0.0", "NaN"]
    texts = ["1", "0", "1.1", "100000.0", "1e+16", "1e-05", *numbers[6:9], "0.1", "-0.0", "NaN"]
    others = {
        '"a\\u0000\\n😀"': "a\0\n😀",
        "true": "true",
        '{"a" : [1, 2.50, null, "x\\"" ]}': '{"a":[1,2.5,null,"x\\""]}',
        '"{ }"': "{ }",
        '""': "",
    }
    wanted = [*texts, *others.values()]
    lines = [f'{{"user": {n}, "item": {value}}}' for n, value in enumerate([*numbers, *others])]
    lines += ['{"user": 1000, "item": null}', '{"user": 1001}', "null", "", "  "]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    engine = open_file(tmp_path / "a.jsonl")

    assert sorted(rows(engine.histogram(SELECTION))[0]) == sorted(wanted)


def test_filters_read_texts(open_file, tmp_path):
    """As in CSV: a number is one if it is written like one."""
    engine = open_file(write(tmp_path / "a.jsonl", PLAIN))
    selection = Selection(user="user", item="item", where=grammar.read("age >= 27 AND NOT (gone IS NOT NULL)"))

    assert rows(engine.histogram(selection, top=9)) == (["item 0", "item 1", "item 2"], [1, 1, 1], True)


def test_keys_are_told_apart_by_case(tmp_path):
    """A key is read as it is written; two that differ by case alone cannot both be named to DuckDB."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"User": 1, "user": 2, "item": "x"}\n{"user": 3, "Item": "y"}\n', encoding="utf-8")
    local_spark()

    for engine in (open_duckdb(path), open_spark(path)):
        assert rows(engine.histogram(Selection(user="User", item="item"), top=3)) == (["x"], [1], True)
        assert rows(engine.histogram(Selection(user="user", item="Item"), top=3)) == (["y"], [1], True)
    assert rows(open_spark(path).histogram(Selection(user="user", item="User"), top=3)) == (["1"], [1], True)
    with pytest.raises(InvalidParameter, match="told apart by more than small and capital letters"):
        open_duckdb(path).validate(Selection(user="user", item="User"))


def test_a_column_must_have_a_name(open_file, tmp_path):
    """The empty name, and half of a character, are no columns."""
    engine = open_file(write(tmp_path / "a.jsonl", PLAIN))
    for name in ("", "a\ud800"):
        with pytest.raises(InvalidInput, match="name another"):
            engine.validate(Selection(user="user", item=name))
