"""Set union, Table 3: what private naming covers, against the rule that shows what at least k people have."""

from __future__ import annotations

import itertools
import math

import numpy as np

from hushcount.model.budgets import epsilon_budget
from hushcount.model.facts import Facts
from studies.findings import Chart, Claim, Findings, Measured, Series, Table, measured
from studies.study import Scale, Study

KS = (2, 5, 10, 15, 18, 20, 25, 40)
WAYS = ("policy-laplace", "policy-gaussian", "ladder")
BOUND = 100
# The paper's Table 3: how many words at least k people have, and |S| / |S_k| of both policies (erratum 27 corrected).
PAPER = {
    5: (34699, 0.425, 0.491),
    10: (23471, 0.628, 0.725),
    15: (18461, 0.798, 0.922),
    18: (16612, 0.887, 1.025),
    20: (15550, 0.948, 1.095),
    25: (13638, 1.081, 1.248),
}


def table_3(scale: Scale) -> Findings:
    """The size of what is named over |S_k|, as in the paper, and the share of S_k that is really named."""
    log = scale.log("reddit people")
    counts = log.histogram.counts
    reached = {k: int(np.count_nonzero(counts >= k)) for k in KS}
    runs = {way: [_kept(scale, way, seed) for seed in scale.runs(2)] for way in WAYS}
    sizes = {way: measured(len(kept) for kept in all_kept) for way, all_kept in runs.items()}
    covered = {
        (way, k): measured(np.count_nonzero(kept >= k) / reached[k] for kept in runs[way]) for way in WAYS for k in KS
    }
    even = {way: _even(sizes[way], counts) for way in WAYS}
    return Findings(
        sentence=(
            f"At epsilon = 3 and delta = e^-10 as many words are named as at least {even['policy-gaussian']} people "
            f"use by Policy Gaussian (paper: about 18), {even['policy-laplace']} by Policy Laplace (25), and "
            f"{even['ladder']} by our ladder; a rule of k people, which is not private, would show no more."
        ),
        tables=(_coverage(sizes, reached, covered), _beside(sizes, reached)),
        charts=(
            Chart(
                title="Share of the items of at least k people that is named",
                x="k, people",
                y="share named",
                series=tuple(
                    Series(name=way, points=tuple((float(k), covered[way, k].mean) for k in KS)) for way in WAYS
                ),
            ),
        ),
        claims=(
            Claim(
                "Policy Gaussian covers more than Policy Laplace, as the paper says",
                sizes["policy-gaussian"].mean > sizes["policy-laplace"].mean,
            ),
            Claim("the ladder covers the most", sizes["ladder"].mean == max(size.mean for size in sizes.values())),
            Claim(
                "the ladder names at least 95 % of the items of 40 people and more",
                covered["ladder", 40].mean >= 0.95,
                seen=True,
            ),
        ),
        remarks=REMARKS,
        settings={
            "budget": "epsilon = 3, delta = e^-10; at most 100 items of each person",
            "runs": f"{len(scale.runs(2))} of each",
            "data": log.name,
        },
    )


def _coverage(sizes: dict[str, Measured], reached: dict[int, int], covered: dict[tuple[str, int], Measured]) -> Table:
    return Table(
        title="Coverage",
        words="|S| / |S_k| is the paper's measure; the share of S_k is what of it is named indeed.",
        columns=(
            "k",
            "items of at least k people",
            *(f"{way}: S / S_k" for way in WAYS),
            *(f"{way}: of S_k" for way in WAYS),
        ),
        rows=tuple(
            (k, reached[k], *(sizes[way] / reached[k] for way in WAYS), *(covered[way, k] for way in WAYS)) for k in KS
        ),
    )


def _beside(sizes: dict[str, Measured], reached: dict[int, int]) -> Table:
    """Our shares over the paper's, row by row of its table."""
    return Table(
        title="Beside the paper's Table 3",
        words="S / S_k over the paper's own, which is of r/AskReddit; ours is of its stand-in.",
        columns=(
            "k",
            "S_k, paper",
            "laplace, paper",
            "laplace, ours / paper",
            "gaussian, paper",
            "gaussian, ours / paper",
        ),
        rows=tuple(
            (
                k,
                whole,
                laplace,
                sizes["policy-laplace"] / reached[k] / laplace,
                gaussian,
                sizes["policy-gaussian"] / reached[k] / gaussian,
            )
            for k, (whole, laplace, gaussian) in PAPER.items()
        ),
    )


def _kept(scale: Scale, way: str, seed: int) -> np.ndarray:
    """How many people have each item that one run names."""
    log = scale.log("reddit people")
    plan = scale.plan(way, epsilon_budget("3", f"{math.exp(-10):.12e}"), Facts(max_items=BOUND))
    return log.true_counts(scale.run(way, log, plan, seed).items)


def _even(size: Measured, counts: np.ndarray) -> int:
    """The least k for which no more items have k people than were named."""
    return next(k for k in itertools.count(1) if np.count_nonzero(counts >= k) <= size.mean)


REMARKS = (
    (
        "Erratum 27: the paper's 24.5 % at k = 5 is 42.5 %, and its size of Policy Gaussian l2 is that of l1; "
        "corrected here."
    ),
    "Data: the stand-in for r/AskReddit has other words, so other |S_k|; shares compare, sizes do not.",
)

UNION_TABLE_3 = Study(
    name="union-table-3",
    title="Set union, Table 3: coverage against k-anonymity",
    source="Differentially private set union (Gopi and others 2020), Table 3",
    question="How much of what at least k people have is named?",
    run=table_3,
)
