"""The surroundings: what the environment, the user's folders and the user's name say. Read here and nowhere else.

HUSHCOUNT_HOME      the folder of the secret, the receipts and the user's own ledger
HUSHCOUNT_LEDGER    the ledger, if not the one that is found from the data's folder
HUSHCOUNT_ANALYST   who asks, if not the user of this computer
HUSHCOUNT_DEBUG     errors with all that happened inside, on a machine where the data may be seen
"""

from __future__ import annotations

import getpass
import os
from pathlib import Path

from hushcount.app.setting import Places, Setting
from hushcount.app.wiring import make_setting


def look_around(*, ledger: str | Path | None = None, analyst: str | None = None) -> Places:
    """Where things are kept and who asks; what is said here goes before what the environment says."""
    said = ledger or os.environ.get("HUSHCOUNT_LEDGER")
    user = _analyst()
    return Places(home=_home(), ledger=None if said is None else str(said), analyst=analyst or user, owner=user)


def open_setting(*, ledger: str | Path | None = None, analyst: str | None = None) -> Setting:
    """Secret and ledger, opened once for many questions and threads: hand it over as `setting`, and close it.

    A ledger that is named and not there is founded; without a name it is the user's own.
    """
    return make_setting(look_around(ledger=ledger, analyst=analyst))


def wants_internals() -> bool:
    """Whether errors are to show what happened inside."""
    return bool(os.environ.get("HUSHCOUNT_DEBUG"))


def _home() -> Path:
    said = os.environ.get("HUSHCOUNT_HOME")
    if said:
        return Path(said)
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "hushcount"


def _analyst() -> str:
    said = os.environ.get("HUSHCOUNT_ANALYST")
    if said:
        return said
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"
