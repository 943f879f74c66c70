"""Limits, roles and groups over a SQL database: each change is one transaction on the book of rules."""

from __future__ import annotations

from decimal import Decimal

from hushcount.errors import Outdated
from hushcount.ledger import policy
from hushcount.ledger.book import rule_book
from hushcount.ledger.ledger import EVERY, Account, Role
from hushcount.ledger.limits import Limit
from hushcount.ledger.orders import lower_order, order_of
from hushcount.ledger.standing import explicit_role
from hushcount.ledger.store import Database, Transaction, run


class SqlRules:
    """The rules of a ledger in a database; implements `Rules`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._order: Decimal | None = None

    def set_limit(self, account: Account, limit: Limit | None, *, by: str, after: int | None = None) -> None:
        """See `Rules.set_limit`."""

        def verb(transaction: Transaction) -> None:
            book = rule_book(transaction)
            if after not in {None, book.seq}:
                raise Outdated("limit", str(account), edition=after or 0, present=book.seq)
            policy.set_limit(book, account, limit=limit, by=by)

        run(self._database, verb)

    @property
    def order(self) -> Decimal:
        """See `Rules.order`. Read once: orders become fewer or stay, and to take them for more is safe."""
        if self._order is None:
            with self._database.glancing() as transaction:
                self._order = order_of(transaction)
        return self._order

    def lower_order(self, order: Decimal, *, by: str) -> None:
        """See `Rules.lower_order`."""
        run(self._database, lambda open_: lower_order(rule_book(open_), order, by=by))
        self._order = order

    def grant(
        self, person: str, role: Role | None, *, entity: str = EVERY, dataset: str | None = None, by: str
    ) -> None:
        """See `Rules.grant`."""
        if dataset is None:
            run(self._database, lambda open_: policy.grant(rule_book(open_), person, role=role, entity=entity, by=by))
            return
        run(
            self._database,
            lambda open_: policy.grant_for_dataset(rule_book(open_), person, role=role, dataset=dataset, by=by),
        )

    def role_of(self, person: str, *, dataset: str | None = None) -> Role | None:
        """See `Rules.role_of`."""
        with self._database.glancing() as transaction:
            return explicit_role(transaction, person, dataset)

    def enroll(self, analyst: str, group: str, *, by: str, member: bool = True) -> None:
        """See `Rules.enroll`."""
        run(self._database, lambda open_: policy.enroll(rule_book(open_), analyst, group=group, by=by, member=member))
