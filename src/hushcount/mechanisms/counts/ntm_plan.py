"""The plan of NTM: how a budget is shared out over its steps, and the numbers of each."""

from __future__ import annotations

from dataclasses import field
from decimal import Decimal
from fractions import Fraction

from hushcount.errors import InvalidParameter
from hushcount.mechanisms.calibration import concentrated
from hushcount.mechanisms.counts.ntm_choice import Ladder
from hushcount.mechanisms.counts.pcr_batched import BatchedPlan, narrower, plan_pcr_batched
from hushcount.mechanisms.selection.union import Primitive, UnionPlan, plan_union
from hushcount.model.amounts import share
from hushcount.model.budgets import Budget, RhoBudget
from hushcount.model.costs import Concentrated, Cost, Failure
from hushcount.model.frozen import frozen
from hushcount.noise.gaussian import require_variance

# As many items of each person are weighed as hardly anybody has: bounding costs names, and weights need some bound.
_LISTS = 3000
# Below this, one person could not be cut finely enough for noise of 64 bits, and no data could be counted anyway.
_LEAST = Decimal("1e-9")
# Where a share was asked for, half of a 95 % interval is to be within it. The noise of the rarest count is that share
# divided by the first of these: 1.96 would leave no room for what the clip takes and for counts that were predicted too
# large. Rows are left out by their own noise only where it is above the share divided by the second, so that this
# happens far below those that are as sharp as asked. A step towards more items may lose the third of the share.
_ASKED_KAPPA, _ASKED_BAR, _ASKED_WORTH = 2.9, 1.5, 0.05


@frozen
class Shares:
    """Shares of rho; what they leave is for the final counts. Delta goes to the names, in the proportion of `names`.

    Attributes:
        crowd: of the number that decides between naming and peeling.
        names: of each naming round.
        first: how many of these rounds are always run; the others only if there is room for more names.
        means: of the mean count of what each round names.
        choices: of the choice before the rough counts, and of the one before the final counts, at most.
        rough: of the rough counts.
        losses: of what the clip takes away from rough and from final counts, at most.
    """

    crowd: Fraction = Fraction(1, 100)
    names: tuple[Fraction, ...] = (
        *(Fraction(13, 100) * Fraction(part, 21) for part in (1, 4, 16)),
        Fraction(15, 100),
        Fraction(25, 100),
    )
    first: int = 3
    means: tuple[Fraction, ...] = (
        *(Fraction(15, 1000) * Fraction(part, 39) for part in (3, 9, 27)),
        Fraction(15, 1000),
        Fraction(15, 1000),
    )
    choices: tuple[Fraction, Fraction] = (Fraction(3, 100), Fraction(3, 100))
    rough: Fraction = Fraction(10, 100)
    losses: tuple[Fraction, Fraction] = (Fraction(4, 1000), Fraction(26, 1000))


@frozen
class NtmPlan:
    """Amounts of rho for each step, the naming rounds, and what the counts aim at.

    Attributes:
        clips: whether a person's list may be clipped; if not, as many items are counted as need no clip.
        relative_error: the share of a count by which it may be off.
        asked: whether that share was asked for, as half of a 95 % interval; if so, what is foreseen to be wider is not
            shown.
        kappa: the noise aimed at is relative_error / kappa of the count.
        rough_noise: the noise aimed at in rough counts, as a share of the count.
        spread: how far, as a share, a count is thought to be from the mean of its group before it was measured.
        crowded: naming is given up if an item needs more than this share of all people, as far as they weigh. The two
            ways are equally good at 0.45; it is 0.6, at which noise has to make the crowd look smaller by one of its
            deviations, since what is peeled stays peeled, and what is named may still be peeled later.
        few: naming is given up if all that was named could be peeled so many times over: before the last of the first
            rounds, and after it.
        dropped: a count is not shown if its noise is so many times what was aimed at.
        loss_noise: a loss is released with noise of this share of that of the rarest count, if its share of rho is
            enough for that; what is not needed of the share goes to the final counts.
        finest: no grid of a measurement has more bits.
        peeling: what is done instead of naming.
    """

    name: str
    max_items: None
    clips: bool
    relative_error: float
    asked: bool
    kappa: float
    rough_noise: float
    spread: float
    crowded: float
    few: tuple[float, float]
    dropped: float
    loss_noise: float
    finest: int
    rounds: tuple[UnionPlan, ...]
    first: int
    crowd: Decimal
    means: tuple[Decimal, ...]
    choices: tuple[Decimal, Decimal]
    rough: Decimal
    losses: tuple[Decimal, Decimal]
    ladder: Ladder
    peeling: BatchedPlan
    rho: Decimal
    delta: Decimal
    cost: Cost

    @property
    def final_noise(self) -> float:
        """The noise aimed at in final counts, as a share of the count."""
        return self.relative_error / self.kappa

    @property
    def least(self) -> Fraction:
        """A measurement costs at least so much of rho: grids are laid out for it."""
        return Fraction(self.rough or self.rho) / 2


