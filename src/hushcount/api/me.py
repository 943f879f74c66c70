"""The caller: who they are here, and what they may do."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from hushcount.api.answers import answer
from hushcount.api.routes import said, signed_router
from hushcount.api.work import caller_of, light, service_of
from hushcount.app.serving.callers.callers import role_on
from hushcount.app.serving.owners import people

router = signed_router("me")


@router.get("/me", **said("Name, roles, groups, token."))
async def me(request: Request) -> Response:
    """Who the caller is, and their role for every data set that is shared with them."""
    return answer(await light(request, _me, request))


def _me(request: Request) -> dict[str, Any]:
    service, caller = service_of(request), caller_of(request)
    shared = service.served.shared_with(service, caller)
    return {
        **people.me(service, caller),
        "datasets": {offer.name: role_on(service, caller, offer) for offer in shared},
    }
