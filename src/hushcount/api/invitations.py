"""Invitations: the one way to be known where nobody is yet. The operator makes one; it works once."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from hushcount.api import bodies
from hushcount.api.answers import answer
from hushcount.api.routes import OpenRoute, knock_of, said, with_body
from hushcount.api.work import light, service_of, worker_of
from hushcount.app.serving.callers.invitations import accept
from hushcount.app.serving.callers.signing import caller_address
from hushcount.app.serving.callers.tokens import NewToken, token_form
from hushcount.errors import NotSignedIn

router = APIRouter(prefix="/v1", route_class=OpenRoute, tags=["invitations"])


@router.post("/invitations", **said("A first token, shown this once.", *with_body(), status=201))
async def accepted(request: Request, body: bodies.Link) -> Response:
    """Accept an invitation: it gives the role that it promises, and a first token. It works once."""
    return await light(request, _accepted, request, body)


def accepted_by(request: Request, text: str) -> NewToken:
    """Whom an invitation makes known; failed attempts are counted."""
    service, attempts = service_of(request), worker_of(request).door.attempts
    address = caller_address(knock_of(request), service.config.server.trusted_proxies)
    attempts.check(address)
    try:
        return accept(service.setting, service.tokens_key, text)
    except NotSignedIn:
        attempts.failed(address)
        raise


def _accepted(request: Request, body: bodies.Link) -> Response:
    new = accepted_by(request, body.invitation)
    return answer({**token_form(new.token), "token": new.text.text}, status=201)
