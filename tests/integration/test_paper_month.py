"""A month of 500 analysts under the paper's set-up: what is tracked gives figure 5, and the limit it proposes holds.

The month is `examples/paper_month.py`, which goes through a real ledger. Here it is held against sums that are added up
from the questions themselves, without a ledger.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from hushcount.accounting.spent import Spent
from hushcount.api.app import make_app
from hushcount.app.budgets import make_limit, suggest
from hushcount.app.secret import Secret
from hushcount.app.serving import opening
from hushcount.app.serving.callers.tokens import WantedToken, make_token
from hushcount.app.serving.opening import open_service
from hushcount.app.serving.setup.config_file import read_config
from hushcount.ledger.ledger import SERVICE, Account
from hushcount.ledger.limits import rho_limit, units_limit
from hushcount.model.costs import Cost
from tests.api.asgi import Client
from tests.architecture.sources import ROOT

SECRET = Secret(bytes(range(32)))
# Commits need not reach a disk here: where there is a file system in memory, the month takes half the time.
_MEMORY = "/dev/shm"  # noqa: S108 (a folder of our own is made in it)
# The data is known by its name: it is not read.
_SERVED = """
[keys]
noise = "noise"
tokens = "tokens"
[ledger]
address = "tracked.sqlite"
[stores.pinot]
kind = "files"
place = "data"
[datasets.engagements]
store = "pinot"
table = "engagements.parquet"
person = "member"
"""


def load_example(name: str):
    """An example as a module; examples are no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


example = load_example("paper_month")


@pytest.fixture(scope="module")
def folder():
    """A folder for ledgers."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None) as made:
        yield Path(made)


@pytest.fixture(scope="module")
def month():
    """The questions."""
    return example.make_month()


@pytest.fixture(scope="module")
def tracked(folder, month):
    """A ledger in which the month was asked under the paper's limits, tracked only."""
    ledger, clock = example.open_month(
        folder / "tracked.sqlite", units_limit(example.PAPER, mode="track"), secret=SECRET
    )
    assert example.play(ledger, clock, month) == {}
    yield ledger
    ledger.close()


def crossings(month, *, information=None, calls=None) -> dict[str, int]:
    """Who goes over a number of units or of calls, and how many days after their first question: plain sums."""
    first, sums, crossed = {}, defaultdict(int), {}
    for one in month:
        opened = first.setdefault(one.analyst, one.at)
        sums[one.analyst] += one.information if calls is None else one.calls
        if sums[one.analyst] > (information if calls is None else calls):
            crossed.setdefault(one.analyst, (one.at - opened).days)
    return crossed


def curve_of(days, analysts: int) -> list[float]:
    """The share of analysts who crossed by each day."""
    return [sum(day <= upto for day in days) / analysts for upto in range(31)]


def test_activity_is_skewed(month):
    """Few ask most: the busiest tenth asks over half, and half the analysts ask at most two questions."""
    asked = defaultdict(int)
    for one in month:
        asked[one.analyst] += 1
    counts = sorted(asked.values(), reverse=True)

    assert len(counts) == 500
    assert sum(counts[:50]) > len(month) / 2
    assert counts[250] <= 2


def test_tracking_gives_figure_5(tracked, month):
    """Every curve is the share of analysts over that limit by days since renewal, added up from the questions."""
    information, calls = (1000, 2000, 3000, 4000), (10, 20, 30, 40)
    curves = example.figure_5(example.desk_of(tracked, SECRET), information=information, calls=calls)
    plain = [crossings(month, information=k) for k in information] + [crossings(month, calls=count) for count in calls]

    assert len(curves) == len(plain) == 8
    for curve, days in zip(curves, plain, strict=True):
        assert list(curve.shares) == pytest.approx(curve_of(days.values(), 500))
        # A batch on the first day goes over, as the paper notes; and more do in the course of the month.
        assert 0 < curve.shares[0] < curve.shares[-1]


def test_the_papers_limits_leave_most_alone(tracked, month):
    """As in the paper: 3000 units leave more than 93 % of the analysts alone, 30 calls about 95 %."""
    desk = example.desk_of(tracked, SECRET)
    units, calls = example.figure_5(desk, information=(3000,), calls=(30,))

    assert 0.03 < units.shares[-1] < 0.07
    assert 0.03 < calls.shares[-1] < 0.07


def test_the_ledger_is_whole_after_the_month(tracked, month):
    """All that was charged adds up, to the unit, and nothing was refused although some went over."""
    person = max(crossings(month, information=3000))
    balance = tracked.balance(
        Account(kind="analyst", name=person, entity=tracked.catalog.find(example.DATASET, by=example.OWNER).population)
    )
    information = sum(one.information for one in month if one.analyst == person)
    calls = sum(one.calls for one in month if one.analyst == person)

    assert tracked.verify().problems == ()
    assert balance.spent == Spent(rho=information * Decimal("0.0028125"), delta=calls * Decimal("1e-10"))
    assert balance.left.rho < 0


def test_the_proposed_limit_stops_whom_it_said(tracked, month, folder):
    """Enforced on the same month, it refuses the very analysts that were named, and nobody else."""
    proposal = suggest(example.desk_of(tracked, SECRET), share="0.95").proposal
    ledger, clock = example.open_month(folder / "enforced.sqlite", proposal.limit, secret=SECRET)
    refused = example.play(ledger, clock, month)
    opened = {one.analyst: one.at for one in reversed(month)}
    days = [(at - opened[who]).days for who, at in refused.items()]
    found = ledger.verify().problems
    ledger.close()

    assert found == ()
    assert tuple(sorted(refused)) == proposal.stopped
    assert 1 - len(refused) / 500 == pytest.approx(proposal.share)
    assert 0.95 <= proposal.share < 0.98
    # Also the days are those of the curves: an analyst is stopped on the day on which the first of the two crosses.
    assert min(days) == 0 < max(days)


