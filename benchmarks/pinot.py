"""Private answers from Pinot beside its raw query, in one run: `make bench-pinot` prints the tables.

A private cluster on this machine, tables of 100,000 and 1,000,000 rows in four segments on two servers. The raw query
is the same GROUP BY on a connection that is kept, unchecked: 21 items beside a list of the first 20, all of them beside
counts. Of each the best time is shown, which a busy machine changes least, and the median; ratios are of the best. The
goal is 1.5 times the raw query and what the checks take, whose parts are shown beneath: two looks at the table's state,
and what a checked statement takes more than the same one alone. It is held against the best and against the medians: on
a busy machine the best of a sum is more than the sum of the best, so the first is the stricter.
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
from hushcount.engines.pinot.complete import least_limit
from hushcount.engines.pinot.engine import PinotEngine, open_pinot
from hushcount.engines.pinot.table import PeopleByItem
from hushcount.model.queries import Question
from tests.pinot import Cluster, running_cluster

# Rows, people and items.
SIZES = ((100_000, 20_000, 2_000), (1_000_000, 150_000, 2_000))
COUNTRIES, SEGMENTS = 10, 4
# Java compiles what is asked often, beside everything else: until then it is a store that was just started.
WARMING = 60
# What both questions fetch to choose from: API part 5.8.
FETCHED = 1_001
RAW = (
    'SELECT "item", DISTINCTCOUNT("user") FROM "{table}"{where} GROUP BY "item" '
    'ORDER BY DISTINCTCOUNT("user") DESC, "item" LIMIT {limit}'
)
CHOSEN = " WHERE \"country\" = 'c3'"
FACTOR = 1.5
# What is counted by Pinot alone, with the LIMIT of its raw query; and the defaults, which are counted here from rows.
ASKED: tuple[tuple[str, Question, Options, int], ...] = (
    ("top 20, unknown-gumbel", "top", {"k": 20, "method": "unknown-gumbel"}, 21),
    ("count, pcr", "count", {"method": "pcr"}, 2_000),
)
FROM_ROWS: tuple[tuple[str, Question, Options], ...] = (
    ("count (ntm)", "count", {}),
    ("top 20 (hybrid-top)", "top", {"k": 20}),
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
    for _ in range(WARMING):
        for one in work.values():
            one()
    taken = [{name: seconds(one) for name, one in work.items()} for _ in range(times)]
    return {name: (min(turn[name] for turn in taken), statistics.median(turn[name] for turn in taken)) for name in work}


def measure(cluster: Cluster, table: str, *, times: int) -> None:
    """Raw and private, with a filter and without, and what the checks take, in turn; then what is read as rows."""
    engine = open_pinot(cluster.address(table))
    connection = http.client.HTTPConnection("127.0.0.1", cluster.ports["broker"], timeout=120)

    def raw(where: str, limit: int) -> None:
        body = {"sql": RAW.format(table=table, where=where, limit=limit), "queryOptions": "minServerGroupTrimSize=-1"}
        connection.request("POST", "/query/sql", json.dumps(body), {"Content-Type": "application/json"})
        assert not json.loads(connection.getresponse().read())["exceptions"]  # noqa: S101

    rows, checks = [], []
    for name, where in (("one country in ten", CHOSEN), ("all rows", "")):
        option: Options = {"where": "country = 'c3'"} if where else {}
        work: dict[str, Callable[[], object]] = parts(engine, table, where)
        for title, question, options, limit in ASKED:
            work[f"raw {title}"] = partial(raw, where, limit)
            work[title] = partial(ask, engine, question, {**options, **option})
        found = timed(times, work)
        best, median = (2 * found[_LOOK][at] + max(0.0, found[_CHECKED][at] - found[_ALONE][at]) for at in (0, 1))
        checks += [
            [f"{part}, {name}", *map(lasting, found[part])] for part in (_LOOK, _CHECKED, _ALONE, _NUMBER, _PLAN)
        ]
        checks.append([f"the checks in all, {name}", lasting(best), lasting(median)])
        for title, *_ in ASKED:
            rows += _beside(f"{title}, {name}", found[title], found[f"raw {title}"], (best, median))
    heads = ["", "best", "ratio", "goal", "over it", "median", "goal", "over it"]
    show(f"{table}: private beside raw", heads, rows)
    show(f"{table}: the checks by part", ["", "best", "median"], checks)
    whole, read = found[f"raw {ASKED[-1][0]}"][0], []
    for title, question, options in FROM_ROWS:
        taken = seconds(partial(ask, engine, question, options))
        read.append([title, lasting(taken), f"{taken / whole:.1f}"])
    show(f"{table}: the defaults, counted here from rows, once", ["", "time", "ratio"], read)
    connection.close()
    engine.close()


def _beside(title: str, private: Times, raw: Times, checked: Times) -> list[list[str]]:
    """Two lines: the raw query, and the private answer beside what it may take."""
    goals = [FACTOR * query + checks for query, checks in zip(raw, checked, strict=True)]
    over = ["met" if own <= goal else lasting(own - goal) for own, goal in zip(private, goals, strict=True)]
    told = [[lasting(own), lasting(goal), much] for own, goal, much in zip(private, goals, over, strict=True)]
    return [
        [f"raw query of {title}", lasting(raw[0]), "", "", "", lasting(raw[1]), "", ""],
        [f"  {title}", told[0][0], f"{private[0] / raw[0]:.2f}", *told[0][1:], *told[1]],
    ]


_LOOK, _CHECKED, _ALONE = "state of the table, once (of two)", "checked groups", "the same groups alone"
_NUMBER, _PLAN = "number of items, asked beside them", "plan, asked beside them"


def parts(engine: PinotEngine, name: str, where: str) -> dict[str, Callable[[], object]]:
    """What one checked answer is made of."""
    table: Any = vars(engine)["_table"]  # its parts are not for others
    columns = {column.name: column for column in table.watch.state.columns}
    asked = PeopleByItem(person=columns["user"], item=columns["item"], where=where.removeprefix(" WHERE ") or True)
    limit = least_limit(table._items(asked.item), FETCHED)  # noqa: SLF001
    sql = RAW.format(table=name, where=where, limit=limit)
    return {
        _LOOK: table.watch.look,
        _CHECKED: lambda: table._grouped(asked, limit),  # noqa: SLF001
        _ALONE: lambda: table._ask(sql),  # noqa: SLF001
        _NUMBER: lambda: table._ask(table._distinct(asked.item, asked.where)),  # noqa: SLF001
        _PLAN: lambda: table._ask(f"EXPLAIN PLAN FOR {sql}"),  # noqa: SLF001
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
