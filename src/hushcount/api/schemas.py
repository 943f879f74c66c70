"""Schemas of what leaves, for `openapi.json`."""

from __future__ import annotations

from typing import Any

from hushcount.app.serving.problems import CODES

PROBLEM: dict[str, Any] = {
    "title": "Problem",
    "description": "What went wrong (RFC 9457). `detail` says what happened, why it matters and what to type.",
    "type": "object",
    "required": ["type", "status", "code", "title", "detail", "charged", "request_id"],
    "properties": {
        "type": {"type": "string", "description": "A page on this server that explains the code."},
        "status": {"type": "integer"},
        "code": {"type": "string", "enum": list(CODES)},
        "title": {"type": "string"},
        "detail": {"type": "string"},
        "charged": {
            "type": ["boolean", "null"],
            "description": "Whether anything was charged for this request; null if that is not known.",
        },
        "request_id": {"type": "string"},
        "pointer": {"type": "string", "description": "The place in the body (RFC 6901)."},
        "parameter": {"type": "string", "description": "The parameter of the query, or the header."},
    },
}
