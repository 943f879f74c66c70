"""The suite itself: without Java or Maven tests of Pinot cannot go missing unseen, and only marked tests start it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests import pinot
from tests.pinot import need_pinot


def test_missing_programs_are_told(monkeypatch):
    """Without Java or Maven a test of Pinot is skipped with a clear word; in CI it fails."""
    monkeypatch.setattr(pinot, "find_programs", lambda: None)
    monkeypatch.setattr(pinot, "IN_CI", False)
    with pytest.raises(pytest.skip.Exception, match="install the packages 'openjdk-17-jre-headless' and 'maven'"):
        need_pinot()
    monkeypatch.setattr(pinot, "IN_CI", True)
    with pytest.raises(pytest.fail.Exception, match="CI is set"):
        need_pinot()


def test_programs_are_looked_for_before_they_are_fetched(monkeypatch, tmp_path):
    """A folder that is whole is taken as it is; without Maven, or without Java, nothing is fetched."""
    monkeypatch.setenv("HUSHCOUNT_PINOT", str(tmp_path / "jars"))
    monkeypatch.setattr(pinot, "find_java", lambda: tmp_path / "java")
    monkeypatch.setattr(pinot.shutil, "which", lambda _: None)
    without_maven = pinot.find_programs()
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / ".done").touch()
    found = pinot.find_programs()
    monkeypatch.setattr(pinot, "find_java", lambda: None)

    assert without_maven is None
    assert found == tmp_path / "jars"
    assert pinot.find_programs() is None


def test_only_marked_tests_start_pinot(monkeypatch):
    """Another would start a second cluster, in whatever process it happens to run."""
    unmarked = SimpleNamespace(get_closest_marker=lambda name: None)
    monkeypatch.setattr(pinot, "RUNNING", [unmarked])
    with pytest.raises(pytest.fail.Exception, match="put it into tests/integration/pinot"):
        need_pinot()
