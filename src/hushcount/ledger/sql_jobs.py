"""Jobs over a SQL database. What must hold of two workers at once is held by unique indexes, on every store.

Nothing here waits for the disk. A job that a power cut takes away was not begun, or is run again under its key, which
finds what is reserved or stored; and a reservation takes every job before it along to the disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from hushcount.errors import InvalidParameter, KeyReused, NotFound
from hushcount.ledger.chain import digest
from hushcount.ledger.jobs import ENDINGS, Ending, Job, NewJob
from hushcount.ledger.names import is_name, kept, named
from hushcount.ledger.store import Database, Row, Statement, Transaction, Value, run
from hushcount.ledger.windows import moment
from hushcount.model.amounts import whole

_COLUMNS = (
    *("id", "analyst", "ask_key", "dataset", "body", "question", "state", "stage", "worker", "stop", "outcome"),
    *("made", "changed"),
)
_LIST = ", ".join(_COLUMNS)
_LARGEST_PAGE = 10_000
_LONGEST_QUESTION = 500
# Of two jobs with the same question one runs.
_ALONE = "NOT EXISTS (SELECT 1 FROM jobs AS others WHERE others.question = jobs.question AND others.state = 'running')"
_OF_KEY = "analyst = ? AND ask_key = ?"
_RUNNING = "SELECT 1 FROM jobs WHERE question = ? AND state = 'running'"
_FREE = f"state = 'waiting' AND {_ALONE}"
_WAITING = f"{_FREE} ORDER BY made, id"
_FAILED = f"state = 'failed' AND {_ALONE}"
# A beat of the future was told under a clock that has been set back since: its worker, if it lives, tells again at
# once, and if it died then nobody else could take its job up before that moment comes.
_SILENT = "state = 'running' AND (beat < ? OR beat > ?)"


class SqlJobs:
    """The jobs of a ledger in a database; implements `Jobs`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, new: NewJob, *, worker: str | None) -> tuple[Job, bool]:
        """See `Jobs.begin`."""
        for what, name in (("id", new.id), ("analyst", new.analyst), ("key", new.key), ("dataset", new.dataset)):
            named(what, name)
        if worker is not None:
            named("worker", worker)
        kept("body", new.body)
        # Only ever compared: one that is too long for an index is known by its digest.
        if len(new.question) > _LONGEST_QUESTION or not new.question.isprintable():
            new = replace(new, question=f"sha256-{digest(new.question.encode('utf-8', 'surrogatepass'))}")

        def verb(transaction: Transaction) -> tuple[Job, bool]:
            transaction.send([_of(_OF_KEY, new.analyst, new.key), (_RUNNING, (new.question,)), *_clock(transaction)])
            known = _by_key(transaction, new)
            return (_insert(transaction, new, worker=worker), True) if known is None else (known, False)

        # Whoever loses a race for the key or for the question meets a unique index, and looks again.
        return run(self._database, verb, durable=False)

    def again(self, id: str, *, worker: str) -> bool:  # noqa: A002 (the port's name)
        """See `Jobs.again`."""
        return self._begun(id, _FAILED, worker=worker)

    def claim(self, id: str, *, worker: str) -> bool:  # noqa: A002 (the port's name)
        """See `Jobs.claim`."""
        return self._begun(id, _FREE, worker=worker)

    def _begun(self, name: str, condition: str, *, worker: str) -> bool:
        named("worker", worker)

        def verb(transaction: Transaction) -> bool:
            now = transaction.now()
            return is_name(name) and bool(
                transaction.fetch(
                    "UPDATE jobs SET state = 'running', worker = ?, beat = ?, changed = ?, "  # noqa: S608 (own words)
                    f"outcome = NULL WHERE id = ? AND {condition} RETURNING id",
                    *(worker, now, now, name),
                )
            )

        return run(self._database, verb, durable=False)

    def tell(self, stages: Mapping[str, str], *, worker: str) -> tuple[str, ...]:
        """See `Jobs.tell`."""
        for stage in stages.values():
            kept("stage", stage)

        def verb(transaction: Transaction) -> tuple[str, ...]:
            now = transaction.now()
            mine = transaction.fetch(
                "UPDATE jobs SET beat = ? WHERE worker = ? AND state = 'running' RETURNING id, stage, stop", now, worker
            )
            transaction.write(
                [
                    ("UPDATE jobs SET stage = ?, changed = ? WHERE id = ?", (stages[name], now, name))
                    for name, stage, _ in mine
                    if stages.get(name, stage) != stage
                ]
            )
            return tuple(sorted(name for name, _, stop in mine if stop))

        return run(self._database, verb, durable=False)

    def finish(self, id: str, *, worker: str, state: Ending, outcome: str) -> bool:  # noqa: A002
        """See `Jobs.finish`."""
        if state not in ENDINGS:
            raise InvalidParameter("state", state, f"one of {', '.join(ENDINGS)}")
        kept("outcome", outcome)
        return run(
            self._database,
            lambda open_: bool(
                open_.fetch(
                    "UPDATE jobs SET state = ?, outcome = ?, changed = ? "
                    "WHERE id = ? AND worker = ? AND state = 'running' RETURNING id",
                    *(state, outcome, open_.now(), id, worker),
                )
            ),
            durable=False,
        )

    def leave(self, worker: str) -> None:
        """See `Jobs.leave`."""
        run(
            self._database,
            lambda open_: open_.write(
                [
                    (
                        "UPDATE jobs SET state = 'waiting', changed = ? WHERE worker = ? AND state = 'running'",
                        (open_.now(), worker),
                    )
                ]
            ),
            durable=False,
        )

    def waiting(self, *, stale: timedelta) -> tuple[Job, ...]:
        """See `Jobs.waiting`. Most calls find nobody silent, and only read."""
        least = stale // timedelta(microseconds=1)
        with self._database.reading() as transaction:
            now = transaction.now()
            silent: Statement = (
                f"SELECT 1 FROM jobs WHERE {_SILENT} LIMIT 1",  # noqa: S608 (own words)
                (now - least, now + least),
            )
            transaction.send([silent, _of(_WAITING), *_clock(transaction)])
            if not transaction.fetch(silent[0], *silent[1]):
                return _free(transaction)

        def verb(transaction: Transaction) -> tuple[Job, ...]:
            now = transaction.now()
            again: Statement = (
                f"UPDATE jobs SET state = 'waiting', changed = ? WHERE {_SILENT}",  # noqa: S608 (own words)
                (now, now - least, now + least),
            )
            transaction.write([again])
            return _free(transaction)

        return run(self._database, verb, durable=False)

    def stop(self, id: str) -> Job:  # noqa: A002
        """See `Jobs.stop`."""

        def verb(transaction: Transaction) -> Job:
            found = (
                []
                if not is_name(id)
                else transaction.fetch(
                    "UPDATE jobs SET stop = 1, changed = ?, "  # noqa: S608 (own words)
                    "state = CASE WHEN state = 'waiting' AND worker = '' THEN 'cancelled' ELSE state END "
                    f"WHERE id = ? AND state IN ('waiting', 'running') RETURNING {_LIST}",
                    transaction.now(),
                    id,
                )
            )
            found = found or _by_id(transaction, id)
            if not found:
                raise NotFound(f"there is no question {id!r}. Nothing was charged.")
            return _job(found[0], transaction.now())

        return run(self._database, verb, durable=False)

    def find(self, id: str) -> Job | None:  # noqa: A002
        """See `Jobs.find`."""
        with self._database.glancing() as transaction:
            found = _by_id(transaction, id)
            return _job(found[0], transaction.now()) if found else None

    def of_key(self, analyst: str, key: str) -> Job | None:
        """See `Jobs.of_key`."""
        with self._database.glancing() as transaction:
            found = _rows(transaction, _OF_KEY, analyst, key)
            return _job(found[0], transaction.now()) if found else None

    def page(
        self, *, analyst: str | None, dataset: str | None = None, before: str = "", size: int = 100
    ) -> tuple[Job, ...]:
        """See `Jobs.page`."""
        said = {"analyst = ?": analyst, "dataset = ?": dataset}
        said["(made, id) < (SELECT made, id FROM jobs WHERE id = ?)"] = before or None
        if not is_name(analyst, dataset, before):
            return ()
        conditions = {condition: value for condition, value in said.items() if value is not None}
        values: list[Value] = [*conditions.values(), whole("size", size, most=_LARGEST_PAGE)]
        with self._database.glancing() as transaction:
            found = _rows(
                transaction, f"{' AND '.join(conditions) or '1 = 1'} ORDER BY made DESC, id DESC LIMIT ?", *values
            )
            now = transaction.now()
        return tuple(_job(row, now) for row in found)


