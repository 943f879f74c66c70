"""The canary check: texts that only one person has are planted, and every place where they could leak is searched.

Searched are answers, errors with all that a traceback prints, warnings, log records, what is printed, receipts, the
ledger's files byte for byte, and the command line's output on good and bad questions. A canary may be in a release by
its delta, one in a million; then it may be elsewhere too and is not searched for.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import logging
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hushcount.app.answer import Asking, answer
from hushcount.app.options import Options
from hushcount.app.release import Release
from hushcount.app.request import make_request
from hushcount.app.wiring import open_engine
from hushcount.audit.finding import Finding
from hushcount.audit.system.product import ITEM, PERSON, WORDS, Product, opened, workspace, write_csv
from hushcount.model.queries import Question
from hushcount.noise.source import new_secret

_POPULAR = "popular"
_CROWD = 400
_ANALYST = "audit"
# What an unforeseen table holds, and where a reader stops: the value of a cell, the beginning of a line.
_BAD_FILTERS = ("item >", "item > 5", "items = 'x'", "CAST(item AS INTEGER) > 1", "item = 1 AND nothing = 2")
# What is planted: an item, a word, a person, a broken line, a key of JSON, a label or field in the type of a column.
_KINDS = ("item", "text", "person", "broken", "key", "label")
_HASHES = ("md5", "sha1", "sha256", "blake2b")


@dataclass(slots=True, kw_only=True)
class Heard:
    """Everything that was said, by the place where it was said."""

    places: dict[str, bytes] = field(default_factory=dict)
    released: set[str] = field(default_factory=set)

    def hear(self, place: str, said: str | bytes) -> None:
        """Keep what was said at a place."""
        text = said.encode("utf-8", "surrogatepass") if isinstance(said, str) else said
        self.places[place] = self.places.get(place, b"") + b"\n" + text

    def leaks(self, canaries: tuple[str, ...]) -> list[str]:
        """Places that hold a canary which was not released, or an unkeyed digest of one."""
        hidden = [canary for canary in canaries if canary not in self.released]
        traces = [trace for canary in hidden for trace in _traces(canary)]
        return [place for place, text in self.places.items() if any(trace in text.lower() for trace in traces)]


def look_for_canaries(product: Product, *, quick: bool) -> Finding:
    """Ask good and bad questions of data with planted canaries; fail if one is found where it was not released."""
    # Letters and digits only: the same in JSON, SQL and quoted text. New ones each time, so that nothing old is found.
    canaries = tuple(f"zq{kind}{new_secret().hex()[:20]}" for kind in _KINDS)
    heard = Heard()
    with workspace() as folder:
        files = _plant(folder, canaries)
        with _listening(heard):
            _ask_well(product, heard, folder, files["good"])
            _ask_badly(product, heard, folder, files)
            _stop_half_way(heard, folder, files["good"])
        _run_commands(product, heard, folder, files, quick=quick)
        for path in sorted(path for path in folder.rglob("*") if path.is_file() and path not in files.values()):
            heard.hear(f"file {path.name if 'receipts' not in path.parts else 'receipt'}", path.read_bytes())
    leaks = heard.leaks(canaries)
    # The search must be able to find: what was released is in the ledger's file and in the command's output.
    deaf = [place for place in ("file ledger.sqlite", "command count") if _POPULAR.encode() not in heard.places[place]]
    return Finding(
        subject="canaries stay silent",
        step="system",
        holds=not leaks and not deaf,
        claimed="what was not released is nowhere: not in errors, logs, receipts or the ledger",
        measured=_words(leaks, deaf),
        where="items, words and names of one person each, in good data, in broken files and in a value of a wrong type",
        looked=f"{len(canaries)} canaries, {len(heard.places)} places, {sum(map(len, heard.places.values())):,} bytes",
    )


def _words(leaks: list[str], deaf: list[str]) -> str:
    if deaf:
        return f"nothing can be said: a released item was not found in {', '.join(deaf)}"
    return f"found in {', '.join(leaks[:5])}" if leaks else "found nowhere"


def _traces(canary: str) -> Iterator[bytes]:
    """A canary as it may be written: itself, its digests without a key, and in hexadecimal."""
    plain = canary.encode()
    yield plain
    yield plain.hex().encode()
    for name in _HASHES:
        # Twelve characters of a digest are enough to find it, also where it was cut.
        yield hashlib.new(name, plain).hexdigest()[:12].encode()


def _plant(folder: Path, canaries: tuple[str, ...]) -> dict[str, Path]:
    """Good data with rare items, a file that breaks at a rare line, one with a rare value of a wrong type."""
    item, text, person, broken, key, label = canaries
    crowd = [(f"person-{number}", _POPULAR) for number in range(_CROWD)]
    good = write_csv(folder / "good.csv", [*crowd, (person, _POPULAR), ("person-1", item), ("person-2", text)])
    lines = good.read_text(encoding="utf-8").splitlines()
    torn = folder / "torn.csv"
    torn.write_text("\n".join([*lines, f'{broken},"{broken},never closed', f"{broken},x"]), encoding="utf-8")
    typed = folder / "typed.csv"
    # Numbers for longer than a reader looks ahead, then a text.
    numbers = [f"person-{number},{number % 7},{number}" for number in range(30_000)]
    typed.write_text("\n".join([lines[0], *numbers, f"person-1,{broken},{broken}"]), encoding="utf-8")
    odd = folder / "odd.csv"
    odd.write_bytes("\n".join(lines).encode() + f"\n{broken},\xff\xfe{broken},x\n".encode("latin-1"))
    cut = folder / "cut.parquet"
    cut.write_bytes(b"PAR1" + broken.encode() * 20)
    places = {"good": good, "torn": torn, "typed": typed, "odd": odd, "cut": cut}
    return {**places, "keys": _plant_key(folder, key), "labels": _plant_label(folder, label)}


def _plant_key(folder: Path, key: str) -> Path:
    """JSON in which one person's row has a key of its own, within a list and within an object too."""
    rows = [{PERSON: f"person-{number}", ITEM: _POPULAR, WORDS: _POPULAR} for number in range(_CROWD)]
    rows[7] |= {key: "x", "nested": {key: [{key: 1}]}}  # type: ignore[dict-item]
    path = folder / "keys.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    return path