def half_paid(one) -> Cost:
    """What an answer cost that was half as long as asked for."""
    return replace(one, information=one.information // 2 + 1).cost


def test_short_answers_stop_no_fewer(folder):
    """Where answers cost less than was held, the last question must fit in full: none that was named gets through.

    Whoever else is stopped had less left than the worst case of one question: with that much more, nobody else is.
    """
    month = [one for one in example.make_month(seed=2) if one.analyst < "analyst-060"]
    worst = max(example.ceiling(replace(example.PAPER, information=one.information)).rho for one in month)

    def ask_under(name, limit):
        ledger, clock = example.open_month(folder / name, limit, secret=SECRET)
        return ledger, set(example.play(ledger, clock, month, paid=half_paid))

    tracked, _ = ask_under("short.sqlite", units_limit(example.PAPER, mode="track"))
    proposal = suggest(example.desk_of(tracked, SECRET), share="0.9").proposal
    most = proposal.limit.ceiling
    strict, refused = ask_under("strict.sqlite", proposal.limit)
    roomy, spared = ask_under("roomy.sqlite", rho_limit(most.rho + worst, most.delta + Decimal("1e-10")))
    for ledger in (tracked, strict, roomy):
        ledger.close()

    assert proposal.stopped
    assert set(proposal.stopped) <= refused
    assert spared <= set(proposal.stopped)


@pytest.fixture
def owner(tracked, tmp_path, monkeypatch):
    """The owner, who calls a service on that ledger over HTTP; the ledger's clock still stands at the month's end."""
    for name, key in (("noise", SECRET.value), ("tokens", bytes(range(32, 64)))):
        (tmp_path / name).touch(mode=0o600)
        (tmp_path / name).write_bytes(key)
    (tmp_path / "hushcount.toml").write_text(_SERVED, encoding="utf-8")
    tracked.grant(SERVICE, "owner", by=example.OWNER)
    # The ledger is the fixture's, and so is closing it.
    monkeypatch.setattr(opening, "open_ledger", lambda *_, **__: tracked)
    monkeypatch.setattr(tracked, "close", lambda: None)
    with open_service(read_config(tmp_path / "hushcount.toml", {})) as service, start_blocking_portal() as portal:
        wanted = WantedToken(label="the owner", scopes=("manage",))
        token = make_token(service.setting, service.tokens_key, owner=example.OWNER, wanted=wanted)
        yield Client(app=make_app(service), portal=portal).signed(token.text.text)


def test_figure_5_over_http(tracked, owner):
    """The same curves as from the ledger: 3000 units are 84.375 standard releases of noise, 30 calls 0.003 of delta."""
    units, calls = example.figure_5(example.desk_of(tracked, SECRET), information=(3000,), calls=(30,))
    reply = owner.get("/v1/datasets/engagements/usage?limits=84.375,0.003")
    by_units, by_calls = reply.form["limits"]

    assert reply.status == 200
    assert reply.form["analysts"] == 500
    assert by_units["noise"] == list(units.shares)
    assert by_calls["rare_items"] == list(calls.shares)


def test_the_proposal_over_http(tracked, owner):
    """The same limit, to the last digit, and the same people; set as it is told, it is the limit that was enforced."""
    proposal = suggest(example.desk_of(tracked, SECRET), share="0.95").proposal
    told = owner.post("/v1/datasets/engagements/proposals", {"share": "0.95"}).form
    typed = make_limit({"rho": told["rho"], "delta": told["delta"]}, window=told["window"], mode="enforce")

    assert tuple(told["stopped"]) == proposal.stopped
    assert told["share"] == pytest.approx(proposal.share)
    assert typed.ceiling == proposal.limit.ceiling


def test_the_page_shows_this_month(tracked):
    """The table and the sentence of the page are what this month gives."""
    page = (ROOT / "docs" / "serve" / "linkedin.md").read_text(encoding="utf-8")
    desk = example.desk_of(tracked, SECRET)
    curves = example.figure_5(desk, information=(1000, 2000, 3000, 4000), calls=(10, 20, 30, 40))
    proposal = suggest(desk, share="0.95").proposal
    units = proposal.limit.ceiling.rho / example.ceiling(replace(example.PAPER, information=1)).rho
    calls = proposal.limit.ceiling.delta / example.PAPER.delta_per_call

    for day in (0, 7, 14, 21, 28):
        assert f"| {day} | " + " | ".join(f"{curve.shares[day]:.1%}" for curve in curves) + " |" in page
    told = " ".join(page.split())
    assert f"{units:.0f} units and {calls:.0f} calls a month" in told
    assert f"stopped {len(proposal.stopped)} of the 500" in told


def test_a_limit_as_an_owner_types_it():
    """3000 units and 30 calls, as an owner types them, are 8.4375 of rho and 3e-9 of delta a month."""
    typed = make_limit({"information": 3000, "calls": 30}, window="month", mode="enforce")

    assert typed.ceiling == Spent(rho=Decimal("8.4375"), delta=Decimal("3e-9"))
    assert typed == units_limit(example.PAPER)
