"""How many (person, item) pairs each weighting and each mechanism of `vocab` takes in a second, at three sizes."""

from __future__ import annotations

import math
from collections.abc import Callable

from logs import data_folder, generated, load
from plain import duckdb_query
from report import Effort, lasting, rate, show

from hushcount.engines.incidence import MemoryIncidence
from hushcount.mechanisms.selection.union import plan_union
from hushcount.mechanisms.table import MECHANISMS, find
from hushcount.mechanisms.weighting.greedy import greedy
from hushcount.mechanisms.weighting.policy import l1_descent, l2_descent
from hushcount.model.budgets import rho_budget
from hushcount.model.facts import Facts
from hushcount.model.inputs import Bound, UniformWeights
from hushcount.noise.source import SystemSource

SIZES = (400_000, 1_600_000, 6_400_000)
MAX_ITEMS = 100
BUDGET, FACTS = rho_budget(0.1, 1e-5), Facts(max_items=MAX_ITEMS)
REAL = ("imdb", "reddit_titles")


def measure(effort: Effort) -> None:
    """Print pairs per second on generated logs of three sizes, and on real ones where there are any."""
    times: list[dict[str, float]] = []
    pairs: list[int] = []
    for size in SIZES:
        log = generated(effort.size(size))
        pairs.append(len(log.whole().ids))
        times.append(_times(log, effort))
    folder = data_folder()
    for name in REAL if folder else ():
        real = load(folder / f"{name}.parquet")  # type: ignore[operator]
        pairs.append(len(real.whole().ids))
        times.append(_times(real, effort))
    growth = math.log(pairs[2] / pairs[0])
    rows = [
        (
            name,
            *(rate(count / taken[name]) for count, taken in zip(pairs, times, strict=True)),
            f"{math.log(times[2][name] / times[0][name]) / growth:.2f}",
        )
        for name in times[0]
    ]
    titles = [f"{count / 1e6:.2g} M" for count in pairs[:3]] + [*REAL][: len(pairs) - 3]
    show(
        f"Which items: pairs per second, rho 0.1, delta 1e-5, at most {MAX_ITEMS} items for each person",
        ("weighting or mechanism", *titles, "growth"),
        rows,
        "growth: the power of the number of pairs by which time grew over the three generated logs; 1 is linear.",
    )


def measure_beside_plain_query(effort: Effort) -> None:
    """Print what the private part takes beside the same table without privacy, in the same run."""
    folder = data_folder()
    if folder is None:
        print("\nNo real data: set HUSHCOUNT_DATA to measure beside a plain query.")
        return
    rows = []
    for name in REAL:
        file = folder / f"{name}.parquet"
        plain = effort.best(lambda path=file: duckdb_query(path))  # type: ignore[misc]
        log = load(file)
        histogram, facts = log.histogram(), Facts(max_items=MAX_ITEMS, k=50)
        rows.append((f"{name}: plain query in DuckDB", lasting(plain), "1.00"))
        for mechanism in ("sips", "policy-gaussian", "pcr", "unknown-gumbel"):
            chosen = find(mechanism)
            plan = chosen.plan(BUDGET, chosen.fitting(facts))
            given = log if chosen.wants == "incidence" else histogram
            taken = effort.best(lambda run=chosen.run, data=given, plan=plan: run(data, plan, SystemSource()))  # type: ignore[misc]
            rows.append((f"  {mechanism}, from encoded data", lasting(taken), f"{taken / plain:.2f}"))
    show("Beside a plain query: SELECT item, count(DISTINCT user) ... ORDER BY 2 DESC", ("", "time", "ratio"), rows)


def _times(log: MemoryIncidence, effort: Effort) -> dict[str, float]:
    return {name: effort.best(work) for name, work in _works(log).items()}


def _works(log: MemoryIncidence) -> dict[str, Callable[[], object]]:
    bound = Bound(max_items=MAX_ITEMS, salt=b"bench")
    by_key, by_frequency = log.lists(bound, "key"), log.lists(bound, "frequency")
    laplace, gaussian = (
        plan_union("policy", noise, BUDGET, max_items=MAX_ITEMS).full for noise in ("laplace", "gaussian")
    )
    works: dict[str, Callable[[], object]] = {
        "bounded lists": lambda: log.lists(bound, "key"),
        "uniform, bounding included": lambda: log.weights(UniformWeights(bound=bound, norm=2, share="held")),
        "l1-descent, from lists": lambda: l1_descent(by_key, laplace),
        "l2-descent, from lists": lambda: l2_descent(by_key, gaussian, max_items=MAX_ITEMS),
        "greedy, from lists": lambda: greedy(by_frequency, laplace),
    }
    for mechanism in MECHANISMS:
        if mechanism.wants == "incidence" and mechanism.question == "vocab":
            plan = mechanism.plan(BUDGET, FACTS)
            works[mechanism.name] = lambda run=mechanism.run, plan=plan: run(log, plan, SystemSource())  # type: ignore[misc]
    return works
