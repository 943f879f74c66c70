"""Answers of a service that were really made: a question asked here, in the words of the HTTP interface."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from hushcount.app.release import Release
from hushcount.model.tuples import split


def as_served(release: Release, **members: Any) -> dict[str, Any]:
    """The reply of a service that gives this release."""
    width = len(release.receipt.columns)
    items = [one if width == 1 else list(split(one, width)) for one in release.items]
    columns = {"item": items, **release.numbers()}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    inner = {
        "id": "r_7f3a",
        "complete": True,
        "shown": len(rows),
        "cutoff": release.cutoff,
        "rows": rows,
        "notes": [],
        "enforced": release.enforced,
        # As the ledger stores it, and a field that only a later version knows.
        "receipt": {**asdict(release.receipt), "of_tomorrow": 1},
        **members,
    }
    form = {
        "id": "q_01",
        "status": "done",
        "release": inner,
        "cost": {"releases": 1.0, "held": 1.0, "given_back": 0.0, "repeated": False},
        "left": {"releases": 6.2, "like_this": 7, "renews": "2026-12-01T00:00:00Z"},
    }
    return json.loads(json.dumps(form))
