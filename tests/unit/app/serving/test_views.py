"""Views: separate analysts learn nothing of one another from balances, refusals, prices and histories."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hushcount.accounting.spent import Spent
from hushcount.app.budgets import look
from hushcount.app.forms import balance_form, deed_form, left_form
from hushcount.app.history import history
from hushcount.app.serving.jobs.refusals import refusal_problem, told_to
from hushcount.app.serving.owners.limits import Target, set_limit, typed_limit
from hushcount.app.serving.owners.people import set_member
from hushcount.app.serving.owners.rules import desk_of
from hushcount.app.serving.owners.views import (
    Viewer,
    balance_view,
    deeds_view,
    left_view,
    own_quote,
)
from hushcount.ledger import refusal
from hushcount.ledger.ledger import Account, Variant
from hushcount.model.budgets import STANDARD
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
        problem = refusal_problem(refusal.error(quote.refusal), who, world.ledger.jobs)
        found["refusal"], found["words"] = problem.more, problem.detail
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

    assert found["refusal"]["short"] == ["a budget that is shared with others"]
    assert [found["refusal"][name] for name in ("left", "renews", "would_fit")] == [{"releases": None}, None, []]
    assert "spent_on" not in found["refusal"]
    assert "The budget of 'visits', which is shared, does not have it." in found["words"]
    assert "To have more, ask" in found["words"]
    assert "nothing was charged" in found["words"]
    for hidden in ("max", "0.05", "0.5", "2026-12"):
        assert hidden not in shown.replace("2026-12-01 00:00 UTC", ""), hidden


def test_ones_own_account_is_told_in_full(pair):
    """What is left of it, until when, what would fit."""
    _, busy = pair
    found = told(busy, QUESTIONS["one too dear for zoe"]())

    assert [one["shared"] for one in found["left"]["accounts"]] == [True, True, False]
    assert found["left"]["accounts"][2]["releases"]["left"] == 1.0
    assert found["left"]["more_standard_counts"] == 1
    assert "Your own budget has 1 standard release left. It renews on 2026-12-01 00:00 UTC." in found["words"]
    assert "This would fit: cautious." in found["words"]
    assert found["refusal"]["left"] == {"releases": 1.0}
    assert found["refusal"]["already_answered"] == [{"what": "question zoe asks", "release": None}]
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


def test_a_colleagues_refusal_speaks_in_releases(pair):
    """What is left and what it was spent on, in standard releases and plain words; not in rho, and not of the book."""
    _, busy = pair
    quote = busy.ledger.check(QUESTIONS["one too dear for zoe"]())
    found = refusal_problem(refusal.error(quote.refusal), viewer(analysts="colleagues"), busy.ledger.jobs)
    shown = json.dumps(found.to_form())

    assert "Your own budget has 1 standard release left." in found.detail
    assert [one["what"] for one in found.more["spent_on"]] == ["question zoe asks"]
    for strange in ("rho", "delta", "release 1", "max"):
        assert strange not in shown.replace("standard release 1", ""), strange


@pytest.mark.parametrize("analysts", ["colleagues", "separate"])
def test_where_little_is_left_it_is_told_in_plain_words(pair, analysts):
    """Of an account that is used up, nothing; of one with a sliver, hardly anything; no exponents."""
    _, busy = pair
    quote = busy.ledger.check(QUESTIONS["one too dear for zoe"]())
    (balance,) = quote.refusal.short
    words = []
    for left in (
        Spent(),
        Spent(rho=STANDARD.rho / 10**5, delta=STANDARD.delta),
        Spent(rho=STANDARD.rho, delta=-STANDARD.delta),
    ):
        short = replace(quote.refusal, short=(replace(balance, left=left),))
        words.append(told_to(viewer(analysts=analysts), short, busy.ledger.jobs).sentences())

    assert [("nothing left" in one, "hardly anything left" in one) for one in words] == [
        (True, False),
        (False, True),
        (True, False),
    ]
    assert not any("e-0" in one or "rho" in one for one in words)


def test_what_is_told_of_a_refusal_is_rendered_from_one_value(pair):
    """Sentences and members have the same accounts, the same amounts and the same offers."""
    _, busy = pair
    quote = busy.ledger.check(QUESTIONS["one too dear for zoe"]())
    for analysts in ("colleagues", "separate"):
        told = told_to(viewer(analysts=analysts), quote.refusal, busy.ledger.jobs)
        form, words = told.members(), told.sentences().lower()

        assert all(account in words for account in form["short"])
        assert f"{form['left']['releases']:.3g} standard release left" in words
        assert bool(form["would_fit"]) == ("this would fit" in words)
        assert all(owner in words for owner in form["ask"]["owners"])
