"""The reference of the HTTP interface as a page, made of its OpenAPI document: `python -m hushcount.api.reference`."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_HEAD = """# The HTTP interface

Every route with what it takes and what it answers, made from [openapi.json](../openapi.json), which the service itself
gives at `/openapi.json`. How to use it is told for [analysts](../analysts.md), [owners](owners.md) and
[operators](operators.md). Every problem has a code, a sentence that helps, and says whether anything was charged; its
page is at `/problems/{code}`.
"""
_WIDE = 118


def render(openapi: Mapping[str, Any]) -> str:
    """The page of an OpenAPI document."""
    parts = [_HEAD, "## Routes", ""]
    routes = [
        (method.upper(), path, route) for path, by in sorted(openapi["paths"].items()) for method, route in by.items()
    ]
    places = {route["operationId"]: f"{method} {path}" for method, path, route in routes}
    for method, path, route in routes:
        parts += _route(f"{method} {path}", route, places)
    parts += ["## Bodies and answers", ""]
    for name, schema in sorted(openapi["components"]["schemas"].items()):
        parts += _schema(name, schema)
    return "\n".join(parts).rstrip() + "\n"


def _route(name: str, route: Mapping[str, Any], places: Mapping[str, str]) -> Iterator[str]:
    yield f"### `{name}`"
    yield ""
    yield from _wrapped(route.get("description") or route.get("summary") or "")
    for given in route.get("parameters", ()):
        told = f": {_line(given['description'])}" if given.get("description") else ""
        yield from _wrapped(f"- `{given['name']}` ({given['in']}){told}", "  ")
    for content in route.get("requestBody", {}).get("content", {}).values():
        schema = content["schema"]
        yield f"- body: [{_name(schema)}](#{_name(schema).lower()})" if "$ref" in schema else "- body: a JSON object"
    good = [f"{code}: {_line(reply['description'])}{_form(reply)}" for code, reply in _good(route)]
    leads = [places[link["operationId"]] for _, reply in _good(route) for link in reply.get("links", {}).values()]
    bad = [f"{code} {_line(reply['description'])}" for code, reply in route["responses"].items() if code >= "4"]
    for line in good:
        yield from _wrapped(f"- {line}", "  ")
    if leads:
        yield from _wrapped(f"- leads on to: {', '.join(f'`{one}`' for one in sorted(set(leads)))}", "  ")
    if bad:
        yield from _wrapped(f"- problems: {'; '.join(bad)}", "  ")
    yield ""


def _good(route: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(code, reply) for code, reply in route["responses"].items() if code < "4"]


def _form(reply: Mapping[str, Any]) -> str:
    """What the answer is, where it is JSON."""
    schema = reply.get("content", {}).get("application/json", {}).get("schema", {})
    names = [_name(one) for one in schema.get("anyOf", [schema]) if "$ref" in one]
    return f" {' or '.join(f'[{name}](#{name.lower()})' for name in names)}" if names else ""


def _schema(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {name}"
    yield ""
    yield from _wrapped(_line(schema.get("description", "")))
    needed = set(schema.get("required", ()))
    for member, kind in schema.get("properties", {}).items():
        told = f": {_line(kind['description'])}" if kind.get("description") else ""
        must = ", required" if member in needed else ""
        yield from _wrapped(f"- `{member}` ({_kind(kind)}{must}){told}", "  ")
    yield ""


def _kind(schema: Mapping[str, Any]) -> str:
    """A member's kind in a few words."""
    if "$ref" in schema:
        return _name(schema)
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(one) for one in schema["anyOf"] if one.get("type") != "null"))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("type", "anything"))


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _line(text: str) -> str:
    return " ".join(text.split())


def _wrapped(text: str, indent: str = "") -> list[str]:
    wide = textwrap.wrap(_line(text), _WIDE, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [*wide, ""] if wide and not text.startswith("- ") else wide


if __name__ == "__main__":
    sys.stdout.write(render(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
