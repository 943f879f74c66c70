"""A stored release as bytes, in each format: made once for all who are given it, since it never changes."""

from __future__ import annotations

from fastapi import Request

from hushcount.api.answers import to_json
from hushcount.api.kept import Rendering
from hushcount.api.problems import Refused
from hushcount.api.work import worker_of
from hushcount.app.serving.questions.formats import FORMATS
from hushcount.app.serving.questions.releases import Answered, release_form

JSON = "application/json"
MEDIA = {"json": JSON, **{name: media for name, (media, _) in FORMATS.items()}}


def rendered(request: Request, found: Answered, form: str) -> Rendering:
    """A release in a format of `MEDIA`."""
    stored = found.stored

    def make() -> Rendering:
        marks = {} if stored.mode == "enforce" else {"limits": "tracked, not enforced"}
        body = to_json(release_form(found)) if form == "json" else FORMATS[form][1](found.release, marks)
        return Rendering(body=body, media=MEDIA[form])

    made = worker_of(request).renderings.get(_key(found, form), make)
    if form != "json":
        return made
    # Whoever was given it has a name of their own for it.
    return Rendering(body=b'{"id":' + to_json(found.id) + b"," + made.body[1:], media=made.media)


def is_rendered(request: Request, found: Answered, form: str) -> bool:
    """Whether the bytes are in memory, so that nothing has to be made."""
    return worker_of(request).renderings.find(_key(found, form)) is not None


def _key(found: Answered, form: str) -> tuple[str, ...]:
    moment = found.job.made.isoformat() if found.as_new else ""
    return form, found.etag, found.stored.mode, found.dataset, moment


def split_name(name: str) -> tuple[str, str | None]:
    """A name and the suffix that says its format."""
    stem, dot, suffix = name.rpartition(".")
    return (stem, suffix) if dot else (name, None)


def chosen_format(suffix: str | None, accept: str | None) -> str:
    """The format that is wished: by suffix, else by `Accept`, else JSON.

    Raises:
        Refused: there is no such format.
    """
    if suffix is not None:
        if suffix not in MEDIA:
            raise _no_format()
        return suffix
    wishes = sorted(_wishes(accept or "*/*"), key=lambda wish: -wish[1])
    for media, quality in wishes:
        found = next((name for name, own in MEDIA.items() if _fits(own.partition(";")[0], media)), None)
        if found is not None and quality > 0:
            return found
    raise _no_format()


def _no_format() -> Refused:
    return Refused("no-such-format", f"It can be had as {', '.join(MEDIA)}.")


def _wishes(accept: str) -> list[tuple[str, float]]:
    """Media types with their qualities, in their order (RFC 9110, 12.5.1)."""
    found = []
    for part in accept.split(",")[:50]:
        media, *rest = (piece.strip().lower() for piece in part.split(";"))
        quality = 1.0
        for piece in rest:
            if piece.startswith("q="):
                try:
                    quality = float(piece[2:])
                except ValueError:
                    quality = 0.0
        found.append((media, quality))
    return found


def _fits(own: str, wished: str) -> bool:
    return wished in {own, "*/*", f"{own.partition('/')[0]}/*"}
