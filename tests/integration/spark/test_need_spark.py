"""The suite itself: without Java the tests of Spark cannot go missing unseen, and only marked tests start it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.conftest import ROOT
from tests.inner import pytest_run
from tests.spark import need_spark

PROBE = "from tests.spark import need_spark\n\n\ndef test_probe():\n    need_spark()\n"


@pytest.mark.parametrize(
    ("ci", "outcome", "words"),
    [("true", "1 failed", "CI is set"), ("", "1 skipped", "install the package 'openjdk-17-jre-headless'")],
)
def test_missing_java_is_told(tmp_path, ci, outcome, words):
    """Without Java a test of Spark is skipped with a clear word; in CI it fails."""
    probe = tmp_path / "test_probe.py"
    probe.write_text(PROBE, encoding="utf-8")
    run = pytest_run(
        *("-rs", "--rootdir", str(tmp_path), str(probe)),
        folder=tmp_path,
        PYTHONPATH=str(ROOT),
        JAVA_HOME=str(tmp_path / "nowhere"),
        CI=ci,
    )

    assert outcome in run.stdout, run.stdout + run.stderr
    assert words in run.stdout


def test_only_marked_tests_start_spark(monkeypatch):
    """Another would start a second session, in whatever process it happens to run."""
    unmarked = SimpleNamespace(get_closest_marker=lambda name: None)
    monkeypatch.setattr("tests.spark.RUNNING", [unmarked])
    with pytest.raises(pytest.fail.Exception, match="put it into a folder named spark"):
        need_spark()
