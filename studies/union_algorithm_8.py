"""Set union, Algorithm 8: shown to break on lists that a reader can follow, beside Algorithm 7 on the same lists."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hushcount.audit.twins.weightings import algorithm_8
from hushcount.mechanisms.weighting.policy import l2_descent
from hushcount.model.inputs import UserLists
from studies.findings import Chart, Claim, Findings, Series, Table
from studies.study import Scale, Study

# Followers hold four items of a level and one of the next, so that five share a step.
HELD = 4
GAP = 1 / math.sqrt(HELD + 1)
CUTOFF = 3 * GAP - 1e-7
SIZES = (80, 320, 1280, 6400)
People = list[list[str]]


def broken(scale: Scale) -> Findings:
    """The l2 distance by which one person moves all weights, which Gaussian noise takes to be at most one."""
    sizes = SIZES[:3] if scale.small else SIZES
    printed = {n: _distance(n, ours=False) for n in sizes}
    ours = {n: _distance(n, ours=True) for n in sizes}
    before, extra, followers = _lists(80)
    return Findings(
        sentence=(
            f"One person moves the weights of Algorithm 8 by {printed[sizes[0]]:.2f} with a list of {sizes[0]} items "
            f"and by {printed[sizes[-1]]:.2f} with {sizes[-1]:,}, where its noise is made for 1: at {sizes[-1]:,} it "
            f"spends {printed[sizes[-1]] ** 2:.1f} times the rho that it claims; Algorithm 7, ours, stays at "
            f"{max(ours.values()):.2f} and less."
        ),
        tables=(
            Table(
                title="How far one person moves all weights together (l2)",
                words="Rho grows with the square of the distance.",
                columns=("items of that person", "Algorithm 8", "rho over what is claimed", "Algorithm 7, ours"),
                rows=tuple((n, printed[n], printed[n] ** 2, ours[n]) for n in sizes),
            ),
            Table(
                title="The lists of the smallest case",
                words=(
                    "In this order. After the first rows every item of level a waits one step below the cap, those "
                    "of b two. The extra person lifts each a by a little: now followers have less to do there, and "
                    "all of them push b further, together by more than the one person could."
                ),
                columns=("who", "how many", "each holds", "for example"),
                rows=(
                    ("before, twice", 16, "five items of level a", " ".join(before[0])),
                    ("before", 4, "five items of level b", " ".join(before[-1])),
                    ("**the extra person**", 1, "all eighty of level a", f"{extra[0]} ... {extra[-1]}"),
                    ("followers", 20, "four of level a, one of b", " ".join(followers[0])),
                    ("followers", 5, "four of level b, one of c", " ".join(followers[-1])),
                ),
            ),
        ),
        charts=(
            Chart(
                title="How far one person moves the weights",
                x="items of that person",
                y="l2 distance",
                log_x=True,
                series=(
                    Series(name="Algorithm 8, as printed", points=tuple((float(n), d) for n, d in printed.items())),
                    Series(name="Algorithm 7, ours", points=tuple((float(n), d) for n, d in ours.items())),
                    Series(
                        name="what the noise is made for", points=tuple((float(n), 1.0) for n in sizes), dashed=True
                    ),
                ),
            ),
        ),
        claims=(
            Claim("Algorithm 8 moves by more than one from the smallest case on", min(printed.values()) > 1),
            Claim("and further with more items", list(printed.values()) == sorted(printed.values())),
            Claim("Algorithm 7 moves by at most one", max(ours.values()) <= 1),
        ),
        remarks=REMARKS,
        settings={"weights": "exact distances, nothing drawn; cap three saturation gaps, 3/sqrt(5)"},
    )


def _lists(n: int) -> tuple[People, list[str], People]:
    """Who came before, the extra person, and the followers of both levels."""
    sizes = [n, n // HELD, n // HELD**2]
    before = [
        [f"{'abc'[level]}{at + k}" for k in range(5)] for level in (0, 0, 1) for at in range(0, sizes[level] - 4, 5)
    ]
    followers = [
        [*(f"{'abc'[level]}{HELD * at + k}" for k in range(HELD)), f"{'abc'[level + 1]}{at}"]
        for level in range(2)
        for at in range(sizes[level + 1])
    ]
    return before, [f"a{at}" for at in range(n)], followers


def _distance(n: int, *, ours: bool) -> float:
    before, extra, followers = _lists(n)
    both = ([*before, extra, *followers], [*before, *followers])
    one, other = (in_descent(people, CUTOFF, n) if ours else algorithm_8(people, cutoff=CUTOFF) for people in both)
    return math.sqrt(sum((one.get(item, 0.0) - other.get(item, 0.0)) ** 2 for item in {*one, *other}))


def in_descent(people: Sequence[Sequence[str]], cutoff: float, most: int) -> dict[object, float]:
    """Weights by Algorithm 7, as our product has it."""
    codes: dict[str, int] = {}
    ids = np.array([codes.setdefault(item, len(codes)) for held in people for item in held], dtype=np.int32)
    offsets = np.cumsum([0, *map(len, people)], dtype=np.int64)
    found = l2_descent(
        UserLists(items=np.array(list(codes), dtype=object), offsets=offsets, ids=ids), cutoff, max_items=most
    )
    return dict(zip(found.items.tolist(), (found.weights / found.unit).tolist(), strict=True))


REMARKS = (
    (
        "Erratum 22, and the authors' own corrigendum: the paper calls this policy its winner; all numbers "
        "of it are void, and hushcount refuses it by name."
    ),
)

UNION_ALGORITHM_8 = Study(
    name="union-algorithm-8",
    title="Set union, Algorithm 8: not private",
    source="Differentially private set union (Gopi and others 2020), Algorithm 8, and its corrigendum",
    question="By how much can one person move the weights of the policy that the paper calls its winner?",
    run=broken,
    reads=("policy-gaussian",),
)
