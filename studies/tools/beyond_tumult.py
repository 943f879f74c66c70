"""Tumult Analytics asked for more than it answers."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from asked import NOTHING_DECLARED, TOP, TWICE, search, tell

given = json.loads(sys.argv[1])
# Its Spark takes the first Python of the path for its workers.
os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
from pyspark.sql import SparkSession  # noqa: E402
from tmlt.analytics import AddRowsWithID, ApproxDPBudget, MaxRowsPerID, QueryBuilder, Session  # noqa: E402

budget = ApproxDPBudget(given["epsilon"], given["delta"])
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()


def session() -> Any:  # noqa: ANN401
    """A budget for one question."""
    return Session.from_dataframe(
        privacy_budget=budget,
        source_id="log",
        dataframe=spark.read.parquet(given["file"]),
        protected_change=AddRowsWithID(id_column="user"),
    )


def twice() -> str:
    """Two questions on a budget for one."""
    both, query = session(), QueryBuilder("log").enforce(MaxRowsPerID(given["bound"])).get_groups(["item"])
    return " and ".join(f"{both.evaluate(query, budget).count()} rows" for _ in range(2))


tell(
    {
        NOTHING_DECLARED: lambda: (
            f"{session().evaluate(QueryBuilder('log').get_groups(['item']), budget).count()} rows"
        ),
        TOP: lambda: search(QueryBuilder, "top"),
        TWICE: twice,
    }
)
