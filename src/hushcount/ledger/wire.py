"""The wire to a PostgreSQL server: statements leave in one piece, and what the server says to them is read at once.

The driver's own pipeline speaks to the socket at every statement, and both ends wake up each time: most of what a
transaction took, a good part of it while others waited for the same row. So the driver connects, waits and loads
values, and the statements go straight to its wrapper of libpq (`psycopg.pq`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from hushcount.ledger.store import Row, Statement, Value

if TYPE_CHECKING:
    import psycopg
    from psycopg.pq.abc import PGresult

# A statement with the types of its values: what is prepared.
_Form: TypeAlias = tuple[str, tuple[int, ...]]
# PostgreSQL's numbers of types, and of the two ways in which values travel. What a text is follows from its place.
_ANY, _BYTES, _INTEGER, _NUMERIC = 0, 17, 20, 1700
_TEXT, _BINARY = 0, 1
_LARGEST_INTEGER = 2**63 - 1
# Far above what the ledger says; statements of many rows come in many lengths.
_MOST_PREPARED = 500


class Wire:
    """One connection, through which one thread speaks.

    Attributes:
        connection: what the driver made.
    """

    def __init__(self, connection: psycopg.Connection[Row], driver: Any) -> None:  # noqa: ANN401 (the module)
        self.connection, self._driver = connection, driver
        self._line, self._encoding = connection.pgconn, connection.info.encoding
        self._loader = driver.adapt.Transformer(connection)
        self._prepared, self._names = dict[_Form, bytes](), count()
        # What was sent and is not heard of yet: the form that is prepared, or None for a statement that is run.
        self._sent: list[_Form | None] = []

    @property
    def owed(self) -> bool:
        """Whether the server has something to say that was not read yet."""
        return bool(self._sent)

    @property
    def plain(self) -> psycopg.Connection[Row]:
        """The driver's connection, to be used as such: all that the server had to say was read."""
        if self._sent:
            self.hear()
        return self.connection

    def is_idle(self) -> bool:
        """Whether the server is there, and nothing is open; asks it."""
        try:
            self.plain.execute("SELECT 1", prepare=False)
        except self._driver.Error:
            return False
        return bool(self._line.transaction_status == self._driver.pq.TransactionStatus.IDLE)

    def ask(self, statements: Iterable[Statement]) -> list[tuple[list[Row], str]]:
        """Send statements in one piece and wait for all of them: the rows of each, and what was done, in a word.

        Raises:
            psycopg.Error: the first that failed; those after it were not tried.
        """
        self.tell(statements)
        return [(self._rows(result), (result.command_status or b"").decode()) for result in self.hear()]

    def tell(self, statements: Iterable[Statement]) -> None:
        """Send statements in one piece; what the server says to them is read some time later."""
        # Before the first word leaves: a value that cannot be sent is told while nothing has been said.
        ready = [(sql, *self._dumped(values)) for sql, values in statements]
        if self._sent:
            self.hear()
        self._line.enter_pipeline_mode()
        for sql, types, words in ready:
            self._send(sql, types, words)
        self._line.pipeline_sync()
        self._line.flush()

    def hear(self) -> list[PGresult]:
        """Wait for what the server says to all that was sent."""
        ok = self._driver.pq.ExecStatus.COMMAND_OK
        said: list[PGresult] = []
        try:
            self.connection.wait(self._read(said))
        finally:
            for form, result in zip(self._sent, said, strict=False):
                if form is not None and result.status != ok:
                    self._prepared.pop(form, None)
        self._line.exit_pipeline_mode()
        sent, self._sent = self._sent, []
        self._raise_for(said)
        return [result for form, result in zip(sent, said, strict=False) if form is None]

    def _send(self, sql: str, types: tuple[int, ...], words: list[bytes | None]) -> None:
        ways = [_BINARY if kind == _BYTES else _TEXT for kind in types]
        name = self._prepared.get((sql, types))
        if name is None and len(self._prepared) < _MOST_PREPARED:
            name = self._prepared[sql, types] = b"hushcount_%d" % next(self._names)
            self._line.send_prepare(name, _numbered(sql), types)
            self._sent.append((sql, types))
        if name is None:
            self._line.send_query_params(_numbered(sql), words, types, ways, _BINARY)
        else:
            self._line.send_query_prepared(name, words, ways, _BINARY)
        self._sent.append(None)

    def _read(self, said: list[PGresult]) -> Generator[Any, Any, None]:
        """Read a result for each thing that was sent, and the mark that ends them; yields what it waits for."""
        line, wait = self._line, self._driver.waiting.Wait
        while len(said) <= len(self._sent):
            if not line.is_busy():
                result = line.get_result()
                if result is not None:
                    said.append(result)
                    continue
                if line.status == self._driver.pq.ConnStatus.OK:
                    continue
                self._raise_for(said)
                raise self._driver.OperationalError(line.error_message.decode(errors="replace"))
            yield wait.RW if line.flush() else wait.R
            line.consume_input()

    def _raise_for(self, said: Iterable[PGresult]) -> None:
        for result in said:
            if result.status == self._driver.pq.ExecStatus.FATAL_ERROR:
                raise self._driver.errors.error_from_result(result, self._encoding)

    def _rows(self, result: PGresult) -> list[Row]:
        if not result.ntuples:
            return []
        self._loader.set_pgresult(result)
        rows: list[Row] = self._loader.load_rows(0, result.ntuples, tuple)
        return rows

    def _dumped(self, values: Sequence[Value]) -> tuple[tuple[int, ...], list[bytes | None]]:
        """Types and words of values, in one pass: others wait meanwhile."""
        types, words = [], list[bytes | None]()
        for value in values:
            if isinstance(value, str):
                if "\x00" in value:
                    # It would end there, and be another text.
                    raise self._driver.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
                types.append(_ANY)
                words.append(value.encode(self._encoding))
            elif isinstance(value, int):
                types.append(_INTEGER if -_LARGEST_INTEGER <= value <= _LARGEST_INTEGER else _NUMERIC)
                words.append(b"%d" % value)
            else:
                types.append(_ANY if value is None else _BYTES)
                words.append(value)
        return tuple(types), words


@lru_cache(maxsize=1024)
def _numbered(sql: str) -> bytes:
    """The statement with its marks numbered, as PostgreSQL wants them."""
    first, *others = sql.split("?")
    return (first + "".join(f"${number}{part}" for number, part in enumerate(others, 1))).encode()
