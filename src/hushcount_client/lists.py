"""Lists of the service, read page by page to their end or to a limit."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from hushcount_client.attempts import Line, perform
from hushcount_client.wire import Call, not_understood

PAGE = 100


def read_list(path: str, line: Line, *, most: int) -> list[dict[str, Any]]:
    """The entries of a list, at most so many."""
    found: list[dict[str, Any]] = []
    after: dict[str, Any] = {}
    until = line.until()
    while len(found) < most:
        query = urlencode({"limit": min(PAGE, most - len(found)), **after})
        reply = perform(Call(method="GET", path=f"{path}?{query}"), line, until=until)
        form = reply.form()
        entries, following = form.get("data"), form.get("next")
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise not_understood("the reply is no list", reply)
        found += entries
        # A page without entries that promises another one would be asked for ever.
        if following is None or not entries:
            break
        after = {"after": following}
    return found[:most]
