"""One cluster and one session for all tests here; each keeps its secret and its ledger in a folder of its own."""

from __future__ import annotations

import pytest

from tests.integration.spark.sessions import running_driver, write_log
from tests.spark import need_java, running_cluster


@pytest.fixture(scope="session")
def cluster():
    """A master and two workers of one core each."""
    need_java()
    with running_cluster(workers=2, memory="700m") as running:
        yield running


@pytest.fixture(scope="module")
def driver(cluster, tmp_path_factory):
    """A process with a session on the cluster. It holds all cores, so it ends before other programs ask for some."""
    with running_driver(cluster.url, tmp_path_factory.mktemp("driver")) as running:
        yield running


@pytest.fixture(scope="session")
def log(tmp_path_factory):
    """Three thousand people."""
    return write_log(tmp_path_factory.mktemp("log") / "log.parquet", people=3000)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Where hushcount keeps its secret."""
    place = tmp_path / "home"
    monkeypatch.setenv("HUSHCOUNT_HOME", str(place))
    monkeypatch.chdir(tmp_path)
    return place
