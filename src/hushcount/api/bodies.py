"""Bodies: what may be sent, exactly; everything else is refused with its place."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from hushcount.model.queries import MOST_PARTS

_SPAN = re.compile(r"([1-9][0-9]{0,5})(s|m|h|d)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_NUMBER = r"^[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?$"


def _exact(said: object) -> object:
    """An amount that counts, as its exact text: sent as one, or as a number, of which every digit was kept."""
    text = str(said) if isinstance(said, int | Decimal) and not isinstance(said, bool) else said
    if isinstance(text, str):
        text = text.strip()
        # Decimal writes small numbers with a large E, and some with a sign that means nothing.
        if re.fullmatch(_NUMBER, text) is None:
            raise ValueError("it must be a number such as 0.1 or '1e-6', without a sign")
    return text


def _span(said: object) -> object:
    if isinstance(said, str):
        found = _SPAN.fullmatch(said)
        if found is None:
            raise ValueError("it must be a time such as '30s', '15m', '2h' or '7d'")
        return timedelta(**{_UNITS[found[2]]: int(found[1])})
    return said


def _moment(said: object) -> object:
    """A moment in UTC; a day means its end, so that 'until 1 December' includes it."""
    if isinstance(said, str):
        try:
            if re.fullmatch(r"\d{4}-\d{2}-\d{2}", said):
                return datetime.combine(date.fromisoformat(said), time.max, UTC)
            made = datetime.fromisoformat(said)
        except ValueError:
            raise ValueError(
                "it must be a day such as '2026-12-01', or a time such as '2026-12-01T12:00:00Z'"
            ) from None
        if made.tzinfo is None:
            raise ValueError("it must say its time zone, such as a Z at its end")
        try:
            return made.astimezone(UTC)
        except OverflowError:
            raise ValueError("it is out of range") from None
    return said


def _start(said: object) -> object:
    """A moment in UTC at which something begins; a day means its beginning."""
    day = isinstance(said, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", said)
    return _moment(f"{said}T00:00:00Z" if day else said)


def _error(said: object) -> object:
    """A wanted accuracy: a share such as "10%", or a number of people."""
    if isinstance(said, Decimal):
        return float(said)
    return said


def _runs(said: object) -> object:
    """Shortest and longest run of words, as "1-3" or [1, 3]."""
    if isinstance(said, list):
        return "-".join(map(str, said))
    return said


Exact: TypeAlias = Annotated[
    str,
    BeforeValidator(_exact),
    Field(max_length=100),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "pattern": _NUMBER, "maxLength": 100}, {"type": "number", "minimum": 0}]}
    ),
]
Span: TypeAlias = Annotated[
    timedelta, BeforeValidator(_span), WithJsonSchema({"type": "string", "pattern": "^[1-9][0-9]{0,5}[smhd]$"})
]
Moment: TypeAlias = Annotated[
    datetime,
    BeforeValidator(_moment),
    WithJsonSchema({"type": "string", "examples": ["2026-12-01", "2026-12-01T12:00:00Z"], "maxLength": 40}),
]
Start: TypeAlias = Annotated[
    datetime,
    BeforeValidator(_start),
    WithJsonSchema({"type": "string", "examples": ["2026-12-01", "2026-12-01T12:00:00Z"], "maxLength": 40}),
]
Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
Words: TypeAlias = Annotated[str, Field(min_length=1, max_length=2000)]
Item: TypeAlias = Annotated[str, Field(max_length=10_000)]
# A column, or several whose values together are the item; of a moment also `day(column)` and the like.
Columns: TypeAlias = Name | Annotated[list[Name], Field(min_length=1, max_length=MOST_PARTS)]
# An item of one column, or of several.
Cell: TypeAlias = Item | Annotated[list[Item], Field(min_length=1, max_length=MOST_PARTS)]
Question: TypeAlias = Literal["count", "top", "vocab", "people"]
Window: TypeAlias = Literal["day", "week", "month", "none"]
Role: TypeAlias = Literal["owner", "analyst", "auditor", "reader", "program", "nobody"]
Whole: TypeAlias = Annotated[int, Field(ge=1, le=10**9)]


class Body(BaseModel):
    """One object; a member that is not known is refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    def given(self, *without: str) -> dict[str, Any]:
        """The members that were sent, but for some."""
        return {
            name: getattr(self, name)
            for name in type(self).model_fields
            if name in self.model_fields_set and name not in without and getattr(self, name) is not None
        }


class Most(Body):
    """A number of standard releases."""

    releases: Exact


class Asked(Body):
    """A question: see `hushcount count --help` for each of its options."""

    dataset: Name
    question: Question
    item: Columns | None = None
    by: Columns | None = None
    timezone: Name | None = None
    date_format: Name | None = None
    trim: bool | None = None
    text: Name | None = None
    ngrams: Annotated[str, BeforeValidator(_runs), Field(max_length=20)] | None = None
    lower: bool | None = None
    preset: Literal["cautious", "standard", "generous"] | None = None
    error: Annotated[str | float | int, BeforeValidator(_error)] | None = None
    rho: Exact | None = None
    epsilon: Exact | None = None
    delta: Exact | None = None
    where: Annotated[str, Field(max_length=10_000)] | None = None
    keys: Annotated[list[Cell], Field(fail_fast=True, max_length=100_000)] | None = None
    max_items_per_user: Whole | None = None
    per_item_cap: Whole | None = None
    k: Whole | None = None
    counts: bool | None = None
    method: Name | None = None
    fresh: bool | None = None


