"""Files held: what is written, exchanged or removed under our hands is refused or not seen, never half of each."""

from __future__ import annotations

import gc
import gzip
import hashlib
import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from hushcount.engines import files as files_module
from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.files import HeldFiles
from hushcount.engines.sources import Files, recognise
from hushcount.errors import UnreadableSource
from hushcount.model.queries import Selection

SELECTION = Selection(user="user", item="item")
CHANGED = "changed since it was opened; open it again and ask once more"
BEFORE, AFTER = "user,item\n1,x\n2,x\n", "user,item\n1,y\n2,y\n"


def write(path, text=BEFORE):
    """A file with this text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def held(path):
    """The file or files, held."""
    found = recognise(str(path))
    assert isinstance(found, Files)
    return HeldFiles(found)


def overwrite_in_place(path):
    """The same length, and the times that a program can set put back."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(AFTER.encode())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(path):
    """Another file of the same length under the same name."""
    before = path.stat()
    other = write(path.with_name("other"), AFTER)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


def replace_folder(path):
    """Another folder under the same name, with another file in it."""
    path.parent.rename(path.parent.with_name("old"))
    write(path, AFTER)


def exchange_and_put_back(path):
    """Another file for a moment, and the first one again."""
    path.rename(path.with_name("aside"))
    write(path, AFTER)
    path.with_name("aside").replace(path)


CHANGES = [overwrite_in_place, replace, replace_folder, exchange_and_put_back, os.unlink, lambda p: os.truncate(p, 5)]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_is_refused(tmp_path, change):
    """Before a digest, after it, and before a question: also if size and times of the file look the same."""
    path = write(tmp_path / "folder" / "a.csv")
    digested, engine, late = held(path), open_duckdb(path), open_duckdb(path)
    digested.digests()
    late.fingerprint(b"key")
    change(path)

    with pytest.raises(UnreadableSource, match=CHANGED):
        digested.check()
    for ask in (engine.fingerprint, engine.sighting, engine.rows_identity):
        with pytest.raises(UnreadableSource, match=CHANGED):
            ask(b"key")
    for ask in (engine.histogram, engine.incidence, late.histogram):
        with pytest.raises(UnreadableSource, match=CHANGED):
            ask(SELECTION)


@pytest.mark.parametrize("change", [overwrite_in_place, replace, replace_folder, exchange_and_put_back])
@pytest.mark.parametrize("when", ["digest", "header", "read"])
def test_a_change_during_the_read_is_refused(tmp_path, monkeypatch, change, when):
    """Whatever is exchanged while bytes are read is found out before they are used."""
    path = write(tmp_path / "folder" / "a.csv")
    if when == "header":
        read = files_module.HeldFiles.read

        def reading(self, number, action):
            change(path)
            return read(self, number, action)

        monkeypatch.setattr(files_module.HeldFiles, "read", reading)
        with pytest.raises(UnreadableSource, match=CHANGED):
            open_duckdb(path).histogram(SELECTION)
        return
    engine = open_duckdb(path)
    if when == "digest":
        digest = files_module.digest
        monkeypatch.setattr(files_module, "digest", lambda file: (digest(file), change(path))[0])
        with pytest.raises(UnreadableSource, match=CHANGED):
            engine.fingerprint(b"key")
        return
    from hushcount.engines.duckdb import engine as engine_module

    encode = engine_module.encode

    def changing(*words, **more):
        change(path)
        return encode(*words, **more)

    monkeypatch.setattr(engine_module, "encode", changing)
    with pytest.raises(UnreadableSource, match=CHANGED):
        engine.histogram(SELECTION)


def test_what_is_read_is_what_was_held(tmp_path):
    """Through the descriptor, the old bytes: a name or a folder that leads elsewhere is not followed."""
    path = write(tmp_path / "folder" / "a.csv")
    files = held(path)
    replace_folder(path)

    assert files.read(0, lambda file: file.read()).decode() == BEFORE


def test_a_folder_that_is_put_back_is_not_seen(tmp_path, monkeypatch):
    """For a moment another folder has the name, while DuckDB reads: it reads on in the first one."""
    path = write(tmp_path / "folder" / "a.csv")
    engine = open_duckdb(path)
    from hushcount.engines.duckdb import engine as engine_module

    select_rows, encode, folder = engine_module.select_rows, engine_module.encode, path.parent

    def exchange(*words, **more):
        folder.rename(folder.with_name("aside"))
        write(path, AFTER)
        return select_rows(*words, **more)

    def put_back(*words, **more):
        try:
            return encode(*words, **more)
        finally:
            shutil.rmtree(folder)
            folder.with_name("aside").rename(folder)

    # From before the first of its rows is read to behind the last.
    monkeypatch.setattr(engine_module, "select_rows", exchange)
    monkeypatch.setattr(engine_module, "encode", put_back)

    assert engine.histogram(SELECTION).items.tolist() == ["x"]


def test_a_writer_never_gives_a_mixture(tmp_path):
    """While a program writes the one or the other text into the file, answers are about one of them, or refused."""
    wide = [("user,item\n" + "".join(f"{n},{item}\n" for n in range(20_000))) for item in "xy"]
    path, stop = write(tmp_path / "a.csv", wide[0]), threading.Event()

    def keep_writing():
        while not stop.is_set():
            for text in wide:
                path.write_text(text, encoding="utf-8")
                time.sleep(0.02)

    writer = threading.Thread(target=keep_writing)
    writer.start()
    found, refused = set(), 0
    try:
        for _ in range(25):
            try:
                engine = open_duckdb(path)
                version, counts = engine.fingerprint(b"key"), engine.histogram(SELECTION)
            except UnreadableSource:
                refused += 1
            else:
                found.add((version, *zip(counts.items.tolist(), counts.counts.tolist(), strict=True)))
    finally:
        stop.set()
        writer.join()
    whole = {f"csv-{_version(text)}": (item, 20_000) for item, text in zip("xy", wide, strict=True)}

    assert found <= set(whole.items())
    assert found or refused == 25


