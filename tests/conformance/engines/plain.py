"""Answers of engines as plain values, wherever they are kept."""

from __future__ import annotations

import numpy as np

from hushcount.model.inputs import Histogram, WeightedHistogram


def rows(answer):
    """Items, values and whether that is all. What is spread over machines is put in order here; a histogram has one."""
    if isinstance(answer, Histogram):
        return answer.items.tolist(), answer.counts.tolist(), answer.complete
    if isinstance(answer, WeightedHistogram):
        return answer.items.tolist(), answer.weights.tolist(), None

    # Written within, so that they travel to workers as they are: those know nothing of this module.
    def counted(block):
        return block.items, block.counts

    def weighed(block):
        # The weight before the item, since a step of weights shows texts alone.
        return np.array([f"{w} {item}" for item, w in zip(block.items, block.weights, strict=True)], dtype=object)

    if hasattr(answer, "complete"):
        items, values = answer.each(counted)
        ranked = sorted(zip(items.tolist(), values.tolist(), strict=True), key=lambda row: (-row[1], row[0]))
        return [item for item, _ in ranked], [value for _, value in ranked], answer.complete
    told = sorted((item, int(weight)) for weight, _, item in (text.partition(" ") for text in answer.each(weighed)))
    return [item for item, _ in told], [weight for _, weight in told], None


def summed(answer):
    """Items with their sums, in the order of the items."""

    def told(block):
        words = [
            f"{','.join(map(str, row))} {item}" for item, row in zip(block.items, block.sums.tolist(), strict=True)
        ]
        return np.array(words, dtype=object)

    parts = [text.partition(" ") for text in answer.each(told)]
    return sorted((item, tuple(map(int, sums.split(",")))) for sums, _, item in parts)
