"""The Python surface: `count`, `top`, `vocab` and `estimate`, each a function of a source, the person and the item."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from hushcount.accounting import zcdp
from hushcount.app.answer import answer
from hushcount.app.planning import Planned, expect, make_plan
from hushcount.app.purse import Purse, open_purse
from hushcount.app.receipt import best_epsilon
from hushcount.app.release import Release
from hushcount.app.request import Options, Question, Request, make_request
from hushcount.app.wiring import open_engine
from hushcount.model.costs import Cost
from hushcount.model.expectations import Expectation


def count(source: object, *, user: str, item: str | None = None, **options: Unpack[Options]) -> Release:
    """How many people have each item. See `Options` for everything that can be said."""
    return _ask("count", source, user, item, options)


def top(source: object, *, user: str, item: str | None = None, **options: Unpack[Options]) -> Release:
    """The k items that most people have; `k` must be given."""
    return _ask("top", source, user, item, options)


def vocab(source: object, *, user: str, item: str | None = None, **options: Unpack[Options]) -> Release:
    """Which items may be named at all, without counts."""
    return _ask("vocab", source, user, item, options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Price and expected accuracy of a question, from public facts alone: no data was read."""

    planned: Planned
    cost: Cost
    rho: float
    delta: float
    epsilon: float
    expectation: Expectation


def estimate(
    source: object = None,  # noqa: ARG001  the same call as the question itself; the data is not touched
    *,
    user: str,
    item: str | None = None,
    question: Question = "count",
    **options: Unpack[Options],
) -> Estimate:
    """What a question would cost at most and how accurate its answer would be. The source is not opened."""
    return estimate_request(make_request(question, user=user, item=item, options=options))


def estimate_request(request: Request) -> Estimate:
    """As `estimate`, for a request that was made before."""
    planned = make_plan(request)
    spent = zcdp.spent(planned.plan.cost)
    total = 2 * float(spent.delta) or 1e-6
    return Estimate(
        planned=planned,
        cost=planned.plan.cost,
        rho=float(spent.rho),
        delta=float(spent.delta),
        epsilon=best_epsilon(planned.plan.cost, total),
        expectation=expect(planned),
    )


def _ask(question: Question, source: object, user: str, item: str | None, options: Options) -> Release:
    request = make_request(question, user=user, item=item, options=options)
    engine = open_engine(source, options.get("engine"), table=options.get("table"), master=options.get("master"))
    return answer(request, engine, _purse(source, options))


def _purse(source: object, options: Options) -> Purse | None:
    ledger = options.get("ledger")
    if ledger is False:
        return None
    return open_purse(
        source,
        ledger=ledger or None,
        dataset=options.get("dataset") or _table_name(source, options.get("table")),
        analyst=options.get("analyst"),
        key=options.get("key"),
    )


def _table_name(source: object, table: str | None) -> str | None:
    """A table of a session or a connection is known by its name: the object that holds it comes and goes."""
    if table is None or isinstance(source, str | Path):
        return None
    return f"the table {table} of a {type(source).__name__}"
