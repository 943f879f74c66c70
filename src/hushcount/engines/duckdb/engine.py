"""The DuckDB engine: one process, any file, frame or table; spills to disk beyond memory.

Any number of threads may ask one engine at once: each question has a connection of its own, and nothing is locked.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hushcount.compiled.passes import library
from hushcount.engines.checking import check_selection
from hushcount.engines.digests import Digests
from hushcount.engines.duckdb.attempts import attempt, hold
from hushcount.engines.duckdb.counting import counted, counted_in_sql
from hushcount.engines.duckdb.cursor import Cursor
from hushcount.engines.duckdb.encoding import are_close, encode
from hushcount.engines.duckdb.instances import Connection, let_wait, open_instance
from hushcount.engines.duckdb.items import are_few
from hushcount.engines.duckdb.keys import Room
from hushcount.engines.duckdb.loading import Copying, Loaded, load
from hushcount.engines.duckdb.parts import zones
from hushcount.engines.duckdb.recognising import add_cells, fingerprint
from hushcount.engines.duckdb.selected import SelectedRows, select_rows
from hushcount.engines.files import HeldFiles
from hushcount.engines.identities import rows_identity, see_files, see_frame, see_table
from hushcount.engines.incidence import MemoryIncidence
from hushcount.engines.private_folders import PrivateFolder, remove_dead
from hushcount.engines.sources import DatabaseTable, Files, recognise
from hushcount.errors import HushcountError, InvalidParameter, UnreadableSource
from hushcount.model.amounts import whole
from hushcount.model.identities import Identity, Sighting
from hushcount.model.inputs import Bound, Histogram
from hushcount.model.queries import Description, Selection, TextItems, TupleItems

if TYPE_CHECKING:
    from hushcount.engines.engine import Engine

_T = TypeVar("_T")
_FOLDER = "hushcount-rows-"


def open_duckdb(
    source: object,
    *,
    table: str | None = None,
    memory_limit: str | None = None,
    copied: bool = False,
    kept: Path | None = None,
    digests: Digests | None = None,
) -> DuckdbEngine:
    """Open a source.

    Args:
        source: see `engines.sources`.
        table: the table of a database that holds several.
        memory_limit: how much memory DuckDB may use before it spills to disk, as in "2GB"; its default is 80 %. Rows as
            integers are spilled from a quarter of that on.
        copied: take a private copy first, for an engine that stays open: nothing that happens to the source later is
            seen, nothing is locked, and no question has to look whether it changed.
        kept: with `copied`, a folder in which copies of files are kept, and read if they are there already.
        digests: digests of large files that were made before.

    Raises:
        InvalidParameter: nothing that can be opened.
        UnreadableSource: it is missing, empty, broken or not permitted.
        MissingExtra: a PostgreSQL table, and psycopg is not installed.
    """
    recognised = recognise(source, table)
    temporary = Path(tempfile.gettempdir())
    _remove_dead_once(temporary)
    folder = PrivateFolder(temporary, _FOLDER)
    connection = None
    try:
        # For what is spilled and what is copied.
        path = folder.make()
        copying = Copying(folder=path, kept=kept) if copied else None
        connection = open_instance(path, memory_limit=memory_limit)
        # Of the whole database: every cursor has it, and texts of moments do not depend on where we are.
        attempt(recognised, lambda: connection.execute("SET GLOBAL TimeZone = 'UTC'"))
        loaded = load(connection, recognised, copying, known=digests)
        room = Room(rows=_most_rows(connection), folder=path)
        again = isinstance(recognised, Files) and memory_limit is None
        return DuckdbEngine(connection, loaded, folder, room=room, again=again)
    except BaseException:
        # Also for an interrupt: nothing of it stays on the disk.
        _close(connection, folder, None, made_in=os.getpid())
        raise


def _most_rows(connection: Connection) -> int:
    """How many rows are held in memory as integers: each takes 8 bytes, and as much again while it is sorted out."""
    number, unit = connection.execute("SELECT current_setting('memory_limit')").fetchall()[0][0].split()
    return max(1, int(float(number) * 1024 ** ("bytes", "KiB", "MiB", "GiB", "TiB").index(unit)) // (4 * 16))


@cache
def _remove_dead_once(temporary: Path) -> None:
    remove_dead(temporary, _FOLDER)


def _close(
    connection: Connection | None, folder: PrivateFolder, files: HeldFiles | None, *, made_in: int, again: bool = False
) -> None:
    """Let go of all that an engine has; a child of the process that made it has nothing of its own to let go of."""
    if os.getpid() != made_in:
        return
    try:
        if connection is not None and again:
            let_wait(connection)
        elif connection is not None:
            connection.close()
    finally:
        folder.remove()
        if files is not None:
            files.close()


class DuckdbEngine:
    """One source, opened by `open_duckdb`; its connection may serve `again` once it is closed."""

    def __init__(
        self, connection: Connection, loaded: Loaded, folder: PrivateFolder, *, room: Room, again: bool
    ) -> None:
        self._connection, self._loaded, self._source = connection, loaded, loaded.source
        self._room = room
        self._fingerprints: dict[bytes, str] = {}
        # By column, as far as somebody asked.
        self._few: dict[str, bool] = {}
        self._close: dict[str, bool] = {}
        # How many questions are under way; closing waits for them.
        self._asked, self._idle = 0, threading.Condition()
        # What each thread reads with.
        self._reading: dict[int, Connection] = {}
        # Also if nobody closes it; then its connection serves nobody else, since somebody may still be asking.
        self._finalizer = weakref.finalize(self, _close, connection, folder, loaded.files, made_in=os.getpid())
        self._again = again

    def describe(self) -> Description:
        """The columns."""
        return self._loaded.describe()

    def validate(self, selection: Selection) -> None:
        """Refuse what these columns cannot answer."""
        check_selection(selection, self.describe())
        if self._loaded.columns is None and len({name.casefold() for name in selection.columns}) < len(
            selection.columns
        ):
            raise InvalidParameter(
                "columns", ", ".join(selection.columns), "told apart by more than small and capital letters"
            )
        if isinstance(selection.item, TupleItems) and selection.item.zone not in {"UTC", *zones()}:
            raise InvalidParameter("timezone", selection.item.zone, "a time zone that DuckDB knows, as Europe/Berlin")

    def fingerprint(self, key: bytes) -> str:
        """A digest of the bytes of files, or a keyed one of the rows of anything else."""
        with self._asking() as cursor:
            if self._loaded.files is not None:
                return self._loaded.files.version()
            if key not in self._fingerprints:
                self._fingerprints[key] = fingerprint(cursor, self._loaded.typed(()), key)
            return self._fingerprints[key]

    def sighting(self, key: bytes) -> Sighting:
        """The identities of files, or of the table."""
        with self._asking():
            if self._loaded.files is not None:
                return see_files(self._loaded.files, key)
            if self._loaded.table is None:
                return see_frame()
            file = self._source.path.stat() if isinstance(self._source, DatabaseTable) else None
            return see_table(self._loaded.table, self._loaded.places, file)

    def rows_identity(self, key: bytes) -> Identity:
        """The identity of all rows; reads everything."""
        with self._asking() as cursor:
            rows, total = add_cells(cursor, self._loaded)
        return rows_identity(key, rows=rows, total=total, version=lambda: self.fingerprint(key))

    def histogram(self, selection: Selection, *, bound: Bound | None = None, top: int | None = None) -> Histogram:
        """People per item, or rows up to the cap, largest first, ties by item; after bounding, if there is a bound."""
        if top is not None:
            whole("top", top)
        with self._asking() as cursor:
            rows, cap = self._rows(cursor, selection), selection.per_item_cap
            if bound is None and library() is None:
                found = hold(self._source, lambda: counted_in_sql(cursor, rows, cap=cap, top=top))
                self._check_bytes()
                return found
            read = hold(self._source, lambda: encode(cursor, rows, self._room))
            if bound is None:
                return self._checked(lambda: counted(read, cap=cap, top=top))
            held = self._checked(read.incidence)
        return held.histogram(top, bound=bound, cap=cap)

    def incidence(self, selection: Selection) -> MemoryIncidence:
        """Who has what, in memory."""
        if selection.per_item_cap != 1:
            raise InvalidParameter("per_item_cap", selection.per_item_cap, "1 where people's lists are weighed")
        with self._asking() as cursor:
            rows = self._rows(cursor, selection)
            read = hold(self._source, lambda: encode(cursor, rows, self._room))
            return self._checked(read.incidence)

    def close(self) -> None:
        """Wait for questions under way, then close the database and remove the folder for spilled rows."""
        with self._idle:
            self._idle.wait_for(lambda: self._asked == 0)
            found = self._finalizer.detach()
            if found is not None:
                _, close, given, named = found
                close(*given, **named, again=self._again)

    def interrupt(self, thread: int) -> None:
        """Stop what a thread is reading; its call fails. What it does with rows in memory goes on to its end."""
        with self._idle:
            own = self._reading.get(thread)
            if own is not None:
                own.interrupt()

    def _checked(self, work: Callable[[], _T]) -> _T:
        """What is made of rows that were read; nobody sees it before their bytes are known to be those of before."""
        with ThreadPoolExecutor(max_workers=1) as beside:
            checked = beside.submit(self._check_bytes)
            try:
                made = hold(self._source, work)
            except HushcountError:
                # Rows that changed meanwhile may contradict each other: that they changed is what is told then.
                checked.result()
                raise
            checked.result()
        return made

    def _check_bytes(self) -> None:
        if self._loaded.files is not None:
            self._loaded.files.check_bytes()

    @contextmanager
    def _asking(self) -> Iterator[Cursor]:
        """One question, on unchanged files, with a connection of its own."""
        with self._idle:
            if not self._finalizer.alive:
                raise UnreadableSource(f"{self._source.name} was closed; open it again")
            self._asked += 1
        try:
            self._check_unchanged()
            own = attempt(self._source, self._connection.cursor)
            with self._idle:
                self._reading[threading.get_ident()] = own
            try:
                yield Cursor(source=self._source, own=own)
            finally:
                with self._idle:
                    del self._reading[threading.get_ident()]
                own.close()
            self._check_unchanged()
        finally:
            with self._idle:
                self._asked -= 1
                self._idle.notify_all()

    def _check_unchanged(self) -> None:
        if self._loaded.watched is not None:
            self._loaded.watched.check()

    def _rows(self, cursor: Cursor, selection: Selection) -> SelectedRows:
        self.validate(selection)
        names = selection.columns
        table, user = self._loaded.rows_sql(names), selection.user
        rows = select_rows(selection, self._loaded.typed(names), table)
        if rows.kind is not str and not self._loaded.is_parsed:
            if user not in self._close:
                self._close[user] = are_close(cursor, table, user)
            rows = replace(rows, close=self._close[user])
        if self._loaded.is_parsed or isinstance(selection.item, TextItems):
            # Texts are parsed once for each question; columns that are there already are read where they are.
            cursor.run(f"CREATE TEMP TABLE chosen AS {rows.sql}", rows.parameters)
            return replace(rows, sql="SELECT person, item FROM temp.chosen", parameters=[])
        if rows.text is not None and rows.text not in self._few:
            self._few[rows.text] = are_few(cursor, self._loaded, rows.text)
        return replace(rows, few=rows.text is not None and self._few[rows.text])


if TYPE_CHECKING:
    _is_engine: type[Engine] = DuckdbEngine
