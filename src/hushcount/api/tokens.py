"""Tokens of the caller's own, and the first one that an invitation brings."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from hushcount.api import bodies
from hushcount.api.answers import answer, page
from hushcount.api.datasets import shared
from hushcount.api.parameters import Named
from hushcount.api.routes import said, signed_router, with_body
from hushcount.api.work import caller_of, light, service_of
from hushcount.app.serving.callers import tokens
from hushcount.app.serving.callers.callers import require_self, role_on
from hushcount.app.serving.callers.tokens import WantedToken, token_form

router = signed_router("tokens")


@router.get("/tokens", **said("The caller's tokens that have not ended."))
async def listed(request: Request) -> Response:
    """The caller's tokens; never their secrets."""
    found = await light(request, tokens.tokens_of, service_of(request).setting, caller_of(request).name)
    return page([token_form(token) for token in found], following=None)


@router.post(
    "/tokens", **said("The token, with its text, this once.", *with_body("not-permitted", "not-found"), status=201)
)
async def made(request: Request, body: bodies.NewToken) -> Response:
    """Make a token: what it may do, with which data sets, for how long, and how much it may spend."""
    return await light(request, _made, request, body)


@router.delete("/tokens/{token}", **said("The token as it ended.", "not-found"))
async def revoked(request: Request, token: Named) -> Response:
    """End a token at once; of others only for owners of everything."""
    return await light(request, _revoked, request, token)


def made_for(request: Request, body: bodies.NewToken) -> dict[str, Any]:
    """A new token of the caller's, with its text."""
    service, caller = service_of(request), caller_of(request)
    ids = None
    if body.datasets is not None:
        # By their ids: a name that is given to another data set later must not widen the token.
        ids = tuple(shared(request, name).id for name in body.datasets)
    wanted = WantedToken(
        label=body.label,
        scopes=tuple(body.scopes),
        datasets=ids,
        life=body.life or tokens.USUAL_LIFE,
        cap=None if body.cap is None else body.cap.releases,
    )
    new = tokens.make_token(service.setting, service.tokens_key, owner=caller.name, wanted=wanted, maker=caller.token)
    return {**token_form(new.token), "token": new.text.text}


def _made(request: Request, body: bodies.NewToken) -> Response:
    form = made_for(request, body)
    return answer(form, status=201, headers={"Location": f"/v1/tokens/{form['id']}"})


def ended(request: Request, name: str) -> dict[str, Any]:
    """A token as it ended."""
    service, caller = service_of(request), caller_of(request)
    if caller.token is None or caller.token.id != name:
        # A token may always end itself.
        require_self(caller, deed="revoke tokens")
    everybody = role_on(service, caller, None) == "owner"
    return token_form(tokens.revoke(service.setting, name, by=caller.name, everybody=everybody))


def _revoked(request: Request, name: str) -> Response:
    return answer(ended(request, name))
