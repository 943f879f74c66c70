"""Views: separate analysts learn nothing of one another from balances, refusals, prices and histories."""

from __future__ import annotations

import json

import pytest

from hushcount.accounting.spent import Spent
from hushcount.app.budgets import look
from hushcount.app.forms import balance_form, deed_form, left_form, refusal_form
from hushcount.app.history import history
from hushcount.app.serving.owners.limits import Target, set_limit, typed_limit
from hushcount.app.serving.owners.people import set_member
from hushcount.app.serving.owners.rules import desk_of
from hushcount.app.serving.owners.views import (
    Viewer,
    balance_view,
    deeds_view,
    left_view,
    own_quote,
    refusal_view,
    refusal_words,
)
from hushcount.errors import BudgetExhausted
from hushcount.ledger import refusal
from hushcount.ledger.ledger import Account, Variant
from tests.conformance.ledgers.stores import ask, cost
from tests.unit.app.serving.world import OLGA, VISITS, ZOE, World


def viewer(name="zoe", role="analyst", analysts="separate"):
    """Who looks."""
    return Viewer(name=name, role=role, analysts=analysts, title="visits")


def told(world, question, who=None):
    """Everything that zoe is told: what is left, the history, the price of a question, and why it is refused."""
    who = who or viewer()
    desk = desk_of(world.service, ZOE, VISITS)
    quote = world.ledger.check(question)
    found = {
        "left": left_view(desk, look(desk), who),
        "history": deeds_view(history(desk), who),
        "more": own_quote(quote, quote.charge, who).more,
    }
    if quote.refusal is not None:
        found["refusal"] = refusal_view(quote.refusal, who)
        found["words"] = refusal_words(refusal.error(quote.refusal), who)
    return found


@pytest.fixture
def pair(tmp_path, request):
    """Two worlds in which zoe did the same; in the second max asked a lot, also what zoe wants to ask.

    She may spend two releases, or as many as the test says: with eight, what max spent is what stops her first.
    """
    alone, busy = World(tmp_path / "a"), World(tmp_path / "b")
    for world in (alone, busy):
        for person in ("zoe", "max"):
            set_member(world.service, OLGA, person, group="lab", member=True)
        limit = typed_limit({"releases": getattr(request, "param", 2)})
        set_limit(world.service, OLGA, Target(offer=VISITS, kind="analyst", name="zoe"), limit=limit)
    for n in range(4):
        busy.answered("max", f"max asks {n}", query="common" if n == 3 else f"max {n}")
    for world in (alone, busy):
        world.answered("zoe", "zoe asks", family="alike")
    yield alone, busy
    alone.ledger.close()
    busy.ledger.close()


