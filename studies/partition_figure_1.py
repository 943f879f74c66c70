"""Optimal partition selection, Figure 1: the probability of keeping a partition, by the number of its people."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np

from hushcount.model.budgets import Budget, epsilon_budget
from hushcount.model.facts import Facts
from hushcount.model.inputs import Histogram
from studies.findings import Chart, Claim, Findings, Measured, Series, Table, share_of
from studies.keeping import Curve, curves, optimal_as_printed
from studies.study import Scale, Study

# The paper's two panels, and the numbers of people that its axes reach.
PANELS = {(1.0, 1e-5): 25, (0.1, 1e-10): 500}
WAYS = {"optimal": "optimal", "laplace": "count-laplace", "gaussian": "count-gaussian", "tsgd": "tsgd"}


def figure_1(scale: Scale) -> Findings:
    """The law of each plan as a curve, and what runs of the mechanisms keep beside it."""
    laws = {panel: curves(*panel) for panel in PANELS}
    tried = {panel: _tried(scale, panel, most) for panel, most in PANELS.items()}
    printed = {panel: _off(laws[panel]["optimal"](np.arange(most + 1)), panel, most) for panel, most in PANELS.items()}
    mids = {
        panel: {way: int(np.argmax(law(np.arange(4000)) >= 0.5)) for way, law in laws[panel].items()}
        for panel in PANELS
    }
    rows = tuple(
        (epsilon, delta, way, n, share, float(laws[epsilon, delta][way](np.array([n]))[0]))
        for (epsilon, delta), by in tried.items()
        for (way, n), share in by.items()
    )
    first, second = (mids[panel] for panel in PANELS)
    return Findings(
        sentence=(
            "An item is kept as often as the laws say, and the optimal primitive needs the fewest people: "
            f"{first['optimal']} for even odds at (1, 1e-5) where Laplace noise needs {first['laplace']} and Gaussian "
            f"{first['gaussian']}, {second['optimal']} at (0.1, 1e-10) where they need {second['laplace']} and "
            f"{second['gaussian']}; the thresholded release (k-TSGD) costs at most one person more."
        ),
        tables=(
            Table(
                title="Even odds",
                columns=("epsilon", "delta", *WAYS, "laplace / optimal"),
                rows=tuple(
                    (*panel, *(mid[way] for way in WAYS), mid["laplace"] / mid["optimal"])
                    for panel, mid in mids.items()
                ),
            ),
            Table(title="Kept in runs", columns=("epsilon", "delta", "way", "people", "kept", "law"), rows=rows),
        ),
        charts=tuple(_chart(panel, most, laws[panel]) for panel, most in PANELS.items()),
        claims=(
            Claim(
                "runs keep as many items as their laws say, within 4.5 standard errors",
                all(_as_said(r[4], r[5]) for r in rows),
            ),
            Claim("pi_opt is the printed recurrence, within 1e-12", max(printed.values()) < 1e-12),
            Claim(
                "no way keeps an item with higher probability than pi_opt",
                all(_highest(laws[p], most) for p, most in PANELS.items()),
            ),
            Claim(
                "k-TSGD needs at most one person more than pi_opt",
                all(m["tsgd"] - m["optimal"] <= 1 for m in mids.values()),
            ),
        ),
        remarks=REMARKS,
        settings={
            "epsilon, delta": "(1, 1e-5) and (0.1, 1e-10)",
            "runs": (
                f"{len(scale.runs(4000, 1500)):,} items of each number of people, one run; counts of one item per "
                "person"
            ),
        },
    )


def _tried(scale: Scale, panel: tuple[float, float], most: int) -> dict[tuple[str, int], Measured]:
    """Items of n people each, how many of them a run keeps, at a few n."""
    each = len(scale.runs(4000, 1500))
    budget = epsilon_budget(Decimal(str(panel[0])), Decimal(str(panel[1])))
    found = {}
    for way, name in WAYS.items():
        middle = int(np.argmax(curves(*panel)[way](np.arange(4000)) >= 0.5))
        for n in (max(1, middle - most // 12), middle, middle + most // 12):
            found[way, n] = _kept(scale, name, budget, (n, each))
    return found


def _kept(scale: Scale, name: str, budget: Budget, shape: tuple[int, int]) -> Measured:
    n, each = shape
    mechanism = scale.find(name)
    items = np.array([f"item {number:06}" for number in range(each)], dtype=object)
    counts = Histogram(items=items, counts=np.full(each, n, dtype=np.int64), complete=True)
    plan = mechanism.plan(budget, Facts(max_items=1))
    given = counts if mechanism.wants == "histogram" else _Weighed(counts)
    return share_of(len(mechanism.run(given, plan, scale.noise(n)).items), each)


class _Weighed:
    """A histogram as who has what, for mechanisms that weigh: each person has one item, of weight one."""

    def __init__(self, counts: Histogram) -> None:
        self.counts = counts

    def weights(self, rule: object) -> object:
        """Everybody's weight of one, on the grid of the rule."""
        from hushcount.model.inputs import UniformWeights, WeightedHistogram  # noqa: PLC0415  used here alone

        assert isinstance(rule, UniformWeights)  # noqa: S101  for the type checker
        unit = 1 << rule.bits
        return WeightedHistogram(items=self.counts.items, weights=self.counts.counts * unit, unit=unit)


def _off(table: np.ndarray, panel: tuple[float, float], most: int) -> float:
    return float(np.max(np.abs(table - optimal_as_printed(*panel, most))))


def _as_said(share: Measured, law: float) -> bool:
    return share.near(law, errors=4.5) or abs(share.mean - law) <= 4.5 * math.sqrt(law * (1 - law) / 1500) + 1e-3


def _highest(laws: dict[str, Curve], most: int) -> bool:
    n = np.arange(1, 4 * most)
    best = laws["optimal"](n)
    return all(bool(np.all(law(n) <= best + 1e-9)) for law in laws.values())


def _chart(panel: tuple[float, float], most: int, laws: dict[str, Curve]) -> Chart:
    n = np.unique(np.linspace(0, 1.3 * most if panel[0] < 1 else most, 120).astype(np.int64))
    series = tuple(
        Series(name=way, points=tuple(zip(n.astype(float).tolist(), law(n).tolist(), strict=True)))
        for way, law in laws.items()
    )
    return Chart(
        title=f"epsilon = {panel[0]}, delta = {panel[1]}", x="people", y="probability of keeping", series=series
    )


REMARKS = (
    (
        "The paper draws Laplace noise and pi_opt and prints no numbers; Gaussian noise and k-TSGD are "
        "added. Under rho in the place of (epsilon, delta) a Gaussian threshold is the best of them: the "
        "page on the chooser shows it."
    ),
)

PARTITION_FIGURE_1 = Study(
    name="partition-figure-1",
    title="Partition selection, Figure 1: keep probabilities",
    source="Differentially private partition selection (Desfontaines, Voss, Gipson and Mandayam 2022), Figure 1",
    question="With which probability is an item of n people kept, by the optimal primitive and by thresholds on noise?",
    run=figure_1,
    reads=("optimal", "count-laplace", "count-gaussian", "tsgd"),
)
