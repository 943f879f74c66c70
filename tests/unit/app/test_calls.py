"""How a question is asked: resumed with the same fresh noise, stopped for nothing, capped, and paid with a token."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest

from hushcount.accounting import zcdp
from hushcount.accounting.spent import Spent
from hushcount.app import answer as spine
from hushcount.app.answer import Asking, answer
from hushcount.app.catalog import report
from hushcount.app.planning import make_plan
from hushcount.app.request import make_request
from hushcount.app.setting import Places
from hushcount.app.wiring import make_setting
from hushcount.audit.asking import asked_by_name
from hushcount.errors import BudgetExhausted, Cancelled, InvalidParameter, OverMaxCost, ReservationClosed
from hushcount.ledger.ledger import EVERY, Account, Reservation
from hushcount.ledger.limits import rho_limit
from hushcount.mechanisms.table import MECHANISMS
from hushcount.model.costs import EVERY_ORDER
from hushcount.noise.source import KeyedSource, SystemSource
from tests.unit.app.made_engine import made_engine

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def setting(tmp_path):
    """Ann before a ledger of her own; receipts are all written at noon."""
    made = make_setting(Places(home=tmp_path / "home", ledger=str(tmp_path / "ledger.sqlite"), analyst="ann"))
    yield replace(made, clock=lambda: NOON)
    made.close()


def ask(setting, engine=None, *, call=None, question="count", **options):
    """One paid question."""
    request = make_request(question, user="user", item="item", options=options)
    return answer(request, engine or made_engine(), setting, call=call)


def worst(**options) -> Spent:
    """What that count may cost."""
    return zcdp.spent(make_plan(make_request("count", user="user", item="item", options=options)).plan.cost)


def account(setting, kind="dataset", name=""):
    """An account of the only population."""
    (population,) = {line.dataset.population for line in report(setting)}
    return setting.ledger.balance(Account(kind=kind, name=name, entity=population))


class Crash(BaseException):
    """A process that dies."""


def die(monkeypatch, setting, verb: str) -> list[bytes]:
    """Let the ledger's verb kill the process; collects the payloads that would have been settled."""
    seen = []

    def dies(_self, *_args, **kwargs):
        seen.append(kwargs.get("payload"))
        raise Crash

    monkeypatch.setattr(type(setting.ledger), verb, dies)
    return seen


def broken_off(monkeypatch, setting, verb: str = "settle", **options) -> list[bytes]:
    """A question that dies at a verb, under the key "k"; what it would have released."""
    seen = die(monkeypatch, setting, verb)
    with pytest.raises(Crash):
        ask(setting, call=Asking(key="k"), **options)
    monkeypatch.undo()
    return seen


def resumed(monkeypatch, setting, **options) -> bool:
    """Whether a question that died before it was settled gives the same bytes under its key, for one charge."""
    (lost,) = broken_off(monkeypatch, setting, **options)
    release = ask(setting, call=Asking(key="k"), **options)
    charged = account(setting)

    assert (charged.spent, charged.reserved, charged.queries) == (zcdp.spent(release.cost), Spent(), 1)
    assert setting.ledger.verify().problems == ()
    return release.to_bytes() == lost


@pytest.mark.parametrize("fresh", [False, True])
def test_a_question_that_was_broken_off_is_resumed(monkeypatch, setting, fresh):
    """A crash between touch and settle, asked again under its key: the same bytes and one charge, fresh or not."""
    assert resumed(monkeypatch, setting, fresh=fresh)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda entry: entry.name)
def test_every_method_is_resumed(monkeypatch, setting, mechanism):
    """Whatever a mechanism draws, also to bound what a person adds, it draws again for the same reservation."""
    keys = [f"item-{j}" for j in range(8)] + ["nobody has this"]
    options = {**asked_by_name(mechanism, max_items=2, k=3, keys=keys), "fresh": True, "rho": "0.5"}

    assert resumed(monkeypatch, setting, question=mechanism.question, **options)


def test_noise_of_the_system_would_not_resume(monkeypatch, setting):
    """The broken twin: drawn from the operating system a second run gives other bytes, so the test above can fail."""
    with monkeypatch.context() as patched:
        patched.setattr(spine, "_noise", lambda *_: SystemSource())
        (lost,) = broken_off(monkeypatch=patched, setting=setting, fresh=True)
    monkeypatch.setattr(spine, "_noise", lambda *_: SystemSource())
    release = ask(setting, call=Asking(key="k"), fresh=True)

    assert release.to_bytes() != lost


