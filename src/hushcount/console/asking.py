"""A question as an address says it, so that it can be linked to, priced, changed and sent again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from hushcount.api import bodies
from hushcount.api.problems import Refused
from hushcount.console.reading import made, whole
from hushcount.model.budgets import PRESETS, STANDARD
from hushcount.model.frozen import frozen

# What may be asked here: the interface's question, and the member that names the column.
KINDS: Mapping[str, tuple[str, str | None]] = {
    "top": ("top", "item"),
    "count": ("count", "item"),
    "people": ("people", None),
    "names": ("vocab", "item"),
    "words": ("vocab", "text"),
}
FIELDS = ("data", "question", "item", "k", "where", "step", "delta")
_USUAL_K = 10
_PLAIN = re.compile(r"[a-z_]{1,30}")
# How close an answer can be had: each step in standard releases.
_SIZES = ("0.1", "0.2", "0.5", "1", "2", "5")


@frozen
class Draft:
    """A question as it stands in the form.

    Attributes:
        data: the data set.
        kind: one of `KINDS`.
        item: the column; None if it is not chosen yet.
        k: how many rows, of a list of the largest.
        where: the filter; None for all.
        sizes: what may be paid, in standard releases, from rough to close.
        step: which of `sizes` is chosen.
        delta: a smaller delta, where a refusal proposed one.
    """

    data: str
    kind: str
    item: str | None
    k: int
    where: str | None
    sizes: tuple[str, ...]
    step: int
    delta: str | None = None

    @property
    def complete(self) -> bool:
        """Whether it can be priced."""
        return self.item is not None or KINDS[self.kind][1] is None

    def body(self, mode: str, *, most: str | None = None) -> bodies.Query:
        """The same for the interface."""
        question, column = KINDS[self.kind]
        said: dict[str, Any] = {"mode": mode, "dataset": self.data, "question": question}
        if column is not None:
            said[column] = self.item
        if question == "top":
            said["k"] = self.k
        if self.where is not None:
            said["where"] = self.where
        if self.delta is not None:
            said["delta"] = self.delta
        if most is not None:
            said["max_cost"] = {"releases": most}
        return made(bodies.Query, said | {"rho": rho_of(self.sizes[self.step])})

    def fields(self) -> dict[str, str]:
        """The parameters of an address that says the same; those that hold only elsewhere are left out."""
        column, all_said = KINDS[self.kind][1], {"data": self.data, "question": self.kind}
        if column is not None and self.item is not None:
            all_said["item"] = self.item
        if self.kind == "top":
            all_said["k"] = str(self.k)
        chosen = {"where": self.where, "step": str(self.step), "delta": self.delta}
        return all_said | {name: value for name, value in chosen.items() if value is not None}

    def form(self) -> dict[str, Any]:
        """As the page's twin says it."""
        return {
            "question": self.kind,
            "item": self.item,
            "k": self.k,
            "where": self.where,
            "step": self.step,
            "sizes": list(self.sizes),
            "fields": self.fields(),
        }


def asked_of(given: Mapping[str, str], dataset: Mapping[str, Any]) -> Draft:
    """What was said, as a question about a data set; what was left out is as usual.

    Args:
        given: the fields.
        dataset: the data set, as the interface tells it.

    Raises:
        Refused: something cannot be.
    """
    kind = given.get("question", "top")
    if kind not in KINDS:
        raise Refused("invalid-parameter", f"'question' must be one of {', '.join(KINDS)}.", parameter="question")
    sizes = sizes_of(dataset["presets"])
    usual = sizes.index("1") if "1" in sizes else len(sizes) - 1
    step = whole(given["step"], "step") if "step" in given else usual
    if step >= len(sizes):
        raise Refused("invalid-parameter", f"'step' must be less than {len(sizes)}.", parameter="step")
    return Draft(
        data=dataset["name"],
        kind=kind,
        item=given.get("item") or next((one["item"] for one in dataset["examples"] if "item" in one), None),
        k=max(1, whole(given["k"], "k")) if "k" in given else _USUAL_K,
        where=given.get("where"),
        sizes=sizes,
        step=step,
        delta=given.get("delta"),
    )


def example_of(dataset: Mapping[str, Any]) -> str:
    """A condition that could be written here: on a column that the data has, if one has a plain name."""
    names = [one["name"] for one in dataset["columns"] or () if one["kind"] == "text" and _PLAIN.fullmatch(one["name"])]
    other = [name for name in names if name != dataset["person"]]
    return f"{other[0]} LIKE 'a%'" if other else "country = 'NZ' AND NOT test"


def sizes_of(presets: Sequence[str]) -> tuple[str, ...]:
    """What a question may cost here, in standard releases: between the smallest and the largest preset."""
    allowed = [Decimal(PRESETS[name]) / STANDARD.rho for name in presets]
    found = tuple(size for size in _SIZES if min(allowed) <= Decimal(size) <= max(allowed))
    return found or (f"{max(allowed):f}",)


def rho_of(size: str) -> str:
    """What a number of standard releases is, as the interface takes it."""
    return f"{(Decimal(size) * STANDARD.rho).normalize():f}"


def again(dataset: str, question: Mapping[str, Any], presets: Sequence[str]) -> dict[str, str] | None:
    """The fields of a question that was asked before; None if it says more than the form here can.

    Args:
        dataset: the name of the data set.
        question: the question as the interface tells it.
        presets: what may be chosen.
    """
    kind = next((name for name, (verb, column) in KINDS.items() if _is(question, verb, column)), None)
    known = {"question", "item", "text", "k", "where", "rho", "preset", "delta"}
    if kind is None or set(question) - known:
        return None
    rho = Decimal(question.get("rho", PRESETS[question.get("preset", "standard")]))
    steps = {Decimal(rho_of(size)): str(step) for step, size in enumerate(sizes_of(presets))}
    column = KINDS[kind][1]
    item = question.get(column) if column is not None else None
    if rho not in steps or not (item is None or isinstance(item, str)):
        return None
    said = {"item": item, "k": question.get("k"), "where": question.get("where"), "delta": question.get("delta")}
    fields = {name: str(value) for name, value in said.items() if value is not None}
    return {"data": dataset, "question": kind, "step": steps[rho], **fields}


def address(fields: Mapping[str, str], **changed: str) -> str:
    """Where a question is priced."""
    return f"/console/ask?{urlencode({**fields, **changed})}"


def _is(question: Mapping[str, Any], verb: str, column: str | None) -> bool:
    return question["question"] == verb and (column is None or column in question)
