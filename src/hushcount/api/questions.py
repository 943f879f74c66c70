"""Saved questions: named, asked again, published; dashboards read the newest release and never ask."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fastapi import Request, Response

from hushcount.api import bodies, jobs
from hushcount.api.answers import answer, nothing, page
from hushcount.api.datasets import shared
from hushcount.api.parameters import Accept, Key, Match, Named, Prefer, require_key, seconds_to_wait
from hushcount.api.queries import OF_RELEASES
from hushcount.api.readable import readable_release
from hushcount.api.releases import file_response
from hushcount.api.rendering import MEDIA, chosen_format
from hushcount.api.routes import said, signed_router, with_body
from hushcount.api.work import caller_of, light, service_of
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.ids import with_prefix
from hushcount.app.serving.jobs.tasks import Order
from hushcount.app.serving.owners import saved
from hushcount.app.serving.owners.saved import Saved, saved_form
from hushcount.app.serving.questions.publishing import note_release
from hushcount.app.serving.questions.saving import save
from hushcount.app.serving.questions.scheduling import order_of
from hushcount.errors import NotFound, NotPermitted, Outdated

router = signed_router("questions")
_MEDIA = tuple(media.partition(";")[0] for media in MEDIA.values())
# The newest release changes when the question is asked again; whoever holds one asks whether it is still the newest.
_ASK_AGAIN = "private, no-cache"


@router.post(
    "/questions", **said("The saved question.", *with_body("not-permitted", "not-found", "unsafe-filter"), status=201)
)
async def made(request: Request, body: bodies.SavedQuestion) -> Response:
    """Save a question under a name of one's own. Nothing is asked."""
    return await light(request, _made, request, body)


@router.get("/questions", **said("The caller's saved questions, and what is published for them."))
async def listed(request: Request) -> Response:
    """The caller's own saved questions, and all that is published about data that is shared with them."""
    return await light(request, _listed, request)


@router.get("/questions/{question}", **said("The question, and how its schedule goes.", "not-found"))
async def one(request: Request, question: Named) -> Response:
    """A saved question of the caller's own: when it was asked by itself last, what is next, and the last problem."""
    return await light(request, _one, request, question)


@router.patch(
    "/questions/{question}", **said("The question.", *with_body("not-permitted", "not-found", "data-changed"))
)
async def changed(request: Request, question: Named, body: bodies.SavedChange) -> Response:
    """Let a question be asked by itself whenever the data has a new version, or no more. Charged like asking it."""
    return await light(request, _changed, request, question, body)


@router.delete(
    "/questions/{question}",
    **said("It is forgotten; its releases stay.", "not-permitted", "not-found", status=204, media=()),
)
async def removed(request: Request, question: Named) -> Response:
    """Forget a saved question."""
    await light(request, saved.remove, service_of(request), caller_of(request), question)
    return nothing()


@router.post("/questions/{question}/release", **said("The answer; 202 while it is not there.", *OF_RELEASES))
async def released(request: Request, question: Named, *, key: Key = None, prefer: Prefer = None) -> Response:
    """Ask a saved question of one's own; its answer becomes its newest release. The same key joins and notes it too."""
    service, caller, named = service_of(request), caller_of(request), require_key(key)
    found = await light(request, saved.find_saved, service, caller, question)
    order = await light(request, _order, request, found)
    shown, reply = await jobs.released(request, order, key=named, seconds=seconds_to_wait(prefer))
    if shown.state == "done":
        # If the question was changed or removed meanwhile this is no answer to it; to whoever paid for it, it is.
        with suppress(Outdated, NotFound):
            await light(request, note_release, service, found, release=with_prefix(shown.job.id, "r"))
    return reply


@router.get(
    "/questions/{question}/latest.{suffix}", **said("The newest release.", "not-found", "no-such-format", media=_MEDIA)
)
async def latest_file(request: Request, question: Named, suffix: Named, *, match: Match = None) -> Response:
    """The newest release of a question of one's own or of a published one, in the format of the suffix. Free."""
    return await light(request, _latest, request, question, chosen_format(suffix, None), match)


@router.get("/questions/{question}/latest", **said("The newest release.", "not-found", "no-such-format", media=_MEDIA))
async def latest(request: Request, question: Named, *, accept: Accept = None, match: Match = None) -> Response:
    """As above, in the format of `Accept`."""
    return await light(request, _latest, request, question, chosen_format(None, accept), match)


def _made(request: Request, body: bodies.SavedQuestion) -> Response:
    service, caller = service_of(request), caller_of(request)
    offer = shared(request, body.asked.dataset)
    question = {"question": body.asked.question, **body.asked.given("dataset", "question")}
    kept = save(service, caller, offer, name=body.name, question=question, schedule=body.schedule)
    return answer(_form(request, kept), status=201, headers={"Location": f"/v1/questions/{kept.name}/latest"})


def _one(request: Request, name: str) -> Response:
    return answer(_form(request, saved.find_saved(service_of(request), caller_of(request), name)))


def _changed(request: Request, name: str, body: bodies.SavedChange) -> Response:
    service, caller = service_of(request), caller_of(request)
    offer = service.served.by_id(saved.find_saved(service, caller, name).dataset)
    return answer(_form(request, saved.set_schedule(service, caller, offer, name=name, when=body.schedule)))


def _listed(request: Request) -> Response:
    service, caller = service_of(request), caller_of(request)
    found = {one.id: one for one in saved.saved_by(service, caller)}
    for offer in service.served.shared_with(service, caller):
        # A program reads nothing, and so has nothing published for it.
        with suppress(NotPermitted):
            found |= {one.id: one for one in saved.published_on(service, caller, offer) if one.id not in found}
    return page([_form(request, one) for one in found.values()], following=None)


def _form(request: Request, one: Saved) -> dict[str, Any]:
    offer = _served(request, one.dataset)
    form = saved_form(one, mine=one.owner == caller_of(request).name)
    return {**form, "dataset": None if offer is None else offer.name}


def _order(request: Request, found: Saved) -> Order:
    offer = service_of(request).served.by_id(found.dataset)
    request.state.dataset = offer.name
    return order_of(found, offer, caller_of(request))


def _latest(request: Request, name: str, form: str, match: str | None) -> Response:
    service, caller = service_of(request), caller_of(request)
    dataset = saved.dataset_of_published(service, name)
    offer = None if dataset is None else _served(request, dataset)
    newest = saved.latest(service, caller, name, offer=offer)
    return file_response(request, readable_release(request, newest), form, match=match, cache=_ASK_AGAIN)


def _served(request: Request, dataset: str) -> Offer | None:
    try:
        return service_of(request).served.by_id(dataset)
    except NotFound:
        return None