def test_plans_for_other_orders_have_other_noise():
    """One question under one secret, in two ledgers: equal coins under two tables would tell more than both charge."""
    request = make_request("vocab", user="user", item="item", options={})
    plans = [make_plan(request, order) for order in (EVERY_ORDER, Decimal(16), Decimal(33))]
    contexts = {spine._context(SimpleNamespace(planned=planned), None) for planned in plans}  # noqa: SLF001

    assert len({planned.plan.rounds for planned in plans}) == len(contexts) == 3


def test_every_fresh_question_has_its_own_noise(setting):
    """Asked anew, the same question has other noise each time, and other than the one that repeats."""
    answers = [ask(setting).to_dict(), *(ask(setting, fresh=True).to_dict() for _ in range(5))]
    cheap = [{"rho": "0.01", "fresh": True}] * 2
    answers += [ask(setting, **options).to_dict() for options in cheap]

    assert len({str(one) for one in answers}) == len(answers)


def test_the_noise_of_a_fresh_question_knows_its_reservation(monkeypatch, setting):
    """Secret, question, version, population and number make the noise; the number alone tells two of them apart."""
    contexts, held = [], []

    class Noted(KeyedSource):
        def __init__(self, secret, context):
            contexts.append((secret, context))
            super().__init__(secret, context)

    real = type(setting.ledger).touch
    monkeypatch.setattr(spine, "KeyedSource", Noted)
    monkeypatch.setattr(type(setting.ledger), "touch", lambda self, one: (held.append(one), real(self, one)))
    ask(setting)
    for _ in range(2):
        ask(setting, fresh=True)
    changed = made_engine()
    changed.version = "v2"
    ask(setting, changed, fresh=True)
    plain, *fresh = [context for _, context in contexts]
    question = make_request("count", user="user", item="item", options={})

    assert {secret for secret, _ in contexts} == {setting.secret.value}
    assert plain.query == question.canonical()
    assert len({one.query for one in fresh}) == len(fresh) == 3
    for one, reservation in zip(fresh, held[1:], strict=True):
        assert one.query.startswith(f'["fresh", "{reservation.entity}", {reservation.number}, ')
    assert len({one.data_version for one in (plain, *fresh)}) == 2


def test_a_fresh_receipt_promises_no_repetition(setting):
    """Keyed as it is, fresh noise is not what the same question gives the next time."""
    assert ask(setting).receipt.consistent
    assert not ask(setting, fresh=True).receipt.consistent
    assert not ask(replace(setting, ledger=None), fresh=True).receipt.consistent


def after(calls: int):
    """Says that the caller has thought better of it, from the so-and-so-manieth time on that it is asked."""
    asked = []

    def stopped() -> bool:
        asked.append(True)
        return len(asked) > calls

    return stopped


@pytest.mark.parametrize("calls", [0, 1])
def test_stopped_before_data_is_read_costs_nothing(setting, calls):
    """Before the worst case is held, or between that and reading: no data is read, nothing stays held or charged."""
    engine = made_engine()
    with pytest.raises(Cancelled, match="Nothing was charged"):
        ask(setting, engine, call=Asking(key="k", stopped=after(calls)))
    balance = account(setting)

    assert engine.reads == []
    assert (balance.spent, balance.reserved, balance.lifetime) == (Spent(), Spent(), Spent())
    assert balance.queries == calls
    assert len(ask(setting, call=Asking(key="k"))) > 0
    assert setting.ledger.verify().problems == ()


def test_stopped_after_data_is_read_is_answered(setting, monkeypatch):
    """It is paid for then, so it is finished."""
    engine = made_engine()
    release = ask(setting, engine, call=Asking(stopped=lambda: bool(engine.reads)))

    assert len(release) > 0
    assert account(setting).spent == zcdp.spent(release.cost)


@pytest.mark.parametrize("fresh", [False, True])
def test_stopped_after_an_earlier_run_has_read_is_answered(monkeypatch, setting, fresh):
    """What a run that died has read stays charged: the caller who stops gets the answer for it, the very same."""
    (lost,) = broken_off(monkeypatch, setting, fresh=fresh)
    release = ask(setting, call=Asking(key="k", stopped=lambda: True), fresh=fresh)

    assert release.to_bytes() == lost
    assert account(setting).spent == zcdp.spent(release.cost)


