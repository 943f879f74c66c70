"""A task: a question as a service took it, complete, so that any worker can run it, also after another has died."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hushcount.app.request import Request
from hushcount.model.queries import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is to be released.

    Attributes:
        dataset: the name of the data set.
        question: what is asked.
        said: the item and the options, as they were sent.
        token: the token that asked, whose cap is charged too; None for whoever signed in themselves.
        most: the most that it may cost, in standard releases, as it was sent; None for no such bound.
    """

    dataset: str
    question: Question
    said: Mapping[str, Any] = field(default_factory=dict)
    token: str | None = None
    most: str | None = None

    def to_json(self) -> str:
        """One text for one task: two that differ are two requests."""
        form = {
            "dataset": self.dataset,
            "question": self.question,
            "said": dict(self.said),
            "token": self.token,
            "most": self.most,
        }
        return json.dumps(form, sort_keys=True, ensure_ascii=True)

    @staticmethod
    def from_json(text: str) -> Task:
        """The task that `to_json` wrote."""
        return Task(**json.loads(text))


def flight_of(request: Request, dataset: str, *, job: str) -> str:
    """What two callers have in common who ask the same at once, so that the data is read once: a digest.

    Fresh noise is nobody else's, so each such job flies alone.
    """
    own = job if request.fresh else ""
    return hashlib.blake2b(f"{dataset}\0{request.canonical()}\0{own}".encode(), digest_size=16).hexdigest()
