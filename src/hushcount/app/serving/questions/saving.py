"""Saving: a question under a name, if it is one that could be asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hushcount.app.serving.callers.callers import Caller, require
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.jobs.asking import read_request
from hushcount.app.serving.owners import saved
from hushcount.app.serving.owners.saved import Saved
from hushcount.app.serving.owners.schedules import When
from hushcount.app.serving.service import Service
from hushcount.errors import InvalidParameter


def save(
    service: Service,
    caller: Caller,
    offer: Offer,
    *,
    name: str,
    question: Mapping[str, Any],
    schedule: When | None = None,
) -> Saved:
    """As `saved.save`; what would be refused whenever it is asked is refused now, and nothing is stored.

    That rests on the question alone: columns and declared facts may be others by the time at which it is asked.

    Raises:
        NotPermitted: as `saved.save`.
        InvalidParameter: the question lacks something, such as the k of a top list, or has what cannot be used.
        UnsafeFilter: its filter uses more than the safe grammar.
    """
    require(service, caller, offer, "analyst", "owner", deed="save questions")
    said = {option: value for option, value in question.items() if option != "question"}
    try:
        read_request(offer, question["question"], said, presets=service.config.privacy.presets)
    except InvalidParameter as error:
        # The place is within what is saved.
        raise InvalidParameter(
            f"asked/{error.name}", error.value, error.want, f"{error.hint} Nothing was stored."
        ) from None
    return saved.save(service, caller, offer, name=name, question=question, schedule=schedule)
