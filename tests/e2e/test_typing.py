"""What a shell does for whoever types: pipes come in, and the rest of a word is offered."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

ROWS = "user,country\n" + "".join(f"u{n},{'NZ' if n % 2 else 'FR'}\n" for n in range(600))


@pytest.fixture
def folder(tmp_path):
    """A folder with a log."""
    (tmp_path / "log.csv").write_text(ROWS, encoding="utf-8")
    return tmp_path


def typed(folder, *words, stdin=None, **variables):
    """One command, as a shell starts it."""
    environment = {**os.environ, "HUSHCOUNT_HOME": str(folder / "home"), "TMPDIR": str(folder), **variables}
    return subprocess.run(  # noqa: S603 (our own words)
        [sys.executable, "-m", "hushcount.cli", *words],
        cwd=folder,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_standard_input_is_csv(folder):
    """The same answer as from a file of the same bytes, paid once; and no copy is left behind."""
    asked = ("--user", "user", "--item", "country", "--max-items-per-user", "1", "--json")
    piped = typed(folder, "count", "-", *asked, stdin=ROWS)
    read = typed(folder, "count", "log.csv", *asked)

    assert piped.returncode == read.returncode == 0, piped.stderr + read.stderr
    assert json.loads(piped.stdout)["rows"] == json.loads(read.stdout)["rows"]
    assert not list(folder.glob("hushcount-*"))


def offered(folder, *words):
    """What bash is told for the last word."""
    done = typed(
        folder,
        _HUSHCOUNT_COMPLETE="bash_complete",
        COMP_WORDS=" ".join(("hushcount", *words)),
        COMP_CWORD=str(len(words)),
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def test_words_are_completed(folder):
    """Verbs, presets, engines, methods of the verb, and columns of the file that stands there already."""
    assert "people" in offered(folder, "pe")
    assert offered(folder, "count", "log.csv", "--preset", "st") == ["standard"]
    assert offered(folder, "count", "log.csv", "--engine", "d") == ["duckdb"]
    assert offered(folder, "vocab", "log.csv", "--method", "la") == ["ladder"]
    assert offered(folder, "count", "log.csv", "--item", "c") == ["country"]
    assert offered(folder, "count", "log.csv", "--user", "x") == []
    assert offered(folder, "count", "missing.csv", "--user", "u") == []
