"""What tests of owners' pages look at: the interface beside the page, and every page that there is."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

PAGES = {
    "overview": "/console/overview",
    "add": "/console/add",
    "person": "/console/add?store=files&table=clinic.parquet",
    "setup": "/console/setup?data=reading&column=article",
    "limits": "/console/limits?data=reading&releases=3",
    "people": "/console/people?data=reading&who=zoe",
    "requests": "/console/requests",
    "trail": "/console/trail?data=reading",
    "verified": "/console/trail/verified",
    "health": "/console/health",
}


def told(site, path: str, token: str, body: object = None, *, method: str | None = None) -> Any:
    """What the interface says."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(site.url + path, data=data, headers=headers, method=method)  # noqa: S310
    with urllib.request.urlopen(request) as reply:  # noqa: S310
        return json.load(reply)
