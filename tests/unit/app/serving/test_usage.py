"""Usage: the curves of limits that an owner tries, who would be stopped, the proposal, the picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from datetime import timedelta

import pytest

from hushcount.app.serving.owners.limits import Target, limits_in_force, set_limit, tracked_until, typed_limit
from hushcount.app.serving.owners.usage import picture, proposal_form, propose, tried_form, tried_picture, try_limits
from hushcount.errors import BudgetExhausted, InvalidParameter, NotFound, NotPermitted
from tests.unit.app.serving.world import ARNE, EVE, MAX, OLGA, RAE, VISITS, ZOE


@pytest.fixture
def asked(world):
    """Zoe asked four questions in four days, max one."""
    for day in range(4):
        world.answered("zoe", f"z{day}")
        world.clock.move(days=1)
    world.answered("max", "m")
    return world


def test_the_curves_say_who_is_over_which_limit_when(asked):
    """At one release zoe is over on her second day, at three on her fourth, at ten never."""
    form = tried_form(try_limits(asked.service, ARNE, VISITS, limits=["1", "3", "10"]))
    noise = {one["releases"]: one["noise"] for one in form["limits"]}

    assert (form["analysts"], form["window"]) == (2, "month")
    assert noise["1"][:5] == [0.0, 0.5, 0.5, 0.5, 0.5]
    assert noise["3"][:5] == [0.0, 0.0, 0.0, 0.5, 0.5]
    assert set(noise["10"]) == {0.0}
    assert [one["stopped"] for one in form["limits"]] == [["zoe"], ["zoe"], []]


def test_what_is_said_to_stop_somebody_does(asked):
    """The limit in force: at three releases zoe's fifth question of the month is refused, max's second is not."""
    stopped = [one.analyst for one in try_limits(asked.service, OLGA, VISITS, limits=["3"]).stopped[0]]
    set_limit(asked.service, OLGA, Target(offer=VISITS, kind="analyst"), limit=typed_limit({"releases": 3}))

    assert stopped == ["zoe"]
    with pytest.raises(BudgetExhausted):
        asked.answered("zoe", "more")
    assert asked.answered("max", "more")


def test_a_limit_that_begins_on_a_day_stops_nobody_before(asked):
    """Tracked until then, enforced from then on, by the ledger's own clock; what is shown says so."""
    starts = asked.clock() + timedelta(days=2)
    limit = tracked_until(typed_limit({"releases": 3}), starts, now=asked.clock())
    set_limit(asked.service, OLGA, Target(offer=VISITS, kind="analyst"), limit=limit)
    told = next(one for one in limits_in_force(asked.service, OLGA, VISITS) if one["kind"] == "analyst")
    before = asked.answered("zoe", "before")
    asked.clock.move(days=3)

    assert (told["mode"], told["enforced_from"]) == ("track", starts.isoformat(timespec="seconds"))
    assert "and enforced from then on" in told["words"]
    assert before
    with pytest.raises(BudgetExhausted):
        asked.answered("zoe", "after")
    assert limits_in_force(asked.service, OLGA, VISITS)[-1]["mode"] == "enforce"


@pytest.mark.parametrize(("typed", "mode", "days"), [({"releases": 3}, "track", 2), ({"none": True}, "enforce", 2)])
def test_only_what_is_enforced_can_begin_later(asked, typed, mode, days):
    """Neither what is tracked anyway, nor no limit at all; nor at a moment that is over or years away."""
    now = asked.clock()
    with pytest.raises(InvalidParameter):
        tracked_until(typed_limit(typed, mode=mode), now + timedelta(days=days), now=now)
    for moment in (now, now - timedelta(days=1), now + timedelta(days=400)):
        with pytest.raises(InvalidParameter):
            tracked_until(typed_limit({"releases": 3}), moment, now=now)


def test_it_is_told_when_somebody_would_have_been_stopped(asked):
    """At one release zoe on her second day, at three on her fourth; what was spent today is told beside it."""
    form = tried_form(try_limits(asked.service, OLGA, VISITS, limits=["1", "3", "10"]))
    stops = [
        [(one["name"], one["at"][:10], one["day"], one["part"]) for one in tried["stops"]] for tried in form["limits"]
    ]

    assert stops == [[("zoe", "2026-11-17", 2, "noise")], [("zoe", "2026-11-19", 4, "noise")], []]
    assert form["today"] == pytest.approx(1, abs=1e-3)
    assert [round(one["guess"], 3) for one in form["limits"]] == [0.612, 0.694, 0.854]


def test_usage_is_for_those_who_see_all(asked):
    """Neither analysts, readers nor strangers."""
    for caller, error in ((ZOE, NotPermitted), (MAX, NotPermitted), (RAE, NotPermitted), (EVE, NotFound)):
        with pytest.raises(error):
            try_limits(asked.service, caller, VISITS, limits=["1"])
        with pytest.raises(error):
            propose(asked.service, caller, VISITS)


@pytest.mark.parametrize("limits", [[], ["1"] * 5, ["0"], ["-1"], ["x"], ["NaN"]])
def test_limits_that_cannot_be_tried_are_refused(asked, limits):
    """None, too many, or none above zero."""
    with pytest.raises(InvalidParameter):
        try_limits(asked.service, OLGA, VISITS, limits=limits)


def test_a_proposal_leaves_most_alone(asked):
    """As on the command line: with all of them to be left alone, what the dearest spent."""
    form = proposal_form(propose(asked.service, OLGA, VISITS, share="0.99"))

    assert (form["releases"], form["analysts"], form["stopped"]) == (4, 2, [])


def test_nothing_asked_yet_is_said(world):
    """Without a history there is nothing to propose, and nobody over any limit."""
    with pytest.raises(InvalidParameter, match="Track for a while"):
        propose(world.service, OLGA, VISITS)

    assert try_limits(world.service, OLGA, VISITS, limits=["1"]).analysts == 0


def test_the_picture_is_svg(asked):
    """Of the proposal, and of the limits that were tried; it names no analyst."""
    tried = try_limits(asked.service, OLGA, VISITS, limits=["1", "3"])
    for drawn in (
        picture(propose(asked.service, OLGA, VISITS)),
        tried_picture(asked.service, OLGA, VISITS, tried=tried),
    ):
        assert ET.fromstring(drawn).tag.endswith("svg")  # noqa: S314  our own
        assert b"zoe" not in drawn
