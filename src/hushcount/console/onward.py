"""Onward: from an answer to the cheapest question that shows more rows, and to one that is sharper; with prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Request

from hushcount.api.work import caller_of, service_of
from hushcount.app.serving.jobs.tasks import Task
from hushcount.app.serving.questions import queries
from hushcount.console.asking import again, rho_of, sizes_of
from hushcount.errors import HushcountError
from hushcount.model.frozen import frozen

_MOST_ROWS = 10_000


@frozen
class Found:
    """What was found.

    Attributes:
        task: the question.
        rows: its answer.
        counted: whether the rows have numbers.
        cut: whether what is too rare was left out.
    """

    task: Task
    rows: Sequence[Mapping[str, Any]]
    counted: bool
    cut: bool


def onward(request: Request, finding: Found) -> dict[str, Any]:
    """How the same can be asked again, how more of it is seen, and how it is seen more sharply.

    Nobody is told a price of what they may not ask: then these are None, and the answer can still be read.
    """
    task, presets = finding.task, service_of(request).config.privacy.presets
    fields = again(task.dataset, {"question": task.question, **task.said}, presets)
    form: dict[str, Any] = {"again": fields, "more": None, "sharper": None, "sharpest": False}
    if fields is None:
        return form
    step, sizes = int(fields["step"]), sizes_of(presets)
    dearer = _priced(request, task, fields, step=step + 1) if step + 1 < len(sizes) else None
    form["sharpest"] = finding.counted and step + 1 == len(sizes)
    form["sharper"] = dearer if finding.counted else None
    if task.question == "top" and len(finding.rows) >= int(fields.get("k", 10)):
        form["more"] = _longer(request, finding, fields)
    elif finding.cut:
        # Nothing but a lower cut-off shows more.
        form["more"] = dearer
    return form


def _longer(request: Request, finding: Found, fields: Mapping[str, str]) -> dict[str, Any] | None:
    """Twice as many rows at the least price at which those that are shown would still clear the cut-off."""
    k = 2 * len(finding.rows)
    if k > _MOST_ROWS:
        return None
    least = min((row["count"] for row in finding.rows), default=0) if finding.counted else 0
    found = None
    for step in range(int(fields["step"]) + 1):
        found = _priced(request, finding.task, fields, step=step, k=k)
        cutoff = None if found is None else found["price"]["expected"]["cutoff"]
        if cutoff is not None and cutoff <= least:
            break
    return found


def _priced(
    request: Request, task: Task, fields: Mapping[str, str], *, step: int, k: int | None = None
) -> dict[str, Any] | None:
    """The question as it would be asked then, with its price; None for whoever may not ask it."""
    service, caller = service_of(request), caller_of(request)
    said = {name: value for name, value in task.said.items() if name not in {"preset", "rho"}}
    said |= {"rho": rho_of(sizes_of(service.config.privacy.presets)[step])} | ({} if k is None else {"k": k})
    try:
        price = queries.price(service, caller, Task(dataset=task.dataset, question=task.question, said=said))
    except HushcountError:
        return None
    return {"price": price, "fields": {**fields, "step": str(step)} | ({} if k is None else {"k": str(k)})}
