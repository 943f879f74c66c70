"""Greedy weighting (GW): people come one after another, and each fills their own most frequent items first.

Source: Carvalho, Wang, Gondara, Incorporating Item Frequency for Differentially Private Set Union (2022), repaired as
erratum 36 says: lists are bounded, every item of every bounded list gets noise, and a person whose items are all full
is done.
"""

from __future__ import annotations

from hushcount.errors import InvalidParameter
from hushcount.mechanisms.weighting.kernels import fill_in_turn, weigh
from hushcount.mechanisms.weighting.policy import L1_UNIT, check_lists, grid_cutoff
from hushcount.model.inputs import UserLists, WeightedHistogram


def greedy(lists: UserLists, cutoff: float) -> WeightedHistogram:
    """Each person fills their items to the cutoff in the order of their list until a weight of one is used.

    Guarantee:
        Adding or removing one person moves the weights by l1 distance at most `unit` = 2^30, exactly. All items in
        one person's list alone weigh at most `unit` together. Items of weight zero are listed: only then are the
        items that can be named on one side alone within one person's list (errata 25 and 36), and the threshold must
        be calibrated for max_items of them, of total weight one, not for a single novel item.

    Why: let the person's items, in order, have cumulative gaps G_0 = 0, G_j = G_(j-1) + g_j, and B = `unit`. Item j
    gets min(G_j, B) - min(G_(j-1), B), so its gap afterwards is max(G_j - B, 0) - max(G_(j-1) - B, 0), which does not
    fall when any gap grows: x -> max(x - B, 0) is convex and rising. So weights H1 >= H2 in every item, i.e. gaps
    g1 <= g2, stay so. The total handed out is min(G_n, B), no more in H1 than in H2. With H1 >= H2 the l1 distance is
    a difference of totals, so it does not grow. The extra person makes H1 >= H2 with distance at most B, and everyone
    after keeps both.

    Assumes:
        Order of people and each person's order of preference depend on that person's own values and a salt only,
        never on the weights so far: `Incidence.lists` with order "frequency".

    Edge cases:
        no people: an empty histogram | all of a person's items full: nothing moves | a cutoff of one: a person with a
        novel first item spends everything on it.

    Args:
        lists: bounded lists, most preferred item first.
        cutoff: weight above which an item gains nothing more; at least one.

    Raises:
        InvalidParameter: the cutoff is below one, or 2^31 and above.
        InvalidInput: a person holds an item twice, or an item is held by nobody.
    """
    top = grid_cutoff(cutoff, L1_UNIT)
    if top < L1_UNIT:
        raise InvalidParameter("cutoff", cutoff, "one or more", "The threshold is calibrated for that (erratum 36).")
    check_lists(lists)
    weights = weigh(fill_in_turn, lists, cutoff=top, budget=L1_UNIT)
    return WeightedHistogram(items=lists.items, weights=weights, unit=L1_UNIT)
