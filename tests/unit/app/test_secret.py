"""The secret: one for a home, whoever comes first and however many; refused where it cannot be kept."""

from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hushcount.app.secret import Secret, load_secret
from hushcount.errors import SecretUnusable

ROUNDS = 50


def test_it_is_made_once_and_kept_private(tmp_path):
    """32 bytes that nobody else may read, the same ever after; its text shows nothing."""
    first = load_secret(tmp_path / "home")
    again = load_secret(tmp_path / "home")
    place = tmp_path / "home" / "secret"

    assert first == again
    assert len(first.value) == 32
    assert place.stat().st_mode & 0o077 == 0
    assert [path.name for path in place.parent.iterdir()] == ["secret"]
    assert first.value.hex() not in repr(first)


def test_threads_at_first_use_get_one_secret(tmp_path):
    """Eight threads, many homes: one secret each. Before, all of 200 rounds gave several."""
    for number in range(ROUNDS):
        home, start = tmp_path / str(number), threading.Barrier(8)

        def load(home=home, start=start) -> Secret:
            start.wait()
            return load_secret(home)

        with ThreadPoolExecutor(8) as pool:
            found = {future.result().value for future in [pool.submit(load) for _ in range(8)]}

        assert len(found) == 1


def test_processes_at_first_use_get_one_secret(tmp_path):
    """Sixteen processes, one home, one secret."""
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        found = set(pool.map(_loaded, [str(tmp_path / "home")] * 16))

    assert len(found) == 1


def _loaded(home: str) -> bytes:
    from pathlib import Path

    return load_secret(Path(home)).value


def test_a_left_over_draft_is_in_nobodys_way(tmp_path):
    """A process that was killed while it made the secret left a draft: the next one makes it all the same."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "secret.4711").write_bytes(b"half")

    assert len(load_secret(home).value) == 32


@pytest.mark.parametrize("content", [b"", b"x" * 31, b"x" * 33])
def test_what_is_no_secret_is_refused(tmp_path, content):
    """Another length: refused with what to do, and left as it is. Before, new noise was drawn in silence."""
    home = tmp_path / "home"
    home.mkdir()
    place = home / "secret"
    place.touch(mode=0o600)
    place.write_bytes(content)

    with pytest.raises(SecretUnusable, match="nothing was charged"):
        load_secret(home)

    assert place.read_bytes() == content


def test_a_secret_that_others_may_read_is_refused(tmp_path):
    """Whoever reads it can take the noise off: the text says which command closes it."""
    load_secret(tmp_path)
    (tmp_path / "secret").chmod(0o644)

    with pytest.raises(SecretUnusable, match="chmod 600"):
        load_secret(tmp_path)


def test_a_home_that_cannot_be_written_is_refused(tmp_path):
    """A file stands where the folder should be: refused, not answered without a secret."""
    (tmp_path / "home").write_text("in the way", encoding="utf-8")

    with pytest.raises(SecretUnusable, match="HUSHCOUNT_HOME"):
        load_secret(tmp_path / "home")


def test_keys_and_fingerprints_are_apart():
    """What is kept elsewhere tells nothing of what is kept here: all differ, and each with the secret."""
    one, two = Secret(bytes(32)), Secret(bytes(31) + b"\1")

    made = {one.fingerprint, one.version("v"), one.identity_key.hex(), one.row_key.hex(), one.value.hex()}
    assert len(made) == 5
    assert one.fingerprint != two.fingerprint
    assert one.version("v") != two.version("v")
