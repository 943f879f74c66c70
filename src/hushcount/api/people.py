"""People: their roles and groups, and why somebody may ask something or not."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response

from hushcount.api import bodies
from hushcount.api.answers import answer, page
from hushcount.api.datasets import shared
from hushcount.api.parameters import Named
from hushcount.api.routes import said, signed_router, with_body
from hushcount.api.work import caller_of, light, service_of
from hushcount.app.serving.callers.callers import require, require_self
from hushcount.app.serving.callers.invitations import Invitation, invite
from hushcount.app.serving.owners import people
from hushcount.app.serving.owners.people import person_form

router = signed_router("people")
Dataset = Annotated[str | None, Query(min_length=1, max_length=200, description="Only roles for this data set.")]
Which = Annotated[str, Query(min_length=1, max_length=200, description="The data set.")]


@router.get("/people", **said("Everybody with a role or in a group.", "not-permitted", "not-found"))
async def listed(request: Request, dataset: Dataset = None) -> Response:
    """Everybody with a role, with who gave it and when; for owners and auditors."""
    return await light(request, _listed, request, dataset)


@router.put("/people/{person}", **said("Their role as it is now.", *with_body("not-permitted", "not-found")))
async def put(request: Request, person: Named, body: bodies.Person) -> Response:
    """Give somebody a role for a data set or for everything, or take it away with `nobody`; for owners."""
    return await light(request, put_role, request, person, body)


@router.post(
    "/people/{person}/invitation", **said("An invitation, shown this once.", "not-permitted", "not-found", status=201)
)
async def invited(request: Request, person: Named) -> Response:
    """Invite somebody to sign in by a token, with the roles that they have or will be given; for owners of everything.

    It works once, for a day: they post it to `/v1/invitations`, and get their first token.
    """
    return await light(request, _invited, request, person)


@router.get("/people/{person}/why", **said("Whether they may ask, and why.", "not-permitted", "not-found"))
async def why(request: Request, person: Named, dataset: Which) -> Response:
    """Why somebody may ask about a data set, or not; for its owners and auditors, and for themselves."""
    return await light(request, _why, request, person, dataset)


@router.put("/groups/{group}", **said("Who joined and who left.", *with_body("not-permitted", "not-found")))
async def group(request: Request, group: Named, body: bodies.Group) -> Response:
    """Put people into a group, which has a budget of its own, and take others out; for owners of everything."""
    return await light(request, put_group, request, group, body)


def _listed(request: Request, dataset: str | None) -> Response:
    service, caller = service_of(request), caller_of(request)
    offer = None if dataset is None else shared(request, dataset)
    found = people.people(service, caller, offer)
    names = {one.id: one.name for one in service.served.shared_with(service, caller)}
    return page([person_form(person, names=names) for person in found], following=None)


def put_role(request: Request, person: str, body: bodies.Person) -> Response:
    """A role, given or taken away."""
    service, caller = service_of(request), caller_of(request)
    offer = None if body.dataset is None else shared(request, body.dataset)
    role = None if body.role == "nobody" else body.role
    people.set_role(service, caller, person, role=role, offer=offer)
    return answer({"name": person, "role": body.role, "dataset": body.dataset})


def new_invitation(request: Request, person: str) -> Invitation:
    """An invitation, made."""
    service, caller = service_of(request), caller_of(request)
    require(service, caller, None, "owner", deed="invite people")
    require_self(caller, deed="invite people")
    return invite(service.setting, service.tokens_key, person=person, role=None, by=caller.name)


def _invited(request: Request, person: str) -> Response:
    made = new_invitation(request, person)
    form = {"name": person, "invitation": made.text.text, "expires": made.expires.isoformat(timespec="seconds")}
    return answer(form, status=201)


def _why(request: Request, person: str, dataset: str) -> Response:
    service, caller = service_of(request), caller_of(request)
    found = people.why(service, caller, person, offer=shared(request, dataset))
    return answer({"name": person, "may_ask": found.may, "role": found.role, "because": list(found.because)})


def put_group(request: Request, group: str, body: bodies.Group) -> Response:
    """A group, joined and left."""
    service, caller = service_of(request), caller_of(request)
    for member, names in ((True, body.add), (False, body.remove)):
        for name in names:
            people.set_member(service, caller, name, group=group, member=member)
    return answer({"name": group, "added": body.add, "removed": body.remove})
