"""No promise is broken by a service that is killed, cut off and filled up under sixteen clients."""

from __future__ import annotations

import time
from collections.abc import Sequence

from tests.faults.checker import Verdict
from tests.faults.points import POINTS
from tests.faults.proxy import proxy_to
from tests.faults.server import Place, Server, make_place, serving
from tests.faults.storm import Storm, figures, storm
from tests.postgres import running_cluster

# Each client asks so many new questions, and about as much again of other things.
ASKS = 8
# Each storm has every second step, and the sweep goes through all of them on both ledgers: starting a worker anew is
# most of what a storm takes. Which of its nine are reached in time depends on the machine.
ON_A_FILE, ON_A_SERVER = POINTS[::2], POINTS[1::2]
LEAST_KILLS = 5
# What is wrong for a while stays so until so many requests felt it, or so many seconds.
FELT, A_WHILE = 8, 3.0


def quietly(answers: int):
    """Let the clients work until so many more requests were answered."""
    return lambda crowd: crowd.work(answers)


def deaths(place: Place, planned: Sequence[str]):
    """Let the clients work until all workers have died that are to die, or there is nothing left to ask."""
    return lambda crowd: crowd.wait_for(lambda: len(place.kills) >= len(planned))


def report(name: str, ended: Storm, verdict: Verdict, server: Server) -> None:
    """Print the figures, and what is wrong if anything is; shown with -s, or if the test fails."""
    print(figures(name, verdict, ended, kills=len(server.place.kills)))  # noqa: T201
    print(f"  died {', '.join(server.place.kills)}; the whole server was started {server.starts} times")  # noqa: T201
    for problem in (*verdict.problems, *(f"unresolved: {key}" for key in ended.unresolved)):
        print(f"  {problem}")  # noqa: T201


def test_on_a_file(tmp_path):
    """SQLite: every worker dies at a step of its own, the disk is full for a while, the clock is wrong for a while."""
    clock = tmp_path / "clock"
    clock.write_text("0", encoding="utf-8")
    place = make_place(tmp_path / "place")
    place.plan(*(f"{point} 2" for point in ON_A_FILE))
    with serving(place, silence=1, clock=str(clock)) as server:

        def full(crowd):
            server.fill_disk((place.folder / "ledger.sqlite").stat().st_size)
            crowd.work(FELT, longest=A_WHILE)
            server.fill_disk(-1)

        def wrong_clock(crowd):
            clock.write_text(str(3 * 86400), encoding="utf-8")
            crowd.work(FELT, longest=A_WHILE)
            clock.write_text("0", encoding="utf-8")

        ended = storm(server, [quietly(16), full, quietly(8), wrong_clock, deaths(place, ON_A_FILE)], seed=1, asks=ASKS)
        server.stop()
        verdict = ended.verdict(server)
        report("SQLite", ended, verdict, server)

    assert verdict.problems == ()
    assert ended.unresolved == ()
    assert len(place.kills) >= LEAST_KILLS
    assert min(verdict.answered, verdict.resumed) > 0


def test_on_a_server(tmp_path):
    """PostgreSQL: as on a file; connections are cut before and after commits, and the database crashes first."""
    with running_cluster() as cluster, proxy_to(cluster.folder) as proxy:
        place = make_place(tmp_path / "place", ledger=proxy.address)
        with serving(place, silence=1) as server:

            def crash(_):
                cluster.stop("immediate")
                time.sleep(0.5)
                cluster.start()

            def cut(_):
                for _ in range(6):
                    proxy.cut("before", 1)
                    proxy.cut("after", 1)
                proxy.cut_all()

            def armed(_):
                place.plan(*(f"{point} 2" for point in ON_A_SERVER))
                for worker in server.workers():
                    server.kill(worker)

            to_the_end = deaths(place, ON_A_SERVER)
            strikes = [quietly(40), cut, quietly(40), cut, quietly(20), crash, quietly(10), armed, to_the_end]
            ended = storm(server, strikes, seed=2, asks=ASKS)
            server.stop()
            verdict = ended.verdict(server)
            report("PostgreSQL", ended, verdict, server)

    assert verdict.problems == ()
    assert ended.unresolved == ()
    assert len(place.kills) >= LEAST_KILLS
    assert {"before", "after"} <= set(proxy.cuts)
    assert min(verdict.answered, verdict.resumed) > 0
