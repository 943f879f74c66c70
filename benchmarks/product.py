"""The product beside the plain query: ratios in one run, and how time and memory grow with the log."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
from logs import data_folder, plain_query
from report import Effort, lasting, show

from hushcount.app.answer import answer
from hushcount.app.options import Options
from hushcount.app.request import make_request
from hushcount.app.setting import passing_setting
from hushcount.app.wiring import open_engine
from hushcount.model.queries import Question

# Question, options, and the most that it may take, as a multiple of the plain query.
ASKED: tuple[tuple[str, Question, Options, float], ...] = (
    ("count", "count", {}, 1.0),
    ("top", "top", {"k": 20}, 1.0),
    ("vocab", "vocab", {}, 1.5),
    ("vocab, sips", "vocab", {"method": "sips"}, 1.3),
    ("vocab, policy", "vocab", {"method": "policy-gaussian"}, 1.3),
)
_SIZES = (3_000_000, 10_000_000, 30_000_000)


def measure_ratios(effort: Effort) -> None:
    """Each question beside the plain query, on the real logs and, without them, on a generated one."""
    folder = data_folder()
    if folder is not None:
        for name in ("reddit_titles", "imdb"):
            _ratios(effort, folder / f"{name}.parquet")
        return
    with tempfile.TemporaryDirectory() as made:
        _ratios(effort, write_log(Path(made), effort.size(3_000_000)))


def _ratios(effort: Effort, file: Path) -> None:
    plain = effort.best(lambda: plain_query(file))
    rows = [["plain query", lasting(plain), "1.00", ""]]
    for name, question, options, most in ASKED:
        spent = effort.best(lambda q=question, o=options: _ask(file, q, o))  # type: ignore[misc]
        rows.append([name, lasting(spent), f"{spent / plain:.2f}", f"{most:.1f}"])
    whole = effort.best(lambda: _command(file))
    rows.append(["whole command (count)", lasting(whole), f"{whole / plain:.2f}", f"plain + {whole - plain:.2f} s"])
    show(f"Beside the plain query: {file.stem}", ["", "time", "ratio", "target"], rows)


def measure_growth(effort: Effort) -> None:
    """Time and memory of each question at three sizes of a generated log, the plain query beside."""
    rows = []
    with tempfile.TemporaryDirectory() as made:
        for full in _SIZES:
            file = write_log(Path(made), effort.size(full))
            with duckdb.connect() as connection:
                pairs = connection.execute("SELECT count(*) FROM read_parquet(?)", [str(file)]).fetchall()[0][0]
            cells = [_alone(file, name) for name in ("plain", *(name for name, *_ in ASKED))]
            rows.append([f"{pairs / 1e6:.1f} M pairs", *cells])
            file.unlink()
    show(
        "Growth: seconds, and the most memory of the process",
        ["", "plain query", *(name for name, *_ in ASKED)],
        rows,
        "Each in a process of its own, once, start-up included.",
    )


def _alone(file: Path, name: str) -> str:
    """Run one thing in a process of its own; its seconds and its peak memory."""
    words = [sys.executable, str(Path(__file__)), str(file), name]
    done = subprocess.run(words, capture_output=True, text=True, check=True)  # noqa: S603  our own words
    return done.stdout.strip()


def _ask(file: Path, question: Question, options: Options) -> None:
    request = make_request(question, user="user", item="item", options={**options, "fresh": True})
    engine = open_engine(file)
    answer(request, engine, passing_setting())
    engine.close()


def _command(file: Path) -> None:
    with tempfile.TemporaryDirectory() as home:
        words = [
            sys.executable,
            "-m",
            "hushcount.cli",
            "count",
            str(file),
            "--user",
            "user",
            "--item",
            "item",
            "-q",
        ]
        env = {**os.environ, "HUSHCOUNT_HOME": home, "HUSHCOUNT_LEDGER": f"{home}/ledger.sqlite"}
        subprocess.run(words, capture_output=True, check=True, env=env)  # noqa: S603  our own words


def write_log(folder: Path, pairs: int) -> Path:
    """A Parquet log of about so many distinct pairs: items by Zipf's law, 1.1; lists by Pareto's, from 10, 1.16."""
    chance = np.random.default_rng(7)
    file = folder / f"log-{pairs}.parquet"
    lengths = np.minimum(10 * (1 + chance.pareto(1.16, 1 + pairs // 15)), 10_000).astype(np.int64)
    lengths = lengths[: np.searchsorted(np.cumsum(lengths), round(1.5 * pairs)) + 1]
    kinds = max(1000, pairs // 20)
    weights = np.cumsum(np.arange(1, kinds + 1) ** -1.1)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE log (user INTEGER, item VARCHAR)")
        for first in range(0, len(lengths), 200_000):
            part = lengths[first : first + 200_000]
            user = np.repeat(np.arange(first, first + len(part)), part)
            rank = np.searchsorted(weights, chance.random(len(user)) * weights[-1])
            connection.register("part", {"user": user, "rank": rank})
            connection.execute("INSERT INTO log SELECT DISTINCT user, 'item ' || rank FROM part")
        connection.execute(f"COPY (FROM log ORDER BY user) TO '{file}' (FORMAT parquet)")
    return file


def _main() -> None:
    file, name = Path(sys.argv[1]), sys.argv[2]
    begun = time.perf_counter()
    if name == "plain":
        plain_query(file)
    else:
        _, question, options, _ = next(asked for asked in ASKED if asked[0] == name)
        _ask(file, question, options)
    spent = time.perf_counter() - begun
    # Of this program alone: the usual measure also counts what its parent held when it started it.
    peak = next(line for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines() if "VmHWM" in line)
    print(f"{spent:.1f} s, {int(peak.split()[1]) / 2**20:.2f} GB")


if __name__ == "__main__":
    _main()
