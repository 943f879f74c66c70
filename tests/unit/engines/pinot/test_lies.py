"""Every place of every answer is lied about, one at a time: refused in our own words, or it changes nothing."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from hushcount.engines.pinot.engine import open_pinot
from hushcount.engines.pinot.table import Table
from hushcount.errors import HushcountError, StoreIncomplete
from hushcount.model.queries import Selection
from tests.conformance.engines.plain import rows
from tests.unit.engines.pinot.lying import CANARY, answered, spoken

SELECTION = Selection(user="user", item="item")
LIES = (CANARY, None, -1, 0, 2, 7, 1.5, 10**30, True, [CANARY], {CANARY: CANARY})


def top(engine):
    """The two largest."""
    return rows(engine.histogram(SELECTION, top=2))


def everything(engine):
    """All items."""
    return rows(engine.histogram(SELECTION))


def listed(engine):
    """Three of a list."""
    return engine.histogram(SELECTION).of(np.array(["a", "b", "c"], dtype=object)).tolist()


def pairs(engine):
    """Who has what."""
    held = engine.incidence(SELECTION)
    return rows(held.largest(9))


ASKED = (top, everything, listed, pairs)


def places(told, at=()):
    """Every place of an answer."""
    yield at
    inner = told.items() if isinstance(told, dict) else enumerate(told) if isinstance(told, list) else ()
    for name, value in inner:
        yield from places(value, (*at, name))


def changed(told, at, lie):
    """The answer with something else in one place, if it has that."""
    if not at or at not in places(told):
        return told if at else lie
    made = copy.deepcopy(told)
    inner = made
    for name in at[:-1]:
        inner = inner[name]
    inner[at[-1]] = lie
    return made


def said_of(error):
    """All words that go with an error, however it is shown."""
    seen = []
    while error is not None:
        seen += [str(error), repr(error.args), *getattr(error, "__notes__", ())]
        error = error.__cause__ or error.__context__
    return " ".join(seen)


def outcome(ask):
    """What is answered; None for a refusal, which must not tell anything."""
    words = ""
    try:
        engine = open_pinot("pinot://127.0.0.1:9/t")
        found = ask(engine)
        engine.fingerprint(b"k")
        engine.fingerprint(b"k")
    except HushcountError as refused:
        found, words = None, said_of(refused)
    assert CANARY not in words
    return found


def is_data(kind, at):
    """Whether a place holds what is counted: any value that could be one is as good as another."""
    return kind in {"groups", "rows", "count"} and at[:2] == ("resultTable", "rows")


@pytest.mark.parametrize("ask", ASKED)
def test_the_truth_is_answered(liar, ask):
    """Also with a segment whose name has a quote in it, and somebody's address."""
    assert outcome(ask) is not None


@pytest.mark.parametrize("kind", ["plan", "groups", "number", "count", "rows", "segments", *spoken()])
def test_no_lie_about_one_place_is_believed_or_repeated(liar, kind):
    """Whatever stands there instead."""
    told = spoken().get(kind) or next(made for name, made in map(answered, STATEMENTS) if name == kind)
    ask = pairs if kind in {"count", "rows"} else top
    truth = outcome(ask)
    # Names of columns are public, and are shown to whoever names another.
    for at in (at for at in places(told) if at[-1:] != ("name",)):
        for lie in LIES:
            liar.lies = {kind: lambda said, at=at, lie=lie: changed(said, at, lie)}
            found = outcome(ask)

            assert found in (None, truth) or is_data(kind, at), (at, lie)


STATEMENTS = (
    "EXPLAIN PLAN FOR x LIMIT 3",
    "SELECT x GROUP BY y LIMIT 3",
    "SELECT DISTINCTCOUNT(x)",
    "SELECT COUNT(*)",
    'SELECT DISTINCT "$segmentName"',
    "SELECT x",
)


