"""Problems over HTTP (RFC 9457): the status of each code, and a page that explains each."""

from __future__ import annotations

import difflib
import html
import logging
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, get_args

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from hushcount.api.answers import to_json
from hushcount.api.helps import HELPS
from hushcount.api.logs import place_of
from hushcount.api.work import caller_of, light, service_of, worker_of
from hushcount.app.serving.problems import Problem, problem_of
from hushcount.app.serving.questions.refusals import refused, without_places
from hushcount.errors import (
    BudgetExhausted,
    CostOverrun,
    HushcountError,
    LedgerUnavailable,
    NotSignedIn,
    ReservationClosed,
)
from hushcount.model.frozen import frozen

MEDIA = "application/problem+json"
STATUS = {
    "invalid-parameter": 400,
    "unknown-column": 400,
    "unknown-option": 400,
    "unsafe-filter": 400,
    "not-signed-in": 401,
    "not-permitted": 403,
    "budget-exhausted": 403,
    "over-max-cost": 403,
    "frozen": 403,
    "not-found": 404,
    "no-such-format": 406,
    "reservation-closed": 409,
    "data-changed": 409,
    "cancelled": 409,
    "body-too-large": 413,
    "not-json": 415,
    "key-reused": 422,
    "too-many-requests": 429,
    "internal": 500,
    "store-failed": 502,
    "store-incomplete": 502,
    "ledger-unavailable": 503,
    "busy": 503,
    "store-timeout": 504,
}
# What starlette itself refuses, as problems.
_OF_STATUS = {404: "not-found", 405: "not-found", 413: "body-too-large", 415: "not-json"}
_CHALLENGE = 'Bearer realm="hushcount"'
_BASIC = 'Basic realm="hushcount", charset="UTF-8"'
_SOON = "2"
_log = logging.getLogger("hushcount.api")


class Refused(Exception):
    """A request that cannot be used, found before anything was called; `status` if it is not the code's own."""

    def __init__(self, code: str, detail: str, *, status: int | None = None, **more: Any) -> None:  # noqa: ANN401
        super().__init__(code)
        self.problem = Problem(code=code, detail=f"{detail} Nothing was charged.", more=more)
        self.status = status


def refused_parameter(place: str, want: str) -> Refused:
    """A refusal of a header or of a parameter of the query."""
    return Refused("invalid-parameter", f"{place} cannot be used: it must be {want}.", parameter=place)


def problem_response(
    request: Request, problem: Problem, *, status: int | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """A problem as it leaves. Its code is kept for the log and the metrics."""
    said = status or STATUS[problem.code]
    request.state.code = problem.code
    own = dict(headers or {})
    if said == 401:
        # Spreadsheets send a name and a password only if they are asked for them.
        own["WWW-Authenticate"] = f"{_CHALLENGE}, {_BASIC}" if request.method == "GET" else _CHALLENGE
    if said == 503:
        own.setdefault("Retry-After", _SOON)
    return Response(problem_body(request, problem, said), status_code=said, headers=own, media_type=MEDIA)


def problem_body(request: Request, problem: Problem, status: int | None = None) -> bytes:
    """The members of a problem, with what only HTTP knows."""
    return to_json(problem_form(problem, request_id=request.state.request_id, status=status))


def problem_form(problem: Problem, *, request_id: str, status: int | None = None) -> dict[str, Any]:
    """As `problem_body`, not yet JSON."""
    return {
        "type": f"/problems/{problem.code}",
        "status": status or STATUS[problem.code],
        **problem.to_form(),
        "request_id": request_id,
    }


def install(app: FastAPI) -> None:
    """Let every error of ours, of pydantic's and of starlette's leave as a problem."""
    for kind in KNOWN:
        app.add_exception_handler(kind, _of_known)
    app.add_exception_handler(HTTPException, _of_starlette)


@frozen
class ToldProblem:
    """What is told of an error: the problem, its status, and headers of its own."""

    problem: Problem
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)


KNOWN: Final = (HushcountError, Refused, RequestValidationError)


async def told_of(request: Request, error: Exception) -> ToldProblem:
    """What is told of one of the `KNOWN` errors."""
    if isinstance(error, Refused):
        return ToldProblem(problem=error.problem, status=error.status or STATUS[error.problem.code])
    if isinstance(error, RequestValidationError):
        # What a model refused: the first thing that is wrong, with its place.
        first = error.errors()[0]
        problem = _of_place(request, first)
        return ToldProblem(problem=problem, status=400 if first["type"] == "json_invalid" else STATUS[problem.code])
    return await _told_of_ours(request, error)


