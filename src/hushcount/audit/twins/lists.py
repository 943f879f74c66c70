"""Twins of the known and unknown lists of LinkedIn's Audience Engagements API: counts and top lists."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np

from hushcount.audit.neighbours import PERSON, Neighbours, Table, table
from hushcount.audit.small_table import listed
from hushcount.audit.subject import Run
from hushcount.audit.twins.altered import altered, draw_from, order_by_law
from hushcount.audit.twins.formulas import appendix_a_offset, bottom_odds_as_printed
from hushcount.audit.twins.noise import GAUSSIAN_THRESHOLD, KNOWN_GUMBEL, KNOWN_LAPLACE
from hushcount.audit.twins.twin import Original, Twin
from hushcount.mechanisms.counts.gaussian_threshold import GaussianThresholdPlan, run_gaussian_threshold
from hushcount.mechanisms.counts.known_domain import KnownLaplacePlan, run_known_laplace
from hushcount.mechanisms.counts.unknown_domain import plan_unknown_laplace
from hushcount.mechanisms.topk.known_domain import KnownGumbelPlan, known_gumbel_at, run_known_gumbel, step_cost
from hushcount.mechanisms.topk.unknown_domain import UnknownGumbelPlan, run_unknown_gumbel, unknown_gumbel_at
from hushcount.model.budgets import epsilon_budget
from hushcount.model.costs import Cost, Failure
from hushcount.model.facts import Facts
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Histogram
from hushcount.model.outcomes import Outcome
from hushcount.noise.calls import AnyCall, Peel
from hushcount.noise.source import NoiseSource

_DELTA = Decimal("0.05")
_NAMES_ONLY = Facts(k=3, with_counts=False)
_TIES = table(dict.fromkeys("abcdef", 1), ("a", "b", "c"), "six items of one other person each, three of them held")
_THREE = Original(
    mechanism="unknown-gumbel",
    facts=_NAMES_ONLY,
    plan=unknown_gumbel_at(Decimal(1), _DELTA, _NAMES_ONLY, rows=3),
    pairs=(_TIES,),
)
_ONE_NAME = Facts(k=1, with_counts=False)
# Ranks 2 to 9 tie, and the person is in all of these items but the last.
_PLACES = Original(
    mechanism="unknown-gumbel",
    facts=_ONE_NAME,
    plan=unknown_gumbel_at(Decimal(2), Decimal("0.000001"), _ONE_NAME, rows=8),
    pairs=(
        table({"a": 9, **dict.fromkeys("bcdefgh", 4), "i": 3}, ("i",), "the ninth of nine items is held"),
        table({"a": 9, **dict.fromkeys("bcdefgh", 4), "i": 4}, tuple("bcdefgh"), "seven of eight tied items are held"),
    ),
)
_SHORT = Original(
    mechanism="unknown-gumbel",
    facts=_ONE_NAME,
    plan=unknown_gumbel_at(Decimal(1), _DELTA, _ONE_NAME, rows=1),
    pairs=(table({"a": 3, "b": 1}, ("a",), "an item of three other people and one of one"),),
)
_UNKNOWN_LAPLACE_PLAN = plan_unknown_laplace(epsilon_budget(2, "0.001"), 1, rows=1)
_UNKNOWN_LAPLACE = Original(
    mechanism="unknown-laplace",
    facts=Facts(max_items=1),
    plan=_UNKNOWN_LAPLACE_PLAN,
    pairs=(table({}, ("a",), "one person alone"),),
)


def printed_odds(call: AnyCall) -> AnyCall:
    """Bottom's odds by min(place, fetched - place), as LI Algorithm 4 prints them (erratum 1)."""
    if not isinstance(call, Peel) or call.last is None:
        return call
    place = int(call.priors[call.last] * Fraction(_DELTA))
    odds = bottom_odds_as_printed(place, 4, float(_DELTA))
    return replace(call, priors={call.last: Fraction(odds)})


def place_by_reversed_gumbel(call: AnyCall) -> AnyCall:
    """argmin(threshold + Gumbel) instead of argmin(threshold - Gumbel) for the threshold's place (erratum 2)."""
    if call.purpose != "unknown-gumbel/place" or not isinstance(call, Peel):
        return call
    heights = [
        -float(call.rate) * int(value) - math.log(call.priors[row]) for row, value in enumerate(call.values.tolist())
    ]
    return order_by_law(call.purpose, [argmin_chance(heights, which) for which in range(len(heights))])


