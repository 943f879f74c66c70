"""Forms of the service itself: problems, who the caller is, what is served, tokens."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from hushcount.api.forms.amounts import Exact, Moment
from hushcount.app.serving.callers.tokens import Scope
from hushcount.app.serving.problems import CODES
from hushcount.app.serving.setup.config import Analysts, Snapshot
from hushcount.ledger.ledger import Role
from hushcount.model import columns
from hushcount.model.queries import Question

Preset: TypeAlias = Literal["cautious", "standard", "generous"]


@with_config(ConfigDict(extra="allow"))
class Problem(TypedDict):
    """What went wrong (RFC 9457). `detail` says what happened, why it matters and what to type."""

    type: Annotated[str, Field(description="A page on this server that explains the code.")]
    status: int
    code: Annotated[str, Field(json_schema_extra={"enum": list(CODES)})]
    title: str
    detail: str
    charged: Annotated[
        bool | None, Field(description="Whether anything was charged for this request; null if that is not known.")
    ]
    request_id: str
    pointer: NotRequired[Annotated[str, Field(description="The place in the body (RFC 6901).")]]
    parameter: NotRequired[Annotated[str, Field(description="The parameter of the query, or the header.")]]


class Alive(TypedDict):
    """The process answers."""

    status: Literal["ok"]


class Ready(TypedDict):
    """Questions can be taken."""

    status: Literal["ready"]


@with_config(ConfigDict(extra="allow"))
class Interface(TypedDict):
    """An OpenAPI document."""

    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]


class MyToken(TypedDict):
    """The token that the caller signed in with."""

    id: str
    scopes: list[Scope]
    cap: Exact | None


class Me(TypedDict):
    """Who the caller is."""

    name: str
    local: bool
    role: Annotated[Role | None, Field(description="For everything; null if there is none.")]
    groups: list[str]
    token: MyToken | None
    datasets: Annotated[dict[str, Role], Field(description="The caller's role for each that is shared with them.")]


class BriefDataset(TypedDict):
    """A data set in a few words."""

    name: str
    role: Role
    protects: str
    snapshot: Snapshot


class Column(TypedDict):
    """A column of a data set."""

    name: str
    kind: columns.Kind


class DeclaredFacts(TypedDict):
    """What was declared about a column; of public items, how many there are."""

    max_items_per_user: int | None
    per_item_cap: int | None
    public_items: int | None


class Example(TypedDict):
    """A question to begin with; there is none where no column may be named."""

    dataset: str
    question: Question
    item: str
    k: NotRequired[int]


class Dataset(BriefDataset):
    """A data set with all that its callers may know: nothing of it is a value of the data."""

    available: bool
    as_of: Annotated[str | None, Field(description="The day (UTC) whose version is asked; null: the data as it is.")]
    person: str
    people: str
    items: list[str] | None
    columns: list[Column] | None
    facts: dict[str, DeclaredFacts]
    presets: list[Preset]
    analysts: Analysts
    timing: Literal["grid", "fixed", "off"]
    examples: list[Example]


class Datasets(TypedDict):
    """A page of data sets."""

    data: list[BriefDataset]
    next: str | None


class Cap(TypedDict):
    """The most that a token may ever spend."""

    releases: Exact


class Token(TypedDict):
    """A token; never its text."""

    id: str
    owner: str
    label: str
    scopes: list[Scope]
    datasets: list[str] | None
    expires: Moment
    cap: Cap | None
    made: Moment
    revoked: Moment | None


class FirstToken(Token):
    """A token with its text, shown this once."""

    token: str


class Tokens(TypedDict):
    """Tokens that have not ended."""

    data: list[Token]
    next: None