async def _told_of_ours(request: Request, error: Exception) -> ToldProblem:
    if isinstance(error, BudgetExhausted):
        dataset = getattr(request.state, "dataset", None)
        problem = await light(request, refused, service_of(request), caller_of(request), error, dataset=dataset)
    else:
        problem = _translated(error, reads=request.method == "GET")
    if problem.code == "store-failed" and getattr(request.state, "caller", None) is not None:
        problem = await light(request, without_places, service_of(request), caller_of(request), problem)
    after = getattr(error, "after", None)
    headers = {} if after is None else {"Retry-After": str(max(1, round(after)))}
    policy = worker_of(request).rates.policy
    if problem.code == "too-many-requests" and policy is not None:
        headers["RateLimit-Policy"] = policy
    if problem.code == "internal":
        note_failure(request, error)
    if problem.code == "not-found":
        # What was called is no data set, and may be anything: it stays out of the log.
        request.state.dataset = None
    return ToldProblem(problem=problem, status=STATUS[problem.code], headers=headers)


async def _of_known(request: Request, error: Exception) -> Response:
    told = await told_of(request, error)
    return problem_response(request, told.problem, status=told.status, headers=told.headers)


def _translated(error: Exception, *, reads: bool) -> Problem:
    """An error of ours as a problem, with what is known of whether anything was charged."""
    if isinstance(error, NotSignedIn):
        return Problem(code="not-signed-in", detail=str(error))
    if isinstance(error, CostOverrun):
        return problem_of(error, charged=True)
    if isinstance(error, ReservationClosed) or (isinstance(error, LedgerUnavailable) and not reads):
        # What became of it is in its words, or with whoever can reach the ledger.
        return problem_of(error, charged=None)
    return problem_of(error)


def _of_place(request: Request, first: Mapping[str, Any]) -> Problem:
    where, *inside = first["loc"]
    kind = first["type"]
    if kind == "json_invalid":
        return Problem(code="not-json", detail="The body is not JSON. Nothing was charged.")
    name = str(inside[-1]) if inside else str(where)
    if where == "path":
        # A name that no thing can have is a name that no thing has.
        return Problem(code="not-found", detail="There is nothing of that name. Nothing was charged.")
    place: dict[str, Any] = {"pointer": _pointer(inside)} if where == "body" else {"parameter": name}
    shown = _pointer(inside) if where == "body" else name
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(name, _known(request), n=1)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        detail = f"There is no option {shown[:200]!r} here.{guess} Leave it out. Nothing was charged."
        return Problem(code="unknown-option", detail=detail, more=place)
    if not inside:
        return Problem(
            code="invalid-parameter", detail="A JSON object is needed as body. Nothing was charged.", more=place
        )
    detail = f"{shown[:200]!r} cannot be used: {_reason(first)}. Nothing was charged."
    return Problem(code="invalid-parameter", detail=detail, more=place)


def _reason(first: Mapping[str, Any]) -> str:
    """Pydantic's reason, in one sentence that quotes nothing of what was sent."""
    words = str(first["msg"]).removeprefix("Value error, ").rstrip(".")
    return words[:1].lower() + words[1:]


def _known(request: Request) -> list[str]:
    """The members that the body of this route may have."""
    field = getattr(request.scope.get("route"), "body_field", None)
    said = getattr(getattr(field, "field_info", None), "annotation", None)
    # A body that may be left out is a union with nothing.
    return [name for kind in (*get_args(said), said) for name in getattr(kind, "model_fields", ())]


def _pointer(inside: list[Any]) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in inside)


async def _of_starlette(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):  # pragma: no cover (as above)
        raise error
    code = _OF_STATUS.get(error.status_code, "invalid-parameter")
    detail = "There is nothing at this address. Nothing was charged."
    if error.status_code == 413:
        detail = str(error.detail)
    elif error.status_code == 405:
        detail = "This address is there, but not for this method; see the header Allow. Nothing was charged."
    elif code == "invalid-parameter":
        detail = "The request cannot be used. Nothing was charged."
    status = error.status_code if error.status_code in {*_OF_STATUS, 400} else STATUS[code]
    return problem_response(request, Problem(code=code, detail=detail), status=status, headers=error.headers)


def note_failure(request: Request, error: BaseException) -> None:
    """Note that something failed inside: its kind and place alone, since its text may quote data."""
    _log.error("failed inside", extra={"request_id": request.state.request_id, "kind": place_of(error)})


def problem_page(code: str) -> str | None:
    """The page that explains a code; None if there is no such code."""
    if code not in STATUS:
        return None
    problem = Problem(code=code, detail="")
    why, what = HELPS[code]
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{html.escape(problem.title)}</title>"
        f"<h1>{html.escape(problem.title)}</h1><p><code>{code}</code>, status {STATUS[code]}</p>"
        f"<p>{html.escape(why)}</p><p>{html.escape(what)}</p></html>"
    )
