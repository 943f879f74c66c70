"""Views: a page is a form and a template; its twin is the form. Whoever is not known is sent to sign in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request, Response

from hushcount.api.answers import answer
from hushcount.api.problems import KNOWN, Refused, problem_form, problem_response, told_of
from hushcount.api.routes import knock_of
from hushcount.api.work import light, service_of, worker_of
from hushcount.app.serving.callers.sessions import cookie_name, is_secure
from hushcount.app.serving.callers.signing import sign_in
from hushcount.app.serving.setup.config import Config
from hushcount.console.frame import frame_of
from hushcount.console.rendering import to_html
from hushcount.errors import NotSignedIn
from hushcount.model.frozen import frozen

ROOT = "/console"
SIGN_IN = f"{ROOT}/sign-in"
# Of requests to this site the sender is told, so that browsers say where a form comes from; of others it is not.
_HEADERS = {"Referrer-Policy": "same-origin"}


@frozen
class View:
    """What a page shows.

    Attributes:
        template: the file that makes it a page.
        title: its title.
        form: all that it shows, and what its twin says.
        status: the status.
        page_status: that of the page, where it helps with what its twin refuses; None for the same.
        headers: headers of its own.
    """

    template: str
    title: str
    form: Mapping[str, Any]
    status: int = 200
    page_status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


Making: TypeAlias = Callable[[Request], Awaitable[View | Response]]


def page(router: APIRouter, path: str, *, signed: bool = True) -> Callable[[Making], Making]:
    """Make a page and its twin of a function."""

    def register(make: Making) -> Making:
        # The twin first: a name within a path would take its suffix for a part of itself.
        for suffix in (".json", ""):
            endpoint = _endpoint(make, twin=bool(suffix), signed=signed)
            router.add_api_route(f"{path}{suffix}", endpoint, methods=["GET"], response_model=None)
        return make

    return register


def deed(router: APIRouter, path: str, *, signed: bool = True) -> Callable[[Making], Making]:
    """Let a function answer a form that was sent."""

    def register(make: Making) -> Making:
        router.add_api_route(path, _endpoint(make, twin=False, signed=signed), methods=["POST"], response_model=None)
        return make

    return register


def see_other(path: str, **parameters: str) -> Response:
    """Lead a browser on to a page of ours, so that reloading it sends nothing again."""
    query = f"?{urlencode(parameters)}" if parameters else ""
    return Response(status_code=303, headers={"Location": f"{ROOT}{path}{query}", **_HEADERS})


def to_page(request: Request, view: View) -> Response:
    """A view as a page; whoever is signed in is named in its frame."""
    body = to_html(view.template, view.form, title=view.title, frame=frame_of(request))
    headers = {**_HEADERS, **view.headers}
    status = view.status if view.page_status is None else view.page_status
    return Response(body, status_code=status, headers=headers, media_type="text/html; charset=utf-8")


def site_of(request: Request) -> str:
    """What callers type to be here."""
    return service_of(request).config.server.public_url or str(request.base_url).rstrip("/")


def cookie(config: Config, text: str | None) -> str:
    """The header that sets the session, or with None takes it away. Over TLS alone, wherever callers have it."""
    ends = "; Max-Age=0" if text is None else ""
    secure = "; Secure" if is_secure(config) else ""
    return f"{cookie_name(config)}={text or ''}; Path=/; HttpOnly; SameSite=Strict{secure}{ends}"


def _endpoint(make: Making, *, twin: bool, signed: bool) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            _refuse_unsure(request)
            if signed:
                await _signed_in(request)
            made = await make(request)
        except NotSignedIn as error:
            if twin or not signed:
                return await _problem(request, error, twin=twin)
            return _to_sign_in(request)
        except KNOWN as error:
            return await _problem(request, error, twin=twin)
        if isinstance(made, Response):
            return made
        if twin:
            return answer(made.form, status=made.status)
        return await light(request, to_page, request, made)

    return endpoint


async def _signed_in(request: Request) -> None:
    service = service_of(request)
    caller = await light(request, sign_in, service, knock_of(request), door=worker_of(request).door)
    request.state.caller = caller
    worker_of(request).rates.take(caller.name)


def _refuse_unsure(request: Request) -> None:
    """Refuse a form of which nothing says that a page of ours sent it: every browser says so."""
    if request.method == "POST" and not {"origin", "sec-fetch-site"} & set(request.headers.keys()):
        raise Refused("not-permitted", "Nothing says that a page of this site sent this form.")


def _to_sign_in(request: Request) -> Response:
    """The page to sign in, which leads back.

    A link from elsewhere is opened once more, by ourselves: with such a link the browser sends no session, and it may
    have one.
    """
    back = quote(request.url.path) + (f"?{request.url.query}" if request.url.query else "")
    if request.headers.get("sec-fetch-site") == "cross-site" and request.method == "GET":
        return Response(headers={**_HEADERS, "Refresh": f"0; url={back}"}, media_type="text/html; charset=utf-8")
    onward = f"?next={quote(back, safe='')}" if request.method == "GET" else ""
    return Response(status_code=303, headers={**_HEADERS, "Location": f"{SIGN_IN}{onward}"})


async def _problem(request: Request, error: Exception, *, twin: bool) -> Response:
    told = await told_of(request, error)
    if twin:
        return problem_response(request, told.problem, status=told.status, headers=told.headers)
    request.state.code = told.problem.code
    form = problem_form(told.problem, request_id=request.state.request_id, status=told.status)
    view = View(template="problem.html", title=told.problem.title, form=form, status=told.status, headers=told.headers)
    return await light(request, to_page, request, view)
