"""On a grid, how long an answer takes to become visible tells nothing of the data; without one it does.

The store is one whose time depends on what it reads, as every store's does: by far more than one person would make of
it, so that a difference that is not hidden cannot be missed. Delays of either part of the data are measured by turns in
random order, so that whatever else the machine does falls on both alike, and held against each other by a permutation
test on the largest distance of the two empirical distributions (Kolmogorov and Smirnov).

With 24 delays each it rejects at ALPHA when that distance is 0.58 or more. Two normal distributions two standard
deviations apart are told apart 98 times in 100; the store's times, 200 ms apart where a machine's own variation is some
tens of milliseconds, nearly always. Two that are the same are told apart once in a thousand runs at most.
"""

from __future__ import annotations

import random
import threading
import time
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from hushcount.app.serving import opening
from hushcount.app.serving.data.access import direct_access
from hushcount.app.serving.data.shelves import Access
from hushcount.app.serving.setup.config import Timing
from tests.api.served import TOP, staged

ALPHA = 0.001
SAMPLES = 24
_SHUFFLES = 20_000
_GRID = 1.0
# What the store takes for the data of one person less and for that of one more. Both end before the first tick.
_SECONDS = {"AU": 0.0, "NZ": 0.2}
# On the grid they do little but wait, each for a part of the time between two ticks that is its own.
_CALLERS = 8


class SlowEngine:
    """An engine that takes the longer the more it finds: a stand-in for one person more, seen by a clock."""

    def __init__(self, engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str):
        return getattr(self._engine, name)

    def histogram(self, selection, **given):
        """As the engine's own, after a while that depends on what is read."""
        time.sleep(next(seconds for country, seconds in _SECONDS.items() if country in str(selection)))
        return self._engine.histogram(selection, **given)


def slowly() -> Access:
    """Data of which one part takes longer than another."""
    direct = direct_access()
    return Access(open=lambda offer: SlowEngine(direct.open(offer)), stamp=direct.stamp)


def distance(first, second) -> np.ndarray:
    """The largest distance of two empirical distributions, for each row of either."""
    both = np.concatenate([first, second], axis=-1)
    order = np.argsort(both, axis=-1, kind="stable")
    return _apart(order < first.shape[-1], np.take_along_axis(both, order, axis=-1))


def _apart(is_first, values) -> np.ndarray:
    """The same, of rows of values in order, and of which of them are of the first."""
    counts = is_first.sum(-1, keepdims=True), (~is_first).sum(-1, keepdims=True)
    shares = np.cumsum(is_first, axis=-1) / counts[0] - np.cumsum(~is_first, axis=-1) / counts[1]
    # Between two values that are the same there is nothing.
    last = np.concatenate([values[..., 1:] != values[..., :-1], np.ones((*values.shape[:-1], 1), bool)], axis=-1)
    return np.abs(shares * last).max(-1)


def p_value(first, second, seed: int = 5) -> float:
    """How often chance alone puts two samples as far apart."""
    chance, values = np.random.default_rng(seed), np.sort(np.concatenate([first, second]))
    is_first = np.tile(np.arange(len(values)) < len(first), (_SHUFFLES, 1))
    shuffled = _apart(chance.permuted(is_first, axis=1), np.broadcast_to(values, is_first.shape))
    hits = int((shuffled >= distance(first, second) - 1e-12).sum())
    return (1 + hits) / (1 + _SHUFFLES)


def delays(folder, monkeypatch, timing: Timing, *, callers: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """What callers with a watch measure, for either data, in random order."""
    monkeypatch.setattr(opening, "direct_access", slowly)
    monkeypatch.setattr(opening, "make_access", lambda *_: slowly())
    turns = ["AU", "NZ"] * SAMPLES
    random.Random(11).shuffle(turns)
    seen: dict[str, list[float]] = {"AU": [], "NZ": []}

    def change(config):
        store = replace(config.store("files"), max_running=callers)
        return replace(config, stores=(store,), privacy=replace(config.privacy, timing=timing))

    with staged(folder, change) as stage:
        stage.owner.put("/v1/limits", {"dataset": "events", "releases": "1000"})

        def calling(place: int) -> None:
            time.sleep(place * _GRID / callers)
            for number, country in list(enumerate(turns))[place::callers]:
                asked = {**TOP, "mode": "release", "preset": "cautious", "fresh": True}
                body = {**asked, "where": f"country = '{country}'"}
                started = time.monotonic()
                reply = stage.analyst.post("/v1/queries", body, Idempotency_Key=f"turn-{number}", Prefer="wait=30")
                seen[country].append(time.monotonic() - started)
                assert reply.status == 200, reply.body

        threads = [threading.Thread(target=calling, args=(place,)) for place in range(callers)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert [len(one) for one in seen.values()] == [SAMPLES, SAMPLES]
    return np.array(seen["AU"]), np.array(seen["NZ"])


def test_on_a_grid_delays_are_the_same(tmp_path, monkeypatch):
    """Whoever watches the clock cannot tell one data set from its neighbour."""
    timing = Timing(kind="grid", every=timedelta(seconds=_GRID))
    first, second = delays(tmp_path, monkeypatch, timing, callers=_CALLERS)
    found = p_value(first, second)
    print(f"grid: medians {np.median(first):.3f} and {np.median(second):.3f} s, p = {found:.4f}")  # noqa: T201

    assert found > ALPHA
    assert min(first.min(), second.min()) >= _GRID


def test_without_a_grid_they_are_told_apart(tmp_path, monkeypatch):
    """The same test finds the difference where answers become visible as soon as they are there."""
    first, second = delays(tmp_path, monkeypatch, Timing(kind="off"))
    found = p_value(first, second)
    print(f"no grid: medians {np.median(first):.3f} and {np.median(second):.3f} s, p = {found:.4f}")  # noqa: T201

    assert found < ALPHA


def test_the_test_has_the_power_that_is_stated():
    """Two standard deviations apart are told apart 98 times in 100; the same, hardly ever."""
    chance = np.random.default_rng(3)
    # The least distance that is rejected, by the test itself.
    nothing = distance(*chance.normal(size=(2, 20_000, SAMPLES)))
    least = float(np.quantile(nothing, 1 - ALPHA))
    shifted = distance(chance.normal(size=(2000, SAMPLES)), chance.normal(2.0, size=(2000, SAMPLES)))

    assert np.mean(nothing > least) <= ALPHA
    assert np.mean(shifted > least) > 0.97


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_a_permutation_test_is_exact(shift):
    """A difference of three standard deviations has the least p-value that there can be; none has a large one."""
    chance = np.random.default_rng(9)
    found = p_value(chance.normal(size=SAMPLES), chance.normal(shift, size=SAMPLES))

    assert (found < ALPHA) == (shift > 0)


def test_the_distance_is_the_one_of_an_independent_library():
    """Also where values are the same."""
    # Importing it takes longer than most tests: by the process that runs this one, not by all that collect it.
    from scipy.stats import ks_2samp

    chance = np.random.default_rng(4)
    for values in (chance.normal(size=(2, SAMPLES)), chance.integers(0, 5, size=(2, SAMPLES)).astype(float)):
        assert distance(*values) == pytest.approx(ks_2samp(*values, method="asymp").statistic)
