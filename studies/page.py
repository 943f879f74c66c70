"""A study's page: the finding first, then picture, tables, what follows from them, and how to make it again."""

from __future__ import annotations

import math
import textwrap

from studies.findings import Cell, Claim, Findings, Measured, Table
from studies.stamp import Stamp
from studies.study import FIRST_SEED, Study

WIDTH = 118
_SEEN = (
    " A *limit set later* was set when first runs had been seen; the runs of this page have other noise, so such a "
    "line says that things stayed so on these logs, not that it was foreseen."
)


def page(study: Study, found: Findings, stamp: Stamp) -> str:
    """The page in Markdown, with what made it; its seal comes last."""
    parts = [
        f"# {study.title}",
        _wrapped(found.sentence),
        f"![{study.title}]({study.name}.svg)",
        _wrapped(f"**Question.** {study.question} **Source.** {study.source}."),
        *(_table(table) for table in found.tables),
        "## What follows",
        _wrapped(
            "Each line is computed from the rows above; one that did not hold would say so here, and fail `make "
            "study`." + _SEEN * any(one.seen for one in found.claims)
        ),
        "\n".join(_wrapped(_claim(one), "- ") for one in found.claims),
        *(
            ["## Where it differs, and why", "\n".join(_wrapped(one, "- ") for one in found.remarks)]
            * bool(found.remarks)
        ),
        "## How it was made",
        _settings(study, found, stamp),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def opening(text: str) -> str:
    """The opening sentence of a page that was written before."""
    return " ".join(text.split("\n\n")[1].splitlines())


def index(studies: dict[Study, str]) -> str:
    """The page that lists all, each with what it found."""
    rows = [f"| [{study.title}]({study.name}.md) | {study.source} | {said} |" for study, said in studies.items()]
    intro = (
        "Every default of hushcount, and every sentence about how good it is, rests on a page of this list. They are "
        'made by `make study`, or one of them by `make study ARGS="sips-table-2"`, from the public logs in the folder '
        "`HUSHCOUNT_DATA`. Papers are made again with our mechanisms, their own numbers beside; where their data "
        "cannot be had, the page says what stands in for it. Noise has fixed seeds, so that a page can be made again "
        "to the last digit; what is released that way is *not private*, which does no harm to public logs."
    )
    return (
        "\n\n".join(
            ["# Studies", _wrapped(intro), "\n".join(["| study | source | what was found |", "|---|---|---|", *rows])]
        )
        + "\n"
    )


def _claim(one: Claim) -> str:
    return f"{'Holds' if one.holds else '**Does not hold**'}: {one.words}{' (limit set later)' * one.seen}"


def _settings(study: Study, found: Findings, stamp: Stamp) -> str:
    given = {
        "again": f'`make study ARGS="{study.name}"`',
        **found.settings,
        "noise": f"fixed seeds, of runs from {FIRST_SEED} on: every release of this page is stamped *not private*",
        "mechanisms": stamp.mechanisms,
        "code": stamp.code,
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in given.items())])


def _table(table: Table) -> str:
    rows = ["| " + " | ".join(shown(cell) for cell in row) + " |" for row in table.rows]
    numbers = [
        all(not isinstance(row[place], str) for row in table.rows) and bool(table.rows)
        for place in range(len(table.columns))
    ]
    ruler = "|" + "|".join("--:" if number else "---" for number in numbers) + "|"
    head = "| " + " | ".join(table.columns) + " |"
    words = [_wrapped(table.words), ""] if table.words else []
    return "\n".join([f"## {table.title}", "", *words, head, ruler, *rows])


def shown(cell: Cell) -> str:
    """A cell as it is printed: means to the digits that their errors leave."""
    match cell:
        case None:
            return ""
        case str():
            return cell
        case int():
            return f"{cell:,}"
        case float():
            return _plainly(cell)
        case Measured():
            return _with_error(cell)


def _with_error(cell: Measured) -> str:
    """Two digits of the error, and the mean to the same place."""
    if cell.error == 0 or not math.isfinite(cell.mean):
        return _plainly(cell.mean)
    places = max(0, 1 - math.floor(math.log10(cell.error)))
    return f"{_number(cell.mean, places)} ± {_number(cell.error, places)}"


def _plainly(value: float) -> str:
    """Four digits, none of them a zero at the end."""
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _number(value: float, places: int) -> str:
    if not math.isfinite(value):
        return "-"
    if 0 < abs(value) < 1e-4:
        return f"{value:.3g}"
    return f"{value:,.{min(places, 6)}f}"


def _wrapped(text: str, first: str = "") -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
