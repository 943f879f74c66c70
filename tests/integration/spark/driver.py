"""A program for spark-submit that answers what it is asked over a connection: one JSON line in, one JSON line out.

Tests use it as a process of its own: a session is one for a whole process, and others may hold one in this process.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import hushcount


def slowly(rows: DataFrame, ledger: str, until: str) -> DataFrame:
    """The rows in eight parts, each of which takes half a second to read from the charge on, until a file is there."""

    def wait(batches: Any) -> Any:
        if is_charged(ledger) and not Path(until).exists():
            time.sleep(0.5)
        yield from batches

    return rows.repartition(8, "user").mapInArrow(wait, rows.schema)


def is_charged(ledger: str) -> bool:
    """Whether data is read for a question that this ledger holds."""
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True, timeout=30)) as connection:
        return bool(connection.execute("SELECT 1 FROM asks WHERE touched").fetchall())


def answered(spark: SparkSession, asked: dict[str, Any]) -> dict[str, Any]:
    """One question's release: about the file, or about a frame of this program."""
    if asked["question"] == "collect":
        return {"rows": len(spark.read.parquet(asked["file"]).select("item").collect())}
    os.environ["HUSHCOUNT_HOME"] = asked["home"]
    source: object = asked["file"]
    options = asked["options"]
    if asked["frame"]:
        source = spark.read.parquet(asked["file"])
        if asked["until"]:
            source = slowly(source, options["ledger"], asked["until"])
    else:
        options = {"engine": "spark", **options}
    release = getattr(hushcount, asked["question"])(source, user="user", item="item", **options)
    return json.loads(release.to_bytes())


def main() -> None:
    """Answer until there are no more questions."""
    spark = SparkSession.builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection, connection.makefile("rw") as lines:

        def tell(told: dict[str, Any]) -> None:
            lines.write(json.dumps(told) + "\n")
            lines.flush()

        tell({"page": spark.sparkContext.uiWebUrl, "master": spark.sparkContext.master})
        for line in lines:
            try:
                tell(answered(spark, json.loads(line)))
            except Exception as error:  # noqa: BLE001  whatever it is, the test wants to see it
                tell({"error": f"{type(error).__name__}: {error}"})
    spark.stop()


if __name__ == "__main__":
    main()
