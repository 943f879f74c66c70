"""At every step between a question and its response a process dies, and the next one answers: paid once, same bytes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.faults.points import WITHIN
from tests.faults.proxy import proxy_to
from tests.faults.server import make_place
from tests.forked import ROOT, Forked
from tests.postgres import running_cluster


@contextmanager
def ledger_in(store: str) -> Iterator[str]:
    """Where a new ledger is to be."""
    if store == "sqlite":
        yield "ledger.sqlite"
        return
    with running_cluster() as cluster, proxy_to(cluster.folder) as proxy:
        yield proxy.address


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_death_at_any_step_costs_nothing(tmp_path, store):
    """The heir of a dead worker gives what that one had drawn, also with fresh noise; each key is charged once."""
    with ledger_in(store) as where:
        place = make_place(tmp_path / "place", ledger=where, workers=1)
        output, errors = tmp_path / "output", tmp_path / "errors"
        with output.open("w", encoding="utf-8") as out, errors.open("w", encoding="utf-8") as err:
            process = Forked(
                *("tests.faults.sweep:main", str(place.folder)),
                env=os.environ,
                cwd=ROOT,
                output=out.fileno(),
                errors=err.fileno(),
            )
        assert process.wait(600) == 0, errors.read_text(encoding="utf-8")[-3000:]
        found = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
        facts = place.facts()
    drawn = [one for one in found if one["drawn"] is not None]
    print(f"{store}: {len(found)} deaths, {len(drawn)} of them after the draw")  # noqa: T201 (shown with -s)

    assert [one["point"] for one in found] == list(WITHIN)
    assert [one["point"] for one in found if not one["died"]] == []
    assert [one["point"] for one in found if one["state"] != "done"] == []
    assert [one["point"] for one in drawn if one["drawn"] != one["rows"]] == []
    assert len(drawn) >= 6
    assert facts.problems == ()
    assert [ask.state for ask in facts.asks.values()] == ["settled"] * len(WITHIN)
