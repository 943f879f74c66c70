"""Tasks: questions as a service took them, complete, so that any worker can run them, also after another has died."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from hushcount.app.request import Request
from hushcount.app.serving.ids import with_prefix
from hushcount.model.frozen import frozen
from hushcount.model.queries import Verb


@frozen
class Task:
    """One question to be released.

    Attributes:
        dataset: the name of the data set.
        question: what is asked.
        said: the item and the options, as they were sent.
    """

    dataset: str
    question: Verb
    said: Mapping[str, Any] = field(default_factory=dict)


@frozen
class Order:
    """What one caller wants at once: one question, or several of which all are answered or none.

    Attributes:
        tasks: the questions.
        token: the token that asked, whose cap is charged too; None for whoever signed in themselves.
        most: the most that all of it may cost, in standard releases, as it was sent; None for no such bound.
    """

    tasks: tuple[Task, ...]
    token: str | None = None
    most: str | None = None

    def to_json(self) -> str:
        """One text for one order: two that differ are two requests."""
        tasks = [{"dataset": one.dataset, "question": one.question, "said": dict(one.said)} for one in self.tasks]
        return json.dumps({"tasks": tasks, "token": self.token, "most": self.most}, sort_keys=True, ensure_ascii=True)

    @staticmethod
    def from_json(text: str) -> Order:
        """The order that `to_json` wrote."""
        form = json.loads(text)
        return Order(tasks=tuple(Task(**one) for one in form["tasks"]), token=form["token"], most=form["most"])

    def key_of(self, key: str, place: int) -> str:
        """The key under which the ledger knows one of the questions."""
        return key if len(self.tasks) == 1 else f"{key}#{place}"

    def release_of(self, job: str, place: int) -> str:
        """What the answer to one of the questions is called: r_x of the query q_x, or r_x-1 and so on of several."""
        name = with_prefix(job, "r")
        return name if len(self.tasks) == 1 else f"{name}-{place + 1}"


def flight_of(request: Request, dataset: str, *, own: str) -> str:
    """What two callers have in common who ask the same at once, so that the data is read once: a digest.

    Args:
        request: the question.
        dataset: what it is about.
        own: whose it is alone: fresh noise is nobody else's, so each such job flies alone.
    """
    return hashlib.blake2b(f"{dataset}\0{request.canonical()}\0{own}".encode(), digest_size=16).hexdigest()
