"""What a study finds: numbers with their errors, tables, charts, and claims that are computed from the tables' rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import numpy as np

_A = TypeVar("_A")
_B = TypeVar("_B")


@dataclass(frozen=True, slots=True)
class Measured:
    """The mean of some runs and the standard error of that mean; an error of zero where a number is exact."""

    mean: float
    error: float = 0.0

    def __truediv__(self, other: Measured | float) -> Measured:
        """The ratio, with the error that both errors leave it (to first order)."""
        under = other if isinstance(other, Measured) else Measured(float(other))
        if under.mean == 0:
            return Measured(math.nan, math.nan)
        ratio = self.mean / under.mean
        own = self.error / self.mean if self.mean else 0.0
        return Measured(ratio, abs(ratio) * math.hypot(own, under.error / under.mean))

    def near(self, other: Measured | float, *, errors: float = 4.0, share: float = 0.0) -> bool:
        """Whether both are the same within so many standard errors and so large a share of the other."""
        given = other if isinstance(other, Measured) else Measured(float(other))
        return abs(self.mean - given.mean) <= errors * math.hypot(self.error, given.error) + share * abs(given.mean)


Cell: TypeAlias = str | int | float | Measured | None


def measured(values: Iterable[float]) -> Measured:
    """The mean of independent runs with its standard error."""
    found = np.array(list(values), dtype=np.float64)
    # Equal runs have no error at all, not the dust that their mean leaves.
    error = float(found.std(ddof=1)) / len(found) ** 0.5 if len(found) > 1 and np.ptp(found) else 0.0
    return Measured(float(found.mean()), error)


def firsts(found: Iterable[tuple[_A, _B]]) -> list[_A]:
    """What stands first in the keys of what was found, each once and in their order."""
    return list(dict.fromkeys(one for one, _ in found))


def seconds(found: Iterable[tuple[_A, _B]]) -> list[_B]:
    """What stands second in the keys of what was found, each once and in their order."""
    return list(dict.fromkeys(other for _, other in found))


def share_of(happened: int, runs: int) -> Measured:
    """A share of so many independent trials, with its standard error."""
    share = happened / runs
    return Measured(share, math.sqrt(share * (1 - share) / runs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of a page. `words` says what a reader should know before reading them."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: str = ""

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"a row of '{self.title}' has another length than its {len(self.columns)} columns")


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line or one row of dots of a chart; a band is the lowest and the highest at each x."""

    name: str
    points: tuple[tuple[float, float], ...]
    band: tuple[tuple[float, float], ...] = ()
    dots: bool = False
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One pair of axes. With `places` the x of a point is the number of a place, and the axis has their names."""

    title: str
    x: str
    y: str
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the page, and whether it follows from the page's own numbers.

    Attributes:
        words: the sentence.
        holds: whether it is so.
        seen: whether its limit was set when a first run had been seen, and is neither a paper's nor a number of errors.
    """

    words: str
    holds: bool
    seen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All that a page shows. A claim that does not hold is shown as one, and fails the run.

    Attributes:
        sentence: the first of the page: what was found, its numbers taken from the rows.
        tables: what was measured, the paper's own numbers beside.
        charts: the same to look at.
        claims: what a reader may take from it.
        remarks: where it differs from the paper, and why: an erratum by its number, other data, another tokeniser.
        settings: all that is needed to make it again.
    """

    sentence: str
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...]
    claims: tuple[Claim, ...]
    remarks: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def broken(self) -> tuple[str, ...]:
        """The claims that do not hold."""
        return tuple(claim.words for claim in self.claims if not claim.holds)
