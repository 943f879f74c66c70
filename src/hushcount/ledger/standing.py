"""Who somebody is: their role, their groups, and so the accounts that their questions are charged to."""

from __future__ import annotations

from dataclasses import dataclass

from hushcount.errors import NotPermitted
from hushcount.ledger.accounts import Payer
from hushcount.ledger.ledger import EVERY, Role
from hushcount.ledger.store import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A person's role for one data set and the groups they are in."""

    role: Role
    groups: tuple[str, ...]


def standing(transaction: Transaction, person: str, entity: str) -> Standing:
    """A person's role and groups. The role for this data set goes before the general one; without any: analyst."""
    found = transaction.fetch(
        "SELECT 'role', entity, role FROM roles WHERE person = ? AND entity IN (?, ?) "
        "UNION ALL SELECT 'group', '', name FROM members WHERE analyst = ? ORDER BY 1, 2, 3",
        person,
        entity,
        EVERY,
        person,
    )
    roles = {place: role for kind, place, role in found if kind == "role"}
    groups = tuple(name for kind, _, name in found if kind == "group")
    return Standing(role=roles.get(entity) or roles.get(EVERY) or "analyst", groups=groups)


def accounts_of(analyst: str, groups: tuple[str, ...], entity: str) -> list[Payer]:
    """The accounts that are charged together: the analyst's, their groups', the data set's."""
    return [("analyst", analyst), *(("group", group) for group in groups), ("dataset", entity)]


def owners(transaction: Transaction, entity: str) -> tuple[str, ...]:
    """Whom to ask."""
    found = transaction.fetch(
        "SELECT DISTINCT person FROM roles WHERE role = 'owner' AND entity IN (?, ?) ORDER BY person LIMIT 5",
        entity,
        EVERY,
    )
    return tuple(person for (person,) in found)


def require(transaction: Transaction, person: str, *, entity: str, roles: tuple[Role, ...], deed: str) -> None:
    """Refuse a deed to whoever has none of the roles that allow it."""
    has = standing(transaction, person, entity).role
    if has not in roles:
        whom = ", ".join(owners(transaction, entity)) or "nobody yet"
        raise NotPermitted(
            f"{person!r} may not {deed}: that is for {' and '.join(f'{role}s' for role in roles)}, and their role is "
            f"{has}. Owners here: {whom}."
        )