@frozen
class Settings:
    """What of a plan is not a share of the budget; see `NtmPlan`.

    Attributes:
        lists: how many items of each person are weighed where items are named.
        primitive: the coin by which items are named.
    """

    kappa: float = 1.85
    rough_noise: float = 0.2
    spread: float = 0.7
    crowded: float = 0.6
    few: tuple[float, float] = (200.0, 4.0)
    dropped: float = 1.3
    loss_noise: float = 0.5
    finest: int = 24
    lists: int = _LISTS
    primitive: Primitive = "ks"
    ladder: Ladder = field(default_factory=Ladder)
    asked: bool = False


def settings_for(asked: float | None) -> Settings:
    """The settings for a share that was asked for, as half of a 95 % interval; the usual ones if none was."""
    if asked is None:
        return Settings()
    ladder = Ladder(worth=_ASKED_WORTH * asked)
    return Settings(kappa=_ASKED_KAPPA, dropped=_ASKED_KAPPA / _ASKED_BAR, ladder=ladder, asked=True)


def plan_ntm(
    budget: Budget,
    *,
    clips: bool = True,
    relative_error: float = 0.1,
    shares: Shares | None = None,
    settings: Settings | None = None,
) -> NtmPlan:
    """Share out the budget. Under (epsilon, delta) half of delta is for failures, half for the conversion."""
    parts, fixed, total = shares or Shares(), settings or Settings(), concentrated(budget)
    if total.rho < _LEAST:
        raise InvalidParameter("rho", total.rho, f"at least {_LEAST}", "Its noise would not fit into 64 bits.")

    def part(fraction: Fraction) -> Decimal:
        return share(total.rho, 1 / fraction) if fraction else Decimal(0)

    named = sum(parts.names)
    rounds = tuple(
        plan_union(
            "weighted",
            fixed.primitive,
            RhoBudget(part(one), share(total.delta, named / one)),
            max_items=fixed.lists,
        )
        for one in parts.names
    )
    # The coarsest sums cut a person into two, and a loss may have a hundredth of its share.
    sums = (parts.crowd, *parts.means, parts.rough, *(one / 100 for one in parts.losses), Fraction(1))
    require_variance(2 / (Fraction(total.rho) * min(one for one in sums if one)))
    return NtmPlan(
        name="ntm" if clips else "ntm-unclipped",
        max_items=None,
        clips=clips,
        relative_error=relative_error,
        asked=fixed.asked,
        kappa=fixed.kappa,
        rough_noise=fixed.rough_noise,
        spread=fixed.spread,
        crowded=fixed.crowded,
        few=fixed.few,
        dropped=fixed.dropped,
        loss_noise=fixed.loss_noise,
        finest=fixed.finest,
        rounds=rounds,
        first=parts.first,
        crowd=part(parts.crowd),
        means=tuple(part(one) for one in parts.means),
        choices=(part(parts.choices[0]), part(parts.choices[1])),
        rough=part(parts.rough),
        losses=(part(parts.losses[0]), part(parts.losses[1])),
        ladder=fixed.ladder,
        peeling=plan_pcr_batched(total, relative_error=narrower(relative_error) if fixed.asked else relative_error),
        rho=total.rho,
        delta=total.delta,
        cost=Cost.of(Concentrated(rho=total.rho), Failure(delta=total.delta)),
    )
