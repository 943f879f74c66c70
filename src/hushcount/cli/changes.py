"""The one change to a question that would show more rows, sharper ones, or more of the truth; and its price."""

from __future__ import annotations

from typing import Any

from hushcount.app.aims import needed, read_aim
from hushcount.app.receipt import Receipt
from hushcount.app.release import Release
from hushcount.app.words import price_words
from hushcount.model.budgets import PRESETS


def one_change(release: Release, given: dict[str, Any]) -> list[str]:
    """What to type for a better answer, in a sentence, if there is something; what was not typed is not undone."""
    receipt, aim = release.receipt, read_aim(given.get("error"))
    if receipt.left_out and receipt.question == "count" and given.get("max_items_per_user"):
        return [
            "For the true numbers leave out --max-items-per-user: fewer rows, at the same price, and nobody missing."
        ]
    if aim is not None and aim.people is not None:
        # Noise goes by the root of what is spent.
        return [f"--error {aim.people / 2:g} would be twice as sharp, for {price_words(4 * float(receipt.rho))}."]
    dearer = [name for name, rho in PRESETS.items() if float(rho) > float(receipt.rho)]
    if not dearer or given.get("rho") or given.get("epsilon"):
        return []
    rho = float(PRESETS[dearer[0]])
    if aim is not None and aim.share is not None and not len(release):
        people = f"{needed(aim.share, rho):,} people or more"
        return [f"--preset {dearer[0]} would show rows of {people} at best, for {price_words(rho)}."]
    return _dearer(release, dearer[0], rho=rho)


def _dearer(release: Release, preset: str, *, rho: float) -> list[str]:
    """What a dearer preset would show; as above, noise and with it every threshold goes by the root."""
    receipt, root = release.receipt, (float(release.receipt.rho) / rho) ** 0.5
    if receipt.cutoff is not None:
        about = f"go down to about {receipt.cutoff * root:,.0f} instead"
    elif (width := _even_width(release, receipt)) is not None:
        about = f"be right to about {max(1, round(width * root)):,} people instead of {width:,}"
    else:
        return []
    return [f"--preset {preset} would {about}, for {price_words(rho)}."]


def _even_width(release: Release, receipt: Receipt) -> int | None:
    """Half of an interval where all rows have the same noise; None if they do not, or if it is one person or none."""
    if receipt.noise_scale is None or release.counts is None or release.high is None or not len(release):
        return None
    width = int((release.high - release.counts).max())
    return width if width > 1 else None
