"""Where the token comes from: said, kept in a file, or in the environment. Never from the address.

HUSHCOUNT_TOKEN        the token
HUSHCOUNT_TOKEN_FILE   a file that holds it
"""

from __future__ import annotations

import os
from pathlib import Path

from hushcount_client.problems import InvalidOption

_LONGEST = 4096


def find_token(said: str | Path | None = None) -> str | None:
    """The token: a text is the token itself, a path is a file that holds it; without either, the environment's.

    Raises:
        InvalidOption: the file cannot be read, or what is there cannot be a token; the text never quotes it.
    """
    if said is None:
        kept = os.environ.get("HUSHCOUNT_TOKEN_FILE")
        said = os.environ.get("HUSHCOUNT_TOKEN") or (Path(kept) if kept else None)
    if said is None:
        return None
    token = (_read(said) if isinstance(said, Path) else said).strip()
    # A line's end within would begin a header of its own.
    if not token or len(token) > _LONGEST or not all("!" <= sign <= "~" for sign in token):
        raise InvalidOption("the token is empty, too long or holds spaces: copy it again, as it was shown")
    return token


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(2 * _LONGEST)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidOption(f"the token's file {str(path)!r} cannot be read ({type(error).__name__})") from None
