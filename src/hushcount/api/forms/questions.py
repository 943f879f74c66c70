"""Forms of questions: prices, answers, questions under way, saved ones."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from hushcount.api.forms.amounts import Charge, Exact, Left, Moment, Number, Share, Whole
from hushcount.api.forms.service import Preset, Problem
from hushcount.app.deriving import Deed
from hushcount.app.serving.owners import schedules
from hushcount.model.costs import KINDS
from hushcount.model.queries import Question, Verb


class ExpertCost(Charge):
    """A price as experts say it."""

    information: int
    calls: int
    epsilon_per: Exact
    delta_per_call: Exact


class PriceCost(TypedDict):
    """The most that a question may cost."""

    releases: Number
    at_most: Literal[True]
    expert: ExpertCost


class Expected(TypedDict):
    """How accurate an answer would be."""

    give_or_take: int | None
    cutoff: float | None
    rows: str


class LikeThis(TypedDict):
    """How many more of the same fit."""

    like_this: Whole | None
    sentence: str


class Change(TypedDict):
    """What to send in place of what was sent."""

    preset: NotRequired[Preset]
    delta: NotRequired[str]


class Cheaper(TypedDict):
    """The same question for less."""

    change: Change
    releases: Number
    give_or_take: int | None
    cutoff: float | None


class Method(TypedDict):
    """How a question would be answered, and why so."""

    name: str
    reason: str


class Translation(TypedDict):
    """What is fetched from the store in place of what was asked."""

    fetches: int
    of: str


class Price(TypedDict):
    """A price tag. Nothing was charged."""

    mode: Literal["estimate"]
    question: str
    cost: PriceCost
    expected: Expected
    fits: bool
    left: LikeThis
    free: str | None
    cheaper: list[Cheaper]
    method: Method
    translation: Translation | None
    notes: list[str]


class SumOfPrices(TypedDict):
    """The most that several questions may cost together."""

    releases: Number
    at_most: Literal[True]


class BatchPrice(TypedDict):
    """One price for several questions. Nothing was charged."""

    mode: Literal["estimate"]
    cost: SumOfPrices
    fits: bool
    questions: list[Price]


class CountedRow(TypedDict):
    """A released item with its noisy count and the ends of its interval; of several columns, a list of its values."""

    item: str | list[str]
    count: int
    low: int
    high: int


class NamedRow(TypedDict):
    """A released item alone."""

    item: str | list[str]


class Interval(TypedDict):
    """How often the intervals hold, and of what: of the true counts, or of what a bound on people's items let count."""

    level: Share
    holds: Literal["for each row"]
    of: Literal["true", "counted"]


class CostEvent(TypedDict):
    """One event of a cost, with the members of its kind."""

    kind: Annotated[str, Field(json_schema_extra={"enum": list(KINDS)})]
    times: Annotated[int, Field(ge=1)]
    rho: NotRequired[Exact]
    epsilon: NotRequired[Exact]
    delta: NotRequired[Exact]
    order: NotRequired[Exact]


class CostEvents(TypedDict):
    """A cost as accountants read it."""

    version: Literal[1]
    events: list[CostEvent]


class Receipt(TypedDict):
    """What is protected, by what, at what price; `words` says it to people.

    `rho`, `delta` and `epsilon` are what the plan promised, `charged_rho` and `charged_delta` what was charged. `order`
    is the largest Renyi order for which that is known, null for all.
    """

    id: str
    made: Moment
    question: Question
    user: str
    item: str
    columns: list[str]
    left_out: bool
    where: str | None
    per_item_cap: int
    max_items_per_user: int | None
    mechanism: str
    mechanism_version: int
    reason: str
    data_version: str
    rho: Exact
    delta: Exact
    epsilon: float | None
    epsilon_delta: float
    charged_rho: Exact
    charged_delta: Exact
    cost: CostEvents
    noise: str
    noise_scale: float | None
    noise_bound: int | None
    shown_above: int | None
    cutoff: float | None
    rows: Whole
    private: bool
    consistent: bool
    remark: str | None
    order: float | None
    dataset: str | None
    words: str


class Answer(TypedDict):
    """The rows of an answer, and what there is to know of them. It is complete, or there is none."""

    complete: Literal[True]
    shown: Whole
    cutoff: float | None
    rows: list[CountedRow] | list[NamedRow]
    interval: Interval | None
    notes: list[str]
    cost: CostEvents
    receipt: Receipt


class Release(Answer):
    """An answer as it is stored, for ever."""

    id: Annotated[str, Field(pattern="^r_")]
    dataset: str
    protects: str
    made: Moment
    data_version: str
    enforced: bool
    stored: Annotated[str, Field(description="A digest of the stored bytes.")]


class MadeUp(Answer):
    """An answer from a made-up table: none of it is about anybody."""

    id: None
    dataset: str
    made_up: Literal[True]


