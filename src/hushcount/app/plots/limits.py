"""The picture behind a proposed limit: the share of analysts who would have exceeded it, by days since renewal.

As figure 5 of "LinkedIn's Audience Engagements API": a panel for each part of the budget, a line for each limit tried.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushcount.app.budgets import Suggestion
from hushcount.app.plots.counts import require_picture
from hushcount.ledger.proposals import Exceeding
from hushcount.model.budgets import STANDARD

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#c44e52", "#dd8452", "#4c78a8", "#55a868")
_PANELS = {
    "rho": ("Noise: limits in standard releases", STANDARD.rho),
    "delta": ("Chance of naming a rare item: limits in standard releases", STANDARD.delta),
}


def draw(suggestion: Suggestion, path: Path) -> Figure:
    """Draw the curves of a suggestion and save them."""
    require_picture(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = {name: [curve for curve in suggestion.curves if curve.measure == name] for name in _PANELS}
    shown = {name: curves for name, curves in panels.items() if curves}
    figure = Figure(figsize=(5.2 * max(1, len(shown)), 4), layout="constrained")
    FigureCanvasAgg(figure)
    if shown:
        every = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        for axes, (name, curves) in zip(every, shown.items(), strict=True):
            _panel(axes, name, curves, proposed=getattr(suggestion.proposal.limit.ceiling, name))
            axes.legend(title="limit", fontsize=8, title_fontsize=8, frameon=False)
        every[0].set_ylabel("analysts who would exceed it")
    window = suggestion.proposal.limit.window
    figure.suptitle(
        f"What limits would have stopped whom: {suggestion.proposal.analysts} analysts, renewed every {window}",
        fontsize=11,
    )
    figure.savefig(path, dpi=150)
    return figure


def _panel(axes: Any, name: str, curves: list[Exceeding], *, proposed: Decimal) -> None:  # noqa: ANN401  an extra's type
    title, standard = _PANELS[name]
    for colour, curve in zip(_COLOURS, curves, strict=False):
        axes.step(
            range(1, len(curve.shares) + 1),
            [100 * share for share in curve.shares],
            where="mid",
            color=colour,
            label=f"{float(curve.limit / standard):.3g}{' (proposed)' if curve.limit == proposed else ''}",
        )
    axes.set_title(title, loc="left", fontsize=9)
    axes.set_xlabel("days since the budget was renewed")
    axes.set_ylim(-3, 103)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0f} %")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