def argmin_chance(heights: list[float], which: int) -> float:
    """P[which = argmin(height + Gumbel)] in closed form.

    The integral of e^-y exp(-e^-y) times the product over the others of 1 - exp(-e^(h_j - h_w - y)), multiplied out:
    the sum over subsets S of the others of (-1)^|S| / (1 + sum over S of e^(h_j - h_w)).
    """
    others = [math.exp(height - heights[which]) for place, height in enumerate(heights) if place != which]
    terms = [
        (-1) ** size / (1 + math.fsum(chosen))
        for size in range(len(others) + 1)
        for chosen in itertools.combinations(others, size)
    ]
    return math.fsum(terms)


def _charging(*, place: bool, bottom: bool) -> Run:
    """A run that charges for the found names, and for the threshold's place and for bottom only if told so."""

    def run(data: Histogram, plan: UnknownGumbelPlan, noise: NoiseSource) -> Outcome:
        outcome = run_unknown_gumbel(data, plan, noise)
        found = len(outcome.items)
        selections = found + int(place) + int(bottom and found < plan.k)
        cost = step_cost(plan.epsilon, selections=selections, counts=0)
        return replace(outcome, cost=cost + Cost.of(Failure(delta=plan.delta)))

    return run


def observed_as_public(data: Histogram, plan: KnownLaplacePlan, noise: NoiseSource) -> Outcome:
    """The items that were seen are taken for the public list (erratum 4)."""
    return run_known_laplace(data, replace(plan, public_items=data.items[:]), noise)


def sorted_by_true_count(data: Histogram, plan: KnownGumbelPlan, noise: NoiseSource) -> Outcome:
    """Names that were picked in a noisy order, sorted again by their true counts (erratum 6)."""
    outcome = run_known_gumbel(data, plan, noise)
    return replace(outcome, items=outcome.items[np.argsort(-data.of(outcome.items), kind="stable")])


def in_storage_order(data: Histogram, plan: GaussianThresholdPlan, noise: NoiseSource) -> Outcome:
    """Rows in the order in which the engine gave them, which is that of the true counts (erratum 6)."""
    outcome = run_gaussian_threshold(data, plan, noise)
    place = {item: row for row, item in enumerate(data.items.tolist())}
    order = np.argsort([place[item] for item in outcome.items.tolist()], kind="stable")
    counts, scale = outcome.counts, outcome.noise_scale
    return replace(
        outcome,
        items=outcome.items[order],
        counts=None if counts is None else counts[order],
        noise_scale=None if scale is None else scale[order],
    )


def released_scores(data: Histogram, plan: KnownGumbelPlan, noise: NoiseSource) -> Outcome:
    """The count that is shown is the score, count plus Gumbel noise, that the name was picked by (erratum 6)."""
    rate = float(plan.epsilon)
    scores = []
    for item, count in zip(plan.public_items.tolist(), data.of(plan.public_items).tolist(), strict=True):
        law = {x: _floored_gumbel(rate * (x - count), rate) for x in range(count - 8, count + 40)}
        scores.append((-draw_from(noise, f"score of {item}", law), item))
    shown = sorted(scores)[: plan.k]
    return Outcome(
        mechanism=plan.name,
        items=listed(*(item for _, item in shown)),
        counts=np.array([-score for score, _ in shown], dtype=np.int64),
        noise="none",
        noise_scale=None,
        cutoff=None,
        cost=plan.cost,
        private=noise.private,
    )


def _floored_gumbel(low: float, width: float) -> float:
    """P[low <= G < low + width] of a Gumbel number G, whose distribution function is exp(-e^-x)."""
    return math.exp(-math.exp(-low - width)) - math.exp(-math.exp(-low))


@frozen
class Replaced(Neighbours):
    """Neighbours of which the second has another person in the place of the first one's."""

    other: Table

    @property
    def without(self) -> Table:
        """The table with the other person."""
        return (*(row for row in self.rows if row[0] != self.person), *self.other)


