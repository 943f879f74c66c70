"""Audience Engagements API, Figure 5: simulated analysts, and which of their two limits stops whom, on which day."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushcount.accounting import units
from studies.findings import Cell, Chart, Claim, Findings, Measured, Series, Table, share_of
from studies.study import Scale, Study

DAYS = 30
INFORMATION, CALLS = (500, 1000, 2000, 3000, 5000), (5, 10, 20, 30, 50)
# LinkedIn's own limits, and the shares of analysts that they leave alone (section 8.1).
LIMITS, PAPER = (3000, 30), (0.93, 0.95)
# Analysts ask in batches on few days: how many questions a month, and how long a list. Chosen so that LinkedIn's limits
# leave alone about the share of analysts that it reports; nothing else is known of its analysts.
QUESTIONS_MEDIAN, QUESTIONS_SPREAD, TOPS = 4.0, 1.25, (25, 50, 100, 200)


@dataclass(frozen=True)
class Month:
    """What one analyst asked: for each question its day, its length, and how much of it came back."""

    day: npt.NDArray[np.int64]
    k: npt.NDArray[np.int64]
    found: npt.NDArray[np.int64]

    def units(self) -> npt.NDArray[np.int64]:
        """Information units that each question used: pay what you get."""
        both = zip(self.k.tolist(), self.found.tolist(), strict=True)
        return np.array([units.unknown_gumbel_used(found, bottom=found < k) for k, found in both], dtype=np.int64)


def figure_5(scale: Scale) -> Findings:
    """Tracking without enforcing: on which day each analyst would have crossed each limit."""
    people = 800 if scale.small else 20_000
    months = [_month(np.random.default_rng(seed)) for seed in range(people)]
    used = [(month.day, np.cumsum(month.units())) for month in months]
    information = {most: [_crossed(day, total, most) for day, total in used] for most in INFORMATION}
    calls = {most: [_crossed(month.day, np.arange(1, len(month.day) + 1), most) for month in months] for most in CALLS}
    alone = {most: share_of(sum(day > DAYS for day in days), people) for most, days in information.items()}
    alone_calls = {most: share_of(sum(day > DAYS for day in days), people) for most, days in calls.items()}
    which = _which(information[LIMITS[0]], calls[LIMITS[1]])
    stopped = [min(pair) for pair in zip(information[LIMITS[0]], calls[LIMITS[1]], strict=True) if min(pair) <= DAYS]
    first_day = stopped.count(1) / max(1, len(stopped))
    return Findings(
        sentence=(
            "Analysts made up so that LinkedIn's limits leave alone about as many as it reports "
            f"({alone[LIMITS[0]].mean:.1%} by {LIMITS[0]:,} units, {alone_calls[LIMITS[1]].mean:.1%} by {LIMITS[1]} "
            f"calls): of those whom a limit stops, information stops {which['information']:.0%} first, calls "
            f"{which['calls']:.0%}, both on one day {which['both on one day']:.0%}, and {first_day:.0%} are stopped "
            "on their first day."
        ),
        tables=_tables(alone, alone_calls, which),
        charts=(
            _chart("information", "units", information),
            _chart("calls", "calls", calls),
        ),
        claims=(
            Claim(
                "3,000 units leave alone within three points of the 93 % of the paper",
                _close(alone[3000], PAPER[0]),
                seen=True,
            ),
            Claim(
                "30 calls leave alone within three points of the 95 % of the paper",
                _close(alone_calls[30], PAPER[1]),
                seen=True,
            ),
            Claim("a higher limit leaves more alone", _sorted(alone) and _sorted(alone_calls)),
            Claim(
                "some are stopped on the first day, since questions come in batches",
                first_day > 0,
            ),
        ),
        remarks=REMARKS,
        settings={
            "analysts": (
                f"{people:,}, questions a month lognormal of median {QUESTIONS_MEDIAN} and spread {QUESTIONS_SPREAD}"
            ),
            "questions": (
                f"top {', '.join(map(str, TOPS))} of an unknown domain; of each list a part comes back (Beta(2, 1))"
            ),
            "days": "an analyst is active on one day, or on a fifth of all days; questions of a day come at once",
        },
    )


def _tables(alone: dict[int, Measured], alone_calls: dict[int, Measured], which: dict[str, float]) -> tuple[Table, ...]:
    return (
        Table(
            title="Analysts whom a limit leaves alone for the month",
            columns=("limit", "units or calls", "left alone", "paper", "ours / paper"),
            rows=(
                *(
                    ("information", most, *_beside(one, PAPER[0], told=most == LIMITS[0]))
                    for most, one in alone.items()
                ),
                *(
                    ("calls", most, *_beside(one, PAPER[1], told=most == LIMITS[1]))
                    for most, one in alone_calls.items()
                ),
            ),
        ),
        Table(
            title=f"Of analysts who are stopped by {LIMITS[0]:,} units or {LIMITS[1]} calls",
            columns=("stopped first by", "share"),
            rows=tuple(which.items()),
        ),
    )


def _beside(share: Measured, paper: float, *, told: bool) -> tuple[Cell, ...]:
    """A share, and where the paper tells one that, and the ratio to it."""
    return (share, paper, share / paper) if told else (share, None, None)


def _month(chance: np.random.Generator) -> Month:
    asked = max(1, round(chance.lognormal(np.log(QUESTIONS_MEDIAN), QUESTIONS_SPREAD)))
    active = np.array([1]) if chance.random() < 0.4 else 1 + np.flatnonzero(chance.random(DAYS) < 0.2)
    days = np.sort(chance.choice(active if len(active) else np.array([1]), asked))
    k = chance.choice(np.array(TOPS), asked)
    found = np.floor(chance.beta(2, 1, asked) * (k + 1)).astype(np.int64)
    # The month of an analyst begins with their first question.
    return Month(day=days - days[0] + 1, k=k, found=np.minimum(found, k))


def _crossed(day: npt.NDArray[np.int64], total: npt.NDArray[np.int64], most: int) -> int:
    """The day on which a limit is crossed, after the last if it is not."""
    over = np.flatnonzero(total > most)
    return int(day[over[0]]) if len(over) else DAYS + 1


def _which(information: list[int], calls: list[int]) -> dict[str, float]:
    pairs = [(one, other) for one, other in zip(information, calls, strict=True) if min(one, other) <= DAYS]
    share = 1 / max(1, len(pairs))
    return {
        "information": share * sum(one < other for one, other in pairs),
        "calls": share * sum(other < one for one, other in pairs),
        "both on one day": share * sum(one == other for one, other in pairs),
    }


def _close(share: Measured, paper: float) -> bool:
    return abs(share.mean - paper) <= 0.03


def _sorted(alone: dict[int, Measured]) -> bool:
    line = [one.mean for one in alone.values()]
    return line == sorted(line)


def _chart(what: str, unit: str, crossed: dict[int, list[int]]) -> Chart:
    series = []
    for most, days in crossed.items():
        over = np.array(days)
        series.append(
            Series(
                name=f"{most:,} {unit}",
                points=tuple((float(day), 100 * float(np.mean(over <= day))) for day in range(1, DAYS + 1)),
            )
        )
    return Chart(
        title=f"Over their {what} budget", x="days since the first question", y="% of analysts", series=tuple(series)
    )


REMARKS = (
    (
        "Data: nothing is known of LinkedIn's analysts but these two shares, which the simulation was made "
        "to meet; what it adds is which limit binds, and when, under the assumptions below."
    ),
    "Erratum 3: a list with no bottom uses 2k + 1 units, which is how they are counted here.",
)

ENGAGEMENTS_FIGURE_5 = Study(
    name="engagements-figure-5",
    title="Audience Engagements, Figure 5: which limit stops whom",
    source="LinkedIn's Audience Engagements API (Rogers and others 2020), Figure 5 and section 8.1",
    question="How many analysts would exceed an information or a call budget, by the days since it was refreshed?",
    run=figure_5,
)
