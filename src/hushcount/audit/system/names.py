"""Names for the same data: copies, links, patterns, encodings, databases, parts. None may open a second budget.

Whoever asks the same people under another name must pay from the same account, or be refused: a data set that is asked
twice under two budgets tells twice as much as anybody allowed.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

from hushcount.app.catalog import report
from hushcount.audit.finding import Finding
from hushcount.audit.system.product import ITEM, PERSON, WORDS, Product, opened, workspace
from hushcount.errors import HushcountError, OtherPerson, SeveralDatasets
from hushcount.model.frozen import frozen

# What a way makes: something that can be asked, from the file that was asked first.
Made: TypeAlias = Callable[[Path], object]
_ROWS = tuple((f"person-{number:04d}", f"item-{number % 5}", f"word {number % 7}") for number in range(300))
_HEAD = (PERSON, ITEM, WORDS)
# So little for each question that all of them fit into one budget together.
_PRICE: Mapping[str, Any] = {"rho": "1e-4", "fresh": True}


@frozen
class Naming:
    """A way to name the data.

    Attributes:
        name: in a few words.
        make: from the file that was asked first, what is asked now.
        options: what is said with it.
        may_refuse: whether a refusal that says so is as good as the same account.
    """

    name: str
    make: Made
    options: Mapping[str, Any] | None = None
    may_refuse: bool = False


def look_at_names(product: Product, *, quick: bool) -> Finding:
    """Ask one file, then the same data under every other name: one population, or a refusal that says why."""
    ways = _WAYS[::4] if quick else _WAYS
    wrong: list[str] = []
    with workspace() as folder:
        base = write_table(folder / "data" / "people.csv")
        ledger = folder / "ledger.sqlite"
        paid: Mapping[str, Any] = {**_PRICE, "ledger": ledger}
        product.ask("count", base, paid, folder=folder)
        for way in ways:
            wrong += _tried(product, way, base, {**paid, **(way.options or {})})
            budgets = _budgets(folder, ledger)
            if budgets != 1:
                wrong.append(f"{way.name} opened a second budget")
                break
    return Finding(
        subject="one budget for all names",
        step="system",
        holds=not wrong,
        claimed="the same data under another name is charged to the same account, or refused",
        measured="; ".join(wrong[:5]) or "one account for all of them",
        where="one file, and the same rows by links, copies, patterns, encodings, databases and parts",
        looked=f"{len(ways)} ways to name the same data",
    )


def _tried(product: Product, way: Naming, base: Path, options: Mapping[str, Any]) -> list[str]:
    folder = base.parent.parent
    try:
        product.ask("count", way.make(base), options, folder=folder)
    except (SeveralDatasets, OtherPerson):
        return [] if way.may_refuse else [f"{way.name} was refused"]
    except HushcountError as error:
        return [f"{way.name} could not be asked ({type(error).__name__})"]
    return []


def _budgets(folder: Path, ledger: Path) -> int:
    with opened(folder, {"ledger": ledger}) as setting:
        return len({line.dataset.population for line in report(setting)})


def write_table(path: Path, rows: tuple[tuple[str, ...], ...] = _ROWS, head: tuple[str, ...] = _HEAD) -> Path:
    """Made-up rows as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([head, *rows])
    return path


def _beside(base: Path, name: str) -> Path:
    """A new place in a folder of its own, where no pattern over the data's folder finds it."""
    place = base.parent.parent / name.replace(".", "-") / name
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def _rewritten(name: str, change: Callable[[str], str | bytes]) -> Made:
    def make(base: Path) -> Path:
        place, changed = _beside(base, name), change(base.read_text(encoding="utf-8"))
        place.write_bytes(changed if isinstance(changed, bytes) else changed.encode())
        return place

    return make


def _packed(name: str, level: int) -> Made:
    return _rewritten(name, lambda text: gzip.compress(text.encode(), level))


def _lines(text: str) -> list[str]:
    return text.splitlines()


def _column_order(text: str) -> str:
    return "\n".join(",".join(line.split(",")[::-1]) for line in _lines(text)) + "\n"


def _as_json_lines(text: str) -> str:
    return "\n".join(json.dumps(row) for row in csv.DictReader(_lines(text))) + "\n"


def _as_json_array(text: str) -> str:
    return json.dumps(list(csv.DictReader(_lines(text))))


def _quoted(text: str) -> str:
    return "\n".join(",".join(f'"{cell}"' for cell in line.split(",")) for line in _lines(text)) + "\n"


