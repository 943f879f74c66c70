"""Forms of amounts: what is left, what is charged, and budget that other programs hold.

Amounts that count are exact and so texts; amounts to look at are numbers.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypeAlias

from pydantic import Field
from typing_extensions import TypedDict

from hushcount.ledger.ledger import Kind
from hushcount.ledger.limits import Mode
from hushcount.ledger.windows import Window

Exact: TypeAlias = Annotated[str, Field(pattern=r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$", examples=["0.1"])]
Moment: TypeAlias = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Number: TypeAlias = Annotated[float, Field(ge=0)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Whole: TypeAlias = Annotated[int, Field(ge=0)]


class Charge(TypedDict):
    """An exact amount."""

    rho: Exact
    delta: Exact


class Amounts(Charge):
    """An amount in all currencies."""

    epsilon: float | None
    epsilon_delta: Exact
    information: Annotated[int, Field(description="Information units, as LinkedIn has them.")]
    calls: Annotated[int, Field(description="Call units, as LinkedIn has them.")]
    epsilon_per: Exact
    delta_per_call: Exact


class InReleases(TypedDict):
    """The amounts of an account in standard releases."""

    limit: float | None
    left: float | None
    spent: float
    ever: float


class Account(TypedDict):
    """An account with all its amounts; `limit` and `left` where there is a limit."""

    kind: Kind
    name: str
    mode: Mode | None
    window: Window | None
    renewal: str | None
    renews: Moment | None
    questions: int
    releases: InReleases
    spent: Amounts
    held: Amounts
    ever: Amounts
    limit: NotRequired[Amounts]
    left: NotRequired[Amounts]


class OwnAccount(Account):
    """An account whose amounts the caller may see."""

    shared: Literal[False]


class SharedAccount(TypedDict):
    """An account that others spend from too, whose amounts are not told."""

    kind: Kind
    name: str
    shared: Literal[True]


class Left(TypedDict):
    """What is left for the caller."""

    releases: Number | None
    like_this: Whole | None
    renews: Moment | None
    sentence: str


class Releases(TypedDict):
    """An amount in standard releases."""

    releases: Number


class Known(TypedDict):
    """What a caller can know: what they paid for, and what others had published."""

    own: Releases
    published: Releases
    sentence: str


class DatasetBudget(TypedDict):
    """All accounts that the caller's questions on a data set are charged to."""

    dataset: str
    left: Left | None
    accounts: list[OwnAccount | SharedAccount]
    known: Known | None


class MyAccount(TypedDict):
    """The caller's own account on a data set."""

    dataset: str
    account: Account


class Fits(TypedDict):
    """Whether a cost would fit now, and how many more of the same."""

    fits: bool
    more: Whole | None


class OpenReservation(TypedDict):
    """Budget that is held."""

    id: Annotated[str, Field(pattern="^h_")]
    state: Literal["open"]
    expires: Moment
    mode: Mode


class SettledReservation(TypedDict):
    """A reservation that was settled before, and what it was charged."""

    id: Annotated[str, Field(pattern="^h_")]
    state: Literal["settled"]
    charged: Charge


class Proof(TypedDict):
    """Where the charge stands in the log."""

    seq: Whole
    hash: str


class Settled(TypedDict):
    """What was charged."""

    charged: Charge
    proof: Proof


class GivenBack(TypedDict):
    """A reservation that was given back."""

    id: str
    detail: str
