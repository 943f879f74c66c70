"""One small Spark session in this process, for all tests of a run; started when first asked for, stopped at the end.

Tests make frames and read files of their own; what one changes in the session itself (a setting, a job group, a view)
it sets right again.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from tests.conftest import RUNNING
from tests.spark import QUICK_JAVA, need_spark

# Spark's own settings, for tests: two threads, few partitions, no web page, no state beside the tests.
_SETTINGS = {
    "spark.master": "local[2]",
    "spark.app.name": "hushcount-tests",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "3",
    "spark.default.parallelism": "2",
    "spark.sql.session.timeZone": "America/New_York",
    # Compiling a query takes longer than interpreting it on so few rows; the tests on a cluster compile.
    "spark.sql.codegen.wholeStage": "false",
}


def local_spark() -> Any:
    """The session. Its time zone is not UTC, since answers must not depend on it."""
    need_spark()
    return _session()


@cache
def _session() -> Any:
    from hushcount.engines.spark.session import quietly

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    folder = Path(tempfile.mkdtemp(prefix="hushcount-spark-"))
    with quietly():
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.config("spark.sql.warehouse.dir", str(folder / "tables"))
        for name, value in _SETTINGS.items():
            builder = builder.config(name, value)
        builder = builder.config("spark.driver.extraJavaOptions", f"{QUICK_JAVA} -Djava.io.tmpdir={folder}")
        session = builder.config("spark.local.dir", str(folder)).getOrCreate()

    def end() -> None:
        session.stop()
        shutil.rmtree(folder, ignore_errors=True)

    # After the last test of this run.
    RUNNING[0].config.add_cleanup(end)
    return session
