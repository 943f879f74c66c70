"""Releases: answers that were paid for, for ever, in every format; their receipts; and arithmetic on their rows."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import Request, Response

from hushcount.api import bodies
from hushcount.api.answers import answer
from hushcount.api.parameters import Accept, Match, Named
from hushcount.api.readable import kept_release, readable_release
from hushcount.api.rendering import MEDIA, chosen_format, is_rendered, rendered, split_name
from hushcount.api.routes import said, signed_router, with_body
from hushcount.api.work import light
from hushcount.app.deriving import LEVEL, derive
from hushcount.app.serving.questions.formats import PAGE_POLICY
from hushcount.app.serving.questions.releases import Answered, receipt_form
from hushcount.model.tuples import join

router = signed_router("releases")
_FOREVER = "private, immutable, max-age=31536000"
_MEDIA = tuple(media.partition(";")[0] for media in MEDIA.values())


@router.get("/releases/{release}", **said("The answer as it was stored.", "not-found", "no-such-format", media=_MEDIA))
async def one(request: Request, release: Named, *, accept: Accept = None, match: Match = None) -> Response:
    """A release by its id, in the format of its suffix (.json .csv .parquet .arrow .svg .html) or of `Accept`. Free."""
    known = _kept_response(request, release, accept=accept, match=match)
    if known is not None:
        # A thread would take longer.
        return known
    return await light(request, release_response, request, release, accept=accept, match=match)


@router.get("/releases/{release}/receipt", **said("The receipt.", "not-found"))
async def receipt(request: Request, release: Named) -> Response:
    """What is protected, by what, at what price: for people and for programs."""
    return await light(request, _receipt, request, release)


@router.post(
    "/releases/{release}/derive", **said("The number, with the ends of its interval.", *with_body("not-found"))
)
async def derived(request: Request, release: Named, body: bodies.Derivation) -> Response:
    """Sum, difference, share or ratio of released rows, with a 95 % interval. Free: nothing is read."""
    return await light(request, _derived, request, release, body)


def _kept_response(request: Request, name: str, *, accept: str | None, match: str | None) -> Response | None:
    """A release that the caller may read, if all of it is in memory; nothing here waits for anything."""
    stem, suffix = split_name(name)
    found = kept_release(request, stem)
    if found is None:
        return None
    form = chosen_format(suffix, accept)
    return file_response(request, found, form, match=match) if is_rendered(request, found, form) else None


def release_response(request: Request, name: str, *, accept: str | None, match: str | None) -> Response:
    """A release that the caller may read, in the format that they wish."""
    stem, suffix = split_name(name)
    found = readable_release(request, stem)
    return file_response(request, found, chosen_format(suffix, accept), match=match)


def file_response(
    request: Request, found: Answered, form: str, *, match: str | None, cache: str = _FOREVER
) -> Response:
    """A release as a file, or only that the caller has it already."""
    request.state.dataset = found.dataset
    # Of one stored answer each who was given it has a body with a name of their own in it.
    etag = f'"{found.etag}-{found.id}-{found.stored.mode}-{form}"'
    headers = {
        "ETag": etag,
        "Cache-Control": cache,
        # By all that says who reads it: what one person's browser keeps is not for the next one who signs in there.
        "Vary": "Accept, Authorization, Cookie",
        "Link": f'</v1/releases/{found.id}/receipt>; rel="describedby"',
        "Content-Location": f"/v1/releases/{found.id}.{form}",
    }
    if found.stored.mode != "enforce":
        headers["Hushcount-Mode"] = found.stored.mode
    if form == "html":
        headers["Content-Security-Policy"] = PAGE_POLICY
    if match is not None and _matches(match, etag):
        return Response(status_code=304, headers=headers)
    made = rendered(request, found, form)
    return Response(made.body, headers=headers, media_type=made.media)


def _matches(given: str, etag: str) -> bool:
    tags = {part.strip().removeprefix("W/") for part in given.split(",")}
    return "*" in tags or etag in tags


def _receipt(request: Request, name: str) -> Response:
    found = readable_release(request, name)
    request.state.dataset = found.dataset
    return answer(receipt_form(found.release), headers={"Cache-Control": _FOREVER, "Vary": "Authorization"})


def _derived(request: Request, name: str, body: bodies.Derivation) -> Response:
    found = readable_release(request, name)
    request.state.dataset = found.dataset
    items, against = (
        [one if isinstance(one, str) else join(one) for one in said] for said in (body.items, body.against)
    )
    made = derive(found.release, body.deed, items, against=against)
    return answer({"deed": body.deed, **asdict(made), "interval": {"level": LEVEL}, "cost": {"releases": 0}})