def _by_id(transaction: Transaction, name: str) -> list[Row]:
    return _rows(transaction, "id = ?", name) if is_name(name) else []


def _by_key(transaction: Transaction, new: NewJob) -> Job | None:
    found = _rows(transaction, _OF_KEY, new.analyst, new.key)
    if not found:
        return None
    known = _job(found[0], transaction.now())
    if (known.body, known.dataset) != (new.body, new.dataset):
        raise KeyReused(
            f"the key {new.key!r} was used for another question, at {known.made:%Y-%m-%d %H:%M} UTC. Use a new key for "
            "a new question; nothing was charged now."
        )
    return known


def _insert(transaction: Transaction, new: NewJob, *, worker: str | None) -> Job:
    now = transaction.now()
    busy = transaction.fetch(_RUNNING, new.question)
    state, whose = ("waiting", "") if busy or worker is None else ("running", worker)
    row = (new.id, new.analyst, new.key, new.dataset, new.body, new.question, state, "", whose, 0, None, now, now)
    marks = ", ".join("?" for _ in _COLUMNS)
    transaction.write([(f"INSERT INTO jobs ({_LIST}, beat) VALUES ({marks}, ?)", (*row, now))])  # noqa: S608
    return _job(row, now)


def _free(transaction: Transaction) -> tuple[Job, ...]:
    found = _rows(transaction, _WAITING)
    now = transaction.now()
    return tuple(_job(row, now) for row in found)


def _rows(transaction: Transaction, condition: str, *values: Value) -> list[Row]:
    """The jobs of which something holds, and in the same breath the time, which every job tells."""
    statement = _of(condition, *values)
    transaction.send([statement, *_clock(transaction)])
    return transaction.fetch(statement[0], *values)


def _clock(transaction: Transaction) -> list[Statement]:
    return [] if transaction.dialect.clock is None else [transaction.dialect.clock]


def _of(condition: str, *values: Value) -> Statement:
    return f"SELECT {_LIST} FROM jobs WHERE {condition}", values  # noqa: S608 (own words)


def _job(row: Row, now: int) -> Job:
    said = dict(zip(_COLUMNS, row, strict=True))
    said["key"], said["stop"] = said.pop("ask_key"), bool(said["stop"])
    return Job(**{**said, "made": moment(said["made"]), "changed": moment(said["changed"]), "read": moment(now)})
