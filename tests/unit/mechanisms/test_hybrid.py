"""Top lists in two parts: what is read, what is charged, and that the second part fills what the first cannot."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from decimal import Decimal

import numpy as np
import pytest

from hushcount.accounting import zcdp
from hushcount.app.bounded import Reading
from hushcount.engines.incidence import incidence
from hushcount.mechanisms.topk.hybrid import HYBRID_TOP, plan_hybrid, run_hybrid
from hushcount.model.budgets import epsilon_budget, rho_budget
from hushcount.model.costs import BoundedRange, Concentrated, DiscreteGaussian, Failure
from hushcount.model.facts import Facts
from hushcount.model.inputs import LARGEST
from hushcount.noise.source import SeededSource
from tests.privacy.exact import Selection, fits, place_law, selection_law
from tests.unit.mechanisms.made_inputs import holdings

BUDGET = rho_budget("0.1", "1e-6")


@dataclass
class Noted:
    """Views that note what was asked of them."""

    of: Reading
    asked: list = field(default_factory=list)

    def top(self, rows):
        """Note how many rows."""
        self.asked.append(("top", rows))
        return self.of.top(rows)

    def incidence(self):
        """Note that lists were asked for."""
        self.asked.append(("incidence",))
        return self.of.incidence()

    def counts_of(self, items):
        """Note which items."""
        self.asked.append(("counts_of", set(items)))
        return self.of.counts_of(items)


def people(sizes: dict[str, int], *, times: int = 1) -> Noted:
    """Everybody holds one item, in so many rows; so many people hold each."""
    users = [f"{item} {person}" for item, size in sizes.items() for person in range(size) for _ in range(times)]
    items = [item for item, size in sizes.items() for _ in range(size * times)]
    return Noted(holdings(incidence(users, items), cap=times))


def far_apart() -> Noted:
    """Five items that stand out, and none else."""
    return people({f"large {n}": 9000 - 1000 * n for n in range(5)})


def alike() -> Noted:
    """Two items that stand out, and forty of 60 people, which the comparison cannot tell from what is behind them."""
    return people({"large 0": 9000, "large 1": 8000, **{f"small {n:02}": 60 + n for n in range(40)}})


def failures(cost) -> list[Failure]:
    """The events that delta pays for."""
    return [event for event, _ in cost.events if isinstance(event, Failure)]


def times(cost, kind) -> int:
    """How often a kind of event is in a cost."""
    return sum(number for event, number in cost.events if isinstance(event, kind))


@pytest.mark.parametrize("with_counts", [True, False])
def test_where_items_stand_out_nothing_more_is_read_or_paid(with_counts):
    """Four of five items that stand out: the largest rows are read, six choices, four counts and one delta paid."""
    views, plan = far_apart(), plan_hybrid(BUDGET, Facts(k=4, with_counts=with_counts))
    release = run_hybrid(views, plan, SeededSource(1))

    assert views.asked == [("top", plan.rows + 1)]
    assert set(release.items) == {f"large {n}" for n in range(4)}
    # The threshold's place, whether four stand out, and four names.
    assert times(release.cost, BoundedRange) == 2 + 4
    assert times(release.cost, DiscreteGaussian) == (4 if with_counts else 0)
    assert times(release.cost, Failure) == 1
    assert times(release.cost, Concentrated) == 0
    # All but what another choice would have cost.
    assert float(zcdp.spent(release.cost).rho) == pytest.approx(0.099)
    assert float(zcdp.spent(release.cost).delta) == pytest.approx(9e-7)
    assert release.cutoff is None


@pytest.mark.parametrize("with_counts", [True, False])
def test_what_is_missing_is_named_and_chosen(with_counts):
    """The comparison shows two items; twenty of the others are named and chosen, and nothing is shown twice."""
    views, plan = alike(), plan_hybrid(BUDGET, Facts(k=22, with_counts=with_counts))
    release = run_hybrid(views, plan, SeededSource(3))
    (_, named) = views.asked[3]

    assert [asked[0] for asked in views.asked] == ["top", "incidence", "incidence", "counts_of"]
    assert len(release.items) == len(set(release.items)) == 22
    assert {"large 0", "large 1"} <= set(release.items)
    assert not named & {"large 0", "large 1"}
    assert len(named) > 20
    # The place, whether so many stand out, whether any can be named; two items and bottom; and twenty choices.
    assert times(release.cost, BoundedRange) == 3 + 3 + 20
    assert times(release.cost, Concentrated) == 1
    assert times(release.cost, Failure) == 2
    assert times(release.cost, DiscreteGaussian) == (22 if with_counts else 0)
    assert release.cutoff > 0


@pytest.mark.parametrize("with_counts", [True, False])
@pytest.mark.parametrize("budget", [BUDGET, epsilon_budget(1, "1e-6"), rho_budget("0.5", "0.01")])
@pytest.mark.parametrize("k", [1, 22, 60])
def test_no_run_costs_more_than_its_plan(with_counts, budget, k):
    """In exact sums, whatever came out, in both currencies."""
    plan = plan_hybrid(budget, Facts(k=k, with_counts=with_counts))
    limit = zcdp.spent(plan.cost)
    for views in (far_apart(), alike(), people({})):
        for seed in range(4):
            spent = zcdp.spent(run_hybrid(views, plan, SeededSource(seed)).cost)
            assert spent.rho <= limit.rho
            assert spent.delta <= limit.delta


def test_the_plan_uses_all_of_rho_and_states_its_shares():
    """Two tests have a hundredth each. If k stand out, 2k + 1 steps share the rest; if not, k have four fifths."""
    names, counts = (plan_hybrid(BUDGET, Facts(k=10, with_counts=counted)) for counted in (False, True))
    for plan, steps in ((names, 11), (counts, 21)):
        sure, careful, tested = (float(one) ** 2 / 8 / 0.1 for one in (plan.sure[0], plan.epsilon, plan.tested))
        rest = 0.98 - sure

        assert tested == pytest.approx(0.01)
        assert sure == pytest.approx(0.98 / steps)
        assert 10 * careful == pytest.approx(0.8 * rest / (1.8 if plan.counts else 1))
        assert float(plan.names_rho) / 0.1 == pytest.approx(rest - 10 * careful * plan.counts)
        assert float(plan.sure[1]) / 0.1 == pytest.approx(10 * sure)
    assert names.deltas == counts.deltas == (Decimal("5E-7"), Decimal("5E-7"))
    assert names.sure_deltas == (Decimal("9E-7"), Decimal("1E-7"))
    assert names.naming.max_items == 1000


def test_a_bottom_that_comes_late_leaves_too_little_to_name_with():
    """Five stand out, six are asked for as if six did: nothing is named from a dust of rho, and the list says so."""
    views, plan = far_apart(), plan_hybrid(BUDGET, Facts(k=6, with_counts=False))
    release = run_hybrid(views, replace(plan, epsilon=plan.sure[0], names_rho=plan.sure[1]), SeededSource(1))

    assert "counts_of" not in [asked[0] for asked in views.asked]
    assert len(release.items) == 5
    assert times(release.cost, Concentrated) == 0
    assert release.cutoff > plan.naming.threshold


@pytest.mark.parametrize(("many", "hopeless"), [(40, True), (2000, False)])
def test_where_nothing_could_be_named_the_comparison_has_all_of_rho(many, hopeless):
    """Sixty items that all have: forty people are too few to name anything, and a choice tells so; 2,000 are not."""
    items = [f"item {n}" for n in range(60)]
    views = Noted(holdings(incidence([str(n) for n in range(many) for _ in items], items * many)))
    plan = plan_hybrid(BUDGET, Facts(k=5, with_counts=False), rows=20)
    costs = [run_hybrid(views, plan, SeededSource(seed)).cost for seed in range(8)]
    surely = [any(one.delta == plan.sure_deltas[0] for one in failures(cost)) for cost in costs]

    assert sum(surely) >= 6 if hopeless else sum(surely) <= 2


def test_a_list_that_is_too_long_is_as_long_as_it_can_be():
    """Asked for sixty, all that can be named come back, and it is said that no more stand above the cut-off."""
    release = run_hybrid(alike(), plan_hybrid(BUDGET, Facts(k=60, with_counts=False)), SeededSource(1))

    assert 30 < len(release.items) <= 42
    assert release.items[:2].tolist() in (["large 0", "large 1"], ["large 1", "large 0"])


def test_no_data_costs_the_choices_bottom_and_the_naming():
    """An empty list, from which nobody learns more than that."""
    plan = plan_hybrid(BUDGET, Facts(k=5, with_counts=False))
    release = run_hybrid(people({}), plan, SeededSource(1))

    assert len(release.items) == 0
    assert times(release.cost, BoundedRange) == 3 + 1
    assert times(release.cost, Failure) == 2


def test_rows_count_up_to_the_cap():
    """With a cap of three the counts are of rows, before and after naming; people's lists weigh as ever."""
    views = people({"large": 3000, **{f"small {n:02}": 200 + n for n in range(30)}}, times=3)
    plan = plan_hybrid(rho_budget(2, "1e-6"), Facts(k=12, per_item_cap=3))
    release = run_hybrid(views, plan, SeededSource(2))
    counts = dict(zip(release.items, release.counts, strict=True))

    assert abs(counts["large"] - 9000) < 200
    assert len(counts) == 12
    assert all(400 < count < 900 for item, count in counts.items() if item != "large")