def test_stopped_after_an_earlier_run_only_reserved_costs_nothing(monkeypatch, setting):
    """What a run that died had held, but not begun to read for, is given back."""
    broken_off(monkeypatch, setting, "touch")
    held = setting.ledger.recall("ann", "k")
    with pytest.raises(Cancelled):
        ask(setting, call=Asking(key="k", stopped=lambda: True))

    assert isinstance(held, Reservation)
    assert setting.ledger.recall("ann", "k") is None
    assert (account(setting).spent, account(setting).reserved) == (Spent(), Spent())
    with pytest.raises(ReservationClosed):
        setting.ledger.touch(held)


def test_stopped_after_the_answer_is_there_is_answered(setting):
    """An attempt that was settled has its answer, whatever is wished now."""
    first = ask(setting, call=Asking(key="k"))

    assert ask(setting, call=Asking(key="k", stopped=lambda: True)).to_bytes() == first.to_bytes()


@pytest.mark.parametrize("part", ["rho", "delta"])
def test_what_may_cost_more_than_was_allowed_is_refused(setting, part):
    """Before anything is held or read; the error has both numbers. Exactly the worst case is allowed."""
    engine, price = made_engine(), worst()
    less = replace(price, **{part: getattr(price, part) * Decimal("0.999")})
    with pytest.raises(OverMaxCost, match=f"{part} = .*Nothing was charged") as refused:
        ask(setting, engine, call=Asking(most=less))
    balance = account(setting)

    assert (refused.value.asked, refused.value.most) == (getattr(price, part), getattr(less, part))
    assert engine.reads == []
    assert (balance.spent, balance.reserved, balance.queries) == (Spent(), Spent(), 0)
    assert len(ask(setting, call=Asking(most=price))) > 0


def test_what_is_theirs_already_is_never_too_dear(monkeypatch, setting):
    """A stored answer that the caller paid for is free, and so is going on with an attempt; others have a price."""
    first = ask(setting)
    nothing = Asking(most=Spent())

    assert ask(setting, call=nothing).to_bytes() == first.to_bytes()
    with pytest.raises(OverMaxCost):
        ask(replace(setting, analyst="bob"), call=nothing)
    (lost,) = broken_off(monkeypatch, setting, fresh=True)
    assert ask(setting, call=replace(nothing, key="k"), fresh=True).to_bytes() == lost
    with pytest.raises(OverMaxCost):
        ask(setting, call=nothing, fresh=True)


def test_a_token_pays_and_its_cap_holds(setting):
    """The token's account is charged with the others, and refuses what its cap has no room for."""
    cap = Account(kind="token", name="t_1", entity=EVERY)
    setting.ledger.set_limit(cap, rho_limit("0.15", "0.1"), by="ann")
    engine, call = made_engine(), Asking(token="t_1")  # noqa: S106 (the name of one)
    release = ask(setting, call=call)
    with pytest.raises(BudgetExhausted, match="token 't_1'"):
        ask(setting, engine, call=call, fresh=True)
    ask(setting, fresh=True)

    assert account(setting, "token", "t_1").spent == zcdp.spent(release.cost)
    assert engine.reads == []


def test_what_is_held_lives_as_long_as_was_said(monkeypatch, setting):
    """A store that takes an hour is given an hour."""
    broken_off(monkeypatch, setting, "touch")
    usual = setting.ledger.recall("ann", "k").expires
    die(monkeypatch, setting, "touch")
    with pytest.raises(Crash):
        ask(setting, call=Asking(key="long", lifetime=timedelta(hours=1)))
    monkeypatch.undo()
    longer = setting.ledger.recall("ann", "long").expires - usual

    assert timedelta(minutes=44) < longer < timedelta(minutes=50)


@pytest.mark.parametrize("option", [{"token": "t"}, {"lifetime": timedelta(hours=1)}, {"most": Spent()}], ids=repr)
def test_what_only_a_ledger_can_do_is_refused_without_one(setting, option):
    """An option that is not used is refused, never ignored; stopping works all the same."""
    free = replace(setting, ledger=None)
    with pytest.raises(InvalidParameter, match="no ledger"):
        ask(free, call=Asking(**option))
    engine = made_engine()
    with pytest.raises(Cancelled):
        ask(free, engine, call=Asking(stopped=lambda: True))

    assert engine.reads == []
