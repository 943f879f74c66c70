"""The contract: the form of each route's answer, by status, and which answers lead to which routes.

One table of each, beside the routes: whoever adds a route adds its line here, and a test says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from pydantic import TypeAdapter

from hushcount.api.forms import amounts, owners, questions, service
from hushcount.model.frozen import frozen

JSON = "application/json"
_PLACE = "#/components/schemas/{model}"
# Answers that a route has beside its own.
_WHAT: Final = {202: "It is not there yet: look again where `Location` says.", 304: "The caller has it already."}

# By route, then by status. None: an answer without a body.
ANSWERS: Final[dict[str, dict[int, Any]]] = {
    "GET /healthz": {200: service.Alive},
    "GET /readyz": {200: service.Ready},
    "GET /openapi.json": {200: service.Interface},
    "GET /v1/me": {200: service.Me},
    "GET /v1/datasets": {200: service.Datasets},
    "POST /v1/datasets": {201: service.Dataset},
    "GET /v1/datasets/{dataset}": {200: service.Dataset},
    "PATCH /v1/datasets/{dataset}": {200: service.Dataset},
    "GET /v1/datasets/{dataset}/budget": {200: amounts.DatasetBudget},
    "POST /v1/datasets/{dataset}/check": {200: owners.CheckPrice | owners.Checked},
    "POST /v1/datasets/{dataset}/freeze": {200: owners.Frozen},
    "GET /v1/datasets/{dataset}/published": {200: questions.SavedQuestions},
    "POST /v1/datasets/{dataset}/publish": {201: questions.Saved},
    "DELETE /v1/datasets/{dataset}/publish/{question}": {204: None},
    "GET /v1/datasets/{dataset}/usage": {200: owners.Usage},
    "POST /v1/datasets/{dataset}/proposals": {200: owners.ProposedLimit},
    "POST /v1/freeze": {200: owners.Frozen},
    "POST /v1/queries": {
        200: questions.Price | questions.Rehearsal | questions.Answered,
        202: questions.JobUnderWay,
    },
    "GET /v1/queries": {200: questions.Jobs},
    "GET /v1/queries/{query}": {
        200: questions.Answered | questions.AnsweredTogether | questions.JobEnded,
        202: questions.JobUnderWay,
    },
    "DELETE /v1/queries/{query}": {200: questions.FateDone | questions.FateEnded, 202: questions.FateUnderWay},
    "POST /v1/batches": {
        200: questions.BatchPrice | questions.AnsweredTogether | questions.Answered,
        202: questions.JobUnderWay,
    },
    "GET /v1/releases/{release}": {200: questions.Release, 304: None},
    "GET /v1/releases/{release}/receipt": {200: questions.Receipt},
    "POST /v1/releases/{release}/derive": {200: questions.Derived},
    "POST /v1/questions": {201: questions.Saved},
    "GET /v1/questions": {200: questions.SavedQuestions},
    "GET /v1/questions/{question}": {200: questions.Saved},
    "PATCH /v1/questions/{question}": {200: questions.Saved},
    "DELETE /v1/questions/{question}": {204: None},
    "POST /v1/questions/{question}/release": {200: questions.Answered, 202: questions.JobUnderWay},
    "GET /v1/questions/{question}/latest": {200: questions.Release, 304: None},
    "GET /v1/questions/{question}/latest.{suffix}": {200: questions.Release, 304: None},
    "POST /v1/requests": {201: owners.Wish},
    "GET /v1/requests": {200: owners.Wishes},
    "GET /v1/requests/{wish}": {200: owners.Wish},
    "DELETE /v1/requests/{wish}": {200: owners.Wish},
    "POST /v1/requests/{wish}/decision": {200: owners.Wish},
    "GET /v1/tokens": {200: service.Tokens},
    "POST /v1/tokens": {201: service.FirstToken},
    "DELETE /v1/tokens/{token}": {200: service.Token},
    "POST /v1/invitations": {201: service.FirstToken},
    "GET /v1/limits": {200: owners.Limits},
    "PUT /v1/limits": {200: owners.LimitNow},
    "GET /v1/people": {200: owners.People},
    "PUT /v1/people/{person}": {200: owners.RoleNow},
    "POST /v1/people/{person}/invitation": {201: owners.Invitation},
    "GET /v1/people/{person}/why": {200: owners.MayAsk},
    "PUT /v1/groups/{group}": {200: owners.Members},
    "GET /v1/log": {200: owners.Entries},
    "POST /v1/log/verify": {200: owners.Verdict},
    "GET /v1/budget": {200: amounts.MyAccount},
    "POST /v1/budget/check": {200: amounts.Fits},
    "POST /v1/budget/reservations": {201: amounts.OpenReservation | amounts.SettledReservation},
    "POST /v1/budget/reservations/{reservation}/settle": {200: amounts.Settled},
    "DELETE /v1/budget/reservations/{reservation}": {200: amounts.GivenBack},
    "POST /v1/budget/update": {200: amounts.Settled},
}


@frozen
class Lead:
    """A link of OpenAPI: what an answer says that another route takes.

    Attributes:
        name: what is done by following it.
        to: the route.
        given: its parameters, and where in the answer each is.
        body: its body, with places in the answer in it; None if the caller makes it up.
    """

    name: str
    to: str
    given: Mapping[str, str] = field(default_factory=dict)
    body: Any = None


def _to_query(place: str = "$response.body#/id", *, open_: bool = False) -> tuple[Lead, ...]:
    given = {"query": place}
    looked = Lead(name="look", to="GET /v1/queries/{query}", given=given)
    cancelled = Lead(name="cancel", to="DELETE /v1/queries/{query}", given=given)
    watched = Lead(name="watch", to="GET /v1/queries/{query}/events", given=given)
    return (looked, cancelled, watched) if open_ else (looked,)


def _to_release(place: str, *, rows: str | None = None) -> tuple[Lead, ...]:
    given = {"release": place}
    read = Lead(name="read", to="GET /v1/releases/{release}", given=given)
    receipt = Lead(name="receipt", to="GET /v1/releases/{release}/receipt", given=given)
    body = {"deed": "sum", "items": [f"{rows}/0/item"]}
    derive = Lead(name="derive", to="POST /v1/releases/{release}/derive", given=given, body=body)
    return (read, receipt) if rows is None else (read, receipt, derive)


_ANSWERED = _to_release("$response.body#/release/id", rows="$response.body#/release/rows")
_TO_DATASET = (
    Lead(name="open", to="GET /v1/datasets/{dataset}", given={"dataset": "$response.body#/name"}),
    Lead(name="left", to="GET /v1/datasets/{dataset}/budget", given={"dataset": "$response.body#/name"}),
    Lead(name="price", to="POST /v1/queries", body="$response.body#/examples/0"),
)
_OWN_WISH = {"wish": "$response.body#/id"}
_HELD = {"reservation": "$response.body#/id"}
_NAMED = {"question": "$response.body#/name"}
_SAME = {"question": "$request.path.question"}
_PUBLISHED = {"question": "$response.body#/published"}

# By route, then by the status of the answer that leads on.
LEADS: Final[dict[str, dict[int, tuple[Lead, ...]]]] = {
    "GET /v1/datasets": {
        200: (
            Lead(name="open", to="GET /v1/datasets/{dataset}", given={"dataset": "$response.body#/data/0/name"}),
            Lead(name="left", to="GET /v1/datasets/{dataset}/budget", given={"dataset": "$response.body#/data/0/name"}),
        )
    },
    "POST /v1/datasets": {201: _TO_DATASET},
    "GET /v1/datasets/{dataset}": {200: _TO_DATASET},
    "POST /v1/queries": {200: (*_to_query(), *_ANSWERED), 202: _to_query(open_=True)},
    "GET /v1/queries": {200: _to_query("$response.body#/data/0/id")},
    "GET /v1/queries/{query}": {200: _ANSWERED},
    "POST /v1/batches": {
        200: _to_release("$response.body#/releases/0/id", rows="$response.body#/releases/0/rows"),
        202: _to_query(open_=True),
    },
    "GET /v1/releases/{release}": {
        200: _to_release("$response.body#/id", rows="$response.body#/rows")[1:],
    },
    "POST /v1/questions": {
        201: (
            Lead(name="look", to="GET /v1/questions/{question}", given=_NAMED),
            Lead(name="schedule", to="PATCH /v1/questions/{question}", given=_NAMED),
            Lead(name="release", to="POST /v1/questions/{question}/release", given=_NAMED),
            Lead(name="latest", to="GET /v1/questions/{question}/latest", given=_NAMED),
            Lead(
                name="publish",
                to="POST /v1/datasets/{dataset}/publish",
                given={"dataset": "$response.body#/dataset"},
                body={"question": "$response.body#/id", "name": "$response.body#/name"},
            ),
            Lead(name="forget", to="DELETE /v1/questions/{question}", given=_NAMED),
        )
    },
    "POST /v1/questions/{question}/release": {
        200: (
            _ANSWERED[0],
            Lead(name="latest", to="GET /v1/questions/{question}/latest", given=_SAME),
            Lead(name="file", to="GET /v1/questions/{question}/latest.{suffix}", given={**_SAME, "suffix": "csv"}),
        ),
        202: _to_query(open_=True),
    },
    "POST /v1/datasets/{dataset}/publish": {
        201: (
            Lead(name="latest", to="GET /v1/questions/{question}/latest", given=_PUBLISHED),
            Lead(
                name="published",
                to="GET /v1/datasets/{dataset}/published",
                given={"dataset": "$response.body#/dataset"},
            ),
            Lead(
                name="takeBack",
                to="DELETE /v1/datasets/{dataset}/publish/{question}",
                given={"dataset": "$response.body#/dataset", **_PUBLISHED},
            ),
        )
    },
    "POST /v1/requests": {
        201: (
            Lead(name="look", to="GET /v1/requests/{wish}", given=_OWN_WISH),
            Lead(name="decide", to="POST /v1/requests/{wish}/decision", given=_OWN_WISH),
            Lead(name="withdraw", to="DELETE /v1/requests/{wish}", given=_OWN_WISH),
            Lead(
                name="why",
                to="GET /v1/people/{person}/why",
                given={"person": "$response.body#/who", "dataset": "$response.body#/dataset"},
            ),
        )
    },
    "GET /v1/requests": {
        200: (Lead(name="look", to="GET /v1/requests/{wish}", given={"wish": "$response.body#/data/0/id"}),)
    },
    "POST /v1/tokens": {
        201: (Lead(name="revoke", to="DELETE /v1/tokens/{token}", given={"token": "$response.body#/id"}),)
    },
    "GET /v1/people": {
        200: (
            Lead(
                name="invite",
                to="POST /v1/people/{person}/invitation",
                given={"person": "$response.body#/data/0/name"},
            ),
        )
    },
    "POST /v1/people/{person}/invitation": {
        201: (Lead(name="accept", to="POST /v1/invitations", body={"invitation": "$response.body#/invitation"}),)
    },
    "POST /v1/budget/reservations": {
        201: (
            Lead(name="settle", to="POST /v1/budget/reservations/{reservation}/settle", given=_HELD),
            Lead(name="giveBack", to="DELETE /v1/budget/reservations/{reservation}", given=_HELD),
        )
    },
    "POST /v1/log/verify": {
        200: (Lead(name="again", to="POST /v1/log/verify", body={"heads": "$response.body#/heads"}),)
    },
}


def complete(made: dict[str, Any]) -> None:
    """Add forms and links to an OpenAPI document that has the routes alone."""
    routes = {f"{verb.upper()} {path}": told for path, verbs in made["paths"].items() for verb, told in verbs.items()}
    schemas = made["components"]["schemas"]
    forms, found = _schemas()
    schemas |= found
    for route, told in routes.items():
        if route not in ANSWERS:
            # What FastAPI says of a route that does not say what it sends.
            told["responses"]["200"]["content"].pop(JSON, None)
        for status, form in ANSWERS.get(route, {}).items():
            reply = told["responses"].setdefault(str(status), {"description": _WHAT.get(status, "")})
            if form is not None:
                reply.setdefault("content", {})[JSON] = {"schema": forms[route, status]}
        for status, leads in LEADS.get(route, {}).items():
            told["responses"][str(status)]["links"] = {lead.name: _link(lead, routes) for lead in leads}
        told["responses"] = dict(sorted(told["responses"].items()))


def _link(lead: Lead, routes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {"operationId": routes[lead.to]["operationId"]}
    if lead.given:
        made["parameters"] = dict(lead.given)
    if lead.body is not None:
        made["requestBody"] = lead.body
    return made


def _schemas() -> tuple[dict[tuple[str, int], Any], dict[str, Any]]:
    """The schema of each answer, and of each form by its name: closed, unless it says that it is open."""
    told = [
        ((route, status), "validation", TypeAdapter(form))
        for route, forms in ANSWERS.items()
        for status, form in forms.items()
        if form is not None
    ]
    told.append((("problem", 0), "validation", TypeAdapter(service.Problem)))
    by_answer, defined = TypeAdapter.json_schemas(told, ref_template=_PLACE)  # type: ignore[arg-type]
    schemas = {name: {"additionalProperties": False, **schema} for name, schema in defined["$defs"].items()}
    for schema in schemas.values():
        for member in schema["properties"].values():
            # A title that says the member's name again.
            member.pop("title", None)
    return {answer: schema for (answer, _), schema in by_answer.items()}, schemas