class Free(TypedDict):
    """Nothing was charged."""

    releases: Literal[0]


class Rehearsal(TypedDict):
    """A question tried out on a made-up table. Nothing was charged."""

    mode: Literal["rehearse"]
    made_up: Literal[True]
    release: MadeUp
    cost: Free


class Level(TypedDict):
    """How often an interval holds."""

    level: Share


class Derived(TypedDict):
    """A number made of released rows, with the ends of its interval; null where there is no end."""

    deed: Deed
    value: float | None
    low: float | None
    high: float | None
    interval: Level
    cost: Free


class AskedFor(TypedDict):
    """A question as it was sent."""

    question: Verb
    item: NotRequired[str | list[str]]
    by: NotRequired[str | list[str]]
    timezone: NotRequired[str]
    date_format: NotRequired[str]
    trim: NotRequired[bool]
    text: NotRequired[str]
    ngrams: NotRequired[str]
    lower: NotRequired[bool]
    preset: NotRequired[Preset]
    error: NotRequired[str | float]
    rho: NotRequired[Exact]
    epsilon: NotRequired[Exact]
    delta: NotRequired[Exact]
    where: NotRequired[str]
    keys: NotRequired[list[str | list[str]]]
    max_items_per_user: NotRequired[int]
    per_item_cap: NotRequired[int]
    k: NotRequired[int]
    counts: NotRequired[bool]
    method: NotRequired[str]
    fresh: NotRequired[bool]


class Job(TypedDict):
    """What was asked, by whom and when."""

    id: Annotated[str, Field(pattern="^q_")]
    dataset: str
    questions: Annotated[list[AskedFor], Field(min_length=1)]
    analyst: str
    made: Moment


class UnderWay(TypedDict):
    """It is not answered yet."""

    status: Literal["waiting", "running"]
    stage: str
    stopping: bool


class Done(TypedDict):
    """It was answered, and where its answers are."""

    status: Literal["done"]
    releases: Annotated[list[Annotated[str, Field(pattern="^/v1/releases/r_")]], Field(min_length=1)]


class Ended(TypedDict):
    """It has no answer, and why."""

    status: Literal["failed", "cancelled"]
    problem: Problem


class JobUnderWay(Job, UnderWay):
    """A question that is not answered yet."""


class JobDone(Job, Done):
    """A question that was answered, with where its answers are."""


class JobEnded(Job, Ended):
    """A question that has no answer, and why."""


class Jobs(TypedDict):
    """A page of questions."""

    data: list[JobUnderWay | JobDone | JobEnded]
    next: str | None


class Fate(TypedDict):
    """What became of a wish to cancel."""

    charged: bool | None
    detail: str


class FateUnderWay(Job, UnderWay, Fate):
    """It is not known yet."""


class FateDone(Job, Done, Fate):
    """It was too late."""


class FateEnded(Job, Ended, Fate):
    """It has ended."""


class Paid(TypedDict):
    """What an answer cost whoever asked."""

    releases: Number
    held: Number
    given_back: Number
    repeated: bool
    expert: Charge


class PaidTogether(TypedDict):
    """What several answers cost together."""

    releases: Number
    held: Number
    given_back: Number
    repeated: bool
    each: list[Paid]


class Answered(TypedDict):
    """A question with its answer."""

    id: Annotated[str, Field(pattern="^q_")]
    status: Literal["done"]
    release: Release
    cost: Paid
    left: Left | None


class AnsweredTogether(TypedDict):
    """Several questions with their answers."""

    id: Annotated[str, Field(pattern="^q_")]
    status: Literal["done"]
    releases: Annotated[list[Release], Field(min_length=2)]
    cost: PaidTogether
    left: Left | None


class LastRun(TypedDict):
    """When a saved question was asked by itself last, and what became of it."""

    at: Moment
    state: schedules.RunState
    query: str | None


class LastProblem(TypedDict):
    """Why it was not answered."""

    code: str
    detail: str


class Schedule(TypedDict):
    """When a saved question is asked by itself."""

    when: schedules.When
    since: Moment
    stopped: Annotated[str | None, Field(description="Why it is not asked any more.")]
    next: str
    last_run: LastRun | None
    last_problem: LastProblem | None
    missed: Annotated[list[str], Field(description="Versions of the data that went by unasked.")]


class Saved(TypedDict):
    """A saved question."""

    id: str
    name: str
    dataset: Annotated[str | None, Field(description="Null if it is not served any more.")]
    question: AskedFor
    latest: Annotated[str | None, Field(description="The id of its newest release.")]
    released: Moment | None
    published: Annotated[str | None, Field(description="The name under which all may read it.")]
    yours: bool
    schedule: Schedule | None


class SavedQuestions(TypedDict):
    """Saved questions."""

    data: list[Saved]
    next: None
