"""Private answers from Pinot beside its raw query, in one run: `make bench-pinot` prints the tables.

A private cluster on this machine, tables of 100,000 and 1,000,000 rows in four segments on two servers. The raw query
is the same GROUP BY on a connection that is kept, unchecked. Of each the best time is shown, which a busy machine
changes least, and the median; ratios are of the best.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from report import lasting, seconds, show

from hushcount.app.answer import answer
from hushcount.app.options import Options
from hushcount.app.request import make_request
from hushcount.app.setting import passing_setting
from hushcount.engines.pinot.engine import PinotEngine, open_pinot
from hushcount.engines.pinot.table import Asked
from hushcount.model.queries import Question
from tests.pinot import Cluster, running_cluster

# Rows, people and items.
SIZES = ((100_000, 20_000, 2_000), (1_000_000, 150_000, 2_000))
COUNTRIES, SEGMENTS = 10, 4
WARMING = 10
RAW = (
    'SELECT "item", DISTINCTCOUNT("user") FROM "{table}"{where} GROUP BY "item" '
    'ORDER BY DISTINCTCOUNT("user") DESC, "item" LIMIT 21'
)
CHOSEN = " WHERE \"country\" = 'c3'"
# What is counted by Pinot alone, and what is counted here from rows.
ASKED: tuple[tuple[str, Question, Options], ...] = (
    ("top 20, unknown-gumbel", "top", {"k": 20, "method": "unknown-gumbel"}),
    ("count, pcr", "count", {"method": "pcr"}),
)
FROM_ROWS: tuple[tuple[str, Question, Options], ...] = (
    ("count (ntm)", "count", {}),
    ("vocab (ladder)", "vocab", {}),
)


def load(cluster: Cluster, rows: int, people: int, items: int) -> str:
    """A table of made-up rows, items by Zipf's law; its name."""
    chance, table = np.random.default_rng(1), f"rows{rows}"
    cluster.make_table(table, {"user": "STRING", "item": "STRING", "country": "STRING"})
    for segment in range(SEGMENTS):
        part = rows // SEGMENTS
        user, item = chance.integers(0, people, part), np.minimum(chance.zipf(1.3, part), items)
        country = chance.integers(0, COUNTRIES, part)
        lines = "".join(f"u{u},i{i},c{c}\n" for u, i, c in zip(user, item, country, strict=True))
        cluster.push_file(table, f"{table}_{segment}", ("user,item,country\n" + lines).encode(), "csv")
    cluster.wait_for(table, rows)
    return table


Times: TypeAlias = tuple[float, float]


def timed(times: int, work: Mapping[str, Callable[[], object]]) -> dict[str, Times]:
    """Seconds that several things take at best and in the median, in turn, so that a busy moment is everybody's.

    Before that they run some times untimed, which warms Java up.
    """
    for _ in range(min(WARMING, times)):
        for one in work.values():
            one()
    taken = [{name: seconds(one) for name, one in work.items()} for _ in range(times)]
    return {name: (min(turn[name] for turn in taken), statistics.median(turn[name] for turn in taken)) for name in work}


def measure(cluster: Cluster, table: str, *, times: int) -> None:
    """Raw and private, with a filter and without; then what the checks take, by part; then what is read as rows."""
    engine = open_pinot(cluster.address(table))
    connection = http.client.HTTPConnection("127.0.0.1", cluster.ports["broker"], timeout=120)

    def raw(where: str) -> None:
        body = {"sql": RAW.format(table=table, where=where), "queryOptions": "minServerGroupTrimSize=-1"}
        connection.request("POST", "/query/sql", json.dumps(body), {"Content-Type": "application/json"})
        assert not json.loads(connection.getresponse().read())["exceptions"]  # noqa: S101

    rows = []
    filtered: Options = {"where": "country = 'c3'"}
    everything: Options = {}
    for name, where, option in (("one country in ten", CHOSEN, filtered), ("all rows", "", everything)):
        private = {title: partial(ask, engine, question, {**options, **option}) for title, question, options in ASKED}
        found = timed(times, {"raw": partial(raw, where), **private})
        plain, usual = found.pop("raw")
        rows.append([f"raw query, {name}", lasting(plain), "", "", lasting(usual)])
        for title, (best, median) in found.items():
            more = lasting(max(0.0, best - 1.5 * plain))
            rows.append([f"  {title}", lasting(best), f"{best / plain:.2f}", more, lasting(median)])
    show(f"{table}: private beside raw", ["", "best", "ratio", "beyond 1.5 x raw", "median"], rows)
    found = timed(times, parts(engine, table, cluster.address(table)))
    checks = [[title, lasting(best), lasting(median)] for title, (best, median) in found.items()]
    show(f"{table}: the checks by part, one country in ten", ["", "best", "median"], checks)
    read = [
        [title, lasting(seconds(partial(ask, engine, question, options)))] for title, question, options in FROM_ROWS
    ]
    show(f"{table}: counted here, from rows", ["", "time"], read)
    connection.close()
    engine.close()


def parts(engine: PinotEngine, name: str, address: str) -> dict[str, Callable[[], object]]:
    """What one checked answer is made of."""
    table: Any = vars(engine)["_table"]  # its parts are not for others
    columns = {column.name: column for column in table.state.columns}
    asked = Asked(person=columns["user"], item=columns["item"], where=CHOSEN.removeprefix(" WHERE "))
    plan = f"EXPLAIN PLAN FOR {RAW.format(table=name, where=CHOSEN)}"
    number = table._distinct(asked.item, asked.where)  # noqa: SLF001
    limit = -(-table._items(asked.item) // 5)  # noqa: SLF001
    return {
        "state of the table, once (of two)": table.look,
        "opening it anew, on new connections": lambda: open_pinot(address).close(),
        "number of items": lambda: table._ask(number),  # noqa: SLF001
        "plan": lambda: table._ask(plan),  # noqa: SLF001
        f"both, and the groups, of which {limit:,}": lambda: table._grouped(asked, limit),  # noqa: SLF001
    }


def ask(engine: PinotEngine, question: Question, options: Options) -> None:
    """One private answer, from checking to receipt, without a ledger."""
    answer(
        make_request(question, user="user", item="item", options={**options, "fresh": True}), engine, passing_setting()
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Private answers from Pinot beside its raw query.")
    parser.add_argument("--rows", type=int, help="only the table of so many rows")
    parser.add_argument("--times", type=int, default=25, help="how often each is measured")
    said = parser.parse_args()
    with running_cluster(groups=100_000_000, flags=()) as cluster:
        for rows, people, items in SIZES:
            if said.rows in {None, rows}:
                measure(cluster, load(cluster, rows, people, items), times=said.times)


if __name__ == "__main__":
    main()
