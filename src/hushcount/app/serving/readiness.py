"""Readiness: whether a worker can take questions, and if not, which check failed. Nothing private is in it."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from hushcount.app.serving.problems import Problem
from hushcount.app.serving.service import Service
from hushcount.errors import HushcountError

# A machine whose clock is further off than that renews windows and ends tokens at another moment than the others.
_CLOSE: Final = timedelta(seconds=1)


def unready(service: Service) -> Problem | None:
    """Why no questions can be taken; None if they can."""
    clock = service.setting.clock
    before = clock()
    try:
        found = service.ledger.watch.vitals()
    except HushcountError as error:
        return _not("reached", f"The ledger cannot be used ({type(error).__name__}).")
    took = clock() - before
    if found.version != found.newest:
        return _not("version", "The ledger is of another version than this server. Upgrade the older of the two.")
    if found.secret != service.setting.secret.fingerprint:
        return _not("key", "The ledger was founded with another noise key than this server has.")
    # It was asked at some moment in between, so half of that is no fault of the clock.
    if abs(found.now - before - took / 2) > _CLOSE + took / 2:
        return _not("clock", "This machine's clock is more than a second beside the ledger's. Run NTP on both.")
    return None


def _not(check: str, detail: str) -> Problem:
    return Problem(code="ledger-unavailable", detail=detail, more={"check": check})