@pytest.fixture(autouse=True)
def folders(tmp_path):
    """Places for two ledgers."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()


QUESTIONS = {
    "one that fits": lambda: ask("new", analyst="zoe"),
    "one that max has asked": lambda: ask("new", analyst="zoe", query="common"),
    "one too dear for zoe": lambda: ask(
        "new",
        analyst="zoe",
        cost=cost("0.15"),
        family="alike",
        variants=(Variant(label="cautious", cost=cost("0.01", "0")),),
    ),
}
CASES = [
    ("one that fits", 2),
    ("one that fits", 8),
    ("one that max has asked", 2),
    ("one that max has asked", 8),
    ("one too dear for zoe", 2),
]


@pytest.mark.parametrize(("which", "pair"), CASES, indirect=["pair"])
def test_what_others_did_changes_nothing_that_is_told(pair, which):
    """The two worlds look the same to zoe, byte for byte."""
    alone, busy = (json.dumps(told(world, QUESTIONS[which]()), sort_keys=True, default=str) for world in pair)

    assert alone == busy


@pytest.mark.parametrize(("which", "pair"), CASES, indirect=["pair"])
def test_as_colleagues_the_same_worlds_are_told_apart(pair, which):
    """The twin: what is hidden above is there to be seen."""
    who = viewer(analysts="colleagues")
    alone, busy = (json.dumps(told(world, QUESTIONS[which](), who), sort_keys=True, default=str) for world in pair)

    assert alone != busy


def test_a_shared_account_that_is_short_is_said_without_amounts(pair):
    """That it is short cannot be hidden; how much is left, who spent it and when it renews are."""
    _, busy = pair
    limit = typed_limit({"releases": 5.5})
    set_limit(busy.service, OLGA, Target(offer=VISITS), limit=limit)
    found = told(busy, ask("new", analyst="zoe", variants=(Variant(label="cautious", cost=cost("0.01", "0")),)))
    shown = json.dumps([found["refusal"], found["words"]])

    assert found["refusal"]["short"] == [{"kind": "dataset", "name": "visits", "shared": True}]
    assert (found["refusal"]["room"], found["refusal"]["renews"], found["refusal"]["fits"]) == (None, None, None)
    assert "The budget of 'visits', which is shared, does not have it." in found["words"]
    assert "To have more, ask" in found["words"]
    assert "Nothing was charged" in found["words"]
    for hidden in ("max", "0.05", "0.5", "2026-12"):
        assert hidden not in shown.replace("2026-12-01 00:00 UTC", ""), hidden


def test_ones_own_account_is_told_in_full(pair):
    """What is left of it, until when, what would fit."""
    _, busy = pair
    found = told(busy, QUESTIONS["one too dear for zoe"]())

    assert [one["shared"] for one in found["left"]["accounts"]] == [True, True, False]
    assert found["left"]["accounts"][2]["releases"]["left"] == 1.0
    assert found["left"]["more_standard_counts"] == 1
    assert "Your own budget has 1 standard release left until 2026-12-01 00:00 UTC." in found["words"]
    assert "This would fit: cautious." in found["words"]
    assert found["refusal"]["room"]["rho"].startswith("0.1")
    assert found["refusal"]["already_yours"] == [{"what": "question zoe asks"}]
    assert [one["who"] for one in found["history"]] == ["zoe"]


def test_an_answer_that_somebody_else_made_looks_like_any_other(pair):
    """In the history it was answered; at the second time it is one's own, and free."""
    alone, busy = pair
    for world in pair:
        world.answered("zoe", "again", query="common")
    desks = [desk_of(world.service, ZOE, VISITS) for world in pair]

    assert [deeds_view(history(desk), viewer())[-1]["outcome"] for desk in desks] == ["answered", "answered"]
    assert [deeds_view(history(desk), viewer(analysts="colleagues"))[-1]["outcome"] for desk in desks] == [
        "answered",
        "given a stored answer, new to them",
    ]
    quote = busy.ledger.check(ask("third", analyst="zoe", query="common"))
    assert (quote.stored, quote.charge) == (True, Spent())
    assert alone.ledger.verify().problems == ()


def test_owners_and_auditors_see_all_and_colleagues_what_the_ledger_tells(pair):
    """Their forms are those of the command line."""
    _, busy = pair
    desk = desk_of(busy.service, OLGA, VISITS)
    left, deeds = look(desk), history(desk)
    account = busy.ledger.balance(Account(kind="dataset", name="visits", entity="visits"))
    for who in (viewer("olga", "owner"), viewer("arne", "auditor"), viewer(analysts="colleagues")):
        form = left_view(desk, left, who)
        assert balance_view(account, who) == {**balance_form(account), "shared": False}
        assert [{**one, "shared": False} for one in left_form(desk, left)["accounts"]] == form.pop("accounts")
        assert {name: value for name, value in left_form(desk, left).items() if name != "accounts"} == form
        assert deeds_view(deeds, who) == [deed_form(deed) for deed in deeds]
    assert any(deed["who"] == "max" for deed in deeds_view(deeds, viewer("olga", "owner")))


def test_a_colleagues_refusal_is_the_ledgers_own(pair):
    """Words and form."""
    _, busy = pair
    with pytest.raises(BudgetExhausted) as refused:
        busy.ledger.reserve(QUESTIONS["one too dear for zoe"]())
    who = viewer(analysts="colleagues")

    assert refusal_words(refused.value, who) == str(refused.value)
    form = refusal_view(refused.value.refusal, who)
    assert {**form, "short": None} == {**refusal_form(refused.value.refusal), "short": None}
