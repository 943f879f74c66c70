"""The picture of a release: bars with whiskers, largest first, and the cut-off as a line."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushcount.app.files import require_folder
from hushcount.app.receipt import Receipt, cutoff_label
from hushcount.errors import InvalidParameter, MissingExtra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BAR, _WHISKER, _CUTOFF = "#4c78a8", "#333333", "#c44e52"
_LONGEST_LABEL = 32


def draw(columns: dict[str, list[Any]], receipt: Receipt, path: Path | None, *, most: int = 30) -> Figure:
    """Draw at most `most` rows; save to `path` if given."""
    _require_matplotlib()
    from hushcount.app.plots.picture import Picture

    counts = columns["count"][:most]
    names = [values for name, values in columns.items() if name not in {"count", "low", "high"}]
    items = [", ".join(one) for one in zip(*names, strict=True)][:most]
    below = [max(0, count - low) for count, low in zip(counts, columns["low"], strict=False)]
    above = [high - count for count, high in zip(counts, columns["high"], strict=False)]
    figure = Picture(8, 1.6 + 0.28 * len(items))
    axes = figure.add_subplot()
    places = range(len(items))
    axes.barh(places, counts, xerr=[below, above], color=_BAR, ecolor=_WHISKER, capsize=2, height=0.7)
    axes.set_yticks(places, labels=[_label(item) for item in items])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(lambda people, _: f"{people:,.0f}")
    inside = "what was counted" if receipt.left_out else "the true count"
    axes.set_xlabel(f"people (bar: released count; whisker: {inside} is inside with 95 % probability)")
    shown = (
        f"{len(items)} of {len(columns['count'])} released items"
        if len(items) < len(columns["count"])
        else "released items"
    )
    axes.set_title(f"People per item: {shown}", loc="left", fontsize=11)
    if receipt.cutoff is not None and counts:
        axes.axvline(receipt.cutoff, color=_CUTOFF, linestyle="--", linewidth=1)
        axes.annotate(
            f" {cutoff_label(receipt)}",
            (receipt.cutoff, 0),
            xytext=(0, 4),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            color=_CUTOFF,
            fontsize=8,
        )
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if path is not None:
        _save(figure, path)
    return figure


def require_picture(path: Path) -> None:
    """Refuse a name that cannot be drawn to, or a missing package: before anything is read or paid."""
    if path.suffix not in {".png", ".svg", ".pdf"}:
        raise InvalidParameter("plot", str(path), "a name that ends in .png, .svg or .pdf")
    require_folder("plot", path)
    _require_matplotlib()


def _require_matplotlib() -> None:
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("matplotlib", "pip install 'hushcount[plot]'")


def _save(figure: Figure, path: Path) -> None:
    require_picture(path)
    figure.savefig(path, dpi=150)


def _label(item: str) -> str:
    # A dollar sign would start a formula.
    text = item.replace("$", r"\$") or "(empty text)"
    return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…"