def _copied_by_duckdb(name: str, options: str) -> Made:
    def make(base: Path) -> Path:
        import duckdb

        place = _beside(base, name)
        with duckdb.connect() as connection:
            connection.execute(f"COPY (FROM read_csv('{base}', all_varchar=true)) TO '{place}' ({options})")
        return place

    return make


def _in_halves(base: Path) -> Path:
    """The same rows as two files of one folder."""
    head, *rows = _lines(base.read_text(encoding="utf-8"))
    folder = _beside(base, "halves.csv").parent
    for number, part in enumerate((rows[::2], rows[1::2])):
        (folder / f"{number}.csv").write_text("\n".join([head, *part]) + "\n", encoding="utf-8")
    return folder


def _linked(base: Path) -> Path:
    place = _beside(base, "linked.csv")
    place.symlink_to(base)
    return place


def _linked_twice(base: Path) -> Path:
    first, second = _beside(base, "first.csv"), _beside(base, "second.csv")
    first.symlink_to(base)
    second.symlink_to(first)
    return second


def _folder_linked(base: Path) -> Path:
    place = base.parent.parent / "folder-link"
    place.symlink_to(base.parent)
    return place / base.name


def _hard_linked(base: Path) -> Path:
    place = _beside(base, "hard.csv")
    os.link(base, place)
    return place


def _changed_behind_a_link(base: Path) -> Path:
    """Rows are added, and the file is asked by its other name first."""
    place = _beside(base, "other-name.csv")
    os.link(base, place)
    with base.open("a", encoding="utf-8") as file:
        file.write("person-late,item-0,word\n")
    return place


def _changed_in_place(base: Path) -> Path:
    with base.open("a", encoding="utf-8") as file:
        file.write("person-later,item-1,word\n")
    return base


def _changed_and_copied(base: Path) -> Path:
    """The copy has content that was never asked under the first name but once, after the change."""
    return Path(shutil.copy(base, _beside(base, "after.csv")))


def _moved(base: Path) -> Path:
    """The file goes elsewhere and a copy takes its place."""
    place = _beside(base, "moved.csv")
    shutil.move(base, place)
    shutil.copy(place, base)
    return place


def _sqlite(*, view: bool) -> Made:
    def make(base: Path) -> Path:
        place = _beside(base, f"people{'-view' * view}.sqlite")
        rows = list(csv.reader(_lines(base.read_text(encoding="utf-8"))))
        with closing(sqlite3.connect(place)) as database, database:
            database.execute(f"CREATE TABLE t ({', '.join(rows[0])})")
            database.executemany("INSERT INTO t VALUES (?, ?, ?)", rows[1:])
            if view:
                database.execute("CREATE VIEW v AS SELECT * FROM t")
        return place

    return make


def _duckdb(*, view: bool) -> Made:
    def make(base: Path) -> Path:
        import duckdb

        place = _beside(base, f"people{'-view' * view}.duckdb")
        with duckdb.connect(str(place)) as connection:
            kind = "VIEW" if view else "TABLE"
            connection.execute(f"CREATE {kind} t AS FROM read_csv('{base}', all_varchar=true)")
        return place

    return make


def _connection(base: Path) -> object:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS FROM read_csv('{base}', all_varchar=true)")
    return connection


def _relation(order: str) -> Made:
    def make(base: Path) -> object:
        import duckdb

        return duckdb.connect().sql(f"FROM read_csv('{base}', all_varchar=true) ORDER BY {order}")

    return make


