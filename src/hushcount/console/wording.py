"""Wording: a question that was asked, as a person would say it."""

from __future__ import annotations

from contextlib import suppress

from hushcount.app.serving.jobs.asking import read_request
from hushcount.app.serving.jobs.tasks import Task
from hushcount.app.serving.questions.prices import sentence
from hushcount.app.serving.service import Service
from hushcount.errors import HushcountError
from hushcount.model.budgets import PRESETS


def worded(service: Service, task: Task) -> str | None:
    """The question in the words of its price; None if its data set is not served any more, or has other columns."""
    with suppress(HushcountError):
        offer = service.served.find(task.dataset)
        return sentence(read_request(offer, task.question, task.said, presets=tuple(PRESETS)))
    return None
