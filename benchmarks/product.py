"""The product beside the plain query that a user would write: ratios in one run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from logs import data_folder, write_log
from plain import PLAIN
from report import Effort, lasting, show

from hushcount.app.answer import answer
from hushcount.app.options import Options
from hushcount.app.request import make_request
from hushcount.app.setting import passing_setting
from hushcount.app.wiring import open_engine
from hushcount.model.queries import Question

# Question, options, and the most that it may take, as a multiple of the fastest plain query.
ASKED: tuple[tuple[str, Question, Options, float], ...] = (
    ("count", "count", {}, 1.0),
    ("count, pcr", "count", {"method": "pcr"}, 1.0),
    ("top", "top", {"k": 20}, 1.0),
    ("vocab", "vocab", {}, 1.3),
    ("vocab, sips", "vocab", {"method": "sips"}, 1.3),
    ("vocab, policy", "vocab", {"method": "policy-gaussian"}, 1.3),
)
# Different items of a small log.
_FEW_AND_MANY = (1_000, 125_000)


def measure_ratios(effort: Effort) -> None:
    """Each question beside the plain query: on the real logs, if they are here, and on small ones that are made."""
    folder = data_folder()
    for name in ("reddit_titles", "imdb") if folder is not None else ():
        _ratios(effort, Path(str(folder)) / f"{name}.parquet")
    with tempfile.TemporaryDirectory() as made:
        for items in _FEW_AND_MANY:
            _ratios(effort, write_log(Path(made), effort.size(1_000_000), items=items), small=True)


def _ratios(effort: Effort, file: Path, *, small: bool = False) -> None:
    questions = {name: partial(ask, file, question, options) for name, question, options, _ in ASKED}
    spent = effort.best_by_turns({**{name: partial(query, file) for name, query in PLAIN.items()}, **questions})
    own, best = spent["duckdb"], min(spent[name] for name in PLAIN)

    def row(name: str, spent: float, target: str) -> list[str]:
        return [name, lasting(spent), f"{spent / own:.2f}", f"{spent / best:.2f}", target]

    rows = [row(f"plain query, {name}", spent[name], "") for name in PLAIN]
    # A small log may take a fifth more and 30 ms.
    rows += [
        row(name, spent[name], lasting(1.2 * best + 0.03) if small else f"{most:.1f}") for name, _, _, most in ASKED
    ]
    with tempfile.TemporaryDirectory() as home:
        commands: dict[str, Callable[[], None]] = {name: partial(_plain_command, file, name) for name in PLAIN}
        commands["known"] = partial(_command, file, Path(home), "--fresh")
        commands["new"] = lambda: _command(file, Path(tempfile.mkdtemp(dir=home)))
        whole = effort.best_by_turns(commands)
    rows += [row(f"whole command, plain, {name}", whole[name], "") for name in PLAIN]
    for name in ("known", "new"):
        beyond = (
            f"plain {whole[name] - best:+.2f} s, its command {whole[name] - min(whole[one] for one in PLAIN):+.2f} s"
        )
        rows.append(row(f"whole command (count), {name} file", whole[name], beyond))
    show(f"Beside the plain query: {file.stem}", ["", "time", "of duckdb", "of the fastest", "target"], rows)


def ask(file: Path, question: Question, options: Options) -> None:
    """One question about a file that was not opened before, without a ledger."""
    request = make_request(question, user="user", item="item", options={**options, "fresh": True})
    engine = open_engine(file)
    answer(request, engine, passing_setting())
    engine.close()


def _plain_command(file: Path, name: str) -> None:
    """The plain query as a program of its own."""
    subprocess.run([sys.executable, str(Path(__file__).with_name("plain.py")), str(file), name], check=True)  # noqa: S603


def _command(file: Path, home: Path, *more: str) -> None:
    """A question from the command line, to a ledger of its own; a second one finds the file known."""
    words = [sys.executable, "-m", "hushcount.cli", "count", str(file), "--user", "user", "--item", "item", "-q", *more]
    env = {**os.environ, "HUSHCOUNT_HOME": str(home), "HUSHCOUNT_LEDGER": f"{home}/ledger.sqlite"}
    subprocess.run(words, capture_output=True, check=True, env=env)  # noqa: S603  our own words
