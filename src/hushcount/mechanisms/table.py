"""The explicit list of all mechanisms: what is not here does not exist for the product, the auditor or the docs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from hushcount.errors import InvalidParameter
from hushcount.mechanisms.calibration import Plan
from hushcount.mechanisms.counts.gaussian_threshold import plan_gaussian_threshold, run_gaussian_threshold
from hushcount.mechanisms.counts.known_domain import plan_known_laplace, run_known_laplace
from hushcount.mechanisms.counts.pcr import plan_pcr, run_pcr
from hushcount.mechanisms.counts.plume import plan_plume, run_plume
from hushcount.mechanisms.counts.tsgd import plan_tsgd, run_tsgd
from hushcount.mechanisms.counts.unknown_domain import UNKNOWN_ROWS, plan_unknown_laplace, run_unknown_laplace
from hushcount.mechanisms.released import require_public_list
from hushcount.mechanisms.selection.optimal import plan_optimal, run_optimal
from hushcount.mechanisms.selection.sips import plan_sips, run_sips
from hushcount.mechanisms.selection.union import Primitive, Weighting, plan_union, run_union
from hushcount.mechanisms.topk.known_domain import plan_known_gumbel, run_known_gumbel
from hushcount.mechanisms.topk.unknown_domain import plan_unknown_gumbel, run_unknown_gumbel
from hushcount.mechanisms.weighting.policy import refuse_l1_descent_for_gaussian
from hushcount.model.budgets import Budget
from hushcount.model.facts import Facts
from hushcount.model.outcomes import Outcome

Question: TypeAlias = Literal["vocab", "count", "top"]
Planner: TypeAlias = Callable[[Budget, Facts], Plan]

# How many items are taken from each person where nothing was declared and the mechanism needs a bound: SIPS section 5.
DEFAULT_MAX_ITEMS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """One mechanism: what it answers, what input it wants, how it is planned and run.

    `run(input, plan, noise)` takes a Histogram or an Incidence, as `wants` says, and the plan that `plan` made;
    `fetch(plan)` is how many of the largest counts the histogram must have, None for all. `listed_only` says that
    items off the public list are never looked at, so that a bound need not be spent on them; `sequential`, that people
    are visited one after another, each seeing what those before did, which no cluster can share out.
    """

    name: str
    question: Question
    wants: Literal["histogram", "incidence"]
    plan: Planner
    run: Callable[[Any, Any, Any], Outcome]
    fetch: Callable[[Any], int | None] = lambda _: None
    listed_only: bool = False
    sequential: bool = False
    # Part of the key of consistent noise (erratum 9): it rises with any change in what a mechanism draws or in what it
    # is given, such as another bounding hash; equal noise on the old and the new input would show their difference.
    version: int = 2


def _union(weighting: Weighting, primitive: Primitive) -> Planner:
    return lambda budget, facts: plan_union(weighting, primitive, budget, max_items=_taken(facts))


def _taken(facts: Facts) -> int:
    """How many items to take from each person where a bound is needed and none was declared."""
    _require_people(facts, "naming items")
    return facts.max_items or DEFAULT_MAX_ITEMS


def _require_people(facts: Facts, name: str) -> None:
    """Refuse a per-item cap above one where the proof has each person add one at most."""
    if facts.per_item_cap != 1:
        raise InvalidParameter("per_item_cap", facts.per_item_cap, f"1 for {name}", "It looks at people, not at rows.")


def _bounded_people(facts: Facts, name: str) -> int:
    _require_people(facts, f"'{name}'")
    return _bounded(facts, name)


def _listed(facts: Facts) -> int:
    """Nobody can have more of the listed items than there are."""
    return len(require_public_list(facts.public_items))


def _bounded(facts: Facts, name: str) -> int:
    if facts.max_items is None:
        raise InvalidParameter(
            "max_items", None, f"declared for '{name}'", "Use 'pcr' or 'sips', which need no bound, or declare one."
        )
    return facts.max_items


MECHANISMS: tuple[Mechanism, ...] = (
    Mechanism(
        name="sips",
        question="vocab",
        wants="incidence",
        plan=lambda budget, facts: plan_sips(budget, _taken(facts)),
        run=run_sips,
    ),
    Mechanism(
        name="weighted-gaussian",
        question="vocab",
        wants="incidence",
        plan=_union("weighted", "gaussian"),
        run=run_union,
    ),
    Mechanism(
        name="weighted-laplace", question="vocab", wants="incidence", plan=_union("weighted", "laplace"), run=run_union
    ),
    Mechanism(
        name="count-gaussian", question="vocab", wants="incidence", plan=_union("count", "gaussian"), run=run_union
    ),
    Mechanism(
        name="count-laplace", question="vocab", wants="incidence", plan=_union("count", "laplace"), run=run_union
    ),
    Mechanism(
        name="policy-gaussian",
        question="vocab",
        wants="incidence",
        plan=_union("policy", "gaussian"),
        run=run_union,
        sequential=True,
    ),
    Mechanism(
        name="policy-laplace",
        question="vocab",
        wants="incidence",
        plan=_union("policy", "laplace"),
        run=run_union,
        sequential=True,
    ),
    Mechanism(
        name="greedy",
        question="vocab",
        wants="incidence",
        plan=_union("greedy", "laplace"),
        run=run_union,
        sequential=True,
    ),
    Mechanism(
        name="optimal",
        question="vocab",
        wants="histogram",
        plan=lambda budget, facts: plan_optimal(budget, _bounded_people(facts, "optimal")),
        run=run_optimal,
    ),
    Mechanism(
        name="pcr",
        question="count",
        wants="histogram",
        plan=lambda budget, facts: plan_pcr(budget, facts.per_item_cap, relative_error=facts.relative_error),
        run=run_pcr,
        fetch=lambda plan: plan.fetched + 1,
    ),
    Mechanism(
        name="tsgd",
        question="count",
        wants="histogram",
        plan=lambda budget, facts: plan_tsgd(budget, _bounded_people(facts, "tsgd")),
        run=run_tsgd,
    ),
    Mechanism(
        name="tsgd-public",
        question="count",
        wants="histogram",
        plan=lambda budget, facts: plan_tsgd(
            budget, _bounded_people(facts, "tsgd-public"), public_items=require_public_list(facts.public_items)
        ),
        run=run_tsgd,
    ),
    Mechanism(
        name="gaussian-threshold",
        question="count",
        wants="histogram",
        plan=lambda budget, facts: plan_gaussian_threshold(
            budget, _bounded(facts, "gaussian-threshold"), facts.per_item_cap
        ),
        run=run_gaussian_threshold,
    ),
    Mechanism(
        name="plume",
        question="count",
        wants="incidence",
        plan=lambda budget, facts: plan_plume(budget, _bounded_people(facts, "plume")),
        run=run_plume,
    ),
    Mechanism(
        name="plume-threshold",
        question="count",
        wants="incidence",
        plan=lambda budget, facts: plan_plume(
            budget, _bounded_people(facts, "plume-threshold"), relative_error=facts.relative_error
        ),
        run=run_plume,
    ),
    Mechanism(
        name="known-laplace",
        question="count",
        wants="histogram",
        plan=lambda budget, facts: plan_known_laplace(
            budget,
            facts.max_items or _listed(facts),
            require_public_list(facts.public_items),
            per_item_cap=facts.per_item_cap,
        ),
        run=run_known_laplace,
        listed_only=True,
    ),
    Mechanism(
        name="unknown-laplace",
        question="count",
        wants="histogram",
        plan=lambda budget, facts: plan_unknown_laplace(
            budget,
            _bounded(facts, "unknown-laplace"),
            facts.per_item_cap,
            rows=max(UNKNOWN_ROWS, facts.max_items or 0),
        ),
        run=run_unknown_laplace,
        fetch=lambda plan: plan.rows + 1,
    ),
    Mechanism(name="known-gumbel", question="top", wants="histogram", plan=plan_known_gumbel, run=run_known_gumbel),
    Mechanism(
        name="unknown-gumbel",
        question="top",
        wants="histogram",
        plan=plan_unknown_gumbel,
        run=run_unknown_gumbel,
        fetch=lambda plan: plan.rows + 1,
    ),
)

_BY_NAME = {mechanism.name: mechanism for mechanism in MECHANISMS}


def find(name: str) -> Mechanism:
    """The mechanism of this name; an unsafe one is refused with the reason, an unknown one with the list."""
    if name == "policy-gaussian-l1":
        refuse_l1_descent_for_gaussian()
    if name not in _BY_NAME:
        raise InvalidParameter("method", name, f"one of {', '.join(_BY_NAME)}")
    return _BY_NAME[name]
