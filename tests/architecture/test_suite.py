"""The suite itself: how many tests there are, and that data tests cannot go missing unseen."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT

# At least this many tests are collected outside this folder, so that a broken import cannot drop a part of the suite
# unseen. Raise it as tests are added.
TEST_FLOOR = 3800


def pytest_run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run pytest on this repository in a process of its own."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(  # noqa: S603 (our own program, no outside input)
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *words],
        cwd=ROOT,
        env={**environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_part_of_the_suite_is_missing():
    """All test files can be collected, and they hold at least as many tests as they once did."""
    run = pytest_run("--collect-only", "--ignore=tests/architecture")
    found = re.search(r"^(\d+) tests collected", run.stdout, re.MULTILINE)

    assert run.returncode == 0, run.stdout[-3000:] + run.stderr
    assert found is not None
    assert int(found.group(1)) >= TEST_FLOOR


@pytest.mark.parametrize(
    ("ci", "outcome", "words"),
    [("true", "1 error", "CI is set"), ("", "1 skipped", "no real data: set HUSHCOUNT_DATA")],
)
def test_missing_data_is_told(tmp_path, ci, outcome, words):
    """Without data a data test is skipped with a clear word; in CI it is an error."""
    probe = tmp_path / "test_probe.py"
    probe.write_text("def test_probe(data_dir):\n    assert data_dir.is_dir()\n", encoding="utf-8")
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)

    run = pytest_run("-rs", "--rootdir", str(tmp_path), str(probe), CI=ci, HUSHCOUNT_DATA=str(tmp_path / "nowhere"))

    assert outcome in run.stdout, run.stdout + run.stderr
    assert words in run.stdout
