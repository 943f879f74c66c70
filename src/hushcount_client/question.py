"""A question as it goes out: its options checked as far as they can be here, and written as the server reads them."""

from __future__ import annotations

import difflib
import json
import operator
import uuid
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict

from hushcount_client.problems import InvalidOption

Question: TypeAlias = Literal["count", "top", "vocab", "people"]
Mode: TypeAlias = Literal["estimate", "rehearse", "release"]
Number: TypeAlias = int | float | str | Decimal


class Options(TypedDict, total=False):
    """The options of a question; each may be left out.

    Attributes:
        text: a text column whose words are the items (instead of `item`).
        ngrams: shortest and longest run of words that is an item, as (1, 3) or "1-3".
        by: further columns of the item, before the others; the answer is sorted by them.
        timezone: by whose clock `day(column)` and the like begin, such as "Europe/Berlin"; UTC unless said otherwise.
        date_format: how moments are written in a text, such as "%d/%m/%Y %H:%M", if not as ISO 8601; "seconds" or
            "milliseconds" if they are numbers since 1970.
        trim: leave off white space at both ends of items.
        lower: fold case away; on for words unless said otherwise, off for other items.
        preset: "cautious", "standard" (the default) or "generous".
        error: wanted accuracy: "10%" of each count, or a number of people, from which the cost is solved.
        rho: what may be spent, instead of a preset; or
        epsilon: what may be spent, as (epsilon, delta).
        delta: the probability that a rare item of one person is named after all.
        where: a filter on rows, such as "country = 'NZ' AND day >= date('2026-01-01')".
        keys: the public list of items, if there is one: a file with one item per line, or the items themselves; of
            several columns, tuples.
        max_items_per_user: at most this many items are taken from each person.
        per_item_cap: how much one person may add to one count; 1 counts people.
        k: how many items `top` shows.
        counts: whether `top` shows counts; on unless said otherwise.
        method: a mechanism by name, instead of the chooser's.
        fresh: draw new noise, and pay again, instead of giving the same answer to the same question.
        max_cost: refuse, free of charge, if the question may cost more than this many standard releases.
        key: a name for this attempt: repeating a call that may have failed, with the same key, never pays twice.
        say: told the name of each stage of a long question.
    """

    text: str
    ngrams: str | tuple[int, int]
    by: str | Sequence[str]
    timezone: str
    date_format: str
    trim: bool
    lower: bool
    preset: str
    error: str | float
    rho: Number
    epsilon: Number
    delta: Number
    where: str
    keys: str | Path | Sequence[str] | Sequence[tuple[str, ...]]
    max_items_per_user: int
    per_item_cap: int
    k: int
    counts: bool
    method: str
    fresh: bool
    max_cost: Number | Mapping[str, Any]
    key: str
    say: Callable[[str], None]


# About the call, and not of what is asked.
_OF_THE_CALL = frozenset({"key", "say"})
# What the library knows and a server decides itself.
_ELSEWHERE = {
    "user": "the data set says which column is the person",
    "ledger": "the server keeps the ledger",
    "setting": "the server keeps the ledger",
    "engine": "the server reads the data",
    "master": "the server reads the data",
    "table": "the data set says which table it is",
    "analyst": "the token says who asks",
}


def new_key() -> str:
    """A key that nobody used before."""
    return str(uuid.uuid4())


def make_body(
    mode: Mode, question: Question, dataset: str, *, item: str | Sequence[str] | None, options: Options
) -> bytes:
    """The body of a question.

    Raises:
        InvalidOption: an option is unknown, is the server's to decide, or cannot be written.
    """
    _require_known(options)
    if question == "top" and "k" not in options:
        raise InvalidOption("a top list needs k: write k=10 for the ten most held items")
    if question == "people" and item is not None:
        raise InvalidOption("people are counted without an item; for groups, say by and keys")
    if question != "people" and (item is None) == ("text" not in options):
        raise InvalidOption("one of item and text is needed: the column whose values, or whose words, are counted")
    said = {name: value for name, value in options.items() if name not in _OF_THE_CALL and value is not None}
    form = {"mode": mode, "dataset": dataset, "question": question, "item": item, **_written(said)}
    return encode({name: value for name, value in form.items() if value is not None})


def encode(form: Mapping[str, Any]) -> bytes:
    """A form as JSON. Whole numbers of other libraries are whole numbers; what is no number is refused."""
    try:
        return json.dumps(form, allow_nan=False, default=operator.index).encode()
    except (TypeError, ValueError, RecursionError):
        raise InvalidOption("an option has a value that cannot be sent: use texts, whole and finite numbers") from None


def require_key(key: str) -> str:
    """A key as it may stand in a header.

    Raises:
        InvalidOption: it is empty, too long or holds other signs.
    """
    if not 0 < len(key) <= 255 or not all(" " < sign <= "~" for sign in key):
        raise InvalidOption("the key must be 1 to 255 letters, digits and signs, without spaces")
    return key


def _require_known(options: Options) -> None:
    for name in sorted(options):
        if name in _ELSEWHERE:
            raise InvalidOption(f"{name} cannot be said to a server: {_ELSEWHERE[name]}; leave it out")
        if name not in Options.__annotations__:
            near = difflib.get_close_matches(name, Options.__annotations__, n=1)
            raise InvalidOption(f"there is no option {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


def _written(said: dict[str, Any]) -> dict[str, Any]:
    """Options in the server's form: amounts that count as texts, lists as lists."""
    for name in ("rho", "epsilon", "delta"):
        if name in said:
            said[name] = str(said[name])
    if isinstance(said.get("error"), Decimal):
        said["error"] = str(said["error"])
    if isinstance(said.get("ngrams"), tuple):
        said["ngrams"] = "-".join(map(str, said["ngrams"]))
    if "keys" in said:
        said["keys"] = _listed(said["keys"])
    if "max_cost" in said and not isinstance(said["max_cost"], Mapping):
        cost = said["max_cost"]
        said["max_cost"] = {"releases": float(cost) if isinstance(cost, str | Decimal) else cost}
    return said


def _listed(keys: str | Path | Sequence[str] | Sequence[tuple[str, ...]]) -> list[str | list[str]]:
    """The public list: the lines of a file, empty ones left out, or the items as they were handed over."""
    if not isinstance(keys, str | Path):
        return [key if isinstance(key, str) else list(map(str, key)) for key in keys]
    try:
        lines = Path(keys).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidOption(f"the public list {str(keys)!r} cannot be read ({type(error).__name__})") from None
    return [line for line in lines if line]
