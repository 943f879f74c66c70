"""OpenDP asked for more than it answers."""

import json
import sys
from typing import Any

import opendp.prelude as dp
import polars as pl
from asked import NOTHING_DECLARED, TOP, TWICE, tell

given = json.loads(sys.argv[1])
dp.enable_features("contrib")


def context() -> Any:  # noqa: ANN401
    """A budget for one question."""
    return dp.Context.compositor(
        data=pl.scan_parquet(given["file"]),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user")),
        privacy_loss=dp.loss_of(rho=given["rho"], delta=given["delta"] / 2),
        split_evenly_over=1,
    )


def counts(where: Any) -> Any:  # noqa: ANN401
    """The question that it answers."""
    bounded = where.query().truncate_per_group(1, by=["item"]).truncate_per_group(given["bound"])
    return bounded.group_by("item").agg(dp.len().alias("people"))


def unbounded() -> str:
    """Each person once for an item, and no word about how many items."""
    once = context().query().truncate_per_group(1, by=["item"])
    return f"{len(once.group_by('item').agg(dp.len()).release().collect())} rows"


def twice() -> str:
    """Two questions on a budget for one."""
    both = context()
    return " and ".join(f"{len(counts(both).release().collect())} rows" for _ in range(2))


tell(
    {
        NOTHING_DECLARED: unbounded,
        TOP: lambda: f"{len(counts(context()).sort('people', descending=True).head(10).release().collect())} rows",
        TWICE: twice,
    }
)
