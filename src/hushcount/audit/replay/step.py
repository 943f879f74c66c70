"""The replay step: on many neighbours, in both directions, record a run and replay it with every outcome frozen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TypeAlias

from hushcount.audit.finding import Finding
from hushcount.audit.neighbours import Neighbours, Table
from hushcount.audit.pricing import broken_ladder, broken_table, failed, overspent, price
from hushcount.audit.replay.crowds import crowds
from hushcount.audit.replay.recording import Leak, Move, Novel, Recorder, Replayer, compare_outcomes, joined
from hushcount.audit.subject import Subject
from hushcount.errors import HushcountError
from hushcount.model.costs import Cost
from hushcount.model.outcomes import Outcome
from hushcount.noise.source import NoiseSource, SeededSource

Answer: TypeAlias = Callable[[NoiseSource], Outcome]

_CLAIMED = "each draw moves within its reach and is paid for; all else is the same with one person less"
# So many of the subject's own neighbours in a full run, in a quick one and in a brief one.
_OWN, _OWN_QUICK, _OWN_BRIEF = 150, 16, 8


@dataclass(slots=True, kw_only=True)
class Replays:
    """What was seen so far: how many replays and draws, and the largest move beside what was declared."""

    runs: int = 0
    draws: int = 0
    moves: list[Move] = field(default_factory=list)

    def note(self, replayer: Replayer) -> None:
        """Count a replay in."""
        self.runs += 1
        self.draws += len(replayer.recorded)
        self.moves = (
            [max([*self.moves, *replayer.moves], key=lambda move: move.share)] if replayer.moves else self.moves
        )


def replay(
    subject: Subject, *, quick: bool, say: Callable[[str], None] = lambda _: None, brief: bool = False
) -> Finding:
    """Whether a subject's runs on neighbours differ by what its draws declare and by nothing else.

    Args:
        subject: what to look at.
        quick: fewer neighbours.
        say: told what is looked at.
        brief: the first of its own neighbours only: for a mechanism that is looked at longer with other facts.

    What is not seen here: how likely it is that an item of one run alone stays hidden behind a threshold that is not
    part of a call, and whether the samplers keep to their laws. The exact step and the tests of the noise look at that.
    """
    say(f"replaying {subject.name}")
    began = time.perf_counter()
    seen = Replays()
    broken, where = "", "nothing differed that was not declared"
    for pair, seed, removed in _pairs(subject, quick=quick, brief=brief):
        tables = (pair.rows, pair.without) if removed else (pair.without, pair.rows)
        try:
            replay_once(*(_answer(subject, rows) for rows in tables), seed=seed, seen=seen)
        except Leak as leak:
            broken, where = str(leak), f"{pair.where}; recorded {'with' if removed else 'without'} that person"
            break
    if not seen.draws and not broken:
        broken, where = "no run drew anything, so nothing was looked at", "plan it so that it answers: see `small`"
    return Finding(
        subject=subject.name,
        step="replay",
        holds=not broken,
        claimed=_CLAIMED,
        measured=broken or (seen.moves[0].words if seen.moves else "nothing moved"),
        where=where,
        looked=f"{seen.runs:,} replays, {seen.draws:,} draws; {subject.variant}",
        seconds=time.perf_counter() - began,
    )


def replay_once(one: Answer, two: Answer, *, seed: int, seen: Replays) -> None:
    """Record one answer, replay it as the other; with items hidden in the recording that the other does not have.

    Raises:
        Leak: the two differ in what is not declared, or cost more than is charged.
    """
    hidden: dict[int, set[str]] = {}
    while True:
        recorder = Recorder(SeededSource(seed), hidden)
        released = _outcome(one, recorder)
        replayer = Replayer(SeededSource(seed), recorder.recorded)
        try:
            again = _outcome(two, replayer)
        except Novel as novel:
            hidden.setdefault(novel.number, set()).update(novel.items)
            continue
        break
    seen.note(replayer)
    replayer.finish()
    compare_outcomes(released, again)
    _check_costs(recorder, replayer, released.cost)


def _check_costs(recorder: Recorder, replayer: Replayer, charged: Cost) -> None:
    # The length of an outcome says how many places of an order were given; all others have one for each value.
    places = {id(one.call): len(one.outcome) for one in recorder.recorded}
    calls = joined([one.call for one in recorder.recorded])
    prices = [price(call, places.get(id(call), len(call.values))) for call in calls]
    unpriced = [call.purpose for call, cost in zip(calls, prices, strict=True) if cost is None]
    if unpriced:
        raise Leak(f"nobody can say what '{unpriced[0]}' costs: its law is unknown, or its reach sets no price")
    found = overspent([cost for cost in prices if cost is not None], charged) or failed(replayer.alone, charged)
    for call in calls:
        found = found or broken_table(call, charged) or broken_ladder(call)
    if found:
        raise Leak(found)


def _outcome(answer: Answer, noise: NoiseSource) -> Outcome:
    """The outcome; an error that only one of two neighbours meets tells them apart."""
    try:
        return answer(noise)
    except (Leak, Novel):
        raise
    except HushcountError as error:
        raise Leak(f"control flow: a run ended with {type(error).__name__}") from error


def _answer(subject: Subject, rows: Table) -> Answer:
    return lambda noise: subject.answer(rows, noise)


def _pairs(subject: Subject, *, quick: bool, brief: bool) -> Iterator[tuple[Neighbours, int, bool]]:
    """Neighbours, the seed of a recording, and whether the larger table is the recorded one."""
    own = islice(subject.neighbours(), _OWN_BRIEF if brief else _OWN_QUICK if quick else _OWN)
    many = () if brief else crowds(quick=quick, cap=subject.facts.per_item_cap)
    for seed, pair in enumerate(chain(own, many)):
        yield pair, seed, True
        yield pair, seed, False
