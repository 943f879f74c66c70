"""A program that holds one Spark session and answers what it reads: one JSON line in, one JSON line out.

Tests use it as a process of its own: a session is one for a whole process, and others may hold one in this process.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import hushcount


def slowly(spark: SparkSession, file: str, seconds: float) -> DataFrame:
    """The file as a frame, each part of which takes so long to read."""

    def wait(batches: Any) -> Any:
        time.sleep(seconds)
        yield from batches

    rows = spark.read.parquet(file)
    return rows.repartition(8, "user").mapInArrow(wait, rows.schema)


def answered(spark: SparkSession, asked: dict[str, Any]) -> dict[str, Any]:
    """One question's release."""
    if asked["question"] == "collect":
        return {"rows": len(spark.read.parquet(asked["file"]).select("item").collect())}
    os.environ["HUSHCOUNT_HOME"] = asked["home"]
    source: object = asked["file"]
    options = asked["options"]
    if asked.get("seconds") is not None:
        source = slowly(spark, asked["file"], asked["seconds"])
    else:
        options = {"engine": "spark", **options}
    release = getattr(hushcount, asked["question"])(source, user="user", item="item", **options)
    return json.loads(release.to_bytes())


def _tell(told: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Answer until there are no more questions."""
    settings = json.loads(sys.argv[1])
    builder = SparkSession.builder.appName("driver")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    _tell({"page": spark.sparkContext.uiWebUrl})
    for line in sys.stdin:
        try:
            told = answered(spark, json.loads(line))
        except Exception as error:  # noqa: BLE001  whatever it is, the test wants to see it
            told = {"error": f"{type(error).__name__}: {error}"}
        _tell(told)
    spark.stop()


if __name__ == "__main__":
    main()