@pytest.mark.parametrize(
    "lie",
    [
        {f"{CANARY}Reached": True},
        {"exceptions": [{"errorCode": CANARY, "message": CANARY}]},
        {"exceptions": [{"errorCode": 305, "message": CANARY}, CANARY]},
        {"exceptions": {CANARY: CANARY}},
        {"exceptions": ""},
    ],
)
def test_a_broker_is_not_quoted(liar, lie):
    """Neither names of fields nor what should be numbers: an operator's words may have data in them."""
    liar.lies = {"groups": lambda said: {**said, **lie}}
    with pytest.raises(StoreIncomplete) as caught:
        top(open_pinot("pinot://127.0.0.1:9/t"))

    assert caught.value.point in {2, 3}
    assert CANARY not in said_of(caught.value)


@pytest.mark.parametrize(
    "lie",
    [
        [["a", 3], ["b", 2], ["c", 1.5]],
        [["a", 3], ["b", 2], ["c", True]],
        [["a", 3], ["b", 2], ["c", CANARY]],
        [["a", 3], ["b", 2], ["c", 0]],
        [["a", 3], ["b", 2], ["c", -1]],
        [["a", 7], ["b", 2], ["c", 1]],
        [["a", 3], ["b", 2], [7, 1]],
        [["a", 3], ["b", 2], [None, 1]],
        [["a", 3], ["b", 2], ["c"]],
        [["a", 3], ["b", 2], ["c", 1, CANARY]],
        [["a", 3], ["b", 2], "c1"],
        [["a", 3], ["a", 3], ["c", 1]],
        [["c", 1], ["b", 2], ["a", 3]],
    ],
)
@pytest.mark.parametrize("ask", [everything, listed])
def test_groups_that_cannot_be_are_refused(liar, lie, ask):
    """Counts that are none, more people than rows, an item twice, or in another order than was asked for."""
    liar.lies = {"groups": lambda said: changed(said, ("resultTable", "rows"), lie)}
    engine = open_pinot("pinot://127.0.0.1:9/t")
    with pytest.raises(StoreIncomplete) as caught:
        ask(engine)

    assert caught.value.point in {8, 10}
    assert CANARY not in said_of(caught.value)


@pytest.mark.parametrize(
    "lie", [["ann", 7], ["ann", None], [7, "a"], ["ann"], ["ann", "a", CANARY], CANARY, ["ann", []]]
)
def test_rows_that_cannot_be_are_refused(liar, lie):
    """Cells of another type than their column, or too few or too many of them."""
    liar.lies = {"rows": lambda said: changed(said, ("resultTable", "rows", 5), lie)}
    engine = open_pinot("pinot://127.0.0.1:9/t")
    with pytest.raises(StoreIncomplete) as caught:
        pairs(engine)

    assert caught.value.point == 8
    assert CANARY not in said_of(caught.value)


def told(*found):
    """A lie: these rows."""
    return lambda said: changed(said, ("resultTable", "rows"), list(found))


# Eve's rows do not count, whatever is asked: two groups, four rows, and every flag and number beside them as it was.
FILTERED = {
    "groups": told(["a", 2], ["b", 2]),
    "number": told([2]),
    "count": told([4]),
    "rows": told(["ann", "a"], ["bob", "a"], ["ann", "b"], ["bob", "b"]),
}
# A table of the same name, of as many segments and rows, in another cluster or in other capital letters.
STRANGE = {
    "groups": told(["z", 3], ["y", 2], ["x", 1]),
    "rows": told(*[["ann", "z"]] * 6),
    "segments": told(["T_0"], ["T_1"]),
}


@pytest.mark.parametrize("ask", ASKED)
@pytest.mark.parametrize("lies", [FILTERED, STRANGE])
def test_a_broker_that_lies_alike_everywhere_is_caught(liar, lies, ask, monkeypatch):
    """It filters all that it is asked, or answers from another table. Whoever does not meet it first believes it."""
    truth = outcome(ask)
    liar.lies = lies
    engine = open_pinot("pinot://127.0.0.1:9/t")
    with pytest.raises(StoreIncomplete) as caught:
        ask(engine)
    monkeypatch.setattr(Table, "_meet", lambda _: None)
    believed = outcome(ask)

    assert caught.value.point == 6
    assert CANARY not in said_of(caught.value)
    assert believed not in (None, truth)
