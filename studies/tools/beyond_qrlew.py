"""Qrlew asked for more than it answers."""

import json
import sys
from typing import Any

import duckdb
import pandas as pd
import pyqrlew as qrl
from asked import NOTHING_DECLARED, TOP, TWICE, search, tell
from sqlalchemy import create_engine

given = json.loads(sys.argv[1])
frame = pd.read_parquet(given["file"]).rename(columns={"user": "person", "item": "thing"})
engine = create_engine("sqlite:///qrlew.db")
frame.to_sql("events", engine, index=False, if_exists="replace")
dataset = qrl.Dataset.from_database("log", engine)
QUESTION = "SELECT thing, COUNT(DISTINCT person) AS people FROM events GROUP BY thing"


def ask(question: str, **bounds: Any) -> str:  # noqa: ANN401
    """Rewritten, and run by DuckDB."""
    private = dataset.relation(question).rewrite_with_differential_privacy(
        dataset=dataset,
        privacy_unit=[("events", [], "person")],
        epsilon_delta={"epsilon": given["epsilon"], "delta": given["delta"]},
        **bounds,
    )
    base = duckdb.connect()
    base.register("events", frame)
    return f"{len(base.execute(private.relation().to_query()).fetchall())} rows"


bounds = {
    "max_multiplicity": given["bound"],
    "max_multiplicity_share": 1.0,
    "max_privacy_unit_groups": given["bound"],
}
tell(
    {
        NOTHING_DECLARED: lambda: f"{ask(QUESTION)}, by bounds of its own",
        TOP: lambda: f"{ask(f'{QUESTION} ORDER BY people DESC LIMIT 10', **bounds)} of those that it shows",
        TWICE: lambda: search(qrl, "budget"),
    }
)
