"""Callers: who is on the line, which role they have for some data, and what is refused to whom.

Whoever has no role sees nothing: to them what they may not see and what is not there look the same.
"""

from __future__ import annotations

from typing import Protocol

from hushcount.app.serving.callers.tokens import Scope, Token, ledger_of
from hushcount.app.setting import Setting
from hushcount.errors import NotFound, NotPermitted
from hushcount.ledger.ledger import Role
from hushcount.model.frozen import frozen

# A role may be given to everybody in a group that an issuer or a proxy names: to this and the group's name.
GROUP = "group:"
# Roles that a group may have. Those that the ledger itself asks for by name are given to people.
GROUP_ROLES: tuple[Role, ...] = ("analyst", "reader")
# What the holder of a role is at most, when a token narrows them.
_NARROWED: dict[Scope, dict[Role, Role]] = {
    "manage": {role: role for role in ("owner", "analyst", "auditor", "reader", "program")},
    "ask": {"owner": "analyst", "analyst": "analyst", "reader": "reader"},
    "read": {"owner": "reader", "analyst": "reader", "reader": "reader", "auditor": "auditor"},
    "program": {"owner": "program", "program": "program"},
}
_STRONGEST: tuple[Role, ...] = ("owner", "auditor", "analyst", "program", "reader")


@frozen
class Caller:
    """Who is on the line.

    Attributes:
        name: the person; what they spend is charged to this name.
        token: the token by which they signed in; None if they did otherwise.
        local: whether they sit at the machine of a service for one person, who owns everything.
        groups: the groups that an issuer or a proxy said they are in.
    """

    name: str
    token: Token | None = None
    local: bool = False
    groups: tuple[str, ...] = ()


class Serving(Protocol):
    """What is needed of a service to tell roles."""

    @property
    def setting(self) -> Setting:
        """Its secret and its ledger."""


class Offered(Protocol):
    """What is needed of a data set that is served."""

    @property
    def id(self) -> str:
        """The id in the catalog."""


def role_on(service: Serving, caller: Caller, offer: Offered | None) -> Role | None:
    """The role of a caller for a data set, or with None for the ledger as a whole; None for nobody."""
    found = roles_on(service, caller, offer)
    return next((role for role in _STRONGEST if role in found), None)


def roles_on(service: Serving, caller: Caller, offer: Offered | None) -> frozenset[Role]:
    """Every role in which a caller may act: one, or with a token as many as its scopes allow."""
    if caller.local:
        return frozenset(("owner",))
    role = _given_role(service, caller, None if offer is None else offer.id)
    token = caller.token
    if role is None or token is None:
        return frozenset() if role is None else frozenset((role,))
    if token.datasets is not None and (offer is None or offer.id not in token.datasets):
        return frozenset()
    return frozenset(_NARROWED[scope][role] for scope in token.scopes if role in _NARROWED[scope])


def require(service: Serving, caller: Caller, offer: Offered | None, *roles: Role, deed: str) -> Role:
    """The role in which a caller may do this.

    Args:
        service: the service.
        caller: who wants to.
        offer: the data set; None for what concerns the whole ledger.
        roles: those who may; the first that the caller has is returned.
        deed: what they want, for the refusal.

    Raises:
        NotFound: they have no role here at all, so it is as if there was nothing.
        NotPermitted: they have another role.
    """
    found = roles_on(service, caller, offer)
    if not found:
        raise NotFound("there is no such thing here, or it is not shared with you. Nothing was charged.")
    for role in roles:
        if role in found:
            return role
    through = "" if caller.token is None else f" through the token {caller.token.id}"
    raise NotPermitted(
        f"{caller.name!r} may not {deed}: that is for {' and '.join(f'{role}s' for role in roles)}, and their role "
        f"here is {' and '.join(sorted(found))}{through}. Nothing was charged."
    )


def require_self(caller: Caller, *, deed: str) -> None:
    """Refuse what is for the person themselves to whoever has only a narrowed token of theirs."""
    if caller.token is not None and not caller.token.whole:
        raise NotPermitted(
            f"a narrowed token may not {deed}: sign in as yourself, or with a token of the scope 'manage' without data "
            "sets and cap. Nothing was changed."
        )


def reaches(caller: Caller, dataset: str) -> bool:
    """Whether the caller's token, if they have one, is for this data set: it sees no more of what is one's own."""
    return caller.token is None or caller.token.datasets is None or dataset in caller.token.datasets


def require_asking(caller: Caller, *, deed: str) -> None:
    """Refuse to change what is one's own with a token that only reads or only keeps count."""
    if caller.token is not None and not {"ask", "manage"} & set(caller.token.scopes):
        raise NotPermitted(
            f"a token of the scope {' and '.join(caller.token.scopes)} may not {deed}: that needs the scope 'ask'. "
            "Nothing was changed."
        )


def _given_role(service: Serving, caller: Caller, dataset: str | None) -> Role | None:
    """The role that was given to the person, or else the strongest that was given to a group of theirs."""
    ledger = ledger_of(service.setting)
    own = ledger.role_of(caller.name, dataset=dataset)
    if own is not None:
        return own
    found = {ledger.role_of(f"{GROUP}{group}", dataset=dataset) for group in caller.groups}
    return next((role for role in GROUP_ROLES if role in found), None)
