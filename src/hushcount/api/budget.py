"""The budget as a service: other programs spend from the same accounts."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response

from hushcount.api import bodies
from hushcount.api.answers import answer
from hushcount.api.parameters import Held, Key, require_key
from hushcount.api.routes import said, signed_router, with_body
from hushcount.api.work import caller_of, light, service_of
from hushcount.app.serving import budgeting
from hushcount.app.serving.budgeting import Spending

router = signed_router("budget")
_OF_SPENDING = ("not-permitted", "not-found", "budget-exhausted", "frozen", "key-reused", "reservation-closed")


@router.get("/budget", **said("The caller's account.", "not-permitted", "not-found"))
async def balance(request: Request, dataset: Annotated[str, Query(min_length=1, max_length=200)]) -> Response:
    """What is left for the caller on a data set: LinkedIn's `getBudget`."""
    request.state.dataset = dataset
    return answer(await light(request, budgeting.balance, service_of(request), caller_of(request), dataset))


@router.post("/budget/check", **said("Whether it fits.", *with_body("not-permitted", "not-found")))
async def check(request: Request, body: bodies.Spending) -> Response:
    """Whether a cost would fit now; binds nothing: LinkedIn's `checkBudget`."""
    return answer(await light(request, budgeting.check, service_of(request), caller_of(request), _wish(request, body)))


@router.post("/budget/reservations", **said("The reservation.", *with_body(*_OF_SPENDING), status=201))
async def reserve(request: Request, body: bodies.Spending, key: Key = None) -> Response:
    """Hold a worst case before data is read. The same key gives the same reservation again."""
    named, wish = require_key(key), _wish(request, body)
    form = await light(request, budgeting.reserve, service_of(request), caller_of(request), wish, key=named)
    return answer(form, status=201, headers={"Location": f"/v1/budget/reservations/{form['id']}"})


@router.post("/budget/reservations/{reservation}/settle", **said("What was charged.", *with_body(*_OF_SPENDING)))
async def settle(request: Request, reservation: Held, body: bodies.Settlement) -> Response:
    """Charge what was used, and give back the rest."""
    service, caller = service_of(request), caller_of(request)
    return answer(await light(request, budgeting.settle, service, caller, reservation, said=_cost(body.cost)))


@router.delete("/budget/reservations/{reservation}", **said("It is free again.", "not-found", "reservation-closed"))
async def give_back(request: Request, reservation: Held) -> Response:
    """Free a reservation for which nothing was read."""
    await light(request, budgeting.give_back, service_of(request), caller_of(request), reservation)
    return answer({"id": reservation, "detail": "What was not settled is free again; what was settled stays charged."})


@router.post("/budget/update", **said("What was charged.", *with_body(*_OF_SPENDING)))
async def update(request: Request, body: bodies.Spending, key: Key = None) -> Response:
    """Reserve and settle in one step, refused if it does not fit: LinkedIn's `updateBudget`, made safe."""
    named, wish = require_key(key), _wish(request, body)
    return answer(await light(request, budgeting.update, service_of(request), caller_of(request), wish, key=named))


def _wish(request: Request, body: bodies.Spending) -> Spending:
    request.state.dataset = body.dataset
    return Spending(
        dataset=body.dataset,
        analyst=body.analyst,
        rho=body.cost.rho,
        delta=body.cost.delta,
        what=body.what,
        lifetime=body.lifetime,
    )


def _cost(cost: bodies.Cost) -> dict[str, str]:
    return {"rho": cost.rho, "delta": cost.delta}
