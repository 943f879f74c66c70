"""SmartNoise asked for more than it answers."""

import json
import sys
from typing import Any

import pandas as pd
import snsql
from asked import NOTHING_DECLARED, TOP, TWICE, tell

given = json.loads(sys.argv[1])
# It is slow by items: those of most rows are enough to see what it does.
frame = pd.read_parquet(given["file"])
frame = frame[frame["item"].isin(frame["item"].value_counts().index[:200])]
QUESTION = "SELECT item, COUNT(DISTINCT user) AS people FROM log.events GROUP BY item"


def reader(**bounds: int) -> Any:  # noqa: ANN401
    """A budget for one question."""
    columns = {"user": {"type": "int", "private_id": True}, "item": {"type": "string"}}
    table = {"row_privacy": False, "rows": len(frame), **bounds, **columns}
    privacy = snsql.Privacy(epsilon=given["epsilon"], delta=given["delta"])
    return snsql.from_df(frame, privacy=privacy, metadata={"": {"log": {"events": table}}})


def undeclared() -> str:
    """No word about how many rows a person has."""
    private = reader()
    shown = len(private.execute(QUESTION)) - 1
    return f"{shown} rows, by a bound of {private._options.max_contrib}"  # noqa: SLF001  told nowhere else


def twice() -> str:
    """Two questions on a budget for one."""
    private = reader(max_ids=given["bound"])
    spent = []
    for _ in range(2):
        private.execute(QUESTION)
        epsilon, delta = private.odometer.spent
        spent.append(f"epsilon {float(epsilon):.3g}, delta {float(delta):.2g}")
    return f"its odometer says {spent[0]}, then {spent[1]}"


tell(
    {
        NOTHING_DECLARED: undeclared,
        TOP: lambda: (
            f"{len(reader(max_ids=given['bound']).execute(f'{QUESTION} ORDER BY people DESC LIMIT 10')) - 1} of the "
            "rows that it shows"
        ),
        TWICE: twice,
    }
)
