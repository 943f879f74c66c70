"""A question about a data set that is served: what was sent, checked against all that is public.

Nothing here reads a value of the data, and nothing is charged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from hushcount.accounting import zcdp
from hushcount.app.estimating import Estimate, estimate_request
from hushcount.app.options import Options
from hushcount.app.payment import make_ask
from hushcount.app.recognising import Sighted, sight, with_facts
from hushcount.app.request import Request, make_request
from hushcount.app.serving.data.offers import Offer
from hushcount.app.setting import Setting
from hushcount.app.words import in_releases
from hushcount.engines.engine import Engine
from hushcount.errors import InvalidParameter, UnsafeFilter
from hushcount.ledger.ledger import Ask
from hushcount.model.amounts import amount
from hushcount.model.budgets import PRESETS, rho_budget
from hushcount.model.conditions import terms_of
from hushcount.model.frozen import frozen
from hushcount.model.queries import Verb

# What a caller may say of a question. Where the data is, who pays and how it is kept are the service's to know.
ASKABLE = frozenset(
    {
        *(
            "text",
            "ngrams",
            "by",
            "timezone",
            "date_format",
            "trim",
            "lower",
            "preset",
            "error",
            "rho",
            "epsilon",
            "delta",
            "where",
            "keys",
        ),
        *("max_items_per_user", "per_item_cap", "k", "counts", "method", "fresh"),
    }
)
# Each is work for a store that others use too; a list of values is one.
_MOST_TERMS = 100


@frozen
class Wanted:
    """One question of one caller about one data set, checked against all that is public.

    Attributes:
        offer: the data set.
        request: the question, with the facts that the catalog declares.
        sighted: the data as it stands: its version, and the data set that the ledger knows it as.
        ask: the question as the ledger wants it, with its worst case.
        estimate: price and expected accuracy.
    """

    offer: Offer
    request: Request
    sighted: Sighted
    ask: Ask
    estimate: Estimate


def read_request(offer: Offer, question: Verb, said: Mapping[str, Any], *, presets: tuple[str, ...]) -> Request:
    """The question that was sent, as a request about this data set; every option that is not known is refused.

    Args:
        offer: the data set: it says who a person is, whatever the caller thinks.
        question: what is asked.
        said: `item`, and options of `ASKABLE`.
        presets: the presets that may be chosen here; the dearest of them bounds every other way to say a price.
    """
    item = said.get("item")
    options = {name: value for name, value in said.items() if name != "item"}
    unknown = sorted(set(options) - ASKABLE)
    if unknown:
        raise InvalidParameter(unknown[0], options[unknown[0]], f"left out; known are {', '.join(sorted(ASKABLE))}")
    if isinstance(options.get("keys"), str):
        raise InvalidParameter("keys", options["keys"], "a list of items", "Files are not read on the server.")
    if options.get("preset", presets[0] if presets else "standard") not in presets:
        raise InvalidParameter("preset", options["preset"], f"one of {', '.join(presets)}")
    request = make_request(question, user=offer.person, item=item, options=cast("Options", options))
    for column in request.selection.item_columns:
        if offer.items is not None and column not in offer.items:
            raise InvalidParameter("item", column, f"one of {', '.join(offer.items)}")
    if request.selection.where is not None and terms_of(request.selection.where) > _MOST_TERMS:
        raise UnsafeFilter(
            f"the filter joins more than {_MOST_TERMS} conditions; write alternatives of one column as a list, as in "
            "country IN ('FR', 'NZ'). Nothing was charged."
        )
    # Nobody said a price: what may be chosen here decides, not the library's own default.
    if not {"preset", "rho", "epsilon"} & set(options) and "standard" not in presets:
        request = replace(request, budget=rho_budget(PRESETS[presets[0]], request.budget.delta))
    return request


def want(request: Request, offer: Offer, engine: Engine, *, setting: Setting) -> Wanted:
    """Hold a question against the columns, the version and the catalog, and price it. Nothing is charged."""
    engine.validate(request.selection)
    sighted = sight(engine, setting, offer.name)
    dataset = sighted.dataset
    if dataset is None or setting.ledger is None:  # pragma: no cover (the service registered the name in its ledger)
        raise LookupError(offer.name)
    request = with_facts(request, dataset)
    estimate = estimate_request(request, setting.ledger.order)
    ask = make_ask(estimate.planned, dataset, version=sighted.version, by=setting.analyst, key="a price")
    return Wanted(offer=offer, request=request, sighted=sighted, ask=ask, estimate=estimate)


def refuse_dear(wanted: Wanted, presets: tuple[str, ...]) -> None:
    """Refuse a question that costs more than the dearest preset that may be chosen here."""
    most = max((amount("rho", PRESETS[name]) for name in presets), default=None)
    rho = zcdp.spent(wanted.estimate.cost).rho
    if most is not None and rho > most:
        raise InvalidParameter(
            "price",
            f"{in_releases(zcdp.spent(wanted.estimate.cost)):.3g} standard releases",
            "less",
            f"Here a question may cost what one of the presets {', '.join(presets)} does.",
        )