def law_of_the_first_part(sizes: dict[str, int], plan) -> dict[tuple[str, ...], float]:
    """How likely each full list is: over all places, and over what the two choices told, as enumerated."""
    counts = sorted(sizes.values(), reverse=True)
    sure, careful, tested = float(plan.sure[0]), float(plan.epsilon), float(plan.tested)
    # Everybody holds one item and weighs one.
    hopeless = 1 / (1 + math.exp(tested * (sum(counts) - plan.naming.threshold / 0.45)))
    law: Counter = Counter()
    for place, placed in place_law(sizes, plan.k, plan.rows, sure).items():
        surely = place / float(plan.sure_deltas[0])
        gap = counts[plan.k - 1] - counts[place] - math.ceil(1 + math.log(surely) / sure)
        stand_out = 1 / (1 + math.exp(-tested * gap))
        told = stand_out + (1 - stand_out) * hopeless
        for rate, odds, chance in ((sure, surely, told), (careful, place / float(plan.deltas[0]), 1 - told)):
            found = selection_law(sizes, Selection(rows=place, k=plan.k, rate=rate, odds=odds))
            for names, p in found.items():
                if "bottom" not in names:
                    law[names] += placed * chance * p
    return law


def test_the_first_part_follows_its_law():
    """Over 1,500 seeds: the place, whether two stand out, and names peeled above bottom; delta is half of all."""
    sizes = {"a": 12, "b": 10, "c": 9, "d": 3}
    plan = plan_hybrid(rho_budget("0.8", "0.4"), Facts(k=2, with_counts=False), rows=3, taken=2)
    expected = law_of_the_first_part(sizes, plan)
    expected["fewer"] = 1 - sum(expected.values())
    seen: Counter = Counter()
    views = people(sizes)
    for seed in range(1500):
        released = run_hybrid(views, plan, SeededSource(seed))
        seen[tuple(released.items) if released.cutoff is None else "fewer"] += 1

    assert fits(seen, expected) > 1e-6
    turned = dict(zip(expected, reversed(expected.values()), strict=True))
    assert fits(seen, turned) < 1e-6


def test_people_with_long_lists_are_bounded_for_naming_only():
    """One who holds 3,000 items counts in every count, and is taken with a thousand items where items are named."""
    rows = [("heavy", f"item {n}") for n in range(3000)] + [(f"p{n}", f"item {n % 7}") for n in range(2100)]
    views = Noted(holdings(incidence(*map(list, zip(*rows, strict=True)))))
    release = run_hybrid(views, plan_hybrid(rho_budget(1, "1e-6"), Facts(k=10)), SeededSource(1))

    assert {f"item {n}" for n in range(7)} <= set(release.items)
    assert len(release.items) < 10
    assert views.of.counts_of(np.array(["item 0", "item 2999"], dtype=object)).tolist() == [301, 1]
    assert HYBRID_TOP.fetch(plan_hybrid(BUDGET, Facts(k=200))) == 2001
    assert LARGEST > 3000
