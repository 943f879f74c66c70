"""Strain: what one request may take of the machine, and names that break what carries them."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction

import pytest

from hushcount.app.deriving import width_of_sum
from hushcount.mechanisms.counts.gaussian_threshold import tail_above
from hushcount.mechanisms.counts.tsgd import end_mass
from hushcount.noise import enclosures
from tests.api.served import COUNT, TOP, released

# A loop that is held up for longer holds up everybody; far above what a body of a megabyte takes.
MOMENT = 1.0


def joined(part, times):
    """A list in JSON of the same thing many times."""
    return b"[" + b",".join([part] * times) + b"]"


BODIES = {
    "members": b"{" + b",".join(b'"%x":1' % number for number in range(100_000)) + b"}",
    "objects": b'{"invitation":' + joined(b"{}", 300_000) + b"}",
    "numbers": b'{"invitation":' + joined(b"1.5", 250_000) + b"}",
    "escapes": b'{"invitation":"' + b"\\n" * 500_000 + b'"}',
    "no end": b'{"invitation":"' + b"a\\" * 500_000,
    "quotes": b'"' * 1_000_000,
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_body_of_a_stranger_does_not_hold_up_the_loop(stage, body):
    """Reading happens in the loop itself, before anybody has signed in."""
    began = time.process_time()
    assert stage.anybody.request("POST", "/v1/invitations", body).status == 400
    assert time.process_time() - began < MOMENT


@pytest.mark.parametrize("name", ["keys", "where"])
def test_a_list_of_wrong_things_is_refused_at_the_first(stage, name):
    """One error is enough."""
    began = time.process_time()
    assert stage.analyst.post("/v1/queries", {**TOP, name: [1] * 200_000}).status == 400
    assert time.process_time() - began < MOMENT


def test_deep_bodies_are_refused_and_brackets_in_texts_are_not(stage):
    """Only what is built counts."""
    assert stage.analyst.request("POST", "/v1/queries", b'{"a":' + b"[" * 1000).code == "not-json"
    asked = {**TOP, "where": "country = '" + "[{" * 50 + '\\"' + "'"}
    assert stage.analyst.post("/v1/queries", asked).status == 200


def test_sums_of_rows_with_wide_noise_take_bounded_memory(fresh):
    """A question that costs next to nothing has noise as wide as one likes, and sums of it are free."""
    body = {**COUNT, "keys": [f"x{number}" for number in range(1000)], "epsilon": "1e-9"}
    release = released(fresh.analyst, body).form["release"]
    items = [row["item"] for row in release["rows"]]
    for count in (2, 1000):
        asked = {"deed": "sum", "items": items[:count]}
        derived = fresh.analyst.post(f"/v1/releases/{release['id']}/derive", asked)
        assert derived.status == 200
        one = release["rows"][0]["high"] - release["rows"][0]["count"]
        assert one < derived.form["high"] - derived.form["value"] < count * one


@pytest.mark.parametrize("law", ["discrete-gaussian", "discrete-laplace"])
@pytest.mark.parametrize("widths", [(400,) * 1000, (50_000,) * 5, (10, 100_000, 100_000)])
def test_a_coarse_sum_is_a_little_wider_and_never_narrower(monkeypatch, law, widths):
    """Several values taken together are no reason to promise more."""
    monkeypatch.setattr("hushcount.app.deriving._FARTHEST", 2**24)
    exact = width_of_sum.__wrapped__(law, widths, 0.95)
    monkeypatch.setattr("hushcount.app.deriving._FARTHEST", 2**17)
    coarse = width_of_sum.__wrapped__(law, widths, 0.95)
    assert exact <= coarse <= exact * 1.05


def test_a_data_set_may_have_a_name_in_any_script(fresh):
    """A header holds bytes of Latin letters only."""
    body = {"name": "日本/?#", "store": "files", "table": "more.csv", "person": "user_id"}
    made = fresh.owner.post("/v1/datasets", body)
    assert made.status == 201
    assert made.headers["location"].isascii()


def test_a_page_of_long_questions_is_short(fresh):
    """Questions with long lists cost next to nothing; a thousand of them would be a reply of a gigabyte."""
    asked = {**COUNT, "keys": [f"{number:04}" + "x" * 8000 for number in range(100)], "epsilon": "1e-9"}
    keys = [f"key-{number}" for number in range(25)]
    for key in keys:
        assert released(fresh.analyst, {**asked, "fresh": True}, key=key).status == 200
    seen, place = [], "/v1/queries?limit=1000"
    while place is not None:
        reply = fresh.analyst.get(place)
        assert len(reply.body) < 20_000_000
        seen += [one["id"] for one in reply.form["data"]]
        after = reply.form["next"]
        place = None if after is None else f"/v1/queries?limit=1000&after={after}"
    assert len(seen) == len(set(seen)) == len(keys)


@pytest.mark.parametrize("epsilon", ["1e-2", "1e-3", "1e-6", "1e-9"])
@pytest.mark.parametrize("question", [COUNT, {**COUNT, "max_items_per_user": 3}, TOP, {**COUNT, "question": "vocab"}])
def test_a_price_is_found_soon_however_small_the_budget(stage, question, epsilon):
    """Pricing is free and for readers too, and exact arithmetic with long numbers lets no other thread go on."""
    began = time.process_time()
    # Some cannot be asked for so little, which is found soon, too.
    assert stage.reader.post("/v1/queries", {**question, "epsilon": epsilon, "delta": "1e-30"}).status in {200, 400}
    assert time.process_time() - began < 4 * MOMENT


def test_the_tail_of_wide_noise_is_the_one_of_narrow_noise():
    """Where the sum gives way to the integral, nothing becomes less careful."""
    for level in (0, 20_000, 60_000, 100_000):
        narrow, wide = tail_above(2.0**14, level), tail_above(2.0**14 + 1e-9, level)
        assert narrow <= wide * (1 + 1e-9) <= narrow * 1.001


@pytest.mark.parametrize("bound", [1, 10, 300])
def test_the_end_of_truncated_noise_is_what_it_was(bound):
    """Enclosed anew it is as large as by powers, to forty digits."""
    low, high = enclosures.exp(Fraction(-1, 10), 40)
    powers = (high**bound) * (1 - low) / (1 + low - 2 * high ** (bound + 1))
    assert abs(end_mass(Decimal("0.1"), bound) / powers - 1) < Fraction(1, 10**35)


@pytest.mark.parametrize("epsilon", ["1e-2", "1e-4", "1e-7"])
def test_an_answer_is_found_soon_however_small_the_budget(fresh, epsilon):
    """Noise as wide as one likes is drawn as fast as any."""
    began = time.process_time()
    assert released(fresh.analyst, {**COUNT, "epsilon": epsilon}).status == 200
    assert time.process_time() - began < 5 * MOMENT