def _version(text):
    return hashlib.blake2b(hashlib.blake2b(text.encode()).digest(), digest_size=16).hexdigest()


def test_the_stamp_waits_for_the_clock(tmp_path):
    """Two changes within one tick of the system's clock look alike: a file that was just written is let settle."""
    path = write(tmp_path / "a.csv")
    for _ in range(20):
        path.write_text(BEFORE, encoding="utf-8")
        files = held(path)
        overwrite_in_place(path)

        with pytest.raises(UnreadableSource, match=CHANGED):
            files.check()
        files.close()


def test_more_files_than_can_be_held(tmp_path, monkeypatch):
    """They are read by name, and watched as closely as names allow."""
    monkeypatch.setattr(files_module, "_MOST_HELD", 2)
    for n in range(3):
        write(tmp_path / f"{n}.csv", f"user,item\n{n},x\n")
    engine = open_duckdb(str(tmp_path / "*.csv"))

    assert engine.histogram(SELECTION).counts.tolist() == [3]
    for change in (overwrite_in_place, replace, exchange_and_put_back):
        changed = open_duckdb(str(tmp_path / "*.csv"))
        change(tmp_path / "1.csv")
        with pytest.raises(UnreadableSource, match=CHANGED):
            changed.histogram(SELECTION)


def test_no_descriptor_stays_open(tmp_path):
    """Closing lets go of the files, and so does an opening that fails."""
    path, broken = write(tmp_path / "a.csv"), write(tmp_path / "b.csv", "\n\n1,x\n")
    # Engines that other tests left open go now, and not in the middle of it.
    gc.collect()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        engine = open_duckdb(path)
        engine.histogram(SELECTION)
        engine.close()
        with pytest.raises(UnreadableSource, match="first line"):
            open_duckdb(broken)

    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_working_directory_may_change(tmp_path, monkeypatch):
    """A name is that of the file that it led to when it was opened."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.csv")
    engine = open_duckdb("a.csv")
    (tmp_path / "elsewhere").mkdir()
    write(tmp_path / "elsewhere" / "a.csv", AFTER)
    monkeypatch.chdir(tmp_path / "elsewhere")

    assert engine.histogram(SELECTION).items.tolist() == ["x"]
    assert str(engine.sighting(b"key").finds[0]) == f"path:{(tmp_path / 'a.csv').resolve()}"


def test_compressed_bytes_count_decompressed(tmp_path):
    """However well a file is compressed, and in how many parts, its version is that of what it holds."""
    plain = write(tmp_path / "a.csv")
    for level, name in ((1, "b.csv.gz"), (9, "c.csv.GZ")):
        (tmp_path / name).write_bytes(gzip.compress(BEFORE[:15].encode(), level) + gzip.compress(BEFORE[15:].encode()))

    names = ("a.csv", "b.csv.gz", "c.csv.GZ")
    engines = [open_duckdb(tmp_path / name) for name in names]

    assert {engine.fingerprint(b"key") for engine in engines} == {f"csv-{_version(plain.read_text())}"}
    assert all(engine.histogram(SELECTION).counts.tolist() == [2] for engine in engines)
    mixed = open_duckdb(str(tmp_path / "*.csv*"))
    assert mixed.histogram(SELECTION).counts.tolist() == [2]
    assert mixed.histogram(Selection(user="user", item="item", per_item_cap=3)).counts.tolist() == [6]


@pytest.mark.parametrize("harm", ["cut", "garbage", "checksum"])
def test_broken_compression_is_refused(tmp_path, harm):
    """A part of a file is never taken for the whole of it."""
    packed = bytearray(gzip.compress(("user,item\n" + "1,secret\n" * 9000).encode()))
    if harm == "checksum":
        packed[-6] ^= 1
    path = tmp_path / "a.csv.gz"
    path.write_bytes({"cut": packed[:-12], "garbage": packed + b"secret", "checksum": packed}[harm])
    with pytest.raises(UnreadableSource, match="not a whole compressed file") as caught:
        open_duckdb(path).fingerprint(b"key")

    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_file_that_did_not_change_is_digested_once(tmp_path, monkeypatch):
    """However often it is opened; after a change, and under another name, it is digested anew."""
    path, read = write(tmp_path / "log.csv"), []
    digest = files_module.digest
    monkeypatch.setattr(files_module, "digest", lambda file: read.append(1) or digest(file))
    first, again = held(path).version(), held(path).version()
    once = len(read)
    overwrite_in_place(path)
    changed = held(path).version()
    write(tmp_path / "copy.csv", AFTER)

    assert (first == again, once) == (True, 1)
    assert changed != first
    assert held(tmp_path / "copy.csv").version() == changed
    assert len(read) == 3


def test_bytes_that_are_not_those_of_a_known_digest_are_refused_once(tmp_path, monkeypatch):
    """A memory map may change a file without a new time: what was counted is digested, and the next opening as well."""
    path = write(tmp_path / "log.csv")
    held(path).digests()
    monkeypatch.setattr(files_module, "digest", lambda _: b"as if somebody had written into a page of it")
    opened = held(path)
    opened.digests()

    with pytest.raises(UnreadableSource, match=CHANGED):
        opened.check_bytes()
    assert held(path).digests() == [b"as if somebody had written into a page of it"]
