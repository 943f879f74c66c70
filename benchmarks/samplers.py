"""How many numbers each sampler draws in a second, and OpenDP's rate where it has the same law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
from report import Effort, rate, seconds, show

from hushcount.noise.bernoulli import accept
from hushcount.noise.gaussian import discrete_gaussian
from hushcount.noise.gumbel import Candidates, peel
from hushcount.noise.laplace import discrete_laplace
from hushcount.noise.source import Draws, SystemSource
from hushcount.noise.tsgd import truncated_geometric

SCALES = (Fraction(1), Fraction("22.36"), Fraction(1000))
DRAWS, OPENDP_DRAWS = 1_000_000, 20_000


@dataclass(frozen=True)
class Sampler:
    """A law under its name, our sampler for it, and OpenDP's, which takes a number of draws."""

    name: str
    ours: Callable[[Draws], object]
    opendp: Callable[[int], object] | None = None


def measure(effort: Effort) -> None:
    """Print the table of samplers."""
    dp.enable_features("contrib")
    size, source = effort.size(DRAWS), SystemSource()
    names = np.array([f"item {number:07}" for number in range(size)], dtype=object)
    keys = source.identify(names)
    stream, by_item = source.draws("bench", size), source.item_draws("bench", keys)
    rows = []
    for sampler in _samplers(size):
        in_a_row = size / effort.best(lambda draw=sampler.ours: draw(stream))  # type: ignore[misc]
        for_items = size / effort.best(lambda draw=sampler.ours: draw(by_item))  # type: ignore[misc]
        theirs = _opendp_rate(sampler, effort)
        ratio = f"{in_a_row / theirs:.0f} x" if theirs else "-"
        rows.append((sampler.name, rate(in_a_row), rate(for_items), rate(theirs), ratio))
    identify = size / effort.best(lambda: source.identify(names))
    rows.append(("digest of each item, once per release", "-", rate(identify), "-", "-"))
    show(
        f"Noise: draws per second, {size:,} at a time",
        ("sampler", "in a row", "by item", "OpenDP", "ratio"),
        rows,
        "in a row: ChaCha20 stream. by item: SipHash of the item's digest. ratio: in a row to OpenDP, one core each.",
    )


def _samplers(size: int) -> list[Sampler]:
    scores = np.arange(size, dtype=np.int64) % 1000
    candidates = Candidates(scores=scores, rate=Fraction(1, 10), priors={})
    evenly = np.linspace(0.0, 1.0, size)
    return [
        *(Sampler(f"discrete Laplace, scale {float(s):g}", _laplace(s), _opendp_laplace(float(s))) for s in SCALES),
        *(Sampler(f"discrete Gaussian, scale {float(s):g}", _gaussian(s), _opendp_gaussian(float(s))) for s in SCALES),
        Sampler("Bernoulli, any probability", lambda draws: accept(draws, evenly, _exactly(evenly))),
        Sampler("k-TSGD, epsilon 1, k 11", lambda draws: truncated_geometric(draws, Fraction(1), 11)),
        Sampler("Gumbel, top 100 of all", lambda draws: peel(draws, candidates, 100), _opendp_top(scores)),
    ]


def _laplace(scale: Fraction) -> Callable[[Draws], object]:
    return lambda draws: discrete_laplace(draws, 1 / scale)


def _gaussian(scale: Fraction) -> Callable[[Draws], object]:
    return lambda draws: discrete_gaussian(draws, scale**2)


def _exactly(probability: np.typing.NDArray[np.float64]) -> Callable[[int, int], tuple[Fraction, Fraction]]:
    return lambda row, _: (Fraction(float(probability[row])), Fraction(float(probability[row])))


def _opendp_rate(sampler: Sampler, effort: Effort) -> float | None:
    if sampler.opendp is None:
        return None
    size, draw = effort.size(OPENDP_DRAWS), sampler.opendp
    return size / min(seconds(lambda: draw(size)) for _ in range(effort.repeats))


def _opendp_laplace(scale: float) -> Callable[[int], object]:
    noise = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale=scale)
    return lambda size: noise([0] * size)


def _opendp_gaussian(scale: float) -> Callable[[int], object]:
    noise = dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float), scale=scale)
    return lambda size: noise([0] * size)


def _opendp_top(scores: np.typing.NDArray[np.int64]) -> Callable[[int], object]:
    metric = dp.linf_distance(T=int, monotonic=True)
    measure = dp.zero_concentrated_divergence()
    top = dp.m.make_noisy_top_k(dp.vector_domain(dp.atom_domain(T=int)), metric, measure, k=100, scale=10.0)
    return lambda size: top(scores[:size].tolist())
