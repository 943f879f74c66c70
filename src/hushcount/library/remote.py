"""The questions asked of a service: the same verbs, and answers of the same kind as from data at hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Unpack

import numpy as np

import hushcount_client
from hushcount import errors
from hushcount.app.receipt import Receipt
from hushcount.app.release import Release
from hushcount.model.amounts import Number
from hushcount.model.budgets import STANDARD
from hushcount.model.costs import Cost
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Int64s
from hushcount.model.queries import Verb
from hushcount.model.tuples import join
from hushcount_client import Estimate, Options
from hushcount_client import Release as LightRelease

# Problems of a service that have a name here; their text, and so whether anything was charged, is the service's.
_OURS: dict[str, type[errors.HushcountError]] = {
    "unsafe-filter": errors.UnsafeFilter,
    "not-permitted": errors.NotPermitted,
    "key-reused": errors.KeyReused,
    "reservation-closed": errors.ReservationClosed,
    "ledger-unavailable": errors.LedgerUnavailable,
    **dict.fromkeys(
        ("unreachable", "not-understood", "not-trusted", "redirected", "store-failed", "store-incomplete"),
        errors.UnreadableSource,
    ),
    **dict.fromkeys(("store-timeout", "busy", "still-running"), errors.UnreadableSource),
}


def connect(url: str, token: str | Path | None = None) -> Connection:
    """A service to ask. Nothing is sent yet.

    Args:
        url: its address, as https://counts.example.org.
        token: the token, or the path of a file that holds it; left out, HUSHCOUNT_TOKEN or HUSHCOUNT_TOKEN_FILE.
    """
    with _as_ours():
        return Connection(client=hushcount_client.connect(url, token))


@frozen
class Connection:
    """A service, and who asks it. `count`, `top` and `vocab` cost something; nothing else does.

    Every error is one of `hushcount.errors`; what the service said in full is its `__cause__`, with `code`, `charged`
    and `would_fit`.

    Attributes:
        client: the light client, which needs nothing but the standard library.
    """

    client: hushcount_client.Connection

    def count(self, dataset: str, *, item: str | Sequence[str] | None = None, **options: Unpack[Options]) -> Release:
        """How many people have each item. See `hushcount_client.Options` for everything that can be said."""
        return ask(self, "count", dataset, item=item, options=options)[0]

    def top(self, dataset: str, *, item: str | Sequence[str] | None = None, **options: Unpack[Options]) -> Release:
        """The k items that most people have; `k` must be given."""
        return ask(self, "top", dataset, item=item, options=options)[0]

    def vocab(self, dataset: str, *, item: str | Sequence[str] | None = None, **options: Unpack[Options]) -> Release:
        """Which items may be named at all, without counts."""
        return ask(self, "vocab", dataset, item=item, options=options)[0]

    def people(self, dataset: str, **options: Unpack[Options]) -> Release:
        """How many people there are in all; `by` and `keys` for how many in each group of a public list."""
        return ask(self, "people", dataset, item=None, options=options)[0]

    def estimate(
        self,
        dataset: str,
        *,
        item: str | Sequence[str] | None = None,
        question: Verb = "count",
        **options: Unpack[Options],
    ) -> Estimate:
        """What a question would cost at most and how accurate its answer would be. Free; the data is not read."""
        with _as_ours():
            return self.client.estimate(dataset, item=item, question=question, **options)

    def rehearse(
        self,
        dataset: str,
        *,
        item: str | Sequence[str] | None = None,
        question: Verb = "count",
        **options: Unpack[Options],
    ) -> LightRelease:
        """The question answered on an invented table that looks like the data. Free.

        It is no `Release` of this library, so that nothing that is made up can be taken for an answer: its tables have
        a column that says so.
        """
        with _as_ours():
            return self.client.rehearse(dataset, item=item, question=question, **options)

    def release(self, release_id: str) -> Release:
        """A release that was made before. Free."""
        with _as_ours():
            return make_release(self.client.release(release_id))

    def budget(self, dataset: str) -> dict[str, Any]:
        """What is left for a data set, when it is renewed, and what was spent."""
        with _as_ours():
            return self.client.budget(dataset)

    def datasets(self) -> list[dict[str, Any]]:
        """The data sets that may be asked."""
        with _as_ours():
            return self.client.datasets()

    def history(self, most: int = 100) -> list[dict[str, Any]]:
        """The last questions, newest first, at most so many."""
        with _as_ours():
            return self.client.history(most)

    def ask_for_more(
        self, dataset: str, *, releases: Number, why: str, until: date | str | None = None
    ) -> dict[str, Any]:
        """Ask the owners for more: how many standard releases, why, and until when."""
        with _as_ours():
            return self.client.ask_for_more(dataset, releases=str(releases), why=why, until=until)

    def cancel(self, query_id: str) -> dict[str, Any]:
        """Cancel a running question; the reply says whether that was free."""
        with _as_ours():
            return self.client.cancel(query_id)


def make_key() -> str:
    """A name for an attempt that nobody used before."""
    return hushcount_client.new_key()


def ask(
    connection: Connection, question: Verb, dataset: str, *, item: str | Sequence[str] | None, options: Options
) -> tuple[Release, Mapping[str, Any] | None]:
    """Answer a question; also what is left afterwards, None where the service does not say."""
    with _as_ours():
        of = {} if question == "people" else {"item": item}
        light = getattr(connection.client, question)(dataset, **of, **options)
        return make_release(light), light.left


def make_release(light: LightRelease) -> Release:
    """The library's release from the light client's: the same rows and the same receipt.

    Raises:
        hushcount_client.NotUnderstood: the receipt is not of a version that this one reads.
    """
    try:
        receipt = _receipt(light.receipt)
        columns = light.numbers()
        low, high = _numbers(columns, "low", light), _numbers(columns, "high", light)
        return Release(
            items=np.array([one.item if isinstance(one.item, str) else join(one.item) for one in light.rows], object),
            counts=_numbers(columns, "count", light),
            low=low,
            high=high,
            cutoff=light.cutoff,
            cost=Cost.from_json(receipt.cost),
            receipt=receipt,
            enforced=light.enforced,
            notes=light.notes,
            free=light.cost.get("repeated") is True and not light.cost.get("releases"),
        )
    except (errors.UnsupportedCost, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        said = hushcount_client.Said(
            code="not-understood",
            title="The release came, but this version cannot read its receipt",
            detail=f"It is kept at the server as {light.id!r}; a newer hushcount, or hushcount_client, reads it.",
        )
        raise hushcount_client.NotUnderstood(said) from error


def _receipt(form: Mapping[str, Any]) -> Receipt:
    """The receipt that a service sent."""
    receipt = Receipt.from_form(form)
    # It becomes the name of a file where receipts are kept.
    if not (isinstance(receipt.id, str) and receipt.id.isascii() and receipt.id.isalnum()):
        raise ValueError("no id of a receipt")
    return receipt


def _numbers(columns: Mapping[str, list[int]], name: str, light: LightRelease) -> Int64s | None:
    if name in columns:
        return np.array(columns[name], dtype=np.int64)
    # Without any row nothing else tells whether there would have been counts.
    return np.array([], dtype=np.int64) if not len(light) and light.receipt.get("question") == "count" else None


@contextmanager
def _as_ours() -> Iterator[None]:
    """Raise what the light client raises as an error of this library, with all that the service said as its cause."""
    try:
        yield
    except hushcount_client.ServiceError as error:
        raise _ours(error) from error


def _ours(error: hushcount_client.ServiceError) -> errors.HushcountError:
    made: errors.HushcountError
    if isinstance(error, hushcount_client.BudgetExhausted):
        made = errors.BudgetExhausted(
            error.title,
            asked=_rho(error.members.get("asked")),
            left=_rho(error.members.get("left")),
            refusal=error.members,
            text=str(error),
        )
    else:
        made = _OURS.get(error.code, errors.HushcountError)(str(error))
    for note in getattr(error, "__notes__", ()):
        made.add_note(note)
    return made


def _rho(amount: object) -> Decimal:
    """An amount that a service told in standard releases, in the ledger's currency."""
    try:
        return Decimal(str(amount["releases"])) * STANDARD.rho if isinstance(amount, dict) else Decimal(0)
    except (LookupError, InvalidOperation):
        return Decimal(0)
