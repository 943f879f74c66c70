"""The filter: what it accepts, the one way it is written, and what it says when it refuses."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.filters import grammar
from hushcount.engines.filters.filter import check, holds
from hushcount.errors import HushcountError, UnknownColumn, UnsafeFilter
from hushcount.model.columns import Column
from hushcount.model.conditions import Among, Compare, Joined, Missing, Not, spell
from hushcount.model.queries import Description, Selection
from tests.conformance.engines.generated import FILTER_TEXTS

KINDS = {
    "country": "text",
    "age": "integer",
    "score": "real",
    "price": "decimal",
    "live": "boolean",
    "day": "date",
    "at": "moment",
    "my col": "text",
    'a"b': "text",
    "date": "date",
    "tags": "nested",
    "tag": "text",
}
DATA = Description(columns=tuple(Column(name=name, kind=kind) for name, kind in KINDS.items()))


def parse(text):
    """The tree of a filter, held against the columns."""
    condition = grammar.read(text)
    check(condition, DATA)
    return condition


def canonical(text):
    """The one way of writing a filter."""
    return spell(parse(text))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("country='FR'", "country = 'FR'"),
        ("  country  =\n'FR' ", "country = 'FR'"),
        ("'FR' = country", "country = 'FR'"),
        ("18 <= age", "age >= 18"),
        ("age <> 3", "age != 3"),
        ("age = +3", "age = 3"),
        ("score < 1.50", "score < 1.5"),
        ("score < .5e1", "score < 5.0"),
        ("live = true", "live = TRUE"),
        ("day >= date('2024-12-31')", "day >= DATE '2024-12-31'"),
        ("at < date '2024-12-31'", "at < DATE '2024-12-31'"),
        ("date = DATE '2024-12-31'", "\"date\" = DATE '2024-12-31'"),
        ("\"my col\" = 'it''s'", "\"my col\" = 'it''s'"),
        ('"a""b" = \'\'', '"a""b" = \'\''),
        ('"country" is null', "country IS NULL"),
        ("country IS NOT NULL", "NOT (country IS NULL)"),
        ("country in ('b','a','b')", "country IN ('a', 'b')"),
        ("country not in ('b')", "NOT (country IN ('b'))"),
        ("age between 1 and 5 and live = false", "age BETWEEN 1 AND 5 AND live = FALSE"),
        ("age NOT BETWEEN 1 AND 5", "NOT (age BETWEEN 1 AND 5)"),
        ("country LIKE 'F%'", "country LIKE 'F%'"),
        ("not not age = 1", "age = 1"),
        ("((age = 1))", "age = 1"),
        ("age=1 AND (age=2 AND age=3)", "age = 1 AND age = 2 AND age = 3"),
        ("age=1 OR age=2 AND age=3", "age = 1 OR (age = 2 AND age = 3)"),
        ("(age=1 OR age=2) AND age=3", "(age = 1 OR age = 2) AND age = 3"),
        ("NOT (age=1 OR age=2)", "NOT (age = 1 OR age = 2)"),
        ("country = 5", "country = 5"),
    ],
)
def test_there_is_one_way_of_writing_a_filter(text, wanted):
    """Filters that mean the same by their form are written the same, and that form stays as it is."""
    assert canonical(text) == wanted
    assert canonical(wanted) == wanted


@given(FILTER_TEXTS)
def test_the_canonical_form_is_stable(text):
    """Writing a filter canonically twice changes nothing more."""
    once = canonical(text)

    assert canonical(once) == once


UNSAFE = {
    "lower(country) = 'fr'": (
        "the filter calls 'lower' as a function, and functions are not allowed: a row is kept or left out by its own "
        "columns, as they are. Write for example: country = 'FR' AND year >= 2020."
    ),
    "age = 1; DROP TABLE data": (
        "the filter holds ';' at character 8: a filter is one condition, not a statement. "
        "Write for example: country = 'FR' AND year >= 2020."
    ),
    "age + 1 = 2": (
        "the filter holds '+' at character 5: a filter does not calculate. "
        "Write for example: country = 'FR' AND year >= 2020."
    ),
    "age = 1 -- all": (
        "the filter cannot be read at '--': comments are not allowed. "
        "Write for example: country = 'FR' AND year >= 2020."
    ),
    "age IN (SELECT age FROM data)": (
        "the filter cannot be read at 'SELECT': a column is compared with a literal: 'text' in single quotes, 7, 1.5, "
        "TRUE or DATE '2024-12-31'. Write for example: country = 'FR' AND year >= 2020."
    ),
    "country = NULL": "the filter compares with NULL, which is never true; write: column IS NULL",
    "country = 'FR": (
        'the filter holds "\'" at character 11: a text is open: close it with a single quote, and double the quotes '
        "within. Write for example: country = 'FR' AND year >= 2020."
    ),
    "": "the filter is empty; leave it out to take all rows. Write for example: country = 'FR' AND year >= 2020.",
    "age = '5'": (
        "the filter compares column 'age' with a literal of another kind; it can be compared with numbers, without "
        "quotes: age >= 10"
    ),
    "day = '2024-01-01'": (
        "the filter compares column 'day' with a literal of another kind; it can be compared with dates: "
        "day >= DATE '2024-12-31'"
    ),
    "day = DATE '2024-02-30'": ("the filter holds the date '2024-02-30', which is none; write it as DATE '2024-12-31'"),
    "tags = 'x'": (
        "the filter compares column 'tags' with a literal of another kind; it can be compared with nothing, only be "
        "missing or not: tags IS NOT NULL"
    ),
    "age = 99999999999999999999": (
        "the filter holds the number 99999999999999999999, which is out of range; numbers stay within 64 bits"
    ),
}


@pytest.mark.parametrize("text", UNSAFE)
def test_a_refusal_says_what_to_write(text):
    """Each text of a refusal, word for word."""
    with pytest.raises(UnsafeFilter) as caught:
        canonical(text)

    assert str(caught.value) == UNSAFE[text]


@pytest.mark.parametrize(
    "text",
    [
        "age",
        "live",
        "age =",
        "= 1",
        "age = age",
        "age = score",
        "country = FR",
        "country LIKE 5",
        "age LIKE '5'",
        "country ILIKE 'f%'",
        "country LIKE 'a' ESCAPE 'b'",
        "country IN ()",
        "country IN ('a'",
        "country IN ('a', 5)",
        "age BETWEEN 1",
        "age BETWEEN 1 OR 5",
        "age NOT = 5",
        "age IS 5",
        "age = 1 age = 2",
        "age = 1 AND",
        "AND age = 1",
        "(age = 1",
        "age = 1)",
        "NOT",
        "age == 1",
        "age = 1 OR 1",
        "1 = 1",
        "TRUE",
        "age = ?",
        "age = $1",
        "age::text = '5'",
        "country || 'x' = 'y'",
        "country = E'\\x41'",
        "country COLLATE nocase = 'fr'",
        "EXISTS (SELECT 1)",
        "CASE WHEN age = 1 THEN TRUE END",
        "row_number() OVER () < 5",
        "age = 1 /* x */",
        "age = 0x10",
        "age = 1_000",
        "age = -",
        "data.age = 1",
        "age = 1 LIMIT 5",
        "age = 1 UNION SELECT 2",
        '"age = 1',
        "age = 1" + " AND age = 1" * 5000,
        "(" * 200 + "age = 1" + ")" * 200,
        "NOT " * 5000 + "age = 1",
        "score = 1e400",
        "live = 1",
        "at = TRUE",
        "day = DATE '24-1-1'",
        "day = DATE 2024",
        "country = 'a\nb' \\",
        "country = '\ud800'",
        f"country LIKE '{'x' * 1001}'",
    ],
)
def test_everything_else_is_refused(text):
    """Nothing outside the grammar passes, and nothing fails in another way."""
    with pytest.raises(UnsafeFilter):
        canonical(text)


@given(st.text(alphabet="age country='\"<>!()%,;-+*/. 15NOTANDORINISNULLLIKEdate\n", max_size=40))
def test_any_text_is_read_or_refused(text):
    """Whatever is typed, the answer is a filter or one of our errors."""
    try:
        once = canonical(text)
    except HushcountError:
        return

    assert canonical(once) == once


def nested(depth):
    """A filter with so many parentheses, each of which means something."""
    return "NOT (age = 1 OR " * depth + "age = 2" + ")" * depth


# At the limits of length and depth, of every shape.
LARGEST = {
    "parentheses": "(" * 49 + "age = 1" + ")" * 49,
    "negations": nested(24),
    "alternatives": " OR ".join(["age=1"] * 2_200),
    "two levels": " OR ".join(["age=1 AND age=2"] * 1_000),
    "numbers": f"age IN ({','.join(map(str, range(3_900)))})",
    "texts": f"country IN ({','.join(chr(0x4E00 + n).join(2 * chr(39)) for n in range(4_900))})",
    "a text": f"country = '{'x' * 19_980}'",
    "quotes": "country = '" + "''" * 9_990 + "'",
    "a pattern": f"country LIKE '{'%x' * 500}'",
    "odd texts": "country IN ('\0', '\uffff', '\U0010ffff', '')",
    "ends of numbers": "age IN (-9223372036854775808, 9223372036854775807) OR score = 9.2e18 OR score = 1e-320",
    "ends of dates": "day BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'",
}


@pytest.mark.parametrize("name", LARGEST)
def test_what_passes_is_answered(name):
    """Nothing that the grammar and the columns let through fails later, however deep, long or odd it is."""
    table = pa.table({"user": [1], "item": ["x"], "country": ["x"], "age": [1], "score": [1.0], "day": [date.today()]})  # noqa: DTZ011 (any)
    engine = open_duckdb(table)
    selection = Selection(user="user", item="item", where=grammar.read(LARGEST[name]))
    engine.validate(selection)
    row = {column.name: table[column.name][0].as_py() for column in engine.describe().columns}
    kinds = {column.name: column.kind for column in engine.describe().columns}

    assert len(engine.histogram(selection).items) == bool(holds(selection.where, row, kinds))


def test_a_spelling_may_be_longer_than_what_was_typed():
    """Limits are those of the typed text: its one spelling, which is deeper and longer, is never read again."""
    deep = grammar.read("age = 1 OR (age = 2 AND (" * 24 + "age IS NULL OR age IS NOT NULL" + "))" * 24)
    wide = grammar.read(" OR ".join(["age=1"] * 2_200))

    with pytest.raises(UnsafeFilter, match="nested more than 50 deep"):
        grammar.read(spell(deep))
    with pytest.raises(UnsafeFilter, match="more than 20000 characters"):
        grammar.read(spell(wide))


def test_an_unknown_column_is_told():
    """The nearest column is suggested, whatever its case."""
    with pytest.raises(UnknownColumn, match=r"there is no column 'Contry'.*Did you mean 'country'\?"):
        canonical("Contry = 'FR'")


def test_a_filter_is_a_tree():
    """The tree says what was read."""
    tree = parse("country IN ('a') AND NOT (age < 5 OR day IS NULL)")
    inner = Joined(word="OR", parts=(Compare(column="age", operator="<", value=5), Missing(column="day")))

    assert tree == Joined(word="AND", parts=(Among(column="country", values=("a",)), Not(part=inner)))


@pytest.mark.parametrize(
    ("text", "row", "wanted"),
    [
        ("age = 1", {"age": None}, None),
        ("NOT (age = 1)", {"age": None}, None),
        ("age = 1 OR age IS NULL", {"age": None}, True),
        ("age = 1 AND country = 'x'", {"age": None, "country": "y"}, False),
        ("age = 1 OR country = 'x'", {"age": None, "country": "y"}, None),
        ("score > 0", {"score": float("nan")}, None),
        ("score IS NULL", {"score": float("nan")}, True),
        ("country > 5", {"country": "10"}, True),
        ("country > 5", {"country": "ten"}, None),
        ("country = TRUE", {"country": "true"}, True),
        ("country < DATE '2024-12-31'", {"country": "2024-12-30T23:59"}, True),
        ("country < DATE '2024-12-31'", {"country": "30.12.2024"}, None),
        ("day < DATE '2024-12-31'", {"day": date(2024, 12, 30)}, True),
        ("country LIKE 'a_%'", {"country": "a\nb"}, True),
        ("country LIKE 'a.b'", {"country": "axb"}, False),
        ("country LIKE ''", {"country": ""}, True),
        ("country = ''", {"country": ""}, True),
    ],
)
def test_unknown_stays_unknown(text, row, wanted):
    """Three-valued logic, and how texts are read as numbers, truth values and dates."""
    assert holds(parse(text), row, KINDS) is wanted
