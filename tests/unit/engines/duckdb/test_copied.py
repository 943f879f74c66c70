"""An engine that stays open reads a private copy: nothing that is done to the data later is seen, or goes unnamed."""

from __future__ import annotations

import gzip
import mmap
import os
import threading

import duckdb
import pytest

from hushcount.engines import copies
from hushcount.engines.duckdb import engine as engines
from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.errors import UnreadableSource
from hushcount.model.queries import Selection

SELECTION = Selection(user="user", item="item")
KEY = b"k" * 32


def write(path, tag="it", people=900):
    """A made-up table; another tag is other data of the same size."""
    path.write_text("user,item\n" + "".join(f"u{n:03},{tag}{n % 3}\n" for n in range(people)), encoding="utf-8")
    return path


def state(engine):
    """All that an engine tells: version, identities, counts."""
    found = engine.histogram(SELECTION, top=9)
    return engine.fingerprint(KEY), engine.sighting(KEY), found.items.tolist(), found.counts.tolist()


def overwrite(path):
    """Written in place, size and dates as they were."""
    dates = path.stat()
    write(path, tag="xx")
    os.utime(path, ns=(dates.st_atime_ns, dates.st_mtime_ns))


def swap(path):
    """Another file under the name."""
    write(path.with_name("other.csv"), tag="yy").replace(path)


CHANGES = {"overwritten": overwrite, "swapped": swap, "removed": lambda path: path.unlink()}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_happens_to_the_file_is_not_seen(tmp_path, change):
    """The engine tells the same as before, to the last identity; opened again, it is another version."""
    path = write(tmp_path / "t.csv")
    with_copy = open_duckdb(path, copied=True)
    before = state(with_copy)
    change(path)

    assert state(with_copy) == before
    assert before[2:] == (["it0", "it1", "it2"], [300, 300, 300])
    if path.exists():
        assert open_duckdb(path, copied=True).fingerprint(KEY) != before[0]


def test_a_write_through_a_memory_map_is_not_seen(tmp_path):
    """A page that was dirtied before leaves no new time; a copy has nothing to do with it."""
    path = write(tmp_path / "t.csv")
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[10:11] = mapped[10:11]
        with_copy = open_duckdb(path, copied=True)
        before = state(with_copy)
        mapped[15:17] = b"zz"

        assert state(with_copy) == before
        assert open_duckdb(path, copied=True).fingerprint(KEY) != before[0]


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "parquet"])
def test_a_copy_is_the_same_data_as_the_file(tmp_path, kind):
    """Version, identities of bytes, paths and rows, and answers: nobody opens a second budget by serving a file."""
    path = tmp_path / f"t.{kind}"
    plain = write(tmp_path / "plain.csv")
    if kind == "csv.gz":
        path.write_bytes(gzip.compress(plain.read_bytes()))
    elif kind == "csv":
        path.write_bytes(plain.read_bytes())
    else:
        form = "json" if kind == "jsonl" else kind
        duckdb.connect().execute(f"COPY (FROM '{plain}') TO '{path}' (FORMAT {form})")
    where, copied = open_duckdb(path), open_duckdb(path, copied=True)

    assert state(copied) == state(where)
    assert copied.rows_identity(KEY) == where.rows_identity(KEY)
    assert copied.describe() == where.describe()


def test_several_files_are_copied_together(tmp_path):
    """By a pattern; each by its own path and bytes."""
    write(tmp_path / "a.csv", tag="a")
    write(tmp_path / "b.csv", tag="b")
    where, copied = (open_duckdb(str(tmp_path / "*.csv"), copied=copy) for copy in (False, True))
    before = state(where)
    (tmp_path / "a.csv").unlink()

    assert state(copied) == before


def test_copies_have_no_name_and_go_with_the_engine(tmp_path, monkeypatch):
    """Nobody else can open them while they are read, and nothing is left."""
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(private))
    duckdb.connect().execute(f"COPY (SELECT 1 AS user, 'x' AS item) TO '{tmp_path / 't.parquet'}' (FORMAT parquet)")
    copied = open_duckdb(tmp_path / "t.parquet", copied=True)
    (folder,) = private.iterdir()

    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.iterdir()) == []
    assert state(copied)[3] == [1]
    copied.close()
    assert not folder.exists()


