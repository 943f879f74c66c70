"""The same attack and the same checker, on our ledger and on two that are wrong: only ours passes."""

from __future__ import annotations

from decimal import Decimal

from tests.faults.checker import Verdict
from tests.faults.clients import dear_question
from tests.faults.server import make_place, serving
from tests.faults.storm import storm

# Room for six standard releases, for which sixteen clients ask at once.
CEILINGS = {"dataset": Decimal("0.6"), "analyst": Decimal(10)}


def attacked(folder, *deaths: str, patience: float = 8, **faults) -> Verdict:
    """Sixteen clients want more than there is, and the worker dies when it has sent its third answer."""
    place = make_place(folder, workers=2, ceilings=CEILINGS)
    place.plan(*deaths, "after send 3", "after send 1000")
    with serving(place, silence=1, **faults) as server:

        def death(crowd):
            crowd.wait_for(lambda: len(place.kills) > len(deaths))

        ended = storm(server, [death], seed=3, asks=3, patience=patience, think=dear_question)
        server.stop()
        verdict = ended.verdict(server, CEILINGS)
    print(f"{faults or 'ours'}: {verdict.requests} requests, {place.kills}, {verdict.problems[:3]}")  # noqa: T201
    assert sorted(place.kills) == sorted([*(point.rpartition(" ")[0] for point in deaths), "after send"])
    return verdict


def test_ours_passes(tmp_path):
    """Held before data is read, settled before anything is sent, also by one who dies in between: nothing is found."""
    assert attacked(tmp_path / "place", "before send 2").problems == ()


def test_a_ledger_that_checks_and_then_charges_overspends(tmp_path):
    """Between looking and charging others charge too: more is spent than there was."""
    verdict = attacked(tmp_path / "place", twin="check-then-update")

    assert verdict.overspend > 0
    assert any(problem.startswith("verify: ") for problem in verdict.problems)


def test_a_ledger_that_charges_after_the_answer_gives_it_away(tmp_path):
    """Whoever dies between answering and charging was paid by nobody."""
    # What became of some keys nobody will ever know.
    verdict = attacked(tmp_path / "place", patience=2, twin="charge-after")

    assert any("nobody was charged" in problem for problem in verdict.problems)
