"""`frozen` against what it stands for: a frozen dataclass of the standard library with slots and keywords alone."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.model.frozen import frozen

_plain = dataclass(frozen=True, slots=True, kw_only=True)


def _made(decorate: Any) -> dict[str, Any]:
    """The same four classes, by either decorator."""

    @decorate
    class Point:
        """Two numbers, one of them optional."""

        x: int
        y: int = 2

    @decorate
    class Named(Point):
        """With a name, a list of its own, and one that is neither shown nor compared."""

        name: str
        many: list[int] = field(default_factory=list)
        hidden: int = field(default=0, repr=False, compare=False)

    @decorate
    class Checked:
        """Refuses, and works out a field that nobody gives."""

        low: int
        high: int
        width: int = field(init=False)

        def __post_init__(self) -> None:
            if self.low > self.high:
                raise ValueError("upside down")
            object.__setattr__(self, "width", self.high - self.low)

    @decorate
    class Own:
        """Has its own ways."""

        value: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, int) and other == self.value

        def __hash__(self) -> int:
            return self.value

    return {made.__name__: made for made in (Point, Named, Checked, Own)}


OURS, PLAIN = _made(frozen), _made(_plain)


@frozen
class Kept:
    """Can be found by its name, as pickled values must."""

    first: int
    second: tuple[str, ...] = ()


_points = st.fixed_dictionaries({"x": st.integers(-2, 2)}, optional={"y": st.integers(-2, 2)})


@given(_points, _points)
def test_values_are_equal_where_those_of_the_standard_library_are(one, other):
    """Equality, hashes of equal values, texts, and what `replace`, `asdict` and `fields` make of them."""
    (ours, second), (plain, twin) = ([made["Point"](**said) for said in (one, other)] for made in (OURS, PLAIN))

    assert (ours == second) == (plain == twin)
    assert (hash(ours) == hash(second)) == (hash(plain) == hash(twin))
    assert repr(ours) == repr(plain)
    assert asdict(ours) == asdict(plain)
    assert asdict(replace(ours, x=7)) == asdict(replace(plain, x=7))
    assert [told.name for told in fields(ours)] == [told.name for told in fields(plain)]
    assert is_dataclass(ours)
    assert ours != plain


def test_fields_are_inherited_hidden_and_made_anew():
    """A class that extends another: defaults of its own for each value, and what is not compared is not."""
    for named in (OURS["Named"], PLAIN["Named"]):
        one, other = named(x=1, name="n", hidden=1), named(x=1, name="n", hidden=2)

        assert one == other
        assert repr(one).endswith("Named(x=1, y=2, name='n', many=[])")
        assert one.many is not other.many
        assert one != PLAIN["Point"](x=1)
        assert one != OURS["Point"](x=1)


@pytest.mark.parametrize("made", [OURS, PLAIN])
def test_nothing_can_be_changed(made):
    """Neither set nor deleted, nor is there room for anything else."""
    value = made["Point"](x=1)
    with pytest.raises(FrozenInstanceError):
        value.x = 2
    with pytest.raises(FrozenInstanceError):
        del value.x
    with pytest.raises((FrozenInstanceError, TypeError)):
        value.z = 3

    assert value.x == 1
    assert not hasattr(value, "__dict__")


@pytest.mark.parametrize("made", [OURS, PLAIN])
def test_what_is_given_must_be_what_is_asked_for(made):
    """Missing, unknown and unnamed values are refused, and so is a field that is worked out."""
    point, checked = made["Point"], made["Checked"]
    for wrong in ({}, {"y": 1}, {"x": 1, "z": 2}):
        with pytest.raises(TypeError):
            point(**wrong)
    with pytest.raises(TypeError):
        point(1)
    with pytest.raises(TypeError):
        checked(low=1, high=2, width=3)
    with pytest.raises(ValueError, match="upside down"):
        checked(low=2, high=1)

    assert checked(low=1, high=3).width == 2


@pytest.mark.parametrize("made", [OURS, PLAIN])
def test_a_class_keeps_what_it_says_itself(made):
    """Its own text, equality and hash."""
    own = made["Own"](value=5)

    assert (repr(own), own == 5, hash(own)) == ("own", True, 5)


def test_a_value_can_be_sent_and_copied():
    """As to another process: the same value arrives, and it is as frozen as before."""
    value = Kept(first=1, second=("a",))
    for twin in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):  # noqa: S301  our own
        assert twin == value
        with pytest.raises(FrozenInstanceError):
            twin.first = 2


def test_a_value_within_itself_is_told():
    """A list in a value may hold the value: its text ends."""
    named = OURS["Named"](x=1, name="n")
    named.many.append(named)

    assert "many=[...]" in repr(named)


def test_help_shows_the_fields():
    """Which words a class takes, with their defaults, as of a dataclass; and what is worked out is not among them."""
    for name in ("Point", "Checked"):
        ours, plain = inspect.signature(OURS[name]), inspect.signature(PLAIN[name])

        assert list(ours.parameters.values()) == list(plain.parameters.values())
    assert list(inspect.signature(OURS["Named"]).parameters) == list(inspect.signature(PLAIN["Named"]).parameters)
