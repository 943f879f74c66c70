"""Twins whose noise is wrong: too little of it, a bar that is too low, draws that anybody can repeat or take apart."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hushcount.audit.neighbours import table
from hushcount.audit.small_table import listed
from hushcount.audit.twins.altered import Altered, altered, with_less_noise
from hushcount.audit.twins.twin import Original, Twin
from hushcount.mechanisms.counts.gaussian_threshold import plan_gaussian_threshold, run_gaussian_threshold
from hushcount.mechanisms.counts.known_domain import (
    plan_known_gaussian,
    plan_known_laplace,
    run_known_gaussian,
    run_known_laplace,
)
from hushcount.mechanisms.counts.tsgd import plan_tsgd, run_tsgd
from hushcount.mechanisms.selection.optimal import plan_optimal
from hushcount.mechanisms.selection.union import plan_union, run_union
from hushcount.mechanisms.topk.known_domain import known_gumbel_at, run_known_gumbel
from hushcount.model.budgets import epsilon_budget, rho_budget
from hushcount.model.facts import Facts
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Histogram, Int64s
from hushcount.model.outcomes import Outcome
from hushcount.noise.calls import AddLaplace, Call, Reach
from hushcount.noise.source import ItemKeys, NoiseSource, SeededSource

_PAIR = epsilon_budget(1, "0.05")


_ONE = listed("a")
_FEW = (
    table({"a": 3}, ("a",), "an item of three other people"),
    table({"a": 1}, ("a",), "an item of one other person"),
    table({}, ("a",), "one person alone"),
)
KNOWN_LAPLACE = Original(
    mechanism="known-laplace",
    facts=Facts(max_items=1, public_items=_ONE),
    plan=plan_known_laplace(_PAIR, 1, _ONE),
    pairs=_FEW,
)
_TWO = listed("a", "b")
KNOWN_GAUSSIAN = Original(
    mechanism="known-gaussian",
    facts=Facts(max_items=2, public_items=_TWO),
    plan=plan_known_gaussian(rho_budget(1, "0.05"), 2, _TWO),
    pairs=(
        table({"a": 3, "b": 3}, ("a", "b"), "two items of three other people each"),
        table({}, ("a", "b"), "one person alone, with two items"),
    ),
)
GAUSSIAN_THRESHOLD = Original(
    mechanism="gaussian-threshold",
    facts=Facts(max_items=1),
    plan=plan_gaussian_threshold(rho_budget(1, "0.05"), 1),
    pairs=_FEW,
)
OPTIMAL = Original(mechanism="optimal", facts=Facts(max_items=1), plan=plan_optimal(_PAIR, 1), pairs=_FEW)
_TSGD = Original(mechanism="tsgd", facts=Facts(max_items=1), plan=plan_tsgd(_PAIR, 1), pairs=_FEW)
_COINS = Original(
    mechanism="weighted-gaussian",
    facts=Facts(max_items=1),
    plan=plan_union("weighted", "gaussian", rho_budget(1, "0.05"), max_items=1),
    pairs=_FEW,
)
KNOWN_GUMBEL = Original(
    mechanism="known-gumbel",
    facts=Facts(k=1, with_counts=False, public_items=listed("a", "b")),
    plan=known_gumbel_at(Decimal(1), Facts(k=1, with_counts=False, public_items=listed("a", "b"))),
    pairs=(
        table({"b": 6}, ("a",), "an item that nobody else has, beside one of six people"),
        table({"a": 2, "b": 2}, ("a",), "two items of two other people each"),
    ),
)


def fixed_seed(data: Histogram, plan: Any, noise: NoiseSource) -> Outcome:  # noqa: ANN401, ARG001  any plan; not used
    """Noise from seed 42 whatever the source, called private (erratum 37)."""
    return replace(run_known_laplace(data, plan, SeededSource(42)), private=True)


class _Bypassing(Altered):
    """A source whose draws go round the hook."""

    def perform(self, call: Call[Any]) -> Any:  # noqa: ANN401  any outcome
        """Draw at once."""
        return call.draw(self._noise)


def outside_hook(data: Histogram, plan: Any, noise: NoiseSource) -> Outcome:  # noqa: ANN401  any plan
    """A draw that nobody sees."""
    return run_known_laplace(data, plan, _Bypassing(noise, with_less_noise))


@frozen
class AddFloatLaplace:
    """Values plus Laplace noise in doubles: which doubles can come out depends on the value (Mironov 2012)."""

    purpose: str
    keys: ItemKeys | None
    values: Int64s
    reach: Reach
    rate: Fraction

    def draw(self, source: NoiseSource) -> npt.NDArray[np.float64]:
        """The noisy values, by the inverse of the distribution function."""
        words = source.draws(self.purpose, len(self.values)).words(0)
        uniform = (words >> np.uint64(11)).astype(np.float64) / 2.0**53 - 0.5
        noise: npt.NDArray[np.float64] = np.sign(uniform) * np.log1p(-2 * np.abs(uniform)) / float(self.rate)
        return self.values + noise


def _in_doubles(call: AddLaplace) -> AddFloatLaplace:
    return AddFloatLaplace(purpose=call.purpose, keys=call.keys, values=call.values, reach=call.reach, rate=call.rate)


_TOO_LITTLE = "rule: noise of the size that is paid for"
_LESS = "The noise is 20 % narrower than what is charged for."

NOISE_TWINS: tuple[Twin, ...] = (
    *(
        Twin(
            name=f"{law} noise 20 % too small",
            erratum=_TOO_LITTLE,
            what=_LESS,
            caught_by="exact",
            broken=original.twin(run=altered(run, with_less_noise)),
            sound=original.sound,
        )
        for law, original, run in (
            ("Laplace", KNOWN_LAPLACE, run_known_laplace),
            ("Gaussian", GAUSSIAN_THRESHOLD, run_gaussian_threshold),
            ("known Gaussian", KNOWN_GAUSSIAN, run_known_gaussian),
            ("k-TSGD", _TSGD, run_tsgd),
            ("coin", _COINS, run_union),
            ("Gumbel", KNOWN_GUMBEL, run_known_gumbel),
        )
    ),
    Twin(
        name="noise for one item of two",
        erratum="rule: noise grows with the root of the items that a person may have",
        what="The noise is made for people with one item, and they may have two.",
        caught_by="exact",
        broken=KNOWN_GAUSSIAN.twin(
            plan=replace(
                plan_known_gaussian(rho_budget(1, "0.05"), 2, _TWO),
                gaussian_stddev=plan_known_gaussian(rho_budget(1, "0.05"), 1, _TWO).gaussian_stddev,
            )
        ),
        sound=KNOWN_GAUSSIAN.sound,
    ),
    Twin(
        name="threshold one too low",
        erratum="rule: an item of one person stays hidden with probability 1 - delta",
        what="Every item is treated as if one more person had it.",
        caught_by="exact",
        broken=OPTIMAL.twin(plan=replace(plan_optimal(_PAIR, 1), least=0)),
        sound=OPTIMAL.sound,
    ),
    Twin(
        name="shown from the threshold on",
        erratum="erratum 32",
        what="The test is >= where the threshold was made for >, which on integers is one too low.",
        caught_by="exact",
        broken=GAUSSIAN_THRESHOLD.twin(
            plan=replace(
                plan_gaussian_threshold(rho_budget(1, "0.05"), 1),
                threshold=plan_gaussian_threshold(rho_budget(1, "0.05"), 1).threshold - 1,
            )
        ),
        sound=GAUSSIAN_THRESHOLD.sound,
    ),
    Twin(
        name="fixed seed",
        erratum="erratum 37",
        what="All noise comes from seed 42, so whoever has the program can take it off.",
        caught_by="exact",
        broken=KNOWN_LAPLACE.twin(run=fixed_seed),
        sound=KNOWN_LAPLACE.sound,
    ),
    Twin(
        name="draw outside the hook",
        erratum="rule: every draw passes one hook",
        what="The mechanism draws by itself, so nobody can say what it draws and for which values.",
        caught_by="exact",
        broken=KNOWN_LAPLACE.twin(run=outside_hook),
        sound=KNOWN_LAPLACE.sound,
    ),
    Twin(
        name="float low bits",
        erratum="rule: no released number is a float with data-dependent low bits",
        what="The count is a double, and its low bits tell which true counts it can come from.",
        caught_by="replay",
        broken=KNOWN_LAPLACE.twin(run=altered(run_known_laplace, _in_doubles)),
        sound=KNOWN_LAPLACE.sound,
        steps=("replay",),
    ),
)
