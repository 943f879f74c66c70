"""Rows gathered page by page: the same as all of them at once, whatever their types and wherever pages end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hushcount.engines.incidence import incidence
from hushcount.engines.pinot.gathering import Gathered
from hushcount.engines.pinot.schema import PinotColumn
from hushcount.model.queries import Part, TextItems, TupleItems

KINDS = {
    "text": ("STRING", st.text(max_size=3), str),
    "integer": ("LONG", st.integers(-3, 12), str),
    "boolean": ("BOOLEAN", st.booleans(), lambda value: str(value).lower()),
}


def column(name, kind):
    """A column of Pinot."""
    return PinotColumn(name=name, type_name=KINDS[kind][0], kind=kind)


def gathered(columns, item, rows, size):
    """Gathered from pages of so many rows."""
    found = Gathered(columns, item)
    for start in range(0, len(rows), size):
        found.add(rows[start : start + size])
    return found.incidence()


def as_pairs(held):
    """Who has what, and how often, however people and items are numbered."""
    everybody, items = held.whole(), held.items.tolist()
    lists = zip(everybody.users.tolist(), everybody.offsets[:-1], everybody.offsets[1:], strict=True)
    return {
        (user, items[everybody.ids[place]]): int(everybody.times[place])
        for user, first, last in lists
        for place in range(first, last)
    }


@given(data=st.data(), person=st.sampled_from(list(KINDS)), thing=st.sampled_from(list(KINDS)), size=st.integers(1, 9))
def test_pages_are_as_good_as_all_rows_at_once(data, person, thing, size):
    """Texts, numbers and truth values; repeated rows count as often as they come."""
    rows = data.draw(st.lists(st.tuples(KINDS[person][1], KINDS[thing][1]).map(list), max_size=30))
    found = gathered([column("user", person), column("item", thing)], "item", rows, size)
    spelled = KINDS[person][2], KINDS[thing][2]
    expected = incidence([spelled[0](row[0]) for row in rows], [spelled[1](row[1]) for row in rows])

    assert as_pairs(found) == as_pairs(expected)
    assert found.items.tolist() == expected.items.tolist()


def test_a_row_may_have_several_items_or_none():
    """Words are items of their own, and a tuple whose part is no date is none."""
    columns = [column("user", "text"), column("said", "text")]
    words = gathered(columns, TextItems(column="said"), [["ann", "one two"], ["bob", ""], ["ann", "two"]], 2)
    days = TupleItems(parts=(Part(column="said", unit="day"),))
    dated = gathered(columns, days, [["ann", "2026-11-17"], ["bob", "never"]], 1)

    assert as_pairs(words) == {("ann", "one"): 1, ("ann", "two"): 2}
    assert {user for user, _ in as_pairs(dated)} == {"ann"}


def test_nothing_is_nobody():
    """No page at all."""
    found = gathered([column("user", "text"), column("item", "text")], "item", [], 1)

    assert (found.people, len(found.items), len(found.whole().ids)) == (0, 0, 0)
