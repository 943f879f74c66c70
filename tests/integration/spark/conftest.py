"""One cluster, one session and two logs for all tests here; each keeps secret and ledger in a folder of its own.

What is shared holds no state that a test could see of another: logs are only read; the session answers one question
after the other and takes the secret and the ledger with each; the cluster has two workers whenever a test begins, and
room for one more program beside the session.
"""

from __future__ import annotations

import pytest

from tests.integration.spark.sessions import running_driver, write_log
from tests.spark import need_spark, running_cluster


@pytest.fixture(scope="session")
def cluster():
    """A master and two workers. Each has room for an executor of the session and for one of another program."""
    need_spark()
    with running_cluster(workers=2, cores=2, memory="1200m") as running:
        yield running


@pytest.fixture(scope="session")
def driver(cluster, tmp_path_factory):
    """A submitted program with a session on the cluster: an executor of one core on each worker."""
    with running_driver(cluster.url, tmp_path_factory.mktemp("driver")) as running:
        yield running


@pytest.fixture(scope="session")
def log(tmp_path_factory):
    """Three thousand people."""
    return write_log(tmp_path_factory.mktemp("log") / "log.parquet", people=3000)


@pytest.fixture(scope="session")
def many(tmp_path_factory):
    """A log with a hundred thousand items that one person has each."""
    return write_log(tmp_path_factory.mktemp("many") / "many.parquet", people=2000, rare=100_000)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Where hushcount keeps its secret."""
    place = tmp_path / "home"
    monkeypatch.setenv("HUSHCOUNT_HOME", str(place))
    monkeypatch.chdir(tmp_path)
    return place