_SWAPPED = Replaced(
    rows=((PERSON, "a"), *((f"{n}", item) for n in range(2) for item in "ab")),
    person=PERSON,
    other=((PERSON, "b"),),
    where="a person with one of two tied items becomes one with the other",
)
_ONE_LISTED = Facts(k=1, public_items=listed("a"))
_SCORED = Original(
    mechanism="known-gumbel",
    facts=_ONE_LISTED,
    plan=known_gumbel_at(Decimal(1), _ONE_LISTED),
    pairs=(table({"a": 2}, ("a",), "an item of two other people"),),
)
_BOTH = Facts(k=2, with_counts=False, public_items=listed("a", "b"))
_ORDERED = Original(
    mechanism="known-gumbel",
    facts=_BOTH,
    plan=known_gumbel_at(Decimal(1), _BOTH),
    pairs=(table({"a": 2, "b": 2}, ("b",), "two items of two other people each, one of them held"),),
)
_TWO_ROWS = replace(
    GAUSSIAN_THRESHOLD, pairs=(table({"a": 4, "b": 4}, ("b",), "two items of four other people, one of them held"),)
)

LIST_TWINS: tuple[Twin, ...] = (
    Twin(
        name="bottom odds of the rows fetched",
        erratum="erratum 1",
        what="Bottom's odds count the rows behind the boundary that were fetched, as if there were no others.",
        caught_by="exact",
        broken=_THREE.twin(run=altered(run_unknown_gumbel, printed_odds)),
        sound=_THREE.sound,
    ),
    Twin(
        name="argmin plus Gumbel",
        erratum="erratum 2",
        what="The threshold's place is the argmin of threshold plus Gumbel noise: not the exponential mechanism.",
        caught_by="exact",
        broken=_PLACES.twin(run=altered(run_unknown_gumbel, place_by_reversed_gumbel)),
        sound=_PLACES.sound,
    ),
    Twin(
        name="place not charged",
        erratum="erratum 3",
        what="2k units are reserved and charged for k names with counts, and none for the threshold's place.",
        caught_by="exact",
        broken=_SHORT.twin(run=_charging(place=False, bottom=True)),
        sound=_SHORT.sound,
    ),
    Twin(
        name="bottom not charged",
        erratum="erratum 16",
        what="A selection that comes out empty is not charged.",
        caught_by="exact",
        broken=_SHORT.twin(run=_charging(place=True, bottom=False)),
        sound=_SHORT.sound,
    ),
    Twin(
        name="observed support as public list",
        erratum="erratum 4",
        what="The public list is taken to be the items that were seen, so that an item's presence is shown.",
        caught_by="exact",
        broken=KNOWN_LAPLACE.twin(run=observed_as_public),
        sound=KNOWN_LAPLACE.sound,
    ),
    Twin(
        name="Appendix A's constant",
        erratum="erratum 5",
        what="The bar stands half as far above the boundary as the noise needs.",
        caught_by="exact",
        broken=_UNKNOWN_LAPLACE.twin(
            plan=replace(
                _UNKNOWN_LAPLACE_PLAN, offset=appendix_a_offset(float(_UNKNOWN_LAPLACE_PLAN.epsilon), 0.001, 1)
            )
        ),
        sound=_UNKNOWN_LAPLACE.sound,
    ),
    Twin(
        name="released Gumbel scores",
        erratum="erratum 6",
        what="The noisy score that picked the name is shown as its count.",
        caught_by="exact",
        broken=_SCORED.twin(run=released_scores),
        sound=_SCORED.sound,
    ),
    Twin(
        name="names sorted by true count",
        erratum="erratum 6",
        what="Names that were picked at random are shown in the order of their true counts.",
        caught_by="exact",
        broken=_ORDERED.twin(run=sorted_by_true_count),
        sound=_ORDERED.sound,
    ),
    Twin(
        name="rows in storage order",
        erratum="erratum 6",
        what="Rows are shown in the engine's order, which is that of the true counts.",
        caught_by="exact",
        broken=_TWO_ROWS.twin(run=in_storage_order),
        sound=_TWO_ROWS.sound,
    ),
    Twin(
        name="cost for a replaced person",
        erratum="erratum 40",
        what="What adding or removing a person costs is charged where a person is replaced by another.",
        caught_by="exact",
        broken=replace(KNOWN_GUMBEL, pairs=(_SWAPPED,)).sound,
        sound=KNOWN_GUMBEL.sound,
    ),
)
