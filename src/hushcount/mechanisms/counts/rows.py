"""Released rows: noisy counts sorted by released value, so that the order carries nothing that was not released."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushcount.errors import InvalidParameter
from hushcount.mechanisms.plan import Plan
from hushcount.model.inputs import Int64s, Items
from hushcount.model.outcomes import Law, Outcome
from hushcount.noise.source import NoiseSource


def release_counts(
    plan: Plan,
    items: Items,
    counts: Int64s,
    *,
    noise: tuple[Law, float | npt.NDArray[np.float64]],
    cutoff: float | None,
    source: NoiseSource,
) -> Outcome:
    """A release of noisy counts, largest first, equal ones by item; `noise` is the law and its scale(s)."""
    law, scale = noise
    by_item = np.argsort(items, kind="stable")
    order = by_item[np.argsort(-counts[by_item], kind="stable")]
    return Outcome(
        mechanism=plan.name,
        items=items[order],
        counts=counts[order],
        noise=law,
        noise_scale=np.broadcast_to(np.asarray(scale, dtype=np.float64), counts.shape)[order],
        cutoff=cutoff,
        cost=plan.cost,
        private=source.private,
    )


def require_public_list(public_items: Items | None) -> Items:
    """Refuse a missing, empty or repeating public list."""
    listed = [] if public_items is None else public_items.tolist()
    if public_items is None or not listed or len(set(listed)) != len(listed):
        raise InvalidParameter(
            "public_items", f"{len(listed)} entries", "a public list that is not empty, each item once"
        )
    return public_items
