"""Files: the style sheet, the script and the mark. Browsers keep them: their addresses change with them."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from hushcount.console.rendering import STATIC
from hushcount.errors import NotFound

router = APIRouter(prefix="/console/static")
_MEDIA = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_FILES = {path.name: (path.read_bytes(), _MEDIA[path.suffix]) for path in STATIC.iterdir() if path.suffix in _MEDIA}


@router.get("/{name}")
async def one(request: Request, name: str) -> Response:
    """One file."""
    if name not in _FILES:
        raise NotFound("there is no such file.")
    body, media = _FILES[name]
    cache = "public, immutable, max-age=31536000" if "v" in request.query_params else "no-cache"
    return Response(body, headers={"Cache-Control": cache}, media_type=media)