_WAYS: tuple[Naming, ...] = (
    Naming(name="the same path", make=lambda base: base),
    Naming(name="the path as text", make=str),
    Naming(name="a path with dots", make=lambda base: f"{base.parent}/../{base.parent.name}/./{base.name}"),
    Naming(name="a path with double slashes", make=lambda base: str(base).replace("/", "//")),
    Naming(name="a path from the working directory", make=os.path.relpath),
    Naming(name="a symbolic link", make=_linked),
    Naming(name="a link to a link", make=_linked_twice),
    Naming(name="a link to its folder", make=_folder_linked),
    Naming(name="a hard link", make=_hard_linked),
    Naming(name="a question mark", make=lambda base: str(base).replace("people.csv", "peopl?.csv")),
    Naming(name="a star", make=lambda base: str(base.parent / "*.csv")),
    Naming(name="a character set", make=lambda base: str(base.parent / "[opqr]eople.csv")),
    Naming(name="two stars", make=lambda base: str(base.parent / "**" / "people.csv")),
    Naming(name="its folder", make=lambda base: base.parent),
    Naming(name="its folder with a slash", make=lambda base: f"{base.parent}/"),
    Naming(name="a copy", make=_rewritten("copy.csv", str)),
    Naming(name="a copy with another ending in capitals", make=_rewritten("COPY.CSV", str)),
    Naming(name="a hidden copy", make=_rewritten(".hidden.csv", str)),
    Naming(name="compressed", make=_packed("packed.csv.gz", 9)),
    Naming(name="compressed less", make=_packed("packed-less.csv.gz", 1)),
    Naming(name="compressed, ending in capitals", make=_packed("PACKED.CSV.GZ", 5)),
    Naming(
        name="rows backwards", make=_rewritten("back.csv", lambda t: "\n".join([t.split("\n")[0], *_lines(t)[:0:-1]]))
    ),
    Naming(name="columns in another order", make=_rewritten("columns.csv", _column_order)),
    Naming(
        name="the person under another heading",
        make=_rewritten("renamed.csv", lambda text: text.replace(PERSON, "uid", 1)),
        options={"user": "uid"},
        may_refuse=True,
    ),
    Naming(
        name="the item under another heading",
        make=_rewritten("thing.csv", lambda text: text.replace(ITEM, "thing", 1)),
        options={"item": "thing"},
    ),
    Naming(name="line ends of Windows", make=_rewritten("windows.csv", lambda text: text.replace("\n", "\r\n"))),
    Naming(name="no last line end", make=_rewritten("end.csv", lambda text: text.rstrip("\n"))),
    Naming(name="everything quoted", make=_rewritten("quoted.csv", _quoted)),
    Naming(name="semicolons", make=_rewritten("semicolons.csv", lambda text: text.replace(",", ";"))),
    Naming(name="pipes", make=_rewritten("pipes.csv", lambda text: text.replace(",", "|"))),
    Naming(name="a byte order mark", make=_rewritten("mark.csv", lambda text: "\ufeff" + text)),
    Naming(name="tabs", make=_rewritten("tabs.tsv", lambda text: text.replace(",", "\t"))),
    Naming(
        name="tabs, compressed", make=_rewritten("tabs.tsv.gz", lambda t: gzip.compress(t.replace(",", "\t").encode()))
    ),
    Naming(name="JSON lines", make=_rewritten("rows.jsonl", _as_json_lines)),
    Naming(name="JSON lines by another ending", make=_rewritten("rows.ndjson", _as_json_lines)),
    Naming(
        name="JSON lines, compressed",
        make=_rewritten("rows.jsonl.gz", lambda t: gzip.compress(_as_json_lines(t).encode())),
    ),
    Naming(name="a JSON array", make=_rewritten("rows.json", _as_json_array)),
    Naming(name="Parquet", make=_copied_by_duckdb("rows.parquet", "FORMAT parquet")),
    Naming(
        name="Parquet, packed otherwise", make=_copied_by_duckdb("zstd.parquet", "FORMAT parquet, COMPRESSION zstd")
    ),
    Naming(name="Parquet in small groups", make=_copied_by_duckdb("groups.pq", "FORMAT parquet, ROW_GROUP_SIZE 50")),
    Naming(name="two files of a folder", make=_in_halves),
    Naming(name="a SQLite table", make=_sqlite(view=False)),
    Naming(name="a SQLite view", make=_sqlite(view=True), options={"table": "v"}),
    Naming(name="a DuckDB table", make=_duckdb(view=False)),
    Naming(name="a DuckDB view", make=_duckdb(view=True)),
    Naming(name="a connection", make=_connection, options={"table": "t"}),
    Naming(name="a relation", make=_relation("1")),
    Naming(name="a relation backwards", make=_relation("1 DESC")),
    Naming(name="another declared name", make=lambda base: base, options={"dataset": "somebody else"}, may_refuse=True),
    Naming(
        name="a copy under a declared name",
        make=_rewritten("named.csv", str),
        options={"dataset": "x"},
        may_refuse=True,
    ),
    Naming(name="another question", make=lambda base: base, options={"where": f"{ITEM} <> 'item-1'"}),
    Naming(name="changed and asked through a hard link", make=_changed_behind_a_link),
    Naming(name="changed in place", make=_changed_in_place),
    Naming(name="a copy of the changed file", make=_changed_and_copied),
    Naming(name="moved, with a copy in its place", make=_moved),
    Naming(name="the place that it was moved from", make=lambda base: base),
)
