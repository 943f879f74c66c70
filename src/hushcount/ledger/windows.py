"""Windows: the periods after which a budget is renewed, and what a renewal means for a person in the data.

A window is a calendar day, a week from Monday, or a calendar month, in UTC. As in section 8.1 of "LinkedIn's Audience
Engagements API" it opens at the first charge within it: until then the account still shows the window before.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias, get_args

from hushcount.errors import InvalidParameter

Window: TypeAlias = Literal["day", "week", "month", "none"]
WINDOWS: tuple[str, ...] = get_args(Window)
# Accounts without a renewing limit still show what they spent this month beside their lifetime total.
SHOWN: Window = "month"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    """A moment as whole microseconds since 1970: the form in which the ledger stores and compares moments."""
    if moment.tzinfo is None:
        raise InvalidParameter("moment", moment, "a moment with a time zone")
    return (moment - _EPOCH) // _MICROSECOND


def moment(microseconds: int) -> datetime:
    """The moment that `micros` wrote, in UTC."""
    return _EPOCH + timedelta(microseconds=microseconds)


def ends(window: Window, at: datetime) -> datetime:
    """The end of the calendar period that holds `at`; accounts that never renew are shown by the month."""
    midnight = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if window == "day":
        return midnight + timedelta(days=1)
    if window == "week":
        return midnight + timedelta(days=7 - midnight.weekday())
    first = midnight.replace(day=1)
    return (first + timedelta(days=32)).replace(day=1)


def renewal(window: Window) -> str:
    """One sentence that says what a renewal means for a person in the data."""
    if window == "none":
        return "This budget is never renewed: the limit bounds what is ever learnt about a person in this data."
    return (
        f"This budget is renewed every {window}, so the limit bounds what is learnt about a person in one {window}; "
        "what is learnt adds up over renewals as long as the same person stays in the data, and two windows that meet "
        "may spend twice the limit within a short time."
    )
