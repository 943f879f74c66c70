"""The book of rules computed from its log: limits, roles, groups, the catalog, and what holds for the whole ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from hushcount.ledger.chain import canonical
from hushcount.ledger.datasets import NO_FACTS, DatasetRow
from hushcount.ledger.ledger import EVERY
from hushcount.ledger.store import Row
from hushcount.model.costs import EVERY_ORDER


@dataclass(slots=True)
class ReplayedRules:
    """What the book of rules adds up to; empty for every other book."""

    limits: dict[Row, str] = field(default_factory=dict)
    roles: dict[Row, str] = field(default_factory=dict)
    members: set[Row] = field(default_factory=set)
    datasets: dict[str, DatasetRow] = field(default_factory=dict)
    identities: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    records: dict[Row, Row] = field(default_factory=dict)
    dataset_roles: dict[Row, str] = field(default_factory=dict)

    def apply(self, body: Mapping[str, Any]) -> Iterator[str]:
        """Take one entry into account; yields what is wrong with it."""
        kind = body["kind"]
        if kind in {"limit", "role", "member"}:
            self._rule(body)
        elif kind in {"found", "secret", "order"}:
            yield from (self._order if kind == "order" else self._found)(body)
        elif kind == "register":
            yield from self._register(body)
        elif kind == "record":
            yield from self._record(body)
        elif kind == "split":
            self._split(body)
        elif kind == "join":
            for row in self.datasets.values():
                if row.entity == body["other"]:
                    self.datasets[row.id] = replace(row, entity=body["population"])
        elif kind != "migrate":
            self._change(body)

    def _rule(self, body: Mapping[str, Any]) -> None:
        if body["kind"] == "limit":
            self._limit(tuple(body["rule"]), body["limit"])
        elif body["kind"] == "role":
            # Roles for one data set are a table of their own.
            roles, place = (self.dataset_roles, body["dataset"]) if "dataset" in body else (self.roles, body["place"])
            roles.pop((place, body["person"]), None)
            if body["role"] is not None:
                roles[place, body["person"]] = body["role"]
        else:
            (self.members.add if body["member"] else self.members.discard)((body["analyst"], body["group"]))

    def _limit(self, rule: Row, limit: Mapping[str, Any] | None) -> None:
        self.limits.pop(rule, None)
        if limit is not None:
            self.limits[rule] = canonical(limit)

    def _found(self, body: Mapping[str, Any]) -> Iterator[str]:
        if "secret" in self.settings:
            yield "a ledger was founded that was there already"
        self.settings["secret"] = body["secret"]
        if body["kind"] == "found":
            self.roles[EVERY, body["owner"]] = "owner"
            if body["limit"] is not None:
                self._limit((EVERY, "dataset", EVERY), body["limit"])
            if "order" in body:
                self.settings["order"] = body["order"]

    def _order(self, body: Mapping[str, Any]) -> Iterator[str]:
        if Decimal(body["order"]) >= Decimal(self.settings.get("order", EVERY_ORDER)):
            yield "Renyi orders that costs were not known for were had back"
        self.settings["order"] = body["order"]

    def _record(self, body: Mapping[str, Any]) -> Iterator[str]:
        kind, name = body["record"]
        owner, text, edition, made, _ = self.records.pop((kind, name), ("", "", 0, body["at"], 0))
        if body["edition"] != edition + 1:
            yield f"an edition of the {kind} {name!r} is missing"
        if body["content"] is not None:
            text, owner = canonical(body["content"]), body["owner"]
            self.records[kind, name] = (owner, text, body["edition"], made, body["at"])

    def _register(self, body: Mapping[str, Any]) -> Iterator[str]:
        said = DatasetRow(facts=NO_FACTS, **body["dataset"])
        row = self.datasets.setdefault(said.id, said)
        if replace(said, person=row.person, facts=row.facts) != row:
            yield f"data set {said.id!r} was registered as something else before"
        if row.person not in {None, said.person}:
            yield f"the person column of {said.id!r} was changed without an owner"
        self.datasets[said.id] = replace(row, person=said.person)
        self._bind(said.id, body["identities"])

    def _split(self, body: Mapping[str, Any]) -> None:
        said = DatasetRow(facts=canonical(body["facts"]), **body["dataset"])
        self.datasets[said.id] = said
        self._bind(said.id, body["identities"])

    def _change(self, body: Mapping[str, Any]) -> None:
        row = self.datasets[body["dataset"]]
        if body["kind"] == "rename":
            row = replace(row, name=body["name"])
            self._bind(row.id, body["identities"])
        elif body["kind"] == "repin":
            row = replace(row, person=body["person"])
        elif body["kind"] == "declare":
            row = replace(row, facts=canonical(body["facts"]))
        else:
            raise LookupError(body["kind"])
        self.datasets[row.id] = row

    def _bind(self, dataset: str, identities: list[str]) -> None:
        self.identities.update(dict.fromkeys(identities, dataset))
