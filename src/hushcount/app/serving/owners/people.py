"""People: their roles for data sets, their groups, and in sentences why somebody may ask something or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hushcount.app.serving.callers.callers import GROUP, GROUP_ROLES, Caller, Serving, require
from hushcount.app.serving.callers.invitations import refuse_reserved
from hushcount.app.serving.callers.tokens import ledger_of, tokens_of
from hushcount.app.serving.owners.freezing import FREEZE
from hushcount.app.serving.owners.rules import EVERYTHING, Made, Named, Place, RulesRead, dataset_of, read_rules
from hushcount.app.words import limit_words, whose
from hushcount.errors import InvalidParameter
from hushcount.ledger.catalog import Dataset
from hushcount.ledger.ledger import EVERY, Account, Balance, Kind, Role
from hushcount.model.frozen import frozen

_ASKING: tuple[Role, ...] = ("owner", "analyst")


@frozen
class Person:
    """Somebody with a role or in a group; also a group that has a role.

    Attributes:
        name: who.
        roles: where they have which role, who gave it and when.
        groups: the groups they are in.
    """

    name: str
    roles: tuple[tuple[Place, Role, Made], ...]
    groups: tuple[str, ...]


@frozen
class Why:
    """Whether somebody may ask something, and every reason for it, in sentences."""

    may: bool
    role: Role | None
    because: tuple[str, ...]


def set_role(service: Serving, caller: Caller, person: str, *, role: Role | None, offer: Named | None) -> None:
    """Give somebody a role for a data set, or with None for everything; without a role, take theirs away.

    Raises:
        InvalidParameter: the name means something else, or a group cannot have this role.
        NotFound: the caller has nothing to do with that data set.
        NotPermitted: the caller is not its owner.
    """
    require(service, caller, offer, "owner", deed="give roles")
    if person.startswith(GROUP):
        refuse_reserved(person.removeprefix(GROUP))
        if role not in {None, *GROUP_ROLES}:
            hint = "Give it to the people themselves."
            raise InvalidParameter("role", role, f"one of {', '.join(GROUP_ROLES)} for a group", hint)
    else:
        refuse_reserved(person)
    ledger = ledger_of(service.setting)
    if offer is None:
        ledger.grant(person, role, by=caller.name)
    else:
        ledger.grant(person, role, dataset=offer.id, by=caller.name)


def set_member(service: Serving, caller: Caller, person: str, *, group: str, member: bool) -> None:
    """Put somebody into a group, which has accounts of its own, or take them out; for owners of everything."""
    require(service, caller, None, "owner", deed="change groups")
    ledger_of(service.setting).enroll(refuse_reserved(person), group, by=caller.name, member=member)


def people(service: Serving, caller: Caller, offer: Named | None) -> tuple[Person, ...]:
    """Everybody with a role for a data set, or with None with any role or group at all, by name."""
    require(service, caller, offer, "owner", "auditor", deed="see who has which role")
    rules = read_rules(service.setting)
    if offer is None:
        names = {name for _, name in rules.roles} | {name for name, _ in rules.members}
        return tuple(_person(rules, name, None) for name in sorted(names))
    places = places_of(dataset_of(service.setting, offer))
    names = {name for place, name in rules.roles if place in places}
    return tuple(_person(rules, name, places) for name in sorted(names))


def me(service: Serving, caller: Caller) -> dict[str, Any]:
    """What callers are told about themselves: their name, general role, groups and, with one, their token."""
    # The one person at a machine may use a ledger that others own, and has no groups to be told of.
    groups = () if caller.local else read_rules(service.setting).groups_of(caller.name)
    token = caller.token
    return {
        "name": caller.name,
        "local": caller.local,
        "role": "owner" if caller.local else ledger_of(service.setting).role_of(caller.name),
        "groups": sorted({*groups, *caller.groups}),
        "token": None if token is None else {"id": token.id, "scopes": list(token.scopes), "cap": token.cap},
    }


def why(service: Serving, caller: Caller, person: str, *, offer: Named) -> Why:
    """Why somebody may ask about a data set or not: their role and who gave it, what stops them, what bounds them.

    For its owners and auditors, and for the person themselves. What a group of an issuer or a proxy adds is not known
    here: only that group's role is.
    """
    if person != caller.name:
        require(service, caller, offer, "owner", "auditor", deed="see who may ask what")
    else:
        require(service, caller, offer, "owner", "analyst", "reader", "auditor", "program", deed="see this")
    rules, dataset = read_rules(service.setting), dataset_of(service.setting, offer)
    role, told = _role_words(rules, person, dataset, offer.name)
    stops = list(_freezes(service, dataset, offer.name))
    may = role in _ASKING and not stops
    # Who set a limit, and what others may, is for those who see all.
    bounds = _bounds(service, rules, person, dataset) if role in _ASKING else ()
    return Why(may=may, role=role, because=(told, *stops, *bounds))


def person_form(person: Person, *, names: dict[str, str]) -> dict[str, Any]:
    """A person in JSON; `names` has what data sets are called, by id."""
    return {
        "name": person.name,
        "roles": [
            {
                "where": where_words(place, names),
                "role": role,
                "by": made.by,
                "when": made.at.isoformat(timespec="seconds"),
            }
            for place, role, made in person.roles
        ],
        "groups": list(person.groups),
    }


def where_words(place: Place, names: dict[str, str]) -> str:
    """Where a role holds, in a few words."""
    kind, name = place
    if place == EVERYTHING:
        return "everything"
    return f"the data set {names.get(name, name)!r}" if kind == "dataset" else f"all data about the people {name!r}"


def places_of(dataset: Dataset) -> tuple[Place, ...]:
    """Where a role may have been given that holds for a data set; the first goes before the others."""
    return ("dataset", dataset.id), ("population", dataset.population), EVERYTHING


def _person(rules: RulesRead, name: str, places: tuple[Place, ...] | None) -> Person:
    found = [
        (place, role, made)
        for (place, person), (role, made) in rules.roles.items()
        if person == name and (places is None or place in places)
    ]
    return Person(name=name, roles=tuple(sorted(found, key=lambda one: one[0])), groups=rules.groups_of(name))


def _role_words(rules: RulesRead, person: str, dataset: Dataset, title: str) -> tuple[Role | None, str]:
    for place in places_of(dataset):
        if (place, person) in rules.roles:
            role, made = rules.roles[place, person]
            where = where_words(place, {dataset.id: title})
            asks = "may ask" if role in _ASKING else "may not ask"
            return role, (
                f"{person!r} {asks} about {title!r}: {made.by!r} gave them the role {role} for {where} on "
                f"{made.at:%Y-%m-%d %H:%M} UTC."
            )
    return None, f"{person!r} may not ask about {title!r}: nobody gave them a role for it, and without one nobody may."


def _freezes(service: Serving, dataset: Dataset, title: str) -> Iterator[str]:
    for place, words in ((dataset.id, repr(title)), (dataset.population, "its people"), (EVERY, "everything")):
        record = ledger_of(service.setting).records.find(FREEZE, place)
        if record is not None:
            yield f"All questions about {words} are stopped since {record.changed:%Y-%m-%d %H:%M} UTC."


def _bounds(service: Serving, rules: RulesRead, person: str, dataset: Dataset) -> Iterator[str]:
    """The limits that hold for what somebody asks, and their tokens' caps."""
    kinds: list[tuple[Kind, str]] = [("analyst", person), *(("group", group) for group in rules.groups_of(person))]
    for kind, name in (*kinds, ("dataset", dataset.population)):
        account = Account(kind=kind, name=name, entity=dataset.population)
        balance = ledger_of(service.setting).balance(account)
        yield f"{_subject(balance)} may spend {limit_words(balance.limit)}."
    for token in tokens_of(service.setting, person):
        cap = "without a cap of its own" if token.cap is None else f"with a cap of {token.cap} standard releases"
        yield f"Their token {token.id} ({token.label}) asks for them until {token.expires:%Y-%m-%d}, {cap}."


def _subject(balance: Balance) -> str:
    words = whose(balance.account)
    return words[0].upper() + words[1:]
