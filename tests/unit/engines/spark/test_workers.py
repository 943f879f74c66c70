"""What is said of workers whose Python cannot do what they are asked; the cluster's own test starts such ones."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from hushcount.engines.spark import workers
from hushcount.errors import UnreadableSource
from tests.local_spark import local_spark

MISMATCH = (
    "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different "
    "version: 3.9 than that in driver: 3.11, PySpark cannot run with different minor versions."
)


def test_what_spark_says_becomes_a_sentence():
    """Another version, a program that is not there, a module that Spark's own worker lacks; and all else."""
    absent = 'java.io.IOException: Cannot run program "/opt/none/python": error=2, No such file or directory'
    module = "ModuleNotFoundError: No module named 'numpy'"

    assert workers.cannot_start(MISMATCH, "python3") == "their Python is 3.9, and the driver's is 3.11"
    assert workers.cannot_start(absent, "p") == "there is no program /opt/none/python where they run"
    assert workers.cannot_start(module, "python3") == "their Python, python3, has no numpy"
    assert "could not be tried" in workers.cannot_start("lost", "python3")


def test_what_is_missing_is_named():
    """Each package; and hushcount itself only where nothing else explains that it cannot be imported."""
    ours = "hushcount.engines.spark.packed"

    assert workers.lacks("/p", ("numpy", "pandas", ours)) == "their Python, /p, has no numpy and no pandas"
    assert "hushcount, in a version" in workers.lacks("/p", (ours,))


def test_a_worker_looks_for_itself():
    """It names what cannot be imported where it runs, and nothing where all is there."""
    assert list(workers._look(("sys", "no_such_module"))(iter([1]))) == [(sys.executable, ("no_such_module",))]  # noqa: SLF001
    assert list(workers._look(("sys", "numpy"))(iter([1]))) == []  # noqa: SLF001


def test_a_session_is_tried_once(monkeypatch):
    """Where its Python is not known to be ours: refused each time it fails, and never again once it did not."""
    session = local_spark()
    tried = []
    look = workers._look  # noqa: SLF001

    def counted(needed):
        tried.append(needed)
        return look(needed)

    monkeypatch.setattr(workers, "is_local", lambda _: False)
    monkeypatch.setattr(workers, "_tried", set())
    monkeypatch.setattr(workers, "_look", counted)
    monkeypatch.setattr(workers, "_NEEDED", ("no_such_module",))
    for _ in range(2):
        with pytest.raises(UnreadableSource, match=r"has no no_such_module\. They need Python 3.* PYSPARK_PYTHON="):
            workers.check_workers(session)
    monkeypatch.setattr(workers, "_NEEDED", ("numpy",))
    for _ in range(2):
        workers.check_workers(session)

    assert len(tried) == 3


def test_our_own_python_is_not_tried():
    """On this machine, with the very program that asks: nothing to find out, so no task."""
    local = SimpleNamespace(sparkContext=SimpleNamespace(master="local[2]", pythonExec=sys.executable))

    workers.check_workers(local)
