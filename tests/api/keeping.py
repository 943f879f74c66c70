"""Whether a reply keeps to the contract: docs/openapi.json tells its status, its media type and all that is in it."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema_rs

KEPT = Path(__file__).parents[2] / "docs" / "openapi.json"
PROBLEM = "application/problem+json"
# Half a sign of UTF-16, which JSON can carry and the validator cannot read; the escape stays one.
_HALF = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def broken(method: str, path: str | None, status: int, *, media: str, body: bytes) -> str | None:
    """What a reply breaks of the contract of its route, in words; None if it keeps to it.

    Args:
        method: how it was called.
        path: the path of the route, as the contract has it; None if there was none.
        status: the status.
        media: the media type.
        body: the body.
    """
    kind = media.partition(";")[0]
    if status >= 400:
        return _found(_schema("Problem"), body) if kind == PROBLEM else f"{status} is no problem but {kind!r}"
    told = contract()["paths"].get(path, {}).get(method.lower())
    if told is None:
        return f"{method} {path} is not told of"
    if str(status) not in told["responses"]:
        return f"{method} {path} answers {status}, which is not told of"
    content = told["responses"][str(status)].get("content", {})
    if kind not in (content or {""}):
        return f"{method} {path} answers {kind!r}, which is not told of"
    if kind != "application/json":
        return None
    why = _found(json.dumps(content[kind]["schema"]), body)
    return None if why is None else f"{method} {path} {status}: {why}"


@lru_cache(maxsize=1)
def contract() -> dict[str, Any]:
    """The contract as it is kept."""
    kept: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return kept


def _schema(name: str) -> str:
    return json.dumps({"$ref": f"#/components/schemas/{name}"})


def _found(schema: str, body: bytes) -> str | None:
    read = json.loads(_HALF.sub(rb"\\u0041", body))
    wrong = next(_validator(schema).iter_errors(read), None)
    return None if wrong is None else f"{wrong.message[:500]} at {list(wrong.instance_path)}"


@lru_cache(maxsize=500)
def _validator(schema: str) -> Any:
    return jsonschema_rs.validator_for(
        {**json.loads(schema), "components": contract()["components"]}, validate_formats=True
    )