def _plant_label(folder: Path, label: str) -> Path:
    """A database in which the type of a column names values: a label of an enumeration, a field of a structure."""
    import duckdb

    path = folder / "labels.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TYPE kinds AS ENUM ('{_POPULAR}', '{label}')")
        connection.execute(
            f"CREATE TABLE t AS SELECT 'person-' || n AS {PERSON}, '{_POPULAR}'::kinds AS {ITEM}, "  # noqa: S608
            f"{{'{label}': n}} AS {WORDS} FROM range({_CROWD}) rows(n)"
        )
    return path


@contextlib.contextmanager
def _listening(heard: Heard) -> Iterator[None]:
    """Hear what is printed, warned of and logged."""
    out, err = io.StringIO(), io.StringIO()
    records = _Records()
    root = logging.getLogger()
    level = root.level
    root.addHandler(records)
    root.setLevel(logging.DEBUG)
    try:
        with (
            warnings.catch_warnings(record=True) as warned,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            warnings.simplefilter("always")
            yield
        heard.hear("warnings", "\n".join(str(warning.message) for warning in warned))
    finally:
        root.setLevel(level)
        root.removeHandler(records)
    heard.hear("log records", "\n".join(records.texts))
    heard.hear("standard output", out.getvalue())
    heard.hear("standard error", err.getvalue())


class _Records(logging.Handler):
    """Keeps every record, with its arguments and its traceback."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        self.texts.append(f"{self.format(record)} {record.args!r}")


def _ask_well(product: Product, heard: Heard, folder: Path, path: Path) -> None:
    """All three questions, by item and by words; what they release is remembered."""
    asks: tuple[tuple[Question, Options], ...] = (
        ("count", {}),
        ("count", {"max_items_per_user": 1}),
        ("top", {"k": 3}),
        ("vocab", {}),
        ("vocab", {"text": WORDS, "ngrams": "1-2"}),
        ("count", {"where": "item <> 'nothing'"}),
    )
    for question, options in asks:
        paid: Options = {**options, "ledger": folder / "ledger.sqlite", "analyst": _ANALYST}
        _hear_release(heard, product.ask(question, path, paid))


def _hear_release(heard: Heard, release: Release) -> None:
    heard.released.update(word for item in release.items.tolist() for word in (item, *item.split()))
    heard.hear("receipts as text", release.receipt.to_text())
    heard.hear("notebook card", release._repr_html_())


def _ask_badly(product: Product, heard: Heard, folder: Path, files: dict[str, Path]) -> None:
    """Questions that fail: before the data is opened, while it is read, and when the budget is gone."""
    asks: list[tuple[str, str, Options]] = [
        *((f"filter {where!r}", "good", Options(where=where)) for where in _BAD_FILTERS),
        *((f"file {name}", name, Options()) for name in ("torn", "typed", "odd", "cut")),
        *((f"filter on file {name}", name, Options(where="item > 5")) for name in ("torn", "typed", "odd")),
        ("column", "good", Options(text="no such column")),
        *((f"column of {name}", name, Options(text="no such column")) for name in ("keys", "labels")),
        *((f"filter on {name}", name, Options(where=f"{WORDS} > 5 AND nothing = 2")) for name in ("keys", "labels")),
        ("words of a structure", "labels", Options(text=WORDS)),
        ("a label as a number", "labels", Options(where=f"{ITEM} > 5")),
        *((name, name, Options()) for name in ("keys", "labels")),
        # The last of these is more than a new data set may spend.
        *(("budget", "good", Options(rho=rho)) for rho in ("0.5", "0.51", "0.52")),
    ]
    for what, name, options in asks:
        paid: Options = {**options, "ledger": folder / "ledger.sqlite", "analyst": _ANALYST}
        try:
            _hear_release(heard, product.ask("count", files[name], paid))
        except Exception as error:  # noqa: BLE001  an error that was not foreseen is what is looked for
            # As anything could show it: its text, its parts and its traceback. No error at all is as good.
            shown = "".join(traceback.format_exception(error))
            heard.hear(f"error on {what}", f"{error} {error!r} {error.args!r} {shown}")


def _stop_half_way(heard: Heard, folder: Path, path: Path) -> None:
    """Stopped by the keyboard after the data was counted and before the noise was drawn."""

    def stop(stage: str) -> None:
        if stage == "adding noise":
            raise KeyboardInterrupt

    request = make_request("count", user=PERSON, item=ITEM, options={"fresh": True, "rho": "0.01"})
    with opened(folder, {"ledger": folder / "stopped.sqlite", "analyst": _ANALYST}) as setting:
        try:
            answer(request, open_engine(path), setting, call=Asking(say=stop))
        except KeyboardInterrupt as error:
            heard.hear("error on interruption", "".join(traceback.format_exception(error)))


def _run_commands(product: Product, heard: Heard, folder: Path, files: dict[str, Path], *, quick: bool) -> None:
    """The command line on the same data: answers, receipts, histories and failures."""
    ledger = ("--ledger", str(folder / "command.sqlite"), "--analyst", _ANALYST)
    column = ("--user", PERSON, "--item", ITEM)
    good, typed, torn = (str(files[name]) for name in ("good", "typed", "torn"))
    commands = {
        "count": ("count", good, *column, *ledger, "--json"),
        "failing count": ("count", torn, *column, *ledger),
    }
    if not quick:
        commands |= {
            "top": ("top", good, *column, *ledger, "-k", "3"),
            "vocab": ("vocab", good, "--user", PERSON, "--text", WORDS, *ledger),
            "budget": ("budget", good, "--ledger", str(folder / "command.sqlite")),
            "wrong type": ("count", typed, *column, *ledger, "--where", "item > 5"),
            "odd file": ("vocab", str(files["odd"]), *column, *ledger),
        }
    for name, words in commands.items():
        said = product.command(words, folder)
        heard.hear(f"command {name}", said.out + said.err)
