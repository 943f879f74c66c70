"""Signing in with a token, being welcomed by an invitation, and signing out."""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import APIRouter, Request, Response

from hushcount.api.invitations import accepted_by
from hushcount.api.routes import knock_of
from hushcount.api.work import light, service_of, worker_of
from hushcount.app.serving.callers import sessions
from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.callers.signing import caller_address
from hushcount.app.serving.callers.tokens import know_token, token_form
from hushcount.app.serving.setup.config import SignIn
from hushcount.console.reading import said, sent
from hushcount.console.views import ROOT, View, cookie, deed, page, see_other, to_page
from hushcount.errors import NotSignedIn

router = APIRouter()


@page(router, f"{ROOT}/sign-in", signed=False)
async def asked(request: Request) -> View | Response:
    """Ask for a token; where nobody signs in there is nothing to ask."""
    onward = ours(said(request, "next").get("next"))
    if service_of(request).config.auth.local:
        return see_other("/data")
    return asked_view(request, onward)


@deed(router, f"{ROOT}/sign-in", signed=False)
async def signed(request: Request) -> View | Response:
    """Sign in by a token: it becomes a session, and is not kept in the browser."""
    given = await sent(request, "token", "next")
    onward = ours(given.get("next"))
    try:
        text = await light(request, _begun, request, given.get("token", ""))
    except NotSignedIn as error:
        return asked_view(request, onward, wrong=str(error))
    headers = {"Location": onward, "Set-Cookie": cookie(service_of(request).config, text)}
    return Response(status_code=303, headers=headers)


@deed(router, f"{ROOT}/sign-out", signed=False)
async def out(request: Request) -> Response:
    """End the session, here and in the browser."""
    await sent(request)
    service = service_of(request)
    text = sessions.cookie_of(request.headers.get("cookie"), sessions.cookie_name(service.config))
    if text is not None:
        await light(request, sessions.end, service.setting, service.tokens_key, text)
    return Response(
        status_code=303, headers={"Location": f"{ROOT}/sign-in", "Set-Cookie": cookie(service.config, None)}
    )


@page(router, "/welcome", signed=False)
async def welcome(request: Request) -> View:
    """Where the link of an invitation leads."""
    said(request)
    return View(template="welcome.html", title="Welcome", form={"wrong": None})


@deed(router, "/welcome", signed=False)
async def welcomed(request: Request) -> View | Response:
    """Accept an invitation: show the first token, this once, and sign in with it."""
    given = await sent(request, "invitation")
    try:
        new = await light(request, accepted_by, request, given.get("invitation", ""))
    except NotSignedIn as error:
        return View(template="welcome.html", title="Welcome", form={"wrong": str(error)}, status=401)
    service = service_of(request)
    caller = Caller(name=new.token.owner, token=new.token)
    text = await light(request, sessions.begin, service.setting, service.tokens_key, caller=caller)
    form = {**token_form(new.token), "token": new.text.text}
    headers = {"Set-Cookie": cookie(service.config, text.text)}
    view = View(template="welcomed.html", title="Welcome", form=form, status=201, headers=headers)
    return await light(request, to_page, request, view)


def asked_view(request: Request, onward: str, wrong: str | None = None) -> View:
    """The page that asks who is there."""
    auth = service_of(request).config.auth
    form = {"next": onward, "wrong": wrong, "tokens": auth.tokens, "issuer": issuer_of(auth)}
    return View(template="sign_in.html", title="Sign in", form=form, status=200 if wrong is None else 401)


def issuer_of(auth: SignIn) -> str | None:
    """The issuer where people sign in with a browser, as people know it; None if there is none."""
    wanted = auth.oidc is not None and auth.oidc.client_secret_file is not None
    return urlsplit(auth.oidc.issuer).hostname if auth.oidc is not None and wanted else None


def _begun(request: Request, text: str) -> str:
    """The session of a token; failed attempts are counted as everywhere."""
    service, attempts = service_of(request), worker_of(request).door.attempts
    address = caller_address(knock_of(request), service.config.server.trusted_proxies)
    attempts.check(address)
    if not service.config.auth.tokens:
        raise NotSignedIn("this service takes no tokens of its own. Nothing was charged.")
    try:
        token = know_token(service.setting, service.tokens_key, text)
    except NotSignedIn:
        attempts.failed(address)
        raise
    return sessions.begin(service.setting, service.tokens_key, caller=Caller(name=token.owner, token=token)).text


def ours(onward: str | None) -> str:
    """Where to go on: a page of the console and of no other site, whatever the link said."""
    safe = onward is not None and onward.startswith(f"{ROOT}/") and "\\" not in onward and onward.isprintable()
    return onward if onward is not None and safe else f"{ROOT}/data"
