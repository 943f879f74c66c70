"""Data: what the caller may ask about, whom it protects, and what is left."""

from __future__ import annotations

from fastapi import APIRouter, Request

from hushcount.api.datasets import full_form
from hushcount.api.work import caller_of, light, service_of
from hushcount.app.serving.questions.left import left_form
from hushcount.console.reading import said
from hushcount.console.views import ROOT, View, page

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
