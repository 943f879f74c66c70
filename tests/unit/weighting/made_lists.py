"""Small incidences for tests of weightings: plain lists to encoded ones, and distances between the results."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from hushcount.model.inputs import UserLists, WeightedHistogram


def encode(people: Sequence[Sequence[Hashable]]) -> UserLists:
    """The lists as an engine would hand them over, people and items in the order given."""
    codes: dict[Hashable, int] = {}
    ids = [codes.setdefault(item, len(codes)) for items in people for item in items]
    texts = np.empty(len(codes), dtype=object)
    texts[:] = [str(item) for item in codes]
    offsets = np.cumsum([0, *map(len, people)], dtype=np.int64)
    return UserLists(items=texts, offsets=offsets, ids=np.array(ids, dtype=np.int32))


def as_dict(histogram: WeightedHistogram) -> dict[str, int]:
    """Item to weight in grid steps, as Python integers, which cannot overflow."""
    return dict(zip(histogram.items.tolist(), histogram.weights.tolist(), strict=True))


def l1(one: Mapping, other: Mapping):
    """l1 distance; exact if the weights are."""
    return sum(abs(one.get(item, 0) - other.get(item, 0)) for item in {*one, *other})


def l2_squared(one: Mapping, other: Mapping):
    """Squared l2 distance; exact if the weights are."""
    return sum((one.get(item, 0) - other.get(item, 0)) ** 2 for item in {*one, *other})
