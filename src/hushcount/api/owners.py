"""For owners: data sets that are served, what is declared of them, what is published, and stopping everything."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import quote

from fastapi import Request, Response

from hushcount.api import bodies
from hushcount.api.answers import answer, nothing, page
from hushcount.api.datasets import full_form, shared
from hushcount.api.parameters import Key, Named, require_key
from hushcount.api.problems import problem_response
from hushcount.api.queries import OF_RELEASES
from hushcount.api.routes import said, signed_router, with_body
from hushcount.api.waiting import on_grid
from hushcount.api.work import caller_of, heavy, light, service_of
from hushcount.app.serving.callers.callers import require
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.owners import freezing, saved
from hushcount.app.serving.owners.saved import saved_form
from hushcount.app.serving.problems import Problem
from hushcount.app.serving.questions import checking, publishing
from hushcount.app.serving.setup.config import DatasetConfig
from hushcount.ledger.catalog import ColumnFacts

router = signed_router("owners")
_OF_OWNERS = ("not-permitted", "not-found")


@router.post(
    "/datasets", **said("The data set.", *with_body(*_OF_OWNERS, "store-failed", "store-timeout", "busy"), status=201)
)
async def added(request: Request, body: bodies.NewDataset) -> Response:
    """Serve one more table of a store that the configuration names; for owners of everything."""
    return await heavy(request, add, request, body)


@router.patch("/datasets/{dataset}", **said("The data set.", *with_body(*_OF_OWNERS)))
async def changed(request: Request, dataset: Named, body: bodies.DatasetChange) -> Response:
    """Declare facts about columns, for every question about them; empty ones are taken back."""
    return await light(request, declare, request, dataset, body)


@router.post("/datasets/{dataset}/check", **said("A price, or whether each fact holds.", *with_body(*OF_RELEASES)))
async def checked(request: Request, dataset: Named, body: bodies.Check, *, key: Key = None) -> Response:
    """Hold what is declared against the data: yes or no for each fact. Priced first (the default, free); for owners."""
    if body.mode == "estimate":
        return await heavy(request, _priced, request, dataset)
    named, offer = require_key(key), await light(request, _checkable, request, dataset)
    found = await on_grid(request, partial(checking.check, service_of(request), caller_of(request), offer, key=named))
    return problem_response(request, found) if isinstance(found, Problem) else answer(found)


@router.get("/datasets/{dataset}/published", **said("What is published about it.", *_OF_OWNERS))
async def published(request: Request, dataset: Named) -> Response:
    """What all who have a role for a data set may read."""
    return await light(request, _published, request, dataset)


@router.post(
    "/datasets/{dataset}/publish", **said("The question.", *with_body(*_OF_OWNERS, "data-changed"), status=201)
)
async def publish(request: Request, dataset: Named, body: bodies.Publication) -> Response:
    """Let all who have a role for a data set read the newest release of a saved question."""
    return await light(request, _publish, request, dataset, body)


@router.delete("/datasets/{dataset}/publish/{question}", **said("It is taken back.", *_OF_OWNERS, status=204, media=()))
async def taken_back(request: Request, dataset: Named, question: Named) -> Response:
    """Publish a question no longer. What was read was read."""
    return await light(request, _taken_back, request, dataset, question)


@router.post("/datasets/{dataset}/freeze", **said("Whether it is frozen.", *with_body(*_OF_OWNERS)))
async def freeze(request: Request, dataset: Named, body: bodies.Freeze) -> Response:
    """Stop all questions about a data set at once, or let them go on; what was released can still be read."""
    return await light(request, stop, request, dataset, body)


@router.post("/freeze", **said("Whether it is frozen.", *with_body(*_OF_OWNERS)))
async def freeze_all(request: Request, body: bodies.Freeze) -> Response:
    """Stop all questions about everything, or let them go on; for owners of everything."""
    return await light(request, stop, request, None, body)


def add(request: Request, body: bodies.NewDataset) -> Response:
    """A data set, served from now on."""
    service, caller = service_of(request), caller_of(request)
    require(service, caller, None, "owner", deed="serve more data")
    declared = DatasetConfig(
        name=body.name,
        store=body.store,
        table=body.table,
        person=body.person,
        items=None if body.items is None else tuple(body.items),
        people=body.people,
    )
    offer = service.served.add(declared, by=caller.name)
    if body.facts:
        service.ledger.catalog.declare(offer.name, _facts(body.facts), by=caller.name)
    headers = {"Location": f"/v1/datasets/{quote(offer.name, safe='')}"}
    return answer(full_form(service, caller, offer), status=201, headers=headers)


def declare(request: Request, name: str, body: bodies.DatasetChange) -> Response:
    """What is declared about columns, changed."""
    service, caller = service_of(request), caller_of(request)
    offer = shared(request, name)
    require(service, caller, offer, "owner", deed="declare facts")
    service.ledger.catalog.declare(offer.name, _facts(body.facts), by=caller.name)
    return answer(full_form(service, caller, offer))


def _priced(request: Request, name: str) -> Response:
    return answer(checking.price_of(service_of(request), caller_of(request), shared(request, name)))


def _checkable(request: Request, name: str) -> Offer:
    """The data set, if the caller may check what is declared of it; refused at once, since nothing was read."""
    offer = shared(request, name)
    checking.prepared(service_of(request), caller_of(request), offer)
    return offer


def _facts(said_of_it: dict[str, bodies.Facts]) -> dict[str, ColumnFacts]:
    return {
        column: ColumnFacts(
            max_items=facts.max_items_per_user,
            per_item_cap=facts.per_item_cap,
            public_items=None if facts.public_items is None else tuple(facts.public_items),
        )
        for column, facts in said_of_it.items()
    }


def _published(request: Request, name: str) -> Response:
    service, caller = service_of(request), caller_of(request)
    offer = shared(request, name)
    found = saved.published_on(service, caller, offer)
    return page([_saved_form(request, one, offer.name) for one in found], following=None)


def _publish(request: Request, name: str, body: bodies.Publication) -> Response:
    service, caller = service_of(request), caller_of(request)
    offer = shared(request, name)
    done = publishing.publish(service, caller, body.question, offer=offer, name=body.name)
    headers = {"Location": f"/v1/questions/{body.name}/latest"}
    return answer(_saved_form(request, done, offer.name), status=201, headers=headers)


def _taken_back(request: Request, name: str, question: str) -> Response:
    service, caller = service_of(request), caller_of(request)
    saved.take_back(service, caller, question, offer=shared(request, name))
    return nothing()


def stop(request: Request, name: str | None, body: bodies.Freeze) -> Response:
    """Questions, stopped or let go on."""
    offer = None if name is None else shared(request, name)
    freezing.freeze(service_of(request), caller_of(request), offer, frozen=body.frozen, why=body.why)
    return answer({"dataset": name, "frozen": body.frozen, "why": body.why})


def _saved_form(request: Request, one: saved.Saved, dataset: str) -> dict[str, Any]:
    return {**saved_form(one, mine=one.owner == caller_of(request).name), "dataset": dataset}
