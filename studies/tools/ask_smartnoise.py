"""SmartNoise SQL: a query over a frame, with metadata that names the person and how many rows of theirs count."""

import json
import sys

given = json.loads(sys.argv[1])
# ask
import pandas as pd  # noqa: E402
import snsql  # noqa: E402

frame = pd.read_parquet(given["file"])
columns = {"user": {"type": "int", "private_id": True}, "item": {"type": "string"}}
table = {"max_ids": given["bound"], "row_privacy": False, "rows": len(frame), **columns}
metadata = {"": {"log": {"events": table}}}
privacy = snsql.Privacy(epsilon=given["epsilon"], delta=given["delta"])
reader = snsql.from_df(frame, privacy=privacy, metadata=metadata)
question = "SELECT item, COUNT(DISTINCT user) AS people FROM log.events GROUP BY item"
answer = reader.execute(question)
half = reader.get_simple_accuracy(question, alpha=0.05)[1]
# end
items, counts = [row[0] for row in answer[1:]], [row[1] for row in answer[1:]]
low, high = ([count + sign * half for count in counts] for sign in (-1, 1))
print(json.dumps({"items": items, "counts": counts, "low": low, "high": high}))
