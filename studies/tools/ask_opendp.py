"""OpenDP with Polars: a context with an identifier, lists cut at random, groups above a threshold."""

import json
import sys

given = json.loads(sys.argv[1])
# ask
import opendp.prelude as dp  # noqa: E402
import polars as pl  # noqa: E402

dp.enable_features("contrib")
context = dp.Context.compositor(
    data=pl.scan_parquet(given["file"]),
    privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user")),
    privacy_loss=dp.loss_of(rho=given["rho"], delta=given["delta"] / 2),
    split_evenly_over=1,
)
query = (
    context.query().truncate_per_group(1, by=["item"]).truncate_per_group(given["bound"]).group_by("item").agg(dp.len())
)
half = query.summarize(alpha=0.05)["accuracy"][0]
shown = query.release().collect()
# end
items, counts = shown["item"].to_list(), shown["len"].to_list()
low, high = ([count + sign * half for count in counts] for sign in (-1, 1))
print(json.dumps({"items": items, "counts": counts, "low": low, "high": high}))
