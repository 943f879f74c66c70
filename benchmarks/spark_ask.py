"""One process with one Spark session that asks a log several questions; a JSON line for each. Started by spark.py."""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import hushcount


def _moved(page: str) -> dict[str, int]:
    """What Spark wrote for shuffles and spilled so far, in bytes, by its own account."""
    with urllib.request.urlopen(f"{page}/api/v1/applications", timeout=30) as answer:  # noqa: S310  our own session
        application = json.load(answer)[0]["id"]
    with urllib.request.urlopen(f"{page}/api/v1/applications/{application}/stages", timeout=30) as answer:  # noqa: S310  as above
        stages = json.load(answer)
    return {
        "shuffled": sum(stage["shuffleWriteBytes"] for stage in stages),
        "spilled": sum(stage["diskBytesSpilled"] for stage in stages),
    }


def _session(settings: dict[str, str]) -> SparkSession:
    builder = SparkSession.builder.appName("benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _main() -> None:
    folder, settings, asked = json.loads(sys.argv[1])
    spark = _session(settings)
    page = str(spark.sparkContext.uiWebUrl)
    # A question about the first part alone starts the executors and their Python processes, and lets Java compile: it
    # is no part of any measurement.
    hushcount.vocab(min(Path(folder).iterdir()), user="user", item="item", engine="spark", ledger=False, fresh=True)
    print(json.dumps({"ready": True}), flush=True)
    for name, question, options in asked:
        before, begun = _moved(page), time.perf_counter()
        ask: Any = getattr(hushcount, question)
        release = ask(folder, user="user", item="item", engine="spark", fresh=True, ledger=False, **options)
        taken = time.perf_counter() - begun
        after = _moved(page)
        told = {"name": name, "seconds": taken, "named": len(release)}
        print(json.dumps({**told, **{key: after[key] - before[key] for key in after}}), flush=True)
    spark.stop()


if __name__ == "__main__":
    _main()
