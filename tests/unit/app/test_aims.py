"""`--error`: half of the 95 % interval of every row is what was asked, or the row is left out or told apart."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from hushcount.app.aims import Aim, aim_sentence, read_aim
from hushcount.app.answer import answer
from hushcount.app.intervals import intervals
from hushcount.app.planning import make_plan
from hushcount.app.request import make_request
from hushcount.app.secret import Secret
from hushcount.app.setting import passing_setting
from hushcount.engines.incidence import incidence
from hushcount.errors import InvalidParameter
from hushcount.mechanisms.table import find
from hushcount.model.budgets import rho_budget
from hushcount.model.facts import Facts
from hushcount.noise.source import SeededSource
from tests.unit.app.made_engine import MadeEngine

RUNS = 6
BUDGET = rho_budget("0.1", "1e-6")
# Mechanisms that take a share, each with the smallest one that it is asked for here.
TAKERS = (("ntm", 0.05), ("ntm-unclipped", 0.05), ("pcr-batched", 0.05), ("pcr", 0.14), ("plume-threshold", 0.05))


def pairs(shape):
    """People and items, each pair once: few items with most people; all alike; or few people."""
    rng = np.random.default_rng(7)
    if shape == "skewed":
        people = np.repeat(np.arange(12_000), np.minimum(rng.zipf(1.6, 12_000), 60))
        items = np.minimum(rng.zipf(1.5, len(people)), 2000)
    elif shape == "alike":
        people = np.repeat(np.arange(12_000), 8)
        items = rng.integers(0, 40, len(people))
    else:
        people = np.repeat(np.arange(800), 8)
        items = np.minimum(rng.zipf(1.3, len(people)), 300)
    return np.unique(np.stack([people, items]), axis=1)


@pytest.fixture(scope="module", params=["skewed", "alike", "few people"])
def data(request):
    """Who has what, and the true counts."""
    held = pairs(request.param)
    log = incidence(held[0].tolist(), [f"i{item}" for item in held[1]])
    found = log.histogram()
    return log, dict(zip(found.items.tolist(), found.counts.tolist(), strict=True))


def rows_of(data, name, facts, *, plan=None):
    """Of some runs: how many rows there are, how many are as sharp as asked, and how many hold what was counted."""
    (log, truth), mechanism, share = data, find(name), facts.relative_error
    plan = plan or mechanism.plan(BUDGET, facts)
    shown, sharp, held = 0, 0, 0
    for seed in range(RUNS):
        given = log if mechanism.wants == "incidence" else log.histogram()
        outcome = mechanism.run(given, plan, SeededSource(seed))
        low, high = intervals(outcome)
        true = np.array([truth[item] for item in outcome.items])
        shown += len(true)
        sharp += int(Aim(share=share).met(outcome.counts, (low, high)).sum())
        # Under a bound intervals are of what was kept, which is never more.
        held += int(((low <= true) & ((true <= high) | (plan.max_items is not None))).sum())
    return shown, sharp, held


@pytest.mark.parametrize(("name", "share"), TAKERS)
def test_rows_are_as_sharp_as_was_asked(data, name, share):
    """Of all rows at least four fifths have an interval as narrow as was asked, and all of them hold what they say."""
    bound = 3 if name == "plume-threshold" else None
    shown, sharp, held = rows_of(data, name, Facts(relative_error=share, max_items=bound))

    assert sharp >= 0.8 * shown, (sharp, shown)
    assert held >= (0.95 - 3 * (0.95 * 0.05 / max(shown, 1)) ** 0.5) * shown


@pytest.mark.parametrize("name", ["ntm", "pcr-batched"])
def test_aiming_at_the_noise_is_not_enough(name):
    """The comparison can fail: plans that take the share for a multiple of the noise are missed in most rows."""
    held = pairs("skewed")
    log = incidence(held[0].tolist(), [f"i{item}" for item in held[1]])
    found = log.histogram()
    truth = dict(zip(found.items.tolist(), found.counts.tolist(), strict=True))
    loose = find(name).plan(BUDGET, Facts())
    shown, sharp, _ = rows_of((log, truth), name, Facts(relative_error=0.1), plan=loose)

    assert sharp < 0.6 * shown


def test_a_share_that_pcr_cannot_reach_is_refused():
    """Its counts would be clamped, and none as sharp as asked."""
    with pytest.raises(InvalidParameter, match=r"at least 0\.134 for 'pcr'"):
        find("pcr").plan(BUDGET, Facts(relative_error=0.13))


def asked(options, people=3000):
    """An answer about made-up people, with the same noise each time."""
    rng = np.random.default_rng(3)
    users = np.repeat(np.arange(people), 4)
    items = np.minimum(rng.zipf(1.4, len(users)), 500)
    engine = MadeEngine(users.tolist(), [f"i{item}" for item in items])
    request = make_request("count", user="user", item="item", options=options)
    return answer(request, engine, replace(passing_setting(), secret=Secret(bytes(32))))


def test_a_number_of_people_is_priced_and_rows_near_the_threshold_are_told_apart():
    """Far above the threshold every interval is as narrow as asked; near it some are wider, and the receipt says so."""
    release = asked({"error": 25, "max_items_per_user": 2})
    sharp, far = release.within(25), release.counts > release.receipt.shown_above + 5 * release.receipt.noise_scale

    assert far.any()
    assert sharp[far].all()
    assert not sharp.all()
    assert f"so it is in {sharp.sum()} of {len(sharp)} rows, and in every row from" in release.receipt.remark


def test_a_list_is_as_sharp_as_asked_throughout():
    """Nothing decides which rows are shown, so none is wider."""
    release = asked({"error": 25, "keys": ["i1", "i2", "i3"]})

    assert release.within(25).all()
    assert release.receipt.remark.endswith("so it is in every row.")


def test_a_share_that_is_said_is_another_question_than_the_same_unsaid():
    """Its plan differs, so its noise must."""
    said, unsaid = (make_request("count", user="u", item="i", options=one) for one in ({"error": "10%"}, {}))

    assert said.canonical() != unsaid.canonical()
    assert make_plan(said).plan != make_plan(unsaid).plan


def test_what_was_typed_is_read():
    """A share, a number of people, or nothing; anything else is refused."""
    assert read_aim("5%") == Aim(share=0.05)
    assert read_aim(40) == Aim(people=40.0)
    assert read_aim(None) is None
    for wrong in ("many", "-5%", "0", "inf"):
        with pytest.raises(InvalidParameter, match="a share such as 10%"):
            read_aim(wrong)


def test_sentences_say_how_many_and_from_where_and_what_it_would_take():
    """All rows, some, some without an order, none, or no row at all."""
    counts = np.array([1000, 500, 100])

    def said(widths, aim=None):
        ends = counts - np.array(widths), counts + np.array(widths)
        return aim_sentence(aim or Aim(share=0.05), counts, ends, rho=Decimal("0.1"))

    assert said([50, 25, 5]).endswith("so it is in every row.")
    assert "2 of 3 rows, and in every row from 101 people on. The others are wider." in said([50, 25, 6])
    assert said([51, 25, 5]).endswith("2 of 3 rows. The others are wider.")
    assert said([100, 90, 90]).endswith("no row is so sharp. The best would need about 4 standard releases.")
    assert "at most 60 people: so it is in 2 of 3 rows" in said([50, 25, 90], Aim(people=60))
    nothing = np.array([], dtype=np.int64)
    assert aim_sentence(Aim(share=0.05), nothing, (nothing, nothing), rho=Decimal(1)).endswith(
        "nothing could be counted so well. For this price a row needs 20 people or more."
    )


def test_names_have_no_width():
    """Asked of a release without counts, it is refused."""
    names = replace(asked({}), counts=None)

    with pytest.raises(InvalidParameter, match="a release with counts"):
        names.within("5%")