def test_a_file_that_changes_while_it_is_copied_is_refused(tmp_path, monkeypatch):
    """Half of one state and half of another is none."""
    path = write(tmp_path / "t.csv")
    whole = copies.shutil.copyfileobj

    def changing(origin, target, length):
        whole(origin, target, length)
        with path.open("a", encoding="utf-8") as file:
            file.write("u1,x\n")

    monkeypatch.setattr(copies.shutil, "copyfileobj", changing)
    with pytest.raises(UnreadableSource, match="changed"):
        open_duckdb(path, copied=True)


def test_a_file_that_is_exchanged_for_the_moment_of_copying_is_refused(tmp_path, monkeypatch):
    """Other bytes would be taken under its name: what is opened must be what was stamped."""
    path = write(tmp_path / "t.csv")
    real, other = tmp_path / "real", write(tmp_path / "other", tag="yy")
    opening = copies.os.open

    def exchanging(name, *flags):
        # Where the copy is opened, and not the private folder that it goes to.
        if flags[0] & os.O_WRONLY and path.exists() and not real.exists():
            path.rename(real)
            other.rename(path)
        return opening(name, *flags)

    monkeypatch.setattr(copies.os, "open", exchanging)
    with pytest.raises(UnreadableSource, match="changed"):
        open_duckdb(path, copied=True)


def test_a_table_of_a_database_is_not_locked(tmp_path):
    """Another program writes into the file while the copy is open; the copy stays as it is."""
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'u' || n AS \"user\", 'x' AS item FROM range(5) r(n)")
    copied = open_duckdb(path, copied=True)
    before = copied.fingerprint(KEY)
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO t VALUES ('new', 'x')")

    assert copied.histogram(SELECTION, top=1).counts.tolist() == [5]
    assert copied.fingerprint(KEY) == before
    assert open_duckdb(path).fingerprint(KEY) != before


def test_kept_copies_are_read_by_the_next_engine(tmp_path):
    """Whatever became of the file; all identities are those of the file that was copied."""
    path, kept = write(tmp_path / "t.csv"), tmp_path / "kept" / "day"
    before = state(open_duckdb(path, copied=True, kept=kept))
    overwrite(path)
    again = open_duckdb(path, copied=True, kept=kept)

    assert state(again) == before
    assert (tmp_path / "kept").stat().st_mode & 0o077 == 0
    assert [place.name for place in kept.parent.iterdir()] == ["day"]


def test_kept_copies_that_are_not_whole_are_refused(tmp_path):
    """Said with the folder to remove."""
    path, kept = write(tmp_path / "t.csv"), tmp_path / "kept"
    open_duckdb(path, copied=True, kept=kept).close()
    (kept / "met.json").write_text("{}", encoding="utf-8")

    with pytest.raises(UnreadableSource, match="are not whole"):
        open_duckdb(path, copied=True, kept=kept)


def test_a_thread_that_reads_is_interrupted_and_no_other(tmp_path, monkeypatch):
    """Its call fails without the database's words; the engine answers on."""
    engine, begun = open_duckdb(write(tmp_path / "t.csv"), copied=True), threading.Event()
    failures = []

    def endless(cursor, rows, room):
        begun.set()
        cursor.row("SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b", [])

    def ask():
        try:
            engine.histogram(SELECTION)
        except UnreadableSource as error:
            failures.append(str(error))

    with monkeypatch.context() as patched:
        patched.setattr(engines, "encode", endless)
        reader = threading.Thread(target=ask)
        reader.start()
        assert begun.wait(30)
        # The query begins a moment after it was said to.
        while reader.is_alive():
            engine.interrupt(reader.ident)
            reader.join(0.05)
    engine.interrupt(threading.get_ident())

    assert len(failures) == 1
    assert "InterruptException" in failures[0]
    assert engine.histogram(SELECTION, top=1).counts.tolist() == [300]
