"""Data: what the caller may ask about, whom it protects, and what is left."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from hushcount.api.datasets import full_form
from hushcount.api.work import caller_of, light, service_of
from hushcount.app.serving.questions.left import left_form
from hushcount.console.reading import said, sent
from hushcount.console.views import ROOT, View, deed, page, see_other
from hushcount.errors import InvalidParameter, NotPermitted

router = APIRouter(prefix=ROOT)


@page(router, "/data")
async def data(request: Request) -> View:
    """The data sets that are shared with the caller."""
    said(request)
    return await light(request, _data, request)


def _data(request: Request) -> View:
    service, caller = service_of(request), caller_of(request)
    # As GET /v1/datasets/{name} has it, with `left` of its budget.
    found = [
        {**full_form(service, caller, offer), "left": left_form(service, caller, offer)}
        for offer in service.served.shared_with(service, caller)
    ]
    return View(template="data.html", title="Data", form={"datasets": found})


@deed(router, "/data/person")
async def person(request: Request) -> Response:
    """Say who a person is, in the one file of a service for one person."""
    given = await sent(request, "data", "person")
    await light(request, _say, request, given.get("data", ""), given.get("person", ""))
    return see_other("/ask", data=given.get("data", ""))


def _say(request: Request, name: str, column: str) -> None:
    service, caller = service_of(request), caller_of(request)
    service.served.granted(service, caller, name, "owner", deed="say who a person is")
    if not caller.local:
        raise NotPermitted("who a person is stands in the configuration of this service. Nothing was changed.")
    if not column:
        raise InvalidParameter("person", column, "the column that says who a row belongs to")
    service.served.say_person(name, column)
