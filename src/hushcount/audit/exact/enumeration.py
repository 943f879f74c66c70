"""The exact output law of any mechanism: run it along every outcome of every call that it makes.

The noise source given to the mechanism draws nothing. It answers each call with an outcome of the call's ideal law, as
a script says, and remembers the other ones; the mechanism is then run again for each of these. The likeliest branch
comes first, so that after any number of runs the probability that was not followed is as small as it can be, and it is
known: it is the error of the law.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
import math
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, NoReturn, TypeAlias

import numpy as np

from hushcount.audit.exact.laws import Chance, law_of
from hushcount.errors import HushcountError
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Items
from hushcount.model.outcomes import Outcome
from hushcount.model.texts import SortedTexts
from hushcount.noise.calls import AnyCall
from hushcount.noise.source import Draws, ItemKeys, NoiseSource

Output: TypeAlias = Hashable
Answer: TypeAlias = Callable[[NoiseSource], Outcome]
# What calls for each purpose are answered with, in turn.
_Script: TypeAlias = tuple[tuple[str, Any], ...]

# Branches below this share of the error that is wanted are never followed.
_SHARE = 1e-4
# The parts of an outcome that are told first.
_FIRST = ("items", "counts", "noise_scale", "cutoff")
# What the rounding of doubles can add up to in the sum of a law.
_ROUNDING = 1e-12


class _TooFaint(Exception):
    """Every outcome of a call is below the floor: the branch is left unfollowed, and its probability is missing."""


class DrawsOutsideHook(HushcountError):
    """A mechanism drew randomness that no call shows, so its law cannot be known and its cost cannot be checked."""


@frozen
class Path:
    """One run: what it released, how likely it is, and the calls it made with their outcomes."""

    output: Output
    outcome: Outcome | None
    probability: float
    calls: tuple[tuple[AnyCall, Any], ...]


@frozen
class OutputLaw:
    """The probability of each output. They add up to 1 - missing; whatever was not followed is in `missing`."""

    chances: dict[Output, float]
    missing: float
    paths: int


def enumerate_law(
    answer: Answer, *, missing: float, most_paths: int, look: Callable[[Path], None] = lambda _: None
) -> OutputLaw:
    """The law of an answer's output.

    Args:
        answer: runs the mechanism on its input with a noise source.
        missing: how much probability may stay unfollowed.
        most_paths: how many runs to make at most; the law then has more missing than was asked for.
        look: told each path.

    Raises:
        DrawsOutsideHook: the output is not a function of the outcomes of the calls.
    """
    parts: dict[Output, list[float]] = {}
    followed: list[float] = []
    first: Path | None = None
    for path in paths(answer, floor=missing * _SHARE):
        if first is None:
            first = _same_again(answer, path)
        parts.setdefault(path.output, []).append(path.probability)
        followed.append(path.probability)
        look(path)
        if len(followed) >= most_paths or (len(followed) % 16 == 0 and math.fsum(followed) > 1 - missing):
            break
    chances = {output: math.fsum(chances) for output, chances in parts.items()}
    return OutputLaw(chances=chances, missing=max(0.0, 1 - math.fsum(followed)) + _ROUNDING, paths=len(followed))


def paths(answer: Answer, *, floor: float) -> Iterator[Path]:
    """All runs that are at least as likely as the floor, starting with the branch that is likeliest at each turn."""
    ties = itertools.count()
    waiting: list[tuple[float, int, _Branch]] = []

    def run(script: _Script, chance: float) -> Iterator[Path]:
        noise = _ScriptedSource(script, chance, floor)
        with suppress(_TooFaint):
            yield noise.follow(answer)
        for branch in noise.branches:
            push(branch)

    def push(branch: _Branch) -> None:
        if branch.place < len(branch.options) and branch.probability >= floor:
            heapq.heappush(waiting, (-branch.probability, next(ties), branch))

    yield from run((), 1.0)
    while waiting:
        _, _, branch = heapq.heappop(waiting)
        push(branch.next)
        yield from run(branch.script, branch.probability)


def fixed_salts() -> NoiseSource:
    """A source that draws nothing and has the salts of every enumeration: to read tables with."""
    return _ScriptedSource((), 1.0, 1.0)


def output_of(outcome: Outcome) -> Output:
    """Names, numbers, noise scales and cut-off, and then every other field, whichever there are: all of it leaves."""
    kind: Any = type(outcome)
    others = tuple(_plain(getattr(outcome, name)) for name in _other_parts(kind))
    return (*(_plain(getattr(outcome, name)) for name in _FIRST), others)


@cache
def _other_parts(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.name not in _FIRST)


def _plain(part: Any) -> Hashable:  # noqa: ANN401  any part of an outcome
    return tuple(part.tolist()) if isinstance(part, np.ndarray) else part


@dataclass(frozen=True, slots=True)
class _Branch:
    """An outcome that has not been followed yet: what was said before, the law of the call, which of its outcomes."""

    before: _Script
    purpose: str
    chance: float
    options: tuple[Chance, ...]
    place: int

    @property
    def probability(self) -> float:
        return self.chance * self.options[self.place].probability

    @property
    def script(self) -> _Script:
        return (*self.before, (self.purpose, self.options[self.place].outcome))

    @property
    def next(self) -> _Branch:
        return _Branch(self.before, self.purpose, self.chance, self.options, self.place + 1)


class _ScriptedSource:
    """A noise source that follows a script, and, where it ends, the likeliest outcome of every further call."""

    private = False

    def __init__(self, script: _Script, chance: float, floor: float) -> None:
        self._script, self._chance, self._floor = script, chance, floor
        self._calls: list[tuple[AnyCall, Any]] = []
        self._said: _Script = ()
        self.branches: list[_Branch] = []

    def follow(self, answer: Answer) -> Path:
        """Run to the end. An error is an output too: whoever asks sees it."""
        try:
            outcome = answer(self)
        except DrawsOutsideHook:
            raise
        except HushcountError as error:
            return Path(
                output=("refused", type(error).__name__, str(error)),
                outcome=None,
                probability=self._chance,
                calls=tuple(self._calls),
            )
        return Path(output=output_of(outcome), outcome=outcome, probability=self._chance, calls=tuple(self._calls))

    def perform(self, call: AnyCall) -> Any:  # noqa: ANN401  the outcome of any kind of call
        """The outcome that the script says; beyond its end the likeliest one, and the others are remembered."""
        place = len(self._calls)
        if place < len(self._script):
            purpose, outcome = self._script[place]
            if purpose != call.purpose:
                raise DrawsOutsideHook("a run made other calls than before, with the same outcomes of all its calls")
        else:
            options = law_of(call, floor=self._floor / self._chance)
            if not options:
                raise _TooFaint
            self.branches.append(_Branch(self._said, call.purpose, self._chance, options, 1))
            outcome = options[0].outcome
            self._chance *= options[0].probability
        self._said = (*self._said, (call.purpose, outcome))
        self._calls.append((call, outcome))
        return outcome.copy()

    def identify(self, items: Items | SortedTexts) -> ItemKeys:
        """Keys that no draw is ever made from."""
        return ItemKeys(items, np.zeros((2, len(items)), dtype=np.uint64))

    def item_draws(self, purpose: str, keys: ItemKeys) -> Draws:  # noqa: ARG002
        """Refused: a mechanism must not draw by itself."""
        _refuse(purpose)

    def draws(self, purpose: str, rows: int) -> Draws:  # noqa: ARG002
        """Refused: a mechanism must not draw by itself."""
        _refuse(purpose)

    def salt(self, purpose: str) -> bytes:
        """Always the same for a purpose, so that both neighbours are bounded alike."""
        return hashlib.sha256(purpose.encode()).digest()[:16]


def _refuse(purpose: str) -> NoReturn:
    raise DrawsOutsideHook(f"draws for {purpose!r} were made outside source.perform, where no audit sees them")


def _same_again(answer: Answer, path: Path) -> Path:
    """Refuse an answer that is not a function of the outcomes of its calls: it has randomness of its own."""
    script = tuple((call.purpose, outcome) for call, outcome in path.calls)
    try:
        again = _ScriptedSource(script, 1.0, 1.0).follow(answer)
    except _TooFaint:
        raise DrawsOutsideHook("a second run with the same outcomes of all its calls made another call") from None
    if again.output != path.output or len(again.calls) != len(path.calls):
        raise DrawsOutsideHook("a second run with the same outcomes of all its calls gave another output")
    return path
