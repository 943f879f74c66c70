"""Forms of what owners see and decide: wishes, people, limits, usage, the log."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from hushcount.api.forms.amounts import Charge, Exact, Moment, Number, Share, Whole
from hushcount.app.serving.owners import wishes
from hushcount.app.serving.questions import checking
from hushcount.ledger.ledger import Kind, Role
from hushcount.ledger.limits import Mode
from hushcount.ledger.windows import Window

Guess = Annotated[
    Share,
    Field(description="How often at most a guess is right whether a person is in the data; a coin is right in 0.5."),
]


class Frozen(TypedDict):
    """Whether questions are stopped."""

    dataset: str | None
    frozen: bool
    why: str


class Decided(TypedDict):
    """What an owner decided on a wish."""

    by: str
    at: Moment
    words: str
    releases: Exact | None
    until: Moment | None
    of: wishes.Of


class Wish(TypedDict):
    """A wish for more."""

    id: str
    who: str
    dataset: str | None
    releases: Exact
    why: str
    until: Moment
    made: Moment
    state: wishes.State
    decision: Decided | None


class Wishes(TypedDict):
    """A page of wishes."""

    data: list[Wish]
    next: str | None


class GivenRole(TypedDict):
    """A role, and who gave it."""

    where: str
    role: Role
    by: str
    when: Moment


class PersonWithRoles(TypedDict):
    """Somebody with a role or in a group."""

    name: str
    roles: list[GivenRole]
    groups: list[str]


class People(TypedDict):
    """Everybody with a role or in a group."""

    data: list[PersonWithRoles]
    next: None


class RoleNow(TypedDict):
    """A person's role as it is now."""

    name: str
    role: Literal["owner", "analyst", "auditor", "reader", "program", "nobody"]
    dataset: str | None


class Invitation(TypedDict):
    """An invitation, shown this once."""

    name: str
    invitation: str
    expires: Moment


class MayAsk(TypedDict):
    """Whether somebody may ask, and every reason for it."""

    name: str
    may_ask: bool
    role: Role | None
    because: list[str]


class Members(TypedDict):
    """Who joined a group, and who left it."""

    name: str
    added: list[str]
    removed: list[str]


class LimitTerms(TypedDict):
    """A limit; null in all but its words if there is none."""

    whose: str
    words: str
    releases: Number | None
    rho: Exact | None
    delta: Exact | None
    window: Window | None
    mode: Mode | None
    until: Moment | None
    enforced_from: Annotated[Moment | None, Field(description="When a limit that is tracked now will be enforced.")]
    guess: Guess | None


class LimitNow(LimitTerms):
    """A limit as it is now, and what is worth knowing of it."""

    note: str | None


class LimitInForce(LimitTerms):
    """A limit, and who set it."""

    people: str
    kind: Kind
    name: str
    by: str
    when: Moment


class Limits(TypedDict):
    """Limits in force, general ones first."""

    data: list[LimitInForce]
    next: None


class CheckedFact(TypedDict):
    """A declared fact, and whether it holds as far as noise lets it be told; null if it was not looked at."""

    column: str
    fact: checking.Kind
    declared: int | str | None
    enforced: bool
    holds: bool | None
    detail: str


class _OfFacts(TypedDict):
    dataset: str
    facts: list[CheckedFact]
    seen_from: Annotated[Whole | None, Field(description="So many people who break a fact are seen almost surely.")]
    notes: list[str]


class MostReleases(TypedDict):
    """A price in standard releases."""

    releases: Number
    at_most: NotRequired[bool]


class CheckPrice(_OfFacts):
    """What a check of all declared facts would cost. Nothing was charged."""

    mode: Literal["estimate"]
    cost: MostReleases
    fits: bool


class Checked(_OfFacts):
    """Declared facts held against the data."""

    mode: Literal["release"]
    cost: MostReleases


class Stop(TypedDict):
    """When a limit would first have stopped somebody."""

    name: str
    at: Moment
    day: Annotated[Whole, Field(description="The day of their window: the first is that of its first question.")]
    part: Literal["noise", "rare items"]


class TriedLimit(TypedDict):
    """What a limit would have done: who was over it, and which share of analysts by each day."""

    releases: Exact
    guess: Guess
    stopped: list[str]
    stops: list[Stop]
    noise: list[Share]
    rare_items: list[Share]


class Usage(TypedDict):
    """What limits would have done."""

    window: Window
    analysts: Whole
    today: Annotated[Number, Field(description="What all of them spent since midnight (UTC), in standard releases.")]
    limits: list[TriedLimit]


class Curve(TypedDict):
    """The share of analysts over a limit, by days."""

    part: Literal["noise", "rare items"]
    releases: Number
    limit: Exact
    shares: list[Share]


class ProposedLimit(Charge):
    """A proposed limit. Nothing was set."""

    releases: Number
    window: Window
    share: Share
    analysts: Whole
    stopped: list[str]
    curves: list[Curve]


class Entry(TypedDict):
    """An entry of the log: whole, so that whoever has all of them can compute every hash."""

    book: str
    seq: Whole
    at: Moment
    kind: str
    by: str
    body: dict[str, Any]
    hash: str


class Entries(TypedDict):
    """A page of the log, oldest first."""

    data: list[Entry]
    next: str | None


class NewestEntry(TypedDict):
    """The newest entry of a book, to be kept elsewhere."""

    entity: str
    seq: Whole
    hash: str


class Verdict(TypedDict):
    """What a replay of every book found."""

    whole: bool
    problems: list[str]
    heads: list[NewestEntry]
