"""A served question beside the plain query on an open connection: fresh releases, repeats, and what they consist of.

Plain query and product take turns, so that a busy machine slows both; medians are compared, as the goals are. Where
other programs run beside it, the time of the processors says more than the time on the clock: both are shown.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import duckdb
import numpy as np
from report import Effort, lasting, seconds, show

from hushcount.app.answer import answer
from hushcount.app.options import Options
from hushcount.app.request import make_request
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.data.stores import Stores
from hushcount.app.serving.setup.config import StoreConfig
from hushcount.app.setting import Places, Setting
from hushcount.app.wiring import make_setting
from hushcount.model.queries import Selection

_ROWS = 1_000_000
# Name, people, items, and people as SQL of a number.
_SHAPES = (
    ("integers, 50 k items", 100_000, 50_000, "number"),
    ("texts, 50 k items", 100_000, 50_000, "'person ' || number"),
    ("integers, 50 items", 100_000, 50, "number"),
    ("texts, 50 items", 100_000, 50, "md5(number::VARCHAR)"),
    ("integers, 1 M items", 100_000, 1_000_000, "number"),
    ("texts, 1 M items", 100_000, 1_000_000, "md5(number::VARCHAR)"),
)
_PLAIN = 'SELECT item, count(DISTINCT "user") AS c FROM read_parquet(?) GROUP BY item ORDER BY c DESC LIMIT 1001'
_ALLOWED = 0.015
_TURNS = 7


def measure(effort: Effort) -> None:
    """Each shape of data: the plain query, a fresh release, a repeat, and the engine's part of the release."""
    rows = []
    for shape in _SHAPES:
        with tempfile.TemporaryDirectory() as made:
            rows.append(_measured(Path(made), effort, shape))
    show(
        "Served: medians beside the plain query on an open connection",
        [
            "",
            "plain",
            "release",
            "of goal",
            "counting",
            "repeat",
            "opening",
            "CPU: plain",
            "release",
            "of goal",
            "repeat",
        ],
        rows,
        "The goal of a release is 1.10 times the plain query and 15 ms: 1.00 or less reaches it. A repeat: 10 ms.",
    )


def _measured(folder: Path, effort: Effort, shape: tuple[str, int, int, str]) -> list[str]:
    name, people, items, person = shape
    file = write_log(folder / "log.parquet", (effort.size(_ROWS), effort.size(people), effort.size(items)), person)
    stores, offer = Stores(), _offer(folder, file.name)
    places = Places(home=folder / "home", ledger=str(folder / "ledger.sqlite"), analyst="ann")
    with make_setting(places) as setting, duckdb.connect() as connection:
        opening = seconds(lambda: stores.describe(offer))
        _ask(stores, offer, setting, fresh=False)
        spent = _in_turns(
            lambda: connection.execute(_PLAIN, [str(file)]).fetchall(),
            lambda: _ask(stores, offer, setting, fresh=True),
            lambda: _count(stores, offer),
            lambda: _ask(stores, offer, setting, fresh=False),
            turns=_TURNS if effort.scale == 1.0 else effort.repeats,
        )
        stores.close()
    (plain, release, counting, repeat), (plain_cpu, release_cpu, _, repeat_cpu) = spent
    clock = [*_beside_goal(plain, release), lasting(counting), lasting(repeat), lasting(opening)]
    return [name, *clock, *_beside_goal(plain_cpu, release_cpu), lasting(repeat_cpu)]


def _beside_goal(plain: float, release: float) -> list[str]:
    return [lasting(plain), lasting(release), f"{release / (1.10 * plain + _ALLOWED):.2f}"]


def _in_turns(*works: Callable[[], object], turns: int) -> tuple[list[float], list[float]]:
    """The medians of each, on the clock and of the processors, measured in turns after a first one that is left out."""
    found = [[_spent(work) for work in works] for _ in range(turns + 1)][1:]
    each = list(zip(*found, strict=True))
    return [statistics.median(clock for clock, _ in one) for one in each], [
        statistics.median(cpu for _, cpu in one) for one in each
    ]


def _spent(work: Callable[[], object]) -> tuple[float, float]:
    before = time.process_time()
    clock = seconds(work)
    return clock, time.process_time() - before


def _ask(stores: Stores, offer: Offer, setting: Setting, *, fresh: bool) -> None:
    options: Options = {"k": 10, "fresh": fresh, "rho": "0.00001", "delta": "1e-12"}
    request = make_request("top", user=offer.person, item="item", options=options)
    with stores.lend(offer) as engine:
        answer(request, engine, setting)


def _count(stores: Stores, offer: Offer) -> None:
    with stores.lend(offer) as engine:
        engine.histogram(Selection(user=offer.person, item="item"), top=1000)


def _offer(folder: Path, table: str) -> Offer:
    store = StoreConfig(
        name="logs",
        kind="files",
        place=str(folder),
        password_file=None,
        master=None,
        snapshot="none",
        timeout=timedelta(minutes=5),
        max_running=4,
        max_waiting=100,
    )
    return Offer(id="", name="log", store=store, table=table, person="user")


def write_log(file: Path, sizes: tuple[int, int, int], person: str) -> Path:
    """A Parquet log of so many rows, people and items; items by Zipf's law, exponent 1.1."""
    rows, people, items = sizes
    chance = np.random.default_rng(7)
    weights = np.cumsum(np.arange(1, items + 1) ** -1.1)
    rank = np.searchsorted(weights, chance.random(rows) * weights[-1])
    with duckdb.connect() as connection:
        connection.register("drawn", {"number": chance.integers(0, people, rows), "rank": rank})
        table = f"SELECT {person} AS user, 'item ' || rank AS item FROM drawn"  # noqa: S608  our own words
        connection.execute(f"COPY ({table}) TO '{file}' (FORMAT parquet)")
    return file
