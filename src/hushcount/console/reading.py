"""Reading: what a browser sent, in the address or as a form, and the interface's own bodies made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from hushcount.api.bodies import Body
from hushcount.api.problems import Refused

T = TypeVar("T", bound=Body)
_MOST_FIELDS = 2000
_FORM = "application/x-www-form-urlencoded"


def said(request: Request, *names: str, often: str | None = None) -> dict[str, str]:
    """The parameters of an address, of those that a page knows; empty ones are as if left out.

    Args:
        request: the request.
        names: those that may be there once.
        often: one that may be there any number of times; see `said_often`.

    Raises:
        Refused: one is not known, or stands twice.
    """
    return _single([pair for pair in request.query_params.multi_items() if pair[0] != often], names)


def said_often(request: Request, name: str) -> list[str]:
    """All values of a parameter that may be there more than once."""
    return [value for value in request.query_params.getlist(name) if value]


async def sent(request: Request, *names: str) -> dict[str, str]:
    """The fields of a form, of those that a page knows; empty ones are as if left out.

    Raises:
        Refused: it is no form, or has a field that is not known or stands twice.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise Refused("not-json", "This address takes a form of its own page.")
    try:
        text = (await request.body()).decode()
        fields = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise Refused("invalid-parameter", "The form cannot be read.") from None
    return _single(fields, names)


def made(kind: type[T], values: Mapping[str, Any]) -> T:
    """A body of the interface, made of what was sent; refused as it is there.

    Raises:
        RequestValidationError: it cannot be used.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        found = [{**one, "loc": ("body", *one["loc"])} for one in error.errors()]
        raise RequestValidationError(found) from None


def whole(value: str, name: str) -> int:
    """A whole number that was sent.

    Raises:
        Refused: it is none.
    """
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise Refused("invalid-parameter", f"{name!r} must be a whole number.", parameter=name)
    return int(value)


def _single(pairs: list[tuple[str, str]], names: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in pairs:
        if name not in names:
            raise Refused("unknown-option", f"There is no parameter {name[:80]!r} here.", parameter=name[:80])
        if name in found:
            raise Refused("invalid-parameter", f"The parameter {name!r} stands twice.", parameter=name)
        found[name] = value
    # A text area ends lines as no filter does.
    return {name: value.strip().replace("\r\n", "\n") for name, value in found.items() if value.strip()}
