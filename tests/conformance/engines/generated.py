"""Generated data, filters and bounds: repeats, missing values, ties, odd texts, all types, no rows at all."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
from hypothesis import strategies as st

from hushcount.engines.filters import grammar
from hushcount.model.conditions import Among, Between, Compare, Joined, Like, Missing, Not, spell
from hushcount.model.inputs import Bound, Clip, Ranked
from hushcount.model.queries import Part, TupleItems

# NUL cannot stand in text files and SQLite; everything else can.
CHARACTERS = st.characters(exclude_characters="\x00", exclude_categories=("Cs",))
TEXTS = st.one_of(
    st.sampled_from(
        ["", "a", "b", "A", " a", "7", "1.5", "NULL", "nan", 'q"', "it's", "é", "e\u0301", "日本", "😀", "\n"]
    ),
    st.text(CHARACTERS, max_size=6),
)
DATES = st.dates(date(1, 1, 1), date(9999, 12, 31))
MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 1, 1))  # noqa: DTZ001 (without a zone on purpose)
VALUES = {
    "text": TEXTS,
    "few texts": st.sampled_from(["a", "b", "c", "d", "e"]),
    "integer": st.integers(-3, 3),
    "wide integer": st.integers(-(2**63), 2**63 - 1),
    "float": st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 1.0, float("nan")])),
    "boolean": st.booleans(),
    "date": DATES,
    "moment": MOMENTS,
    "mixed": st.one_of(st.integers(-2, 2), TEXTS, st.booleans()),
}


def column(values):
    """Values of a column, some of them missing."""
    return st.one_of(st.none(), values, values, values)


@st.composite
def tables(draw, people=tuple(VALUES), items=tuple(VALUES)):
    """Columns user, item and three to filter by."""
    person = column(VALUES[draw(st.sampled_from(people))])
    item = column(VALUES[draw(st.sampled_from(items))])
    row = st.tuples(
        person,
        item,
        column(st.integers(-3, 3)),
        column(st.sampled_from(["a", "ab", "b", "a%", "", "7", "-2", "2.5", "true"])),
        column(st.dates(date(2024, 12, 30), date(2025, 1, 2))),
    )
    rows = draw(st.lists(row, max_size=25))
    again = draw(st.lists(st.sampled_from(rows), max_size=10)) if rows else []
    names = ("user", "item", "age", "tag", "day")
    return {name: [one[n] for one in [*rows, *again]] for n, name in enumerate(names)}


BOUNDS = st.builds(
    lambda most, salt, without, only: Bound(
        max_items=most,
        salt=salt,
        without=None if without is None else np.array(without, dtype=object),
        only=None if only is None else np.array(only, dtype=object),
    ),
    st.integers(1, 4),
    st.binary(min_size=1, max_size=64),
    st.none() | st.lists(TEXTS, max_size=3),
    st.none() | st.lists(TEXTS, min_size=1, max_size=5),
)

OPERATORS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
LITERALS = {
    "age": st.one_of(st.integers(-3, 3), st.sampled_from([0.5, -1.0])),
    "tag": st.sampled_from(["a", "ab", "", "7"]),
    "day": st.dates(date(2024, 12, 30), date(2025, 1, 2)),
}
PATTERNS = st.text("ab%_7", max_size=4)


@st.composite
def conditions(draw):
    """One condition on one column."""
    name = draw(st.sampled_from(sorted(LITERALS)))
    values = LITERALS[name]
    if name == "tag":
        values = draw(st.sampled_from([values, st.integers(-3, 8), st.just(2.5), st.booleans()]))
    return draw(
        st.one_of(
            st.builds(Compare, column=st.just(name), operator=OPERATORS, value=values),
            st.builds(Among, column=st.just(name), values=st.lists(values, min_size=1, max_size=3).map(tuple)),
            st.builds(Between, column=st.just(name), low=values, high=values),
            st.builds(Like, column=st.just("tag"), pattern=PATTERNS),
            st.builds(Missing, column=st.just(name)),
        )
    )


FILTER_TEXTS = st.recursive(
    conditions(),
    lambda parts: st.one_of(
        st.builds(Not, part=parts),
        st.builds(
            Joined, word=st.sampled_from(["AND", "OR"]), parts=st.lists(parts, min_size=2, max_size=3).map(tuple)
        ),
    ),
    max_leaves=5,
).map(spell)
FILTERS = FILTER_TEXTS.map(grammar.read)


@st.composite
def clips(draw):
    """A few ranked items, some of which occur, and clips for them: loose, tight, and everything between."""
    items = draw(
        st.lists(st.sampled_from(["a", "b", "c", "d", "e", "7", "x", ""]), min_size=1, max_size=6, unique=True)
    )
    steps = draw(st.lists(st.integers(1, 2**20), min_size=len(items), max_size=len(items)))
    clip = st.builds(Clip, first=st.integers(1, len(items)), radius=st.integers(1, 2**21))
    ranked = Ranked(items=np.array(items, dtype=object), amplitudes=np.array(steps, dtype=np.int64))
    return ranked, draw(st.lists(clip, min_size=1, max_size=4))


ODD_TEXTS = st.one_of(TEXTS, st.sampled_from(["\x1f", "\\", "\\s", "s", "a\x1fb", "\u3000a ", "\ta", "Σ", "İ", "ΑΣ"]))
# Rules of zones differ between programs for long ago and far ahead.
SETTLED = st.datetimes(datetime(1980, 1, 1), datetime(2035, 1, 1))  # noqa: DTZ001 (without a zone on purpose)
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "Pacific/Auckland", "America/New_York", "Asia/Kolkata"])
OFFSETS = st.sampled_from(["", "Z", "+02:00", "-0330", "+14", "-14:59", " ", "+15:00"])
WRITTEN = st.one_of(
    st.builds(lambda moment, offset: moment.isoformat() + offset, SETTLED, OFFSETS),
    SETTLED.map(lambda moment: moment.date().isoformat()),
    TEXTS,
)


@st.composite
def made_of_parts(draw):
    """Columns user, a, b and at, and items made of some of them."""
    zone = draw(ZONES)
    kind = draw(st.sampled_from(["moment", "date", "text", "settled"] if zone == "UTC" else ["text", "settled"]))
    moments = {"moment": MOMENTS, "date": DATES, "text": WRITTEN, "settled": SETTLED}[kind]
    values = {**VALUES, "text": ODD_TEXTS}
    of_a, of_b = (column(values[draw(st.sampled_from(tuple(values)))]) for _ in range(2))
    row = st.tuples(column(st.sampled_from(["ann", "bob", "eve"])), of_a, of_b, column(moments))
    rows = draw(st.lists(row, max_size=20))
    units = st.sampled_from(["day", "week", "month"] if kind == "date" else ["hour", "day", "week", "month"])
    parts = draw(
        st.lists(
            st.sampled_from([Part(column="a"), Part(column="b")]) | st.builds(Part, column=st.just("at"), unit=units),
            min_size=1,
            max_size=4,
            unique=True,
        )
    )
    # Without a value nothing tells that a column holds moments.
    held = {name: [one[n] for one in rows] for n, name in enumerate(("user", "a", "b", "at"))}
    if all(value is None for value in held["at"]):
        parts = [part for part in parts if part.unit is None] or [Part(column="a")]
    zoned = any(part.unit is not None for part in parts)
    items = TupleItems(
        parts=tuple(parts), zone=zone if zoned else "UTC", trim=draw(st.booleans()), lower=draw(st.booleans())
    )
    return held, items
