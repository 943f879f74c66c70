"""Every problem of the interface can be met, and is told as the design says: status, code, whether it was charged."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from hushcount.api import me
from hushcount.api.problems import STATUS
from hushcount.app.serving.jobs import answering
from hushcount.app.serving.problems import CODES, problem_of
from hushcount.errors import (
    BudgetExhausted,
    LedgerUnavailable,
    Outdated,
    OverMaxCost,
    StoreFailed,
    StoreIncomplete,
    StoreTimeout,
    UnreadableSource,
)
from tests.api.served import CANARY, TOP, released

WISH = {"dataset": "events", "cost": {"rho": "0.01"}}


# Whether a bug was charged is not known; what was used beyond what was held stays charged.
CHARGED = {"internal": None, "reservation-closed": True}


def failing(error):
    """A function that fails in one way."""

    def fail(*given, **named):
        raise error

    return fail


def reservation_closed(stage, patched):
    """A reservation that ended is changed no more."""
    made = stage.program.post("/v1/budget/reservations", WISH, Idempotency_Key="n1").form["id"]
    overrun = stage.program.post(f"/v1/budget/reservations/{made}/settle", {"cost": {"rho": "0.02"}})
    assert (overrun.code, overrun.form["charged"]) == ("reservation-closed", True)
    return overrun


def data_changed(stage, patched):
    """Two owners decide at once."""
    name = stage.analyst.post("/v1/requests", {"dataset": "events", "releases": 1, "why": "why"}).form["id"]
    error = Outdated("wish", name, edition=1, present=2)
    patched.setattr(type(stage.service.ledger.records), "put", failing(error))
    return stage.owner.post(f"/v1/requests/{name}/decision", {"grant": False, "sentence": "no"})


def cancelled(stage, patched):
    """A key whose question was cancelled before it ran."""
    from hushcount.errors import Cancelled

    patched.setattr(answering, "answer", failing(Cancelled("it was stopped. Nothing was charged.")))
    return released(stage.analyst)


def store_failed(stage, patched):
    """The data is gone."""
    (Path(stage.service.config.stores[0].place) / "events.csv").unlink()
    return stage.analyst.post("/v1/queries", TOP)


def key_reused(stage, patched):
    """A key comes back with another question."""
    released(stage.analyst)
    return released(stage.analyst, {**TOP, "k": 1})


def busy(stage, patched):
    """The server is about to stop."""
    patched.setattr(type(stage.service.runner), "leaving", property(lambda _: True))
    assert stage.analyst.post("/v1/queries", TOP).status == 200
    assert stage.anybody.get("/readyz").code == "busy"
    return released(stage.analyst)


def too_many_requests(stage, patched):
    """Somebody guesses tokens."""
    replies = [stage.anybody.get("/v1/me", Authorization="Bearer hush_guess") for _ in range(21)]
    return replies[-1]


def of_runner(error):
    """A question that fails while it runs."""

    def fail(stage, patched):
        patched.setattr(answering, "answer", failing(error))
        return released(stage.analyst)

    return fail


def of_ledger(stage, patched):
    """The ledger is gone."""
    patched.setattr(type(stage.service.ledger.records), "find", failing(LedgerUnavailable("gone")))
    return stage.analyst.get("/v1/me")


def internal(stage, patched):
    """A bug."""
    patched.setattr(me, "_me", failing(ZeroDivisionError()))
    return stage.analyst.get("/v1/me")


def frozen(stage, patched):
    """An owner stopped everything."""
    stage.owner.post("/v1/freeze", {"frozen": True, "why": "an incident"})
    return released(stage.analyst)


def budget_exhausted(stage, patched):
    """A small limit."""
    stage.owner.put("/v1/limits", {"dataset": "events", "releases": "0.1"})
    return released(stage.analyst)


MET = {
    "invalid-parameter": lambda stage, _: stage.analyst.post("/v1/queries", {**TOP, "k": 0}),
    "unknown-column": lambda stage, _: stage.analyst.post("/v1/queries", {**TOP, "item": "artcle"}),
    "unknown-option": lambda stage, _: stage.analyst.post("/v1/queries", {**TOP, "sql": "select"}),
    "unsafe-filter": lambda stage, _: stage.analyst.post("/v1/queries", {**TOP, "where": "sleep(1) = 1"}),
    "not-signed-in": lambda stage, _: stage.anybody.get("/v1/me"),
    "not-permitted": lambda stage, _: released(stage.reader),
    "budget-exhausted": budget_exhausted,
    "over-max-cost": lambda stage, _: released(stage.analyst, {**TOP, "max_cost": {"releases": "0.01"}}),
    "frozen": frozen,
    "not-found": lambda stage, _: stage.analyst.get("/v1/datasets/hidden"),
    "reservation-closed": reservation_closed,
    "data-changed": data_changed,
    "no-such-format": lambda stage, _: stage.analyst.get(
        f"/v1/releases/{released(stage.analyst).form['release']['id']}.xls"
    ),
    "body-too-large": lambda stage, _: stage.analyst.request("POST", "/v1/queries", b" " * 2_000_000),
    "not-json": lambda stage, _: stage.analyst.request("POST", "/v1/queries", b"x", headers={"Content-Type": "text/x"}),
    "key-reused": key_reused,
    "too-many-requests": too_many_requests,
    "store-failed": store_failed,
    "store-incomplete": of_runner(StoreIncomplete("a part")),
    "store-timeout": of_runner(StoreTimeout("late")),
    "ledger-unavailable": of_ledger,
    "busy": busy,
    "cancelled": cancelled,
    "internal": internal,
}


def test_all_codes_are_in_the_table():
    """So that a new one is met here too."""
    assert set(MET) == set(CODES)


@pytest.mark.parametrize("code", MET)
def test_each_problem_is_met_and_told_whole(fresh, monkeypatch, code):
    """By a request that a caller can make, or a failure that can happen."""
    with monkeypatch.context() as patched:
        reply = MET[code](fresh, patched)
    assert (reply.status, reply.code) == (STATUS[code], code), reply.body
    form = reply.form
    assert form["status"] == reply.status
    assert form["type"] == f"/problems/{code}"
    assert form["title"]
    assert form["detail"]
    assert form["request_id"] == reply.headers["request-id"]
    assert form["charged"] is CHARGED.get(code, False)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OverMaxCost("rho", asked=Decimal("0.1"), most=Decimal("0.05")), "1 standard release, and at most 0.5 was"),
        (OverMaxCost("delta", asked=Decimal("2e-6"), most=Decimal("1e-6")), "2 standard releases, and at most 1 was"),
        (OverMaxCost("standard releases", asked=Decimal(2), most=Decimal(1)), "standard releases = 2"),
        (BudgetExhausted("rho of analyst 'max'", asked=Decimal("0.1"), left=Decimal(0)), "does not fit into what is"),
    ],
)
def test_no_problem_speaks_of_the_ledgers_own_amounts(error, words):
    """What does not fit, or is dearer than was allowed, is told in standard releases, whoever found it out."""
    detail = problem_of(error).detail

    assert words in detail
    assert not any(strange in detail for strange in ("rho", "delta", "max'"))
    assert detail.count("Nothing was charged.") == 1


@pytest.mark.parametrize("error", [StoreFailed, StoreIncomplete, StoreTimeout, UnreadableSource])
@pytest.mark.parametrize("told", [True, None])
def test_nothing_of_a_store_is_shown_once_data_may_have_been_read(fresh, monkeypatch, caplog, error, told):
    """Neither where the question is paid for nor where the ledger does not tell; the log has its code, and no more."""
    caplog.set_level("DEBUG")
    monkeypatch.setattr("hushcount.app.answer.bounded_input", failing(error(CANARY)))
    if told is None:
        monkeypatch.setattr(answering, "held_for", lambda *_: None)
    reply = released(fresh.analyst)

    assert reply.form["charged"] is told
    assert CANARY not in reply.body.decode()
    assert CANARY not in caplog.text
    assert "is shown to nobody" in reply.form["detail"]
    logged = {(one.request_id, one.code) for one in caplog.records if hasattr(one, "request_id")}
    assert (reply.form["request_id"], reply.code) in logged
