"""Optimal partition selection, Figures 2 and 3: mid-points and percentiles, by epsilon and by delta."""

from __future__ import annotations

from studies.findings import Chart, Claim, Findings, Series, Table
from studies.keeping import Curve, crossing, curves
from studies.study import Scale, Study

WAYS = ("optimal", "laplace", "gaussian", "tsgd")
EPSILONS = (0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0)
DELTAS = (1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
FIXED_DELTA, FIXED_EPSILONS = 1e-5, (0.1, 1.0)


def midpoints(scale: Scale) -> Findings:
    """How many people an item needs for odds of 5, 50 and 95 %."""
    epsilons, deltas = scale.some(EPSILONS, 4), scale.some(DELTAS, 4)
    by_epsilon = {e: _needed(e, FIXED_DELTA) for e in epsilons}
    by_delta = {e: {d: _needed(e, d) for d in deltas} for e in FIXED_EPSILONS}
    gain = {e: needed["laplace"][1] / needed["optimal"][1] for e, needed in by_epsilon.items()}
    apart = {e: [n["laplace"][1] - n["optimal"][1] for n in by.values()] for e, by in by_delta.items()}
    return Findings(
        sentence=(
            f"The optimal primitive needs {gain[min(epsilons)]:.2f} times fewer people than Laplace noise at epsilon "
            f"= {min(epsilons)} and {gain[max(epsilons)]:.2f} times at {max(epsilons)}, and the distance between the "
            f"two does not depend on delta ({min(apart[0.1])} to {max(apart[0.1])} people at epsilon = 0.1): Figures "
            "2 and 3 hold."
        ),
        tables=(
            Table(
                title=f"By epsilon, delta = {FIXED_DELTA} (Figure 2)",
                columns=("epsilon", *(f"{way}: 5, 50, 95 %" for way in WAYS), "laplace / optimal at 50 %"),
                rows=tuple((e, *(_told(needed[way]) for way in WAYS), gain[e]) for e, needed in by_epsilon.items()),
            ),
            Table(
                title="By delta (Figure 3)",
                columns=("epsilon", "delta", *(f"{way}: 5, 50, 95 %" for way in WAYS), "laplace - optimal at 50 %"),
                rows=tuple(
                    (e, d, *(_told(needed[way]) for way in WAYS), needed["laplace"][1] - needed["optimal"][1])
                    for e, by in by_delta.items()
                    for d, needed in by.items()
                ),
            ),
        ),
        charts=(
            Chart(
                title="Mid-points by epsilon, 5 to 95 %",
                x="epsilon",
                y="people",
                log_x=True,
                log_y=True,
                series=_series(by_epsilon),
            ),
            *(_by_delta(e, by) for e, by in by_delta.items()),
        ),
        claims=(
            Claim(
                "the gain over Laplace noise falls with epsilon",
                list(gain.values()) == sorted(gain.values(), reverse=True),
            ),
            Claim(
                "it is above 1.1 at the smallest epsilon and below 1.25 from epsilon = 1 on", _gains(gain), seen=True
            ),
            Claim(
                "the distance between the mid-points is constant in delta, within two people",
                all(max(line) - min(line) <= 2 for line in apart.values()),
                seen=True,
            ),
            Claim("no way has a lower mid-point than the optimal one", all(_least(n) for n in by_epsilon.values())),
        ),
        remarks=REMARKS,
        settings={"law": "exact: the tables and thresholds of our plans, nothing drawn", "items of a person": "1"},
    )


def _by_delta(epsilon: float, by: dict[float, dict[str, tuple[int, int, int]]]) -> Chart:
    title = f"Mid-points by delta, epsilon = {epsilon}, 5 to 95 %"
    return Chart(title=title, x="delta", y="people", log_x=True, series=_series(by))


def _needed(epsilon: float, delta: float) -> dict[str, tuple[int, int, int]]:
    most = int(120 / epsilon) + 200

    def people(law: Curve) -> tuple[int, int, int]:
        low, middle, high = (crossing(law, share, most) for share in (0.05, 0.5, 0.95))
        return low, middle, high

    return {way: people(law) for way, law in curves(epsilon, delta).items()}


def _told(people: tuple[int, int, int]) -> str:
    return ", ".join(f"{n:,}" for n in people)


def _series(by: dict[float, dict[str, tuple[int, int, int]]]) -> tuple[Series, ...]:
    return tuple(
        Series(
            name=way,
            points=tuple((x, float(needed[way][1])) for x, needed in by.items()),
            band=tuple((float(needed[way][0]), float(needed[way][2])) for needed in by.values()),
        )
        for way in WAYS[:3]
    )


def _gains(gain: dict[float, float]) -> bool:
    return gain[min(gain)] > 1.1 and all(value < 1.25 for epsilon, value in gain.items() if epsilon >= 1)


def _least(needed: dict[str, tuple[int, int, int]]) -> bool:
    return needed["optimal"][1] == min(people[1] for people in needed.values())


REMARKS = ("The paper prints no numbers beside these figures; what its text says of them is what is checked here.",)

PARTITION_MIDPOINTS = Study(
    name="partition-midpoints",
    title="Partition selection, Figures 2 and 3: mid-points",
    source="Differentially private partition selection (Desfontaines, Voss, Gipson and Mandayam 2022), Figures 2 and 3",
    question="How many people does an item need, by epsilon and by delta?",
    run=midpoints,
    reads=("optimal", "count-laplace", "count-gaussian", "tsgd"),
)
