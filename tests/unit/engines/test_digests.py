"""Digests that were made before: of large files, for the next process, and held against the bytes each time."""

from __future__ import annotations

import hashlib
import json
import os
import stat

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushcount import count
from hushcount.app.setting import Places
from hushcount.app.wiring import make_setting
from hushcount.engines import digests as digests_module
from hushcount.engines import files as files_module
from hushcount.engines.digests import Digests
from hushcount.engines.files import HeldFiles
from hushcount.engines.sources import recognise
from hushcount.errors import UnreadableSource

BYTES = 2_000_000
KEY = b"a key of the user's secret"


@pytest.fixture
def made(monkeypatch):
    """How often a file was digested; a file counts as left alone a moment after it was written."""
    calls, digest = [], files_module.digest
    monkeypatch.setattr(files_module, "digest", lambda file: calls.append(1) or digest(file))
    monkeypatch.setattr(digests_module, "_LEFT_ALONE", 0)
    monkeypatch.setattr(digests_module, "_MADE", {})
    return calls


def next_process(monkeypatch):
    """What is in memory is gone."""
    monkeypatch.setattr(digests_module, "_MADE", {})


def write(path, letter="x", size=BYTES):
    """A file of some bytes."""
    path.write_bytes(b"user,item\n" + letter.encode() * (size - 10))
    return path


def version(path, kept):
    """The version of a file, as a process finds it."""
    held = HeldFiles(recognise(path, None), known=Digests(kept, KEY))
    try:
        return held.version()
    finally:
        held.close()


def test_the_next_process_digests_nothing_anew(tmp_path, monkeypatch, made):
    """The same version, from the file alone; without it, all bytes are read."""
    path, kept = write(tmp_path / "a.csv"), tmp_path / "kept"
    first = version(path, kept)
    next_process(monkeypatch)
    again = version(path, kept)
    next_process(monkeypatch)
    without = version(path, None)

    assert first == again == without
    assert len(made) == 2
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert str(tmp_path) not in kept.read_text(encoding="ascii")
    assert [entry.name for entry in tmp_path.iterdir() if "kept" in entry.name] == ["kept"]


def test_nobody_recognises_a_file_without_the_key(tmp_path, monkeypatch, made):
    """Neither its digest nor its place is there to be compared with; under another key nothing is found."""
    path, kept = write(tmp_path / "a.csv"), tmp_path / "kept"
    version(path, kept)
    told = kept.read_text(encoding="ascii")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "blake2b").hexdigest()
    next_process(monkeypatch)
    held = HeldFiles(recognise(path, None), known=Digests(kept, b"another key"))

    assert not any(digest[at : at + 8] in told for at in range(0, 128, 8))
    assert held.digests() == [bytes.fromhex(digest)]
    assert len(made) == 2
    held.close()


def replaced(path):
    """Another file under the name, of the same size and time of content."""
    before = path.stat()
    other = write(path.with_name("other"), "y")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


def overwritten(path):
    """Other bytes in the same file, and its time of content put back."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"y")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def longer(path):
    """More bytes."""
    with path.open("ab") as file:
        file.write(b"y")


@pytest.mark.parametrize("change", [replaced, overwritten, longer])
def test_whatever_changes_is_digested_anew(tmp_path, monkeypatch, made, change):
    """Whichever way it changed: the version is that of the bytes that are there, in the next process, too."""
    path, kept = write(tmp_path / "a.csv"), tmp_path / "kept"
    before = version(path, kept)
    change(path)
    next_process(monkeypatch)
    after = version(path, kept)
    next_process(monkeypatch)

    assert after != before
    assert after == version(path, None)


def test_small_files_and_fresh_ones_are_not_kept(tmp_path, monkeypatch, made):
    """The one is digested in no time; into the other somebody may still write without a new time."""
    kept = tmp_path / "kept"
    version(write(tmp_path / "small.csv", size=1000), kept)
    monkeypatch.setattr(digests_module, "_LEFT_ALONE", 60 * 10**9)
    version(write(tmp_path / "fresh.csv"), kept)

    assert not kept.exists()


def test_no_more_are_kept_than_a_thousand(tmp_path, monkeypatch, made):
    """The oldest go first."""
    kept = tmp_path / "kept"
    kept.write_text(json.dumps({f"{n:032x}": "ab" * 64 for n in range(1024)}), encoding="ascii")
    version(write(tmp_path / "a.csv"), kept)
    found = json.loads(kept.read_bytes())

    assert len(found) == 1024
    assert f"{0:032x}" not in found
    assert f"{1:032x}" in found


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"null", b'{"a": 3}', b'{"a": "no digits"}', b"\xff\xfe", b"[" * 100_000]
)
def test_what_is_not_as_we_write_it_is_nothing(tmp_path, made, text):
    """Half a file, or somebody else's: bytes are digested, and it is written anew."""
    path, kept = write(tmp_path / "a.csv"), tmp_path / "kept"
    kept.write_bytes(text)

    assert version(path, kept) == version(path, None)
    assert len(json.loads(kept.read_bytes())) == 1


def test_where_nothing_can_be_written_all_goes_on(tmp_path, made):
    """As in a home that is not there."""
    path = write(tmp_path / "a.csv")

    assert version(path, tmp_path / "nowhere" / "kept") == version(path, None)


@pytest.fixture
def log(tmp_path):
    """A log that is large enough, and the home of whoever asks."""
    people = np.repeat(np.arange(100_000), 3)
    table = pa.table({"user": people, "item": [f"item {n % 7}" for n in range(len(people))]})
    pq.write_table(table, tmp_path / "log.parquet", compression="none", use_dictionary=False)
    assert (tmp_path / "log.parquet").stat().st_size > 1 << 20
    return tmp_path / "log.parquet", Places(home=tmp_path / "home", ledger=None, analyst="ann")


def asked(log, **options):
    """One question with a ledger, as a process of its own would ask it."""
    path, places = log
    with make_setting(places, path) as setting:
        release = count(path, user="user", item="item", setting=setting, fresh=True, method="pcr", **options)
        return sorted(release.items.tolist())


def test_a_question_of_the_next_process_digests_once(log, monkeypatch, made):
    """After its rows were counted, as ever; what it is about was known before."""
    first = asked(log)
    before = len(made)
    next_process(monkeypatch)

    assert asked(log) == first
    assert before == 2
    assert len(made) == 3


def test_a_wrong_digest_refuses_and_is_forgotten(log, monkeypatch, made):
    """Whoever wrote it: what was counted is not what was named, so nothing is answered; then all is as before."""
    first = asked(log)
    kept = log[1].home / "digests.json"
    names = json.loads(kept.read_bytes())
    kept.write_text(json.dumps(dict.fromkeys(names, "ab" * 64)), encoding="ascii")
    next_process(monkeypatch)

    with pytest.raises(UnreadableSource, match=r"(?s)changed since it was opened.*stays charged"):
        asked(log)
    assert not kept.exists()
    assert asked(log) == first
