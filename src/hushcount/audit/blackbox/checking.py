"""Audit your own function: `hushcount.audit.check` runs it many times on neighbouring data sets."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from hushcount.audit.blackbox.power import best_level, runs_needed
from hushcount.audit.blackbox.trial import LEVELS, Trial, measure, to_finding
from hushcount.audit.claim import Claim, cost_claim, own_epsilon, pair_claim
from hushcount.audit.finding import Finding
from hushcount.errors import InvalidParameter
from hushcount.model.amounts import Number, whole
from hushcount.model.costs import Cost

Neighbours: TypeAlias = tuple[Any, Any]


def check(
    run: Callable[[Any], object],
    claim: Claim | Cost | tuple[Number, Number],
    neighbours: Neighbours | Sequence[Neighbours],
    *,
    runs: int | None = None,
    alarm: float = 1e-3,
) -> Finding:
    """Run a function many times on neighbouring data sets and say whether its claim of privacy survives.

    A function that keeps its claim is called broken with probability at most `alarm`. One that exceeds the claimed
    epsilon by 30 % on these neighbours, in an event with probability 1/2 on one of them, is found with probability
    95 %, if `runs` is left out. That a claim survives proves nothing about other neighbours or rarer events.

    Args:
        run: takes a data set and gives an output, with fresh randomness at every call. An output is a number, a text,
            a tuple, list, dict, set or array of such, or anything that can be hashed.
        claim: (epsilon, delta), or a cost, such as a release's `cost`.
        neighbours: a pair (D, D') of data sets that differ in one person, or a list of such pairs.
        runs: how many test runs on either data set to make, instead of as many as find an excess of 30 %.
        alarm: the probability of a false alarm, over all pairs together.

    Raises:
        InvalidParameter: one of these is something else.
    """
    began = time.perf_counter()
    stated, level = _claim(claim)
    pairs = _pairs(neighbours)
    if not callable(run):
        raise InvalidParameter("run", run, "a function of a data set")
    if not 0 < alarm < 1:
        raise InvalidParameter("alarm", alarm, "a probability between zero and one", "1e-3 is the usual choice.")
    each = alarm / len(pairs)
    level = level or best_level(stated, LEVELS)
    needed = runs_needed(level, stated.delta(level), alarm=each / 2) if runs is None else whole("runs", runs)
    found = [measure(trial, alarm=each, runs=needed) for trial in _trials(run, stated, level, pairs)]
    looked = (
        f"{len(pairs)} {'pair' if len(pairs) == 1 else 'pairs'} of neighbours, {sum(one.runs for one in found):,} runs"
    )
    return to_finding(found, looked=looked, seconds=time.perf_counter() - began)


def _trials(run: Callable[[Any], object], claim: Claim, level: float, pairs: list[Neighbours]) -> Iterable[Trial]:
    name = getattr(run, "__name__", "the function")
    for number, (one, two) in enumerate(pairs, start=1):
        yield Trial(
            name=name,
            claim=claim,
            epsilon=level,
            one=partial(_run, run, one),
            two=partial(_run, run, two),
            where=f"pair {number} of the neighbours",
        )


def _claim(claim: object) -> tuple[Claim, float | None]:
    """The claim and, if it has one, its own epsilon."""
    if isinstance(claim, Claim):
        return claim, None
    if isinstance(claim, Cost):
        return cost_claim(claim), own_epsilon(claim)
    if isinstance(claim, tuple | list) and len(claim) == 2:
        return pair_claim(*claim), float(claim[0])
    raise InvalidParameter("claim", claim, "(epsilon, delta) or a cost", "Write for example: (1.0, 0) or release.cost.")


def _pairs(neighbours: object) -> list[Neighbours]:
    """A pair is a tuple of two; several are a list of such."""
    pairs = neighbours if isinstance(neighbours, list) else [neighbours]
    if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise InvalidParameter(
            "neighbours", "...", "a tuple of two data sets, or a list of such tuples", "Write for example: (D, D2)."
        )
    return list(pairs)


def _run(run: Callable[[Any], object], data: object) -> Hashable:
    return hashable(run(data))


def hashable(output: object) -> Hashable:
    """An output in a form that can be counted: lists, dicts, sets and arrays become tuples."""
    if isinstance(output, np.ndarray | np.generic):
        output = output.tolist()
    if isinstance(output, dict):
        return tuple((hashable(key), hashable(value)) for key, value in output.items())
    if isinstance(output, set | frozenset):
        return tuple(sorted((hashable(part) for part in output), key=repr))
    if isinstance(output, list | tuple):
        return tuple(map(hashable, output))
    if not isinstance(output, Hashable):
        raise InvalidParameter(
            "run", type(output).__name__, "a function whose output is a number, a text, or a list or dict of such"
        )
    return output