class Query(Asked):
    """A question, and what to do with it: price it (`estimate`), try it out (`rehearse`), or answer it (`release`)."""

    mode: Literal["estimate", "rehearse", "release"] = "estimate"
    max_cost: Most | None = None


class Batch(Body):
    """Several questions, of which all are answered or none."""

    mode: Literal["estimate", "release"] = "estimate"
    questions: Annotated[list[Asked], Field(fail_fast=True, min_length=1, max_length=50)]
    max_cost: Most | None = None


class Derivation(Body):
    """Arithmetic on released rows."""

    deed: Literal["sum", "difference", "share", "ratio"]
    items: Annotated[list[Cell], Field(fail_fast=True, min_length=1, max_length=1000)]
    against: Annotated[list[Cell], Field(fail_fast=True, max_length=1000)] = []


class SavedQuestion(Body):
    """A question with a name."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    asked: Asked
    schedule: Literal["new data"] | None = None


class SavedChange(Body):
    """A change of when a saved question is asked by itself; null asks it no more."""

    schedule: Literal["new data"] | None


class WishForMore(Body):
    """A wish for more: how much, why, until when."""

    dataset: Name
    releases: Exact
    why: Words
    until: Moment | None = None


class Decision(Body):
    """What an owner decides on a wish."""

    grant: bool
    sentence: Annotated[str, Field(min_length=1, max_length=2000)]
    releases: Exact | None = None
    until: Moment | None = None
    of: Literal["analyst", "dataset"] = "analyst"


class NewToken(Body):
    """A token as its owner wants it."""

    label: Annotated[str, Field(min_length=1, max_length=200)]
    scopes: Annotated[list[Literal["read", "ask", "manage", "program"]], Field(min_length=1, max_length=4)] = ["ask"]
    datasets: Annotated[list[Name], Field(fail_fast=True, max_length=1000)] | None = None
    life: Span | None = None
    cap: Most | None = None


class Facts(Body):
    """What an owner declares about one item column."""

    max_items_per_user: Whole | None = None
    per_item_cap: Whole | None = None
    public_items: Annotated[list[Item], Field(fail_fast=True, max_length=100_000)] | None = None


class NewDataset(Body):
    """A data set to be served: a table of a store that the configuration names."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    store: Name
    table: Name | None = None
    person: Name
    items: Annotated[list[Name], Field(fail_fast=True, max_length=1000)] | None = None
    people: Name | None = None
    facts: Annotated[dict[Name, Facts], Field(max_length=1000)] | None = None


class DatasetChange(Body):
    """A change of what is declared about columns: those that are named are replaced."""

    facts: Annotated[dict[Name, Facts], Field(min_length=1, max_length=1000)]


class Limit(Body):
    """A limit, said in one of four ways, or `none` to lift it; for a data set, or for one or each analyst or group."""

    dataset: Name | None = None
    analyst: Name | None = None
    group: Name | None = None
    releases: Exact | None = None
    rho: Exact | None = None
    epsilon: Exact | None = None
    delta: Exact | None = None
    information: Whole | None = None
    calls: Annotated[int, Field(ge=0, le=10**9)] | None = None
    epsilon_per: Exact | None = None
    delta_per_call: Exact | None = None
    none: Literal[True] | None = None
    window: Window = "month"
    mode: Literal["enforce", "track"] = "enforce"
    enforced_from: Start | None = None


class Proposal(Body):
    """What a proposed limit should do."""

    share: Exact = "0.95"
    window: Literal["day", "week", "month"] = "month"


class Person(Body):
    """A person's role for one data set, or for all."""

    role: Role
    dataset: Name | None = None


class Group(Body):
    """Who joins a group, and who leaves it."""

    add: Annotated[list[Name], Field(fail_fast=True, max_length=1000)] = []
    remove: Annotated[list[Name], Field(fail_fast=True, max_length=1000)] = []


class Freeze(Body):
    """Stop all questions, or let them go on."""

    frozen: bool
    why: Annotated[str, Field(max_length=2000)] = ""


class Check(Body):
    """A wish to hold what is declared against the data; its price first, unless it is said otherwise."""

    mode: Literal["estimate", "release"] = "estimate"


class Publication(Body):
    """A saved question to be published: its id, and the name under which all may read it."""

    question: Name
    name: Annotated[str, Field(min_length=1, max_length=100)]


class Cost(Body):
    """A cost as programs say it."""

    rho: Exact = "0"
    delta: Exact = "0"


class Spending(Body):
    """What a program wants to spend."""

    dataset: Name
    analyst: Name | None = None
    cost: Cost
    what: Annotated[str, Field(max_length=200)] = ""
    lifetime: Span = timedelta(minutes=15)


class Settlement(Body):
    """What a program used."""

    cost: Cost


class Link(Body):
    """The one-time text of an invitation."""

    invitation: Annotated[str, Field(min_length=1, max_length=400)]


class Head(Body):
    """One link of the chain."""

    entity: Name
    seq: Annotated[int, Field(ge=0, le=2**63 - 1)]
    hash: Annotated[str, Field(max_length=200)]


class Anchors(Body):
    """Links of the chain that were kept elsewhere."""

    heads: Annotated[list[Head], Field(fail_fast=True, max_length=100_000)] = []
