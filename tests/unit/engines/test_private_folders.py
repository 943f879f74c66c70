"""Private folders: gone with their process, and what was left by one that was killed is removed by the next."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from hushcount.engines import private_folders
from hushcount.engines.copies import kept_copies
from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.private_folders import PrivateFolder, remove_dead
from hushcount.engines.sources import recognise

HOLD = """
import sys, time
from pathlib import Path
from hushcount.engines.private_folders import PrivateFolder
path = PrivateFolder(Path(sys.argv[1]), "rows-").make()
(path / "copy").write_text("private")
print(path, flush=True)
time.sleep(600)
"""
SERVE = """
import sys, time
from hushcount.engines.duckdb.engine import open_duckdb
engine = open_duckdb(sys.argv[1], copied=True)
print(engine.describe(), flush=True)
time.sleep(600)
"""


def started(code, *words, folder):
    """A process of ours that says when it holds its folder."""
    process = subprocess.Popen(  # noqa: S603 (our own words)
        [sys.executable, "-c", code, *map(str, words)],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def killed(process):
    """Killed by force, so that it can remove nothing."""
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


def test_a_living_process_keeps_its_folder_and_a_killed_one_does_not(tmp_path):
    """By a lock that the system gives back, and by no number: its name tells of a process that is long dead."""
    process, path = started(HOLD, tmp_path, folder=tmp_path)
    other = tmp_path / "rows-999999999-1"
    Path(path).rename(other)
    remove_dead(tmp_path, "rows-")
    while_it_lived = (other / "copy").exists()
    killed(process)
    left = (other / "copy").exists()
    remove_dead(tmp_path, "rows-")

    assert (while_it_lived, left) == (True, True)
    assert not list(tmp_path.iterdir())


def test_a_number_that_somebody_else_has_by_now_keeps_nothing(tmp_path):
    """The process of that number lives, and is not who left it."""
    (tmp_path / f"rows-{os.getpid()}-1").mkdir(mode=0o700)
    remove_dead(tmp_path, "rows-")

    assert not list(tmp_path.iterdir())


def test_nothing_is_removed_but_private_folders_of_that_name(tmp_path):
    """No file, no link and what it leads to, nothing that others can read, nothing of another name."""
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o700)
    (kept / "file").write_text("somebody's")
    (tmp_path / "rows-1-1").symlink_to(kept, target_is_directory=True)
    (tmp_path / "rows-2-2").write_text("a file")
    (tmp_path / "rows-3-3").mkdir(mode=0o755)
    (tmp_path / "rows-3-3").chmod(0o755)
    remove_dead(tmp_path, "rows-")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "rows-1-1", "rows-2-2", "rows-3-3"]
    assert (kept / "file").read_text() == "somebody's"


def test_links_within_are_removed_and_not_followed(tmp_path):
    """What a link in a dead process's folder leads to stays."""
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("somebody's")
    (tmp_path / "rows-1-1").mkdir(mode=0o700)
    (tmp_path / "rows-1-1" / "link").symlink_to(kept, target_is_directory=True)
    remove_dead(tmp_path, "rows-")

    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "file").exists()


def test_somebody_elses_is_left(tmp_path, monkeypatch):
    """Whoever runs this as root must not remove what others may still want."""
    (tmp_path / "rows-1-1").mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    remove_dead(tmp_path, "rows-")

    assert list(tmp_path.iterdir())


def test_where_nothing_can_be_locked_nothing_is_removed(tmp_path, monkeypatch):
    """Nothing tells there who is dead; a folder can be made all the same."""
    (tmp_path / "rows-1-1").mkdir(mode=0o700)
    monkeypatch.setattr(private_folders, "_lock", lambda descriptor: None)
    remove_dead(tmp_path, "rows-")
    made = PrivateFolder(tmp_path, "rows-").make()

    assert (tmp_path / "rows-1-1").exists()
    assert made.exists()


@pytest.mark.parametrize("moment", ["before it is opened", "before it is locked"])
def test_a_folder_that_was_taken_for_dead_before_it_was_locked_is_made_again(tmp_path, monkeypatch, moment):
    """Whoever cleans up may come between its making and its lock."""
    name = "_opened" if moment == "before it is opened" else "_lock"
    real, seen = getattr(private_folders, name), []

    def late(given):
        if not seen:
            seen.append(given)
            monkeypatch.setattr(private_folders, name, real)
            remove_dead(tmp_path, "rows-")
        return real(given)

    monkeypatch.setattr(private_folders, name, late)
    folder = PrivateFolder(tmp_path, "rows-")
    path = folder.make()
    remove_dead(tmp_path, "rows-")

    assert seen
    assert list(tmp_path.iterdir()) == [path]
    folder.remove()
    folder.remove()
    assert not list(tmp_path.iterdir())


def test_a_folder_of_another_container_by_the_same_name_is_left_alone(tmp_path, monkeypatch):
    """Ours is made under another name, and only ours is removed."""
    names = iter([tmp_path / "rows-1-1", tmp_path / "rows-1-1", tmp_path / "rows-1-2", tmp_path / "rows-1-3"])
    (tmp_path / "rows-1-1").mkdir(mode=0o700)
    monkeypatch.setattr(PrivateFolder, "_named", lambda self: next(names))
    folder = PrivateFolder(tmp_path, "rows-")

    assert folder.make() == tmp_path / "rows-1-3"
    folder.remove()
    assert list(tmp_path.iterdir()) == [tmp_path / "rows-1-1"]


def test_the_next_start_removes_the_copies_of_a_worker_that_was_killed(tmp_path, monkeypatch):
    """A copy of a CSV file lies parsed in the temporary folder; the folder of one that lives stays."""
    data, scratch = tmp_path / "log.csv", tmp_path / "scratch"
    data.write_text("user,item\n" + "\n".join(f"{n},{n % 3}" for n in range(100)))
    scratch.mkdir()
    (dead, _), (alive, _) = (started(SERVE, data, folder=scratch) for _ in range(2))
    try:
        killed(dead)
        left = sorted(path.name for path in scratch.rglob("*.parquet"))
        monkeypatch.setattr(tempfile, "tempdir", str(scratch))
        open_duckdb(str(data), copied=True).close()

        assert left == ["parsed.parquet", "parsed.parquet"]
        (folder,) = scratch.iterdir()
        assert folder.name.split("-")[2] == str(alive.pid)
    finally:
        killed(alive)


def test_the_next_copy_of_the_day_removes_drafts_of_workers_that_were_killed(tmp_path):
    """Half a copy of the data, in the service's own folder."""
    data, kept = tmp_path / "log.csv", tmp_path / "copies" / "2026-11-16"
    data.write_text("user,item\n1,2\n")
    (tmp_path / "copies" / ".draft-1-1").mkdir(parents=True, mode=0o700)
    copies = kept_copies(recognise(str(data), None), kept)

    assert [path.name for path in kept.parent.iterdir()] == ["2026-11-16"]
    assert copies.paths[0].read_text() == data.read_text()
