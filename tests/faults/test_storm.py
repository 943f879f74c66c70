"""No promise is broken by a service that is killed, cut off and filled up under sixteen clients."""

from __future__ import annotations

import time

from tests.faults.checker import Verdict
from tests.faults.points import POINTS
from tests.faults.proxy import proxy_to
from tests.faults.server import Place, Server, make_place, serving
from tests.faults.storm import Storm, figures, storm
from tests.postgres import running_cluster

# Each client asks so many new questions, and about as much again of other things.
ASKS = 8
# Of seventeen steps; which are reached in time depends on the machine, and the sweep goes through all of them.
LEAST_KILLS = 8
_LONGEST = 30.0


def quietly(seconds: float):
    """Let the clients work."""
    return lambda: time.sleep(seconds)


def deaths(place: Place):
    """Let the clients work until enough workers have died."""

    def wait() -> None:
        until = time.monotonic() + _LONGEST
        while len(place.kills) < len(POINTS) and time.monotonic() < until:
            time.sleep(0.1)

    return wait


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
    place.plan(*(f"{point} 2" for point in POINTS))
    with serving(place, silence=2, clock=str(clock)) as server:

        def full():
            server.fill_disk((place.folder / "ledger.sqlite").stat().st_size)
            time.sleep(1.5)
            server.fill_disk(-1)

        def wrong_clock():
            clock.write_text(str(3 * 86400), encoding="utf-8")
            time.sleep(1.5)
            clock.write_text("0", encoding="utf-8")

        ended = storm(server, [quietly(5), full, quietly(2), wrong_clock, deaths(place)], seed=1, asks=ASKS)
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
        with serving(place, silence=2) as server:

            def crash():
                cluster.stop("immediate")
                time.sleep(0.5)
                cluster.start()

            def cut():
                proxy.cut("before", 6)
                proxy.cut("after", 6)
                proxy.cut_all()

            def armed():
                place.plan(*(f"{point} 2" for point in POINTS))
                for worker in server.workers():
                    server.kill(worker)

            strikes = [quietly(4), cut, quietly(3), cut, quietly(1), crash, quietly(1), armed, deaths(place)]
            ended = storm(server, strikes, seed=2, asks=ASKS)
            server.stop()
            verdict = ended.verdict(server)
            report("PostgreSQL", ended, verdict, server)

    assert verdict.problems == ()
    assert ended.unresolved == ()
    assert len(place.kills) >= LEAST_KILLS
    assert {"before", "after"} <= set(proxy.cuts)
    assert min(verdict.answered, verdict.resumed) > 0
