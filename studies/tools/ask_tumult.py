"""Tumult Analytics on Spark: half of the budget names groups, half counts them, with a constraint on each person."""

import json
import os
import sys
from pathlib import Path

given = json.loads(sys.argv[1])
# Its Spark takes the first Python of the path for its workers.
os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
# ask
from pyspark.sql import SparkSession  # noqa: E402
from tmlt.analytics import AddRowsWithID, ApproxDPBudget, KeySet, MaxRowsPerID, QueryBuilder, Session  # noqa: E402

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
half = ApproxDPBudget(given["epsilon"] / 2, given["delta"])
session = Session.from_dataframe(
    privacy_budget=ApproxDPBudget(given["epsilon"], given["delta"]),
    source_id="log",
    dataframe=spark.read.parquet(given["file"]),
    protected_change=AddRowsWithID(id_column="user"),
)
bounded = QueryBuilder("log").enforce(MaxRowsPerID(given["bound"]))
groups = session.evaluate(bounded.get_groups(["item"]), half)
counts = bounded.groupby(KeySet.from_dataframe(groups)).count()
shown = session.evaluate(counts, session.remaining_privacy_budget).collect()
# end
print(json.dumps({"items": [row["item"] for row in shown], "counts": [row["count"] for row in shown]}))
