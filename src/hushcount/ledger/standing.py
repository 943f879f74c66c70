"""Who somebody is: their role, their groups, and so the accounts that their questions are charged to."""

from __future__ import annotations

from hushcount.errors import Frozen, NotPermitted
from hushcount.ledger.accounts import Payer
from hushcount.ledger.ledger import EVERY, OVERSEERS, SERVICE, Role
from hushcount.ledger.names import is_name
from hushcount.ledger.store import Statement, Transaction
from hushcount.model.frozen import frozen

_STANDING = (
    "SELECT 'role', entity, role FROM roles WHERE person = ? AND entity IN (?, ?) "
    "UNION ALL SELECT 'own', dataset, role FROM dataset_roles WHERE person = ? AND dataset = ? "
    "UNION ALL SELECT 'group', '', name FROM members WHERE analyst = ? "
    "UNION ALL SELECT 'freeze', id, '' FROM records WHERE kind = 'freeze' AND id IN (?, ?, ?) ORDER BY 1, 2, 3"
)
# As `standing` chooses: the data set, its population, everything.
_EXPLICIT = (
    "SELECT role FROM (SELECT 1 AS place, role FROM dataset_roles WHERE person = ? AND dataset = ? "
    "UNION ALL SELECT 2, role FROM roles WHERE person = ? AND entity = (SELECT entity FROM datasets WHERE id = ?) "
    "UNION ALL SELECT 3, role FROM roles WHERE person = ? AND entity = ?) AS given ORDER BY place LIMIT 1"
)


@frozen
class Standing:
    """Who a person is before one population or data set.

    Attributes:
        explicit: the role that they were given; None if none.
        groups: the groups they are in.
        frozen: what is frozen that holds here: the data set, its population or everything; None if nothing is.
    """

    explicit: Role | None
    groups: tuple[str, ...]
    frozen: str | None = None

    @property
    def role(self) -> Role:
        """Their role; whoever has none is an analyst."""
        return self.explicit or "analyst"

    @property
    def sees_all(self) -> bool:
        """Whether they may see what others did."""
        return self.role in OVERSEERS


def standing(transaction: Transaction, person: str, entity: str, *, dataset: str | None = None) -> Standing:
    """A person's role and groups. The role for the data set goes before its population's, that before the general.

    Args:
        transaction: an open one.
        person: who.
        entity: the population, or `EVERY`.
        dataset: the data set, where it is about one.
    """
    sql, values = standing_statement(person, entity, dataset)
    found = transaction.fetch(sql, *values)
    roles = {(kind, place): role for kind, place, role in found if kind in {"role", "own"}}
    return Standing(
        explicit=roles.get(("own", dataset)) or roles.get(("role", entity)) or roles.get(("role", EVERY)),
        groups=tuple(name for kind, _, name in found if kind == "group"),
        frozen=next((place for kind, place, _ in found if kind == "freeze"), None),
    )


def standing_statement(person: str, entity: str, dataset: str | None) -> Statement:
    """What `standing` fetches."""
    own = entity if dataset is None else dataset
    return _STANDING, (
        *(person, entity, EVERY),
        *(person, "" if dataset is None else dataset),
        person,
        *(own, entity, EVERY),
    )


def explicit_role(transaction: Transaction, person: str, dataset: str | None) -> Role | None:
    """The role that a person was given for a data set, else for its population, else for all."""
    if not is_name(person, dataset):
        return None
    found = transaction.fetch(_EXPLICIT, person, dataset, person, dataset, person, EVERY)
    return found[0][0] if found else None


def refuse_frozen(place: str | None, *, held: bool = False) -> None:
    """Refuse where a freeze holds; `held` if something is held for the question from before.

    Raises:
        Frozen: it does.
    """
    if place is None:
        return
    what = "about all data" if place == EVERY else f"about {place!r}"
    charged = "What is held for this one is charged when it expires." if held else "Nothing was charged."
    raise Frozen(
        f"all questions {what} are stopped: an owner froze it. What was answered before can still be read; to ask "
        f"again, an owner must lift the freeze. {charged}",
        place=place,
    )


def accounts_of(analyst: str, groups: tuple[str, ...], entity: str, *, token: str | None = None) -> list[Payer]:
    """The accounts that are charged together: the analyst's, their groups', their token's, the data set's."""
    own: list[Payer] = [("analyst", analyst), *(("group", group) for group in groups)]
    if token is not None:
        own.append(("token", token))
    return [*own, ("dataset", entity)]


def owners(transaction: Transaction, entity: str) -> tuple[str, ...]:
    """Whom to ask: people."""
    found = transaction.fetch(
        "SELECT DISTINCT person FROM roles WHERE role = 'owner' AND entity IN (?, ?) AND person <> ? "
        "ORDER BY person LIMIT 5",
        *(entity, EVERY, SERVICE),
    )
    return tuple(person for (person,) in found)


def require(
    transaction: Transaction,
    person: str,
    *,
    entity: str,
    roles: tuple[Role, ...],
    deed: str,
    dataset: str | None = None,
) -> None:
    """Refuse a deed to whoever has none of the roles that allow it, for the population or else for the data set."""
    has = standing(transaction, person, entity, dataset=dataset).role
    if has not in roles:
        whom = ", ".join(owners(transaction, entity)) or "nobody yet"
        raise NotPermitted(
            f"{person!r} may not {deed}: that is for {' and '.join(f'{role}s' for role in roles)}, and their role is "
            f"{has}. Owners here: {whom}."
        )
