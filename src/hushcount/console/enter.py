"""Entering by an issuer: the way there, and the way back."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from hushcount.api.routes import knock_of
from hushcount.api.work import light, service_of, worker_of
from hushcount.app.serving.callers import sessions
from hushcount.app.serving.callers.entering import LIFE, came_back, entry_of, new_entry, way_there
from hushcount.app.serving.callers.signing import caller_address
from hushcount.console.reading import said
from hushcount.console.sign_in import asked_view, issuer_of, ours
from hushcount.console.views import ROOT, View, cookie, page, site_of
from hushcount.errors import NotFound, NotSignedIn

router = APIRouter(prefix=ROOT)
_BACK = f"{ROOT}/entered"
# Sent along when the issuer leads back, which is another site: what it holds is of use on that way alone.
_COOKIE = "hushcount-entry"


@page(router, "/enter", signed=False)
async def there(request: Request) -> Response:
    """Send the browser to the issuer."""
    onward = ours(said(request, "next").get("next"))
    return await light(request, _there, request, onward)


@page(router, "/entered", signed=False)
async def back(request: Request) -> View | Response:
    """Know who comes back from the issuer, and begin their session."""
    # Issuers may say more, which is passed over (RFC 6749, 4.1.2).
    told = {name: request.query_params[name] for name in ("code", "state", "iss") if name in request.query_params}
    try:
        return await light(request, _back, request, told)
    except NotSignedIn as error:
        return asked_view(request, f"{ROOT}/data", wrong=str(error))


def _there(request: Request, onward: str) -> Response:
    service, door = service_of(request), worker_of(request).door
    if issuer_of(service.config.auth) is None or door.issuer is None:
        raise NotFound("nobody signs in here by an issuer.")
    entry = new_entry(onward, service.setting.clock())
    place = way_there(door.issuer, entry, back=site_of(request) + _BACK)
    kept = _cookie(request, entry.kept(service.tokens_key), int(LIFE.total_seconds()))
    return Response(status_code=303, headers={"Location": place, "Set-Cookie": kept})


def _back(request: Request, told: dict[str, str]) -> Response:
    service, door = service_of(request), worker_of(request).door
    if issuer_of(service.config.auth) is None or door.issuer is None:
        raise NotFound("nobody signs in here by an issuer.")
    address = caller_address(knock_of(request), service.config.server.trusted_proxies)
    door.attempts.check(address)
    now, name = service.setting.clock(), sessions.cookie_name(service.config, _COOKIE)
    kept = sessions.cookie_of(request.headers.get("cookie"), name)
    try:
        entry = entry_of(service.tokens_key, kept, now)
        caller = came_back(door.issuer, entry, told, back=site_of(request) + _BACK, now=now)
    except NotSignedIn:
        door.attempts.failed(address)
        raise
    text = sessions.begin(service.setting, service.tokens_key, caller=caller).text
    response = Response(status_code=303, headers={"Location": entry.onward})
    response.headers.append("Set-Cookie", cookie(service.config, text))
    response.headers.append("Set-Cookie", _cookie(request, "", 0))
    return response


def _cookie(request: Request, text: str, age: int) -> str:
    config = service_of(request).config
    name, secure = sessions.cookie_name(config, _COOKIE), "; Secure" if sessions.is_secure(config) else ""
    return f"{name}={text}; Path=/; HttpOnly; SameSite=Lax{secure}; Max-Age={age}"
