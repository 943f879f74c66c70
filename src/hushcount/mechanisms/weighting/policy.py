"""Policy weightings: people come one after another, and each spends a budget where their items still need it.

Source: Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin, Differentially Private Set Union (DPSU). `l1_descent` is
its Algorithm 4 with the branch repaired (erratum 23), `l2_descent` its Algorithm 7. Its Algorithm 8 is not private
and is not here (erratum 22). Both work on integers, so what is proved below holds for the numbers that are computed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from hushcount.errors import InvalidInput, InvalidParameter, UnsafeMechanism
from hushcount.mechanisms.weighting.kernels import fill_evenly, step_straight, weigh
from hushcount.model.amounts import whole
from hushcount.model.inputs import Int64s, UserLists, WeightedHistogram

L1_UNIT = 1 << 30
MOST_PEOPLE = 1 << 30

_FINEST_L2_BITS = 47
_LARGEST_CUTOFF = 1 << 61


def l1_descent(lists: UserLists, cutoff: float) -> WeightedHistogram:
    """Each person raises all their items evenly, each no further than the cutoff, by a weight of one in all.

    Guarantee:
        Adding or removing one person moves the weights by l1 distance at most `unit` = 2^30, exactly. If t items are
        in one person's list alone, each weighs at most ceil(unit / t). Every listed item weighs something (up to 2^30
        items each).

    Why: let the person's items have gaps g_v = cutoff - weight_v. Steps are handed out one at a time, in rounds over
    the items that are still below the cutoff, in the fixed order of the person's list, until B = `unit` of them are
    gone. (The kernel finds the number of whole rounds directly.) Item v gets its p-th step at time

        T_v(p) = sum over q < p of #{w: g_w >= q}  +  #{w not after v: g_w >= p},

    if p <= g_v and T_v(p) <= B. Take weights H1 >= H2 in every item, so g1 <= g2. Then T1_v(p) <= T2_v(p) wherever
    both are defined. Either item v is filled in H1, where it stays ahead; or v gets x < g1_v steps there, so B <
    T1_v(x + 1) <= T2_v(x + 1), and it gets at most x in H2: H1 >= H2 still. The total handed out is min(B, sum of
    gaps), no more in H1 than in H2. With H1 >= H2 the l1 distance is a difference of totals, so it does not grow. The
    extra person makes H1 >= H2 with distance at most B, and everyone after keeps both. Novel items all have the same,
    largest, gap, so they differ by at most one step, and t of them share at most B.

    Assumes:
        People stand in an order, and each list was bounded and ordered, by that person's own values and a salt only
        (erratum 28): `Incidence.lists` with order "key".

    Edge cases:
        no people: an empty histogram | a person whose gaps sum to at most B: fills all to the cutoff | a cutoff below
        one: allowed, nobody needs their whole budget for one item.

    Args:
        lists: bounded lists.
        cutoff: weight above which an item gains nothing more (Γ in the paper).

    Raises:
        InvalidParameter: the cutoff is not a number, below one grid step or 2^31 and above.
        InvalidInput: a person holds an item twice, or an item is held by nobody.
    """
    top = grid_cutoff(cutoff, L1_UNIT)
    check_lists(lists)
    weights = weigh(fill_evenly, lists, cutoff=top, budget=L1_UNIT)
    return WeightedHistogram(items=lists.items, weights=weights, unit=L1_UNIT)


def l2_descent(lists: UserLists, cutoff: float, *, max_items: int) -> WeightedHistogram:
    """Each person moves the weights of their items straight towards (cutoff, ..., cutoff) by l2 distance one.

    Guarantee:
        Adding or removing one person moves the weights by l2 distance at most `unit`, exactly, with the rounding paid
        for. If t items are in one person's list alone, each weighs at most unit / sqrt(t). Every listed item weighs
        something.

    Why: write m = max_items, u = 2^-53, P = (cutoff, ..., cutoff), and R = `l2_radius` for the step in grid steps. The
    real map F(x) = x + G min(1, R / |G|), G = P - x on the person's items, is the proximal map of R |P - x|, so it is
    an l2 contraction (the paper's Lemma 5.2). What is computed is F(x) + a + b:

    * a, from rounding down, has each of at most m coordinates in (-1, 0]; a difference of two such is at most sqrt(m)
      long.
    * b, from floating point. Weights are integers up to 2^52, so gaps are exact. Kahan's sum gives the squared norm
      within 3u (u for each square, 2u for the sum), the root within 2.5u, R / norm within 3.5u, each product within
      4.5u, up to terms of order u^2 m. So b is at most 5u R <= 5 * 2^-53 * 2^47 < 1/8 long. The same bound covers a
      norm on the wrong side of R: then F(x) and P, or the step and G, differ by at most 2.6u R.

    So each person's visit widens the distance between two runs by at most sqrt(m) + 1/4 grid steps. The extra person
    opens it by at most R + 1/8, and at most 2^30 - 1 others follow: in all at most R + 2^30 (sqrt(m) + 1/4) <= unit.
    The weight given up for this is `l2_slack`, about 0.00013 at m = 300. A novel item has the largest gap, so t of
    them bound the norm from below by sqrt(t) times it, and each moves by at most R (1 + 5u) / sqrt(t) < unit /
    sqrt(t).

    Assumes:
        People stand in an order, and each list was bounded, by that person's own values and a salt only (erratum 28).

    Edge cases:
        no people: an empty histogram | |G| <= R: filled to the cutoff exactly | a very large cutoff: a coarser grid,
        with more slack, refused above a quarter.

    Args:
        lists: bounded lists.
        cutoff: weight above which an item gains nothing more (Γ in the paper).
        max_items: the declared bound on the length of a list; never measured on the data.

    Raises:
        InvalidParameter: the cutoff or the bound leaves no useful grid.
        InvalidInput: a list is longer than the bound, holds an item twice, or there are more than 2^30 people.
    """
    radius, unit = l2_radius(cutoff, max_items), l2_unit(cutoff)
    top = grid_cutoff(cutoff, unit)
    check_lists(lists, max_items=max_items)
    weights = weigh(step_straight, lists, cutoff=top, budget=radius)
    return WeightedHistogram(items=lists.items, weights=weights, unit=unit)


def l2_unit(cutoff: float) -> int:
    """Grid steps in a weight of one for `l2_descent`: a power of two such that the cutoff is at most 2^52 steps."""
    _check_cutoff(cutoff)
    mantissa, exponent = math.frexp(cutoff)
    ceiling = exponent - 1 if mantissa == 0.5 else exponent  # ceil(log2(cutoff)), exactly
    return 1 << max(0, min(_FINEST_L2_BITS, 52 - ceiling))


def l2_radius(cutoff: float, max_items: int) -> int:
    """The step of one person in `l2_descent`, in grid steps: the unit less what 2^30 roundings can add up to."""
    whole("max_items", max_items)
    unit = l2_unit(cutoff)
    # ceil(2^30 sqrt(m)) in integers, and 2^30 / 4.
    rounding = math.isqrt(max_items * MOST_PEOPLE**2 - 1) + 1 + MOST_PEOPLE // 4
    if 4 * rounding > unit:
        hint = "Rounding over 2^30 people would cost a quarter of the weight; use a smaller cutoff or fewer items."
        raise InvalidParameter("cutoff", cutoff, f"small enough for lists of {max_items} items", hint)
    return unit - rounding


def l2_slack(cutoff: float, max_items: int) -> Fraction:
    """The share of each person's l2 budget that `l2_descent` gives up to pay for rounding."""
    return 1 - Fraction(l2_radius(cutoff, max_items), l2_unit(cutoff))


def refuse_l1_descent_for_gaussian() -> NoReturn:
    """Say why l1-descent with an l2 budget (DPSU, Algorithm 8) cannot be had.

    Raises:
        UnsafeMechanism: always.
    """
    raise UnsafeMechanism(
        "l1-descent for Gaussian noise (Differentially Private Set Union, Algorithm 8) is not private: its l2 "
        "sensitivity is not one. The published corrigendum of 2026 withdraws Proposition 5.1 (ERRATA 22), and one "
        "person can move the weights by 2.44 on 6400 items and by 4.13 on 65536 items. Use l2-descent for Gaussian "
        "noise, or l1-descent with Laplace noise."
    )


def grid_cutoff(cutoff: float, unit: int) -> int:
    """The cutoff in whole grid steps, rounded down."""
    _check_cutoff(cutoff)
    top = math.floor(Fraction(cutoff) * unit)
    if not 1 <= top <= _LARGEST_CUTOFF:
        raise InvalidParameter("cutoff", cutoff, f"from one grid step (1/{unit}) to 2^61 of them")
    return top


def check_lists(lists: UserLists, *, max_items: int | None = None) -> None:
    """Refuse lists that break what the proofs rest on: sets, not bags, of items that occur, within the declared bound.

    Raises:
        InvalidInput: naming what is broken, and no value.
    """
    offsets, ids = lists.offsets, lists.ids
    if len(offsets) > MOST_PEOPLE + 1:
        raise InvalidInput("more than 2^30 people: the rounding of sequential weights is not paid for beyond that")
    lengths = np.diff(offsets)
    if len(offsets) < 1 or offsets[0] != 0 or offsets[-1] != len(ids) or bool(np.any(lengths < 0)):
        raise InvalidInput("offsets of user lists must rise from 0 to the number of ids")
    if len(ids) and (int(ids.min()) < 0 or int(ids.max()) >= len(lists.items)):
        raise InvalidInput("ids of user lists must be positions in its items")
    if max_items is not None and bool(np.any(lengths > max_items)):
        raise InvalidInput(f"a list is longer than the declared bound of {max_items} items")
    if _any_repeated(offsets, ids):
        raise InvalidInput("a list holds the same item twice; each person's items must be a set (erratum 38)")
    if not bool(np.bincount(ids, minlength=len(lists.items)).all()):
        raise InvalidInput("an item is in nobody's bounded list; noise on it could name it (erratum 24)")


def _any_repeated(offsets: Int64s, ids: npt.NDArray[np.int32]) -> bool:
    """Whether somebody holds an item twice."""
    same = np.ones(max(len(ids) - 1, 0), dtype=np.bool_)  # each pair and the next one are of one person
    starts = offsets[1:-1]
    same[starts[(starts > 0) & (starts < len(ids))] - 1] = False
    if not bool(np.any(same & (ids[1:] <= ids[:-1]))):
        return False  # as engines write lists: everybody's items ascend
    person = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    sorted_pairs = np.sort(person * (np.int64(1) + ids.max()) + ids)
    return bool(np.any(sorted_pairs[1:] == sorted_pairs[:-1]))


def _check_cutoff(cutoff: float) -> None:
    if not (math.isfinite(cutoff) and cutoff > 0):
        raise InvalidParameter("cutoff", cutoff, "a finite number above zero")
