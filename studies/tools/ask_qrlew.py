"""Qrlew: a query is rewritten into a private one, which a database runs; the schema is read from an SQLite copy."""

import json
import sys

given = json.loads(sys.argv[1])
# ask
import duckdb  # noqa: E402
import pandas as pd  # noqa: E402
import pyqrlew as qrl  # noqa: E402
from sqlalchemy import create_engine  # noqa: E402

frame = pd.read_parquet(given["file"]).rename(columns={"user": "person", "item": "thing"})
engine = create_engine("sqlite:///qrlew.db")
frame.to_sql("events", engine, index=False, if_exists="replace")
dataset = qrl.Dataset.from_database("log", engine)
asked = dataset.relation("SELECT thing, COUNT(DISTINCT person) AS people FROM events GROUP BY thing")
private = asked.rewrite_with_differential_privacy(
    dataset=dataset,
    privacy_unit=[("events", [], "person")],
    epsilon_delta={"epsilon": given["epsilon"], "delta": given["delta"]},
    max_multiplicity=given["bound"],
    max_multiplicity_share=1.0,
    max_privacy_unit_groups=given["bound"],
)
base = duckdb.connect()
base.register("events", frame)
shown = base.execute(private.relation().to_query()).fetchall()
# end
print(json.dumps({"items": [row[0] for row in shown], "counts": [row[1] for row in shown]}))
