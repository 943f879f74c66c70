"""Two released numbers beside each other: their difference and their sum, with intervals. Free: nothing is read."""

from __future__ import annotations

from typing import TypeAlias

from hushcount.app.deriving import Derived, Side, added, side, subtracted
from hushcount.app.receipt_page import table
from hushcount.app.release import Release
from hushcount.errors import InvalidParameter
from hushcount.library.surface import public
from hushcount.model.frozen import frozen
from hushcount.model.tuples import join

Item: TypeAlias = str | tuple[str, ...]
Picked: TypeAlias = tuple[Release, Item | list[Item]]


@frozen
class Comparison:
    """Two numbers, what is between them and what they add up to: each a value with the ends of its 95 % interval.

    Attributes:
        first: the one.
        second: the other.
        difference: the first less the second.
        sum: both together; whoever is in both is in it twice.
        counted: True if a bound left some items of some people out: all of it is then about what was counted.
    """

    first: Derived
    second: Derived
    difference: Derived
    sum: Derived
    counted: bool

    def __repr__(self) -> str:
        return f"<Comparison: difference {_words(self.difference)}, sum {_words(self.sum)}>"

    def _repr_html_(self) -> str:
        rows = [(name, _words(getattr(self, name))) for name in ("first", "second", "difference", "sum")]
        return f"<div>{table(rows)}</div>"


@public()
def compare(a: Picked, b: Picked) -> Comparison:
    """The difference and the sum of two released numbers, with 95 % intervals. Free: nothing is read or charged.

    Two rows of one release, as `compare((release, "tea"), (release, "milk"))`; or rows of two releases, as
    `compare((may, "tea"), (june, "tea"))`: each has noise of its own. A row cannot be compared with itself, nor with
    the same answer given again, since that is the same noise.

    Args:
        a: a release and one of its items: a text, or a tuple of texts where items have several columns. A list of items
            stands for their sum.
        b: likewise.
    """
    first, second = _picked("a", a), _picked("b", b)
    if a[0].receipt.id == b[0].receipt.id and set(first.rows.tolist()) & set(second.rows.tolist()):
        hint = "The same answer twice has the same noise: nothing differs."
        raise InvalidParameter("b", "a row of a", "another row than those of a", hint)
    return Comparison(
        first=added([first]),
        second=added([second]),
        difference=subtracted([first], [second]),
        sum=added([first, second]),
        counted=a[0].receipt.left_out or b[0].receipt.left_out,
    )


def _picked(name: str, said: Picked) -> Side:
    if not isinstance(said, tuple) or len(said) != 2 or not isinstance(said[0], Release):
        raise InvalidParameter(name, type(said).__name__, "a release and an item of it, as (release, 'tea')")
    release, items = said
    several = items if isinstance(items, list) else [items]
    texts = [one if isinstance(one, str) else join(one) for one in several]
    if len(set(texts)) < len(texts):
        raise InvalidParameter(name, several[:3], "each item once")
    return side(release, texts, name)


def _words(one: Derived) -> str:
    ends = ["no end" if end is None else f"{end:,.0f}" for end in (one.low, one.high)]
    value = "unknown" if one.value is None else f"{one.value:,.0f}"
    return f"{value} ({ends[0]} to {ends[1]})"
