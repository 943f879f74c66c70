"""Reading: bodies as strict JSON. Numbers keep every digit, nothing stands twice, nothing is too deep."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, NoReturn

from fastapi import Request

from hushcount.api.problems import Refused
from hushcount.api.work import light

MOST_BYTES = 2**20
_MOST_DEEP = 16
_MOST_DIGITS = 100
_MOST_MEMBERS = 1000
_MOST_PARTS = 20_000
# A text, or a bracket outside of texts. A text without an end is no JSON, and taken as far as it goes.
_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
# What takes longer to read than a thread takes to start.
_LARGE = 2**15


class StrictRequest(Request):
    """A request whose body is JSON in the narrow sense, or refused."""

    async def body(self) -> bytes:
        """The body; anything that does not say that it is JSON is refused before it is looked at."""
        body = await super().body()
        if body and not _says_json(self.headers.get("content-type", "")):
            raise _Unwrapped(Refused("not-json", "The body must come as Content-Type: application/json."))
        return body

    async def json(self) -> Any:  # noqa: ANN401  whatever JSON can hold
        """The body as values."""
        body = await self.body()
        try:
            return read_json(body) if len(body) < _LARGE else await light(self, read_json, body)
        except Refused as refused:
            raise _Unwrapped(refused) from None


class _Unwrapped(json.JSONDecodeError):
    """A refusal on its way through FastAPI, which lets nothing but errors of JSON pass as they are."""

    def __init__(self, refused: Refused) -> None:
        super().__init__("refused", "", 0)
        self.refused = refused


def refusal_in(error: BaseException | None) -> Refused | None:
    """The refusal that an error of FastAPI's was made of."""
    return error.refused if isinstance(error, _Unwrapped) else None


def read_json(body: bytes) -> Any:  # noqa: ANN401  as above
    """A body as values; numbers with a point are exact.

    Raises:
        Refused: it is not JSON, has a member twice, or is too deep.
        JSONDecodeError: it is not JSON.
    """
    try:
        text = body.decode()
        _refuse_deep(text)
        return json.loads(
            text, parse_float=_exact, parse_int=_whole, parse_constant=_no_number, object_pairs_hook=_members
        )
    except (UnicodeDecodeError, RecursionError):
        raise _malformed("The body is not JSON in UTF-8.") from None


def _malformed(detail: str) -> Refused:
    """A refusal of what says that it is JSON and is not: 400, and not 415."""
    return Refused("not-json", detail, status=400)


def _says_json(media: str) -> bool:
    kind = media.partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def _refuse_deep(text: str) -> None:
    """Count brackets before anything is built of them; those within texts are passed over."""
    depth = parts = 0
    for found in _BRACKET.finditer(text):
        sign = found[0]
        if sign in "[{":
            depth, parts = depth + 1, parts + 1
            if parts > _MOST_PARTS:
                raise _malformed(f"The body has more than {_MOST_PARTS} lists and objects.")
            if depth > _MOST_DEEP:
                raise _malformed(f"The body is more than {_MOST_DEEP} levels deep.")
        elif sign in "]}":
            depth -= 1


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > _MOST_MEMBERS:
        # Each that is not known would be an error of its own, which takes longer than all of the rest.
        raise _malformed(f"An object of the body has more than {_MOST_MEMBERS} members.")
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _malformed("A member of the body stands twice: which of the two is meant cannot be told.")
    return made


def _exact(text: str) -> Decimal:
    if len(text) > _MOST_DIGITS:
        raise _malformed(f"A number of the body has more than {_MOST_DIGITS} digits.")
    return Decimal(text)


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise _malformed(f"A number of the body has more than {_MOST_DIGITS} digits.")
    return int(text)


def _no_number(text: str) -> NoReturn:
    raise _malformed(f"{text} is not JSON.")
