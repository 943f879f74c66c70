"""DP-SIPS, Figures 9 to 11: how its work grows, from our Spark benchmark, extrapolated to the paper's clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hushcount.model.budgets import rho_budget
from hushcount.model.facts import Facts
from hushcount.model.inputs import UniformWeights
from studies.findings import Chart, Claim, Findings, Series, Table
from studies.logs import Log, zipf
from studies.study import Scale, Study

# What `make bench-spark` measured (docs/spark.md): people, rows, workers, seconds by the clock, core seconds of all
# processes, bytes written by shuffles for each row; SIPS in three rounds.
SPARK = (
    (1e6, 28.8e6, 1, 183, 28.8e6 * 7.3e-6, 36.9),
    (1e6, 28.8e6, 2, 121, 28.8e6 * 7.5e-6, 36.9),
    (3e6, 86.4e6, 2, 350, 86.4e6 * 7.2e-6, 34.9),
    (10e6, 288e6, 2, 1109, 288e6 * 6.4e-6, 33.1),
)
# The paper's clusters on Amazon's four million reviews (section 5.3): cores, and what it says SIPS took.
PAPER = {"8 nodes of 8 cores (Figure 10)": (64, 58.41), "2 nodes of 32 cores (Figure 11)": (64, 66.28)}
AMAZON_ROWS, SYNTHETIC_ROWS = 4e6 * 45, 4_643_596_660
CORE_SECONDS = 6.4e-6
PASSES = {"weighted-gaussian": 1, "sips": 3}
PEOPLE = (5_000, 20_000, 80_000)


@dataclass
class Watched:
    """A log that counts how many pairs were passed over to answer."""

    log: Log
    pairs: int = 0

    def weights(self, rule: UniformWeights) -> object:
        """As the log's own."""
        self.pairs += len(self.log.ids)
        return self.log.incidence.weights(rule)

    def lists(self, *given: Any) -> object:  # noqa: ANN401  as the log's own
        """As the log's own: what a policy asks for, who visits people one after another."""
        self.pairs += len(self.log.ids)
        return self.log.incidence.lists(*given)


def scaling(scale: Scale) -> Findings:
    """Passes over the pairs, counted; seconds by Spark, from the benchmark; the paper's clusters, computed."""
    people = PEOPLE[:2] if scale.small else PEOPLE
    passes = {(name, n): _passes(scale, name, n) for name in PASSES for n in people}
    cores = {n: core / rows for n, rows, workers, _, core, _ in SPARK if workers == 2}
    growth = (SPARK[3][4] / SPARK[1][4]) / (SPARK[3][1] / SPARK[1][1])
    faster = SPARK[0][3] / SPARK[1][3]
    ours = {where: AMAZON_ROWS * CORE_SECONDS / n for where, (n, _) in PAPER.items()}
    return Findings(
        sentence=(
            f"Core time grows {growth:.2f} times as fast as rows from 1 to 10 million people, a second core makes "
            f"SIPS {faster:.2f} times as fast, and it makes one pass over the pairs for each round whatever their "
            f"number; by these numbers the paper's 64 cores would take {ours['8 nodes of 8 cores (Figure 10)']:.0f} "
            "s and waiting for what took it 58 s."
        ),
        tables=_tables(passes, ours),
        charts=(
            Chart(
                title="SIPS on Spark: core seconds by rows",
                x="rows",
                y="core seconds",
                log_x=True,
                log_y=True,
                series=(
                    Series(
                        name="measured, two workers", points=tuple((r, core) for _, r, w, _, core, _ in SPARK if w == 2)
                    ),
                    Series(
                        name="6.4 µs for each row",
                        points=tuple((rows, rows * CORE_SECONDS) for rows in (28.8e6, 288e6, SYNTHETIC_ROWS)),
                        dashed=True,
                    ),
                ),
            ),
        ),
        claims=(
            Claim(
                "each round is one pass over the pairs, at every size",
                all(value == PASSES[name] for (name, _), value in passes.items()),
            ),
            Claim("core time grows no faster than rows, from 1 to 10 million people", growth <= 1),
            Claim(
                "core time of a row falls or stays with size",
                list(cores.values()) == sorted(cores.values(), reverse=True),
            ),
            Claim("a second worker makes it at least 1.2 times as fast", faster > 1.2, seen=True),
        ),
        remarks=REMARKS,
        settings={
            "passes": "generated logs, lists of Pareto(10, 1.16) items cut at 100, items of Zipf 1.1",
            "Spark": "numbers of `make bench-spark`, from docs/spark.md",
        },
    )


def _tables(passes: dict[tuple[str, int], float], ours: dict[str, float]) -> tuple[Table, ...]:
    return (
        Table(
            title="Passes over the pairs, counted in this run",
            columns=("mechanism", "people", "passes", "one for each round"),
            rows=tuple((name, n, value, PASSES[name]) for (name, n), value in passes.items()),
        ),
        Table(
            title="SIPS on Spark, as the benchmark measured it",
            words="Two workers of one core each; one run each (docs/spark.md). Not run again by this study.",
            columns=("people", "rows", "workers", "clock, s", "core time of a row, µs", "shuffle bytes of a row"),
            rows=tuple((int(n), int(r), w, c, 1e6 * core / r, b) for n, r, w, c, core, b in SPARK),
        ),
        Table(
            title="Extrapolated to the paper's data (nothing here was run)",
            words="6.4 µs of a core for each row; all cores busy; network and disks keep up.",
            columns=("data", "rows", "cores", "ours, computed, s", "paper, s", "ours / paper"),
            rows=(
                *(
                    (f"Amazon, {where}", int(AMAZON_ROWS), n, ours[where], paper, ours[where] / paper)
                    for where, (n, paper) in PAPER.items()
                ),
                (
                    "Synthetic_80M, 8 nodes of 32 cores (Figure 9)",
                    SYNTHETIC_ROWS,
                    256,
                    SYNTHETIC_ROWS * CORE_SECONDS / 256,
                    None,
                    None,
                ),
            ),
        ),
    )


def _passes(scale: Scale, name: str, people: int) -> float:
    chance = np.random.default_rng(people)
    lengths = np.minimum(10 * (1 + chance.pareto(1.16, people)), 100).astype(np.int64)
    watched = Watched(Log(f"{people} people", zipf(lengths, 1.1, items=people, chance=chance)))
    plan = scale.plan(name, rho_budget("0.1", "1e-5"), Facts(max_items=100))
    scale.find(name).run(watched, plan, scale.noise(0))
    return watched.pairs / len(watched.log.ids)


REMARKS = (
    (
        "Data: the paper does not say how many distinct words a review of Amazon has after its bound of "
        "100; 45 is assumed. Figures 10 and 11 state two times of SIPS in the text; the others are read "
        "from no table."
    ),
    (
        "Assumptions of the extrapolation are those of docs/scale.md: bytes and time for each row stay the "
        "same, few people are over the bound, texts are as long. Waiting for the network is not in it."
    ),
    ("Policies and GW visit people in sequence: they are refused on Spark, as the paper finds that they do not scale."),
)

SIPS_SCALING = Study(
    name="sips-scaling",
    title="DP-SIPS, Figures 9 to 11: scaling",
    source="DP-SIPS (Swanberg, Desfontaines and Haney 2023), Figures 9 to 11",
    question="Does its work grow with rows and shrink with cores, as the paper says?",
    run=scaling,
)
