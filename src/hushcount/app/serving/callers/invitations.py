"""Invitations: links that make one person an owner, or give them another role or only a token, once.

A service starts with nobody: the first who calls never becomes its owner. `hushcount serve --init NAME` prints a link;
whoever opens it gets the role under that name, and a first token. The secret is behind the link's '#', which browsers
do not send, so that it is in no log.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from hushcount.app.serving.callers import passes
from hushcount.app.serving.callers.callers import GROUP
from hushcount.app.serving.callers.tokens import NewToken, WantedToken, ledger_of, make_token
from hushcount.app.setting import Setting
from hushcount.errors import InvalidParameter, NotSignedIn, Outdated
from hushcount.ledger.ledger import EVERY, ROLES, SERVICE, Role
from hushcount.ledger.names import named
from hushcount.model.frozen import frozen

PREFIX = "hushinvite_"
KIND, LETTER = "invitation", "i"
LIFE = timedelta(days=1)
_REFUSED = (
    "this invitation is not known, was used, or has ended. Ask whoever sent it for a new one; the first of all is made "
    "where the service runs. Nothing was changed."
)


@frozen
class Invitation:
    """An invitation with its text, which is shown this once.

    Attributes:
        id: its name in the log.
        person: the name that it is for.
        role: what they become; None if they only get a token.
        expires: when it ends.
        text: what proves it.
    """

    id: str
    person: str
    role: Role | None
    expires: datetime
    text: passes.Pass

    def link(self, base: str) -> str:
        """What to open in a browser."""
        return f"{base}/welcome#{self.text.text}"


def invite(setting: Setting, key: bytes, *, person: str, role: Role | None = "owner", by: str) -> Invitation:
    """Invite somebody to have a role for everything, or with None to sign in with the roles that they have.

    Whoever may run the service may, and owners of everything.
    """
    if role is not None and role not in ROLES:
        raise InvalidParameter("role", role, f"one of {', '.join(ROLES)}")
    refuse_reserved(person)
    new = passes.new_pass(PREFIX, LETTER)
    ends = setting.clock() + LIFE
    body = {
        "digest": passes.digest(key, new.text),
        "person": person,
        "role": role,
        "expires": ends.isoformat(),
        "used": None,
    }
    ledger_of(setting).records.put(KIND, new.id, body, owner=person, by=by, edition=0)
    return Invitation(id=new.id, person=person, role=role, expires=ends, text=new)


def accept(setting: Setting, key: bytes, text: str) -> NewToken:
    """Give the invited person their role and a first token of the scope 'manage'. Works once.

    Raises:
        NotSignedIn: it is not known, was used, or has ended; which, is not told.
    """
    ledger = ledger_of(setting)
    name = passes.id_of(text, PREFIX, LETTER)
    record = None if name is None else ledger.records.find(KIND, name)
    if not passes.matches(key, text, kept=None if record is None else record.body["digest"]) or record is None:
        raise NotSignedIn(_REFUSED)
    body, now = record.body, setting.clock()
    if body["used"] is not None or datetime.fromisoformat(body["expires"]) <= now:
        raise NotSignedIn(_REFUSED)
    try:
        # Used before it has any effect: of two who come at once, one gets it.
        ledger.records.put(
            KIND,
            record.id,
            {**body, "used": now.isoformat()},
            owner=record.owner,
            by=body["person"],
            edition=record.edition,
        )
    except Outdated:
        raise NotSignedIn(_REFUSED) from None
    if body["role"] is not None:
        ledger.grant(body["person"], body["role"], entity=EVERY, by=setting.analyst)
    return make_token(
        setting, key, owner=body["person"], wanted=WantedToken(label="from an invitation", scopes=("manage", "ask"))
    )


def refuse_reserved(name: str) -> str:
    """A name that a person may have here: printable, and none of those that mean something else.

    Raises:
        InvalidParameter: the service's own name, or one that looks like a group.
    """
    if named("name", name) == SERVICE or name.startswith(GROUP):
        raise InvalidParameter("name", name, f"other than {SERVICE!r} and not begin with {GROUP!r}")
    return name
