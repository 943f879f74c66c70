"""`hushcount.connect`: the library's own releases from a service, and the library's own errors."""

from __future__ import annotations

import pytest

import hushcount
from hushcount import errors
from tests.unit.client.scripted import (
    DONE,
    ESTIMATE,
    EXHAUSTED,
    PROBLEM,
    TOKEN,
    answer,
    page,
    playing,
    problem,
)
from tests.unit.client.served import as_served


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """Nothing of whoever runs the tests is used or touched."""
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HUSHCOUNT_TOKEN", TOKEN)


QUESTIONS = [("count", {}), ("top", {"k": 4}), ("top", {"k": 4, "counts": False}), ("vocab", {"preset": "cautious"})]


@pytest.mark.parametrize(("question", "options"), QUESTIONS)
def test_a_release_of_a_service_is_the_library_s_own(log, tmp_path, question, options):
    """The same rows, receipt, cut-off and cost as asked here, so that all that can be done with it can be done."""
    here = getattr(hushcount, question)(log, user="reader", item="article", **options)
    with playing(answer(200, as_served(here)), answer(200, as_served(here)["release"])) as script:
        connection = hushcount.connect(script.url)
        there = getattr(connection, question)("log", item="article", **options)
        again = connection.release("r_7f3a")

    assert type(there) is hushcount.Release
    for one in (there, again):
        assert one.to_bytes() == here.to_bytes()
        assert one.receipt.to_text() == here.receipt.to_text()
    there.save(tmp_path / "there.parquet")
    assert there.to_arrow().num_rows == len(here)
    assert script.seen[0].body["question"] == question
    assert script.seen[0].headers["authorization"] == f"Bearer {TOKEN}"


def test_a_list_without_rows_keeps_its_kind(log):
    """No row clears the cut-off: a count is an empty column of numbers, as it is here."""
    here = hushcount.count(log, user="reader", item="article", where="article = 'nothing like it'")
    with playing(answer(200, as_served(here))) as script:
        there = hushcount.connect(script.url).count("log", item="article")

    assert len(here) == 0
    assert there.to_bytes() == here.to_bytes()


def test_a_tracked_answer_stays_marked(log):
    """And what the service noted comes along."""
    here = hushcount.count(log, user="reader", item="article")
    with playing(answer(200, as_served(here, enforced=False, notes=["Only tracked."]))) as script:
        there = hushcount.connect(script.url).count("log", item="article")

    assert not there.enforced
    assert there.notes == ("Only tracked.",)


def test_a_repeat_is_free_here_if_it_cost_nothing_there(log):
    """Said to be repeated and charged nothing; what was somebody else's before and was paid for is not free."""
    form, told = as_served(hushcount.count(log, user="reader", item="article")), []
    for repeated, releases in ((False, 1.0), (True, 0.0), (True, 1.0)):
        form["cost"] = {"releases": releases, "repeated": repeated}
        with playing(answer(200, form)) as script:
            told.append(hushcount.connect(script.url).count("log", item="article").free)

    assert told == [False, True, False]


@pytest.mark.parametrize("change", [{"id": "../../evil"}, {"id": 3}, {"cost": {"version": 2}}, {"cost": None}])
def test_a_receipt_that_cannot_be_read_is_no_release(log, change):
    """Also one whose id would lead out of the folder of receipts; the error says where the answer is kept."""
    form = as_served(hushcount.count(log, user="reader", item="article"))
    form["release"]["receipt"].update(change)
    with playing(answer(200, form)) as script, pytest.raises(errors.UnreadableSource, match="r_7f3a"):
        hushcount.connect(script.url).count("log", item="article")


def test_what_is_made_up_is_no_release_of_the_library():
    """A rehearsal is the light client's, with a column that says what it is; an estimate has its numbers."""
    form = {"mode": "rehearse", "made_up": True, "release": DONE["release"]}
    with playing(answer(200, form), answer(200, ESTIMATE), answer(200, {"left": {"releases": 2}})) as script:
        connection = hushcount.connect(script.url)
        rehearsed = connection.rehearse("log", item="article")
        estimate = connection.estimate("log", item="article")
        budget = connection.budget("log")

    assert not isinstance(rehearsed, hushcount.Release)
    assert rehearsed.to_dict()["made_up"] == [True, True]
    assert estimate.give_or_take == 24
    assert budget["left"]["releases"] == 2


def test_an_exhausted_budget_is_the_library_s_error():
    """With the service's text, its amounts in the ledger's currency, and everything it said as the cause."""
    with playing(answer(403, EXHAUSTED, PROBLEM)) as script, pytest.raises(errors.BudgetExhausted) as caught:
        hushcount.connect(script.url).top("log", item="article", k=3)

    assert float(caught.value.asked) == pytest.approx(0.1)
    assert float(caught.value.left) == pytest.approx(0.04)
    assert "Nothing was charged" in str(caught.value)
    assert caught.value.__cause__.code == "budget-exhausted"
    assert caught.value.__cause__.would_fit[0]["releases"] == 0.1


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (problem(400, "unsafe-filter"), errors.UnsafeFilter),
        (problem(403, "not-permitted"), errors.NotPermitted),
        (problem(422, "key-reused"), errors.KeyReused),
        (problem(502, "store-incomplete", charged=True), errors.UnreadableSource),
        (page(200), errors.UnreadableSource),
        (problem(404, "not-found"), errors.HushcountError),
        (problem(400, "a-code-of-tomorrow"), errors.HushcountError),
    ],
)
def test_problems_are_errors_of_the_library(step, kind):
    """By the name that they have here; what has none is still an error of ours, and never one of the client's."""
    with playing(step) as script, pytest.raises(errors.HushcountError) as caught:
        hushcount.connect(script.url).count("log", item="article")

    assert type(caught.value) is kind


def test_wrong_words_are_errors_of_the_library_too():
    """An address that is none, an option that there is not."""
    with pytest.raises(errors.HushcountError, match="https://"):
        hushcount.connect("counts.example")
    with pytest.raises(errors.HushcountError, match="did you mean 'preset'"):
        hushcount.connect("https://counts.example").count("log", item="article", presett="x")
