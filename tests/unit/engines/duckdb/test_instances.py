"""Instances that wait for the next file: made once, and nothing of one source is seen by the next."""

from __future__ import annotations

import os
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushcount.engines.duckdb import engine as engine_module
from hushcount.engines.duckdb import instances
from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.errors import UnreadableSource
from hushcount.model.queries import Selection

SELECTION = Selection(user="user", item="item")


@pytest.fixture(autouse=True)
def connects(monkeypatch):
    """How often DuckDB was started, from none that waits on."""
    instances.close_waiting()
    started, connect = [], duckdb.connect

    def count(*words, **options):
        started.append(options)
        return connect(*words, **options)

    monkeypatch.setattr(duckdb, "connect", count)
    yield started
    instances.close_waiting()


def write(path, items):
    """A Parquet file of one person for each item, of the same size for items of the same lengths."""
    table = pa.table({"user": range(len(items)), "item": items})
    pq.write_table(table, path, compression="none", use_dictionary=False, write_statistics=False)
    return path


def counted(source, **options):
    """The items of a source."""
    engine = open_duckdb(source, **options)
    try:
        return sorted(engine.histogram(SELECTION).items.tolist())
    finally:
        engine.close()


def test_one_instance_serves_one_file_after_the_other(tmp_path, connects):
    """It is started once, and also a file of another format is read by it."""
    (tmp_path / "c.csv").write_text("user,item\n1,z\n", encoding="utf-8")

    assert counted(write(tmp_path / "a.parquet", ["x"])) == ["x"]
    assert counted(write(tmp_path / "b.parquet", ["y"])) == ["y"]
    assert counted(tmp_path / "c.csv") == ["z"]
    for file, item in (("a.parquet", "x"), ("c.csv", "z")):
        assert counted(tmp_path / file, copied=True) == [item]
    assert len(connects) == 1


def test_a_file_at_the_place_of_another_is_read_anew(tmp_path, connects):
    """Same descriptor, same size, same times: whatever DuckDB might keep of a file by its name is not used."""
    files = [write(tmp_path / f"{name}.parquet", [f"{name}{n:04}" for n in range(3000)]) for name in "ab"]
    for file in files:
        os.utime(file, ns=(10**18, 10**18))

    assert files[0].stat().st_size == files[1].stat().st_size
    for file in files * 2:
        assert counted(file) == [f"{file.stem}{n:04}" for n in range(3000)]
    assert len(connects) == 1
    assert instances.WAITING[0].execute("SELECT current_setting('enable_external_file_cache')").fetchall() == [(False,)]


@pytest.mark.parametrize(
    ("source", "options"),
    [(pa.table({"user": [1], "item": ["x"]}), {}), ("file", {"memory_limit": "1GB"})],
)
def test_what_may_leave_something_behind_is_closed(tmp_path, connects, source, options):
    """Frames become tables, and a limit is one engine's own: their instances serve nobody else."""
    file = write(tmp_path / "a.parquet", ["x"])

    assert counted(file if isinstance(source, str) else source, **options) == ["x"]
    assert instances.WAITING == []


def test_nothing_of_the_last_source_is_left(tmp_path):
    """The view is gone with its engine, and so are the temporary tables of its questions."""
    counted(write(tmp_path / "a.parquet", ["secret"]))
    waiting = instances.WAITING[0]

    assert waiting.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall() == [(0,)]
    assert waiting.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]
    (tmp_path / "b.parquet").write_bytes(b"PAR1 broken")
    with pytest.raises(UnreadableSource):
        counted(tmp_path / "b.parquet")
    assert counted(write(tmp_path / "c.parquet", ["y"])) == ["y"]


def test_one_that_has_spilled_is_not_used_again(tmp_path, connects):
    """It would spill into a folder that is gone: a new one is started."""
    counted(write(tmp_path / "a.parquet", ["x"]))
    spilling = instances.WAITING[0]
    spilling.execute(f"SET GLOBAL temp_directory = '{tmp_path / 'gone'}'")
    spilling.execute("SET GLOBAL memory_limit = '30MB'")
    spilling.execute("CREATE TABLE t AS SELECT range AS n, repeat('x', 100) || range AS s FROM range(1000000)")
    spilling.execute("DROP TABLE t")

    assert counted(write(tmp_path / "b.parquet", ["y"])) == ["y"]
    assert len(connects) == 2


def test_an_engine_that_nobody_closed_leaves_its_instance_to_nobody(tmp_path, connects):
    """Somebody may still be asking it, as at the end of a process: the next source has another one."""
    engine = open_duckdb(write(tmp_path / "a.parquet", ["x"]))
    finalizer = engine._finalizer  # noqa: SLF001  as the garbage collector and the end of Python call it
    finalizer()

    assert instances.WAITING == []
    assert counted(write(tmp_path / "b.parquet", ["y"])) == ["y"]
    assert len(connects) == 2
    engine.close()


def test_an_interrupt_while_closing_leaves_nothing(tmp_path, monkeypatch):
    """The folder for rows is gone, and the instance is closed and does not wait."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    engine = open_duckdb(write(tmp_path / "a.parquet", ["x"]))
    closed = []

    class Interrupted:
        def execute(self, _):
            raise KeyboardInterrupt

        def close(self):
            closed.append(True)

    def interrupted(_):
        instances.let_wait(Interrupted())

    monkeypatch.setattr(engine_module, "let_wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.close()

    assert closed == [True]
    assert instances.WAITING == []
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.parquet"]


def test_many_at_once_have_one_each(tmp_path, connects):
    """Engines that are open together never share one; afterwards one waits."""
    files = {n: write(tmp_path / f"{n}.parquet", [f"item {n}"]) for n in range(8)}
    together = threading.Barrier(8, timeout=60)

    def ask(number):
        engine = open_duckdb(files[number])
        together.wait()
        found = engine.histogram(SELECTION).items.tolist()
        together.wait()
        engine.close()
        return found

    for _ in range(3):
        with ThreadPoolExecutor(max_workers=8) as threads:
            assert list(threads.map(ask, range(8))) == [[f"item {n}"] for n in range(8)]
    assert len(instances.WAITING) <= 1
    assert len(connects) <= 8 + 7 + 7


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_child_of_a_fork_starts_its_own(tmp_path):
    """An instance without its threads could neither be used nor closed: none is left for a child."""
    file = write(tmp_path / "a.parquet", ["x"])
    counted(file)
    child = os.fork()
    if not child:
        fine = not instances.WAITING and counted(file) == ["x"]
        os._exit(0 if fine else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert counted(file) == ["x"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_child_of_a_fork_takes_nothing_from_its_parent(tmp_path, monkeypatch):
    """What it lets go of is not its own: the parent's folder stays, and the parent answers on."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    engine = open_duckdb(write(tmp_path / "a.parquet", ["x"]))
    folders = {entry.name for entry in tmp_path.iterdir()}
    child = os.fork()
    if not child:
        engine.close()
        os._exit(0 if {entry.name for entry in tmp_path.iterdir()} == folders and not instances.WAITING else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert engine.histogram(SELECTION).items.tolist() == ["x"]
    engine.close()
