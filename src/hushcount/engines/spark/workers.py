"""The Python of Spark's workers: whether it can do what they are asked, tried once, before anything is charged."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator

from hushcount.engines.spark.session import Session, is_local
from hushcount.errors import UnreadableSource

# The last is sent to the workers of a cluster; it is tried too, since an old NumPy may be too old for it.
_NEEDED = ("numpy", "pyarrow", "pandas", "cryptography", "hushcount.engines.spark.packed")
# So many tasks find every executor of all but the largest clusters.
_MOST_TASKS = 256
_tried: set[str] = set()
_trying = threading.Lock()


def check_workers(session: Session) -> None:
    """Refuse a session whose workers have another Python than ours, or one without what they need; once for each.

    No data is read, so Spark's own words on a failure may be looked at: they quote no values.

    Raises:
        UnreadableSource: with what is missing where, and what to set.
    """
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    context = session.sparkContext
    if is_local(session) and context.pythonExec == sys.executable:
        return
    with _trying:
        if context.applicationId in _tried:
            return
        tasks = max(1, min(context.defaultParallelism, _MOST_TASKS))
        try:
            lacking = context.parallelize(range(tasks), tasks).mapPartitions(_look(_NEEDED)).collect()
            told = [lacks(*one) for one in sorted(lacking)[:1]]
        except (PySparkException, Py4JError) as error:
            told = [cannot_start(str(error), context.pythonExec)]
        # Raised outside the handler, so that a Java trace is not attached to it.
        if told:
            raise UnreadableSource(f"Spark's workers cannot run hushcount: {told[0]}. {_advice()}")
        _tried.add(context.applicationId)


def _look(needed: tuple[str, ...]) -> Callable[[Iterator[int]], Iterator[tuple[str, tuple[str, ...]]]]:
    """What a worker does; a function within a function travels as it is, so no module of ours has to be there."""

    def look(numbers: Iterator[int]) -> Iterator[tuple[str, tuple[str, ...]]]:
        import importlib
        import sys

        list(numbers)
        missing = []
        for name in needed:
            try:
                importlib.import_module(name)
            except Exception:  # noqa: BLE001 (broken is as bad as missing)
                missing.append(name)
        if missing:
            yield sys.executable, tuple(missing)

    return look


def lacks(python: str, missing: tuple[str, ...]) -> str:
    """What to say of a Python that lacks some modules."""
    # Without the others ours cannot be imported either.
    names = [name for name in missing if "." not in name] or ["hushcount, in a version that can be imported there"]
    return f"their Python, {python}, has no {' and no '.join(names)}"


def cannot_start(said: str, python: str) -> str:
    """What to say where no task came back, by what Spark said."""
    versions = re.search(r"PYTHON_VERSION_MISMATCH\][^\n]*?\(?(\d+\.\d+)\)?[^\n]*?(\d+\.\d+)", said)
    if versions:
        return f"their Python is {versions.group(1)}, and the driver's is {versions.group(2)}"
    absent = re.search(r'Cannot run program "([^"\n]+)"', said)
    if absent:
        return f"there is no program {absent.group(1)} where they run"
    module = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", said)
    if module:
        return f"their Python, {python}, has no {module.group(1)}"
    return f"their Python, {python}, could not be tried; the logs of the workers say why"


def _advice() -> str:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (
        f"They need Python {version} with NumPy, pyarrow, pandas and cryptography: "
        "pip install numpy pyarrow pandas cryptography on every worker, or name a Python that has them, with "
        "PYSPARK_PYTHON=/path/to/python, or under spark-submit --conf spark.pyspark.python=/path/to/python, or send "
        "one along with --archives env.tar.gz#env and PYSPARK_PYTHON=./env/bin/python"
    )
