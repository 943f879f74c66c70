"""Optimal partition selection, section 5: public and private partitions with two thresholds; pre-thresholding."""

from __future__ import annotations

import itertools

import numpy as np

from hushcount.mechanisms.selection.optimal import plan_optimal
from hushcount.model.budgets import epsilon_budget
from hushcount.model.facts import Facts
from hushcount.model.inputs import Bound, Histogram
from studies.findings import Chart, Claim, Findings, Measured, Series, Table, measured
from studies.study import Scale, Study

BUDGET = ("1", "1e-5")
LISTED, EVERY = 3000, 10
LEASTS = (1, 2, 5, 10, 20, 50)


def public(scale: Scale) -> Findings:
    """Some items, held by many or few, are on a public list; then items of fewer than m people are never named."""
    log = scale.log("git_commit_words")
    one = log.incidence.histogram(bound=Bound(max_items=1, salt=b"one item of each"))
    listed = np.append(one.items[:LISTED:EVERY], np.array(["a word that nobody uses"], dtype=object))
    found = {name: _shown(scale, one, name, listed) for name in ("tsgd", "tsgd-public")}
    named = {least: _named(scale, one, least) for least in LEASTS}
    extra = found["tsgd-public"]["listed"] / found["tsgd"]["listed"]
    moved = {least: _first(least) for least in LEASTS}
    return Findings(
        sentence=(
            f"With a public list, {extra.mean:.2f} times as many of the listed items get a count as without, and the "
            "others are found as before; never naming an item of fewer than m people moves the curve by m - 1 "
            "people and no more."
        ),
        tables=(
            Table(
                title="Two thresholds",
                words=(
                    f"{len(listed)} listed words, every tenth of the most held {LISTED:,}; a listed one is shown "
                    "above zero."
                ),
                columns=("way", "listed items shown", "others shown", "largest error of a count"),
                rows=tuple((name, *by.values()) for name, by in found.items()),
            ),
            Table(
                title="Pre-thresholding: never an item of fewer than m people",
                columns=("m", "items named", "people from which one may be named", "for even odds"),
                rows=tuple((least, named[least], *moved[least]) for least in LEASTS),
            ),
        ),
        charts=(
            Chart(
                title="Items named by m",
                x="m: the least number of people",
                y="items named",
                log_x=True,
                series=(Series(name="optimal", points=tuple((float(m), n.mean) for m, n in named.items())),),
            ),
        ),
        claims=(
            Claim("a public list shows at least 1.2 times as many of the listed items", extra.mean > 1.2, seen=True),
            Claim(
                "and as many of the others, within four standard errors",
                found["tsgd"]["others"].near(found["tsgd-public"]["others"], errors=4, share=0.01),
            ),
            Claim(
                "no count is off by more than the bound of the noise, 11",
                all(by["error"].mean <= 11 for by in found.values()),
            ),
            Claim("m moves first and even odds by m - 1", all(_moved(moved, least) for least in LEASTS)),
            Claim("a larger m never names more", _falls([one.mean for one in named.values()])),
        ),
        remarks=REMARKS,
        settings={
            "budget": f"epsilon = {BUDGET[0]}, delta = {BUDGET[1]}; one item of each person",
            "runs": f"{len(scale.runs(20, 6))} of each",
            "data": log.name,
        },
    )


def _shown(scale: Scale, one: Histogram, name: str, listed: np.ndarray) -> dict[str, Measured]:
    known = dict(zip(one.items.tolist(), one.counts.tolist(), strict=True))
    public_items, mechanism = set(listed.tolist()), scale.find(name)
    plan = mechanism.plan(epsilon_budget(*BUDGET), mechanism.fitting(Facts(max_items=1, public_items=listed)))
    on, off, errors = [], [], []
    for seed in scale.runs(20, 6):
        outcome = mechanism.run(one, plan, scale.noise(seed))
        assert outcome.counts is not None  # noqa: S101  for the type checker
        items = outcome.items.tolist()
        on.append(sum(item in public_items for item in items))
        off.append(len(items) - on[-1])
        errors.append(max(abs(c - known.get(i, 0)) for i, c in zip(items, outcome.counts.tolist(), strict=True)))
    return {"listed": measured(on), "others": measured(off), "error": Measured(float(max(errors)))}


def _named(scale: Scale, one: Histogram, least: int) -> Measured:
    plan = plan_optimal(epsilon_budget(*BUDGET), 1, least=least)
    run = scale.find("optimal").run
    return measured(len(run(one, plan, scale.noise(seed)).items) for seed in scale.runs(20, 6))


def _first(least: int) -> tuple[int, int]:
    """From how many people on an item may be named at all, and is more likely named than not."""
    plan = plan_optimal(epsilon_budget(*BUDGET), 1, least=least)
    chances = np.array([float(entry) * 2.0**-128 for entry in plan.table])
    return int(np.argmax(chances > 0)) + least - 1, int(np.argmax(chances >= 0.5)) + least - 1


def _moved(moved: dict[int, tuple[int, int]], least: int) -> bool:
    return all(now == before + least - 1 for now, before in zip(moved[least], moved[1], strict=True))


def _falls(line: list[float]) -> bool:
    return all(after <= before for before, after in itertools.pairwise(line))


REMARKS = ("Erratum 21: pre-thresholding is pi_opt(n - m + 1), which is private as it stands.",)

PARTITION_PUBLIC = Study(
    name="partition-public",
    title="Partition selection: public partitions and pre-thresholding",
    source="Differentially private partition selection (Desfontaines, Voss, Gipson and Mandayam 2022), section 5",
    question="What do a public list with two thresholds, and a least number of people, change?",
    run=public,
)
