"""PipelineDP asked for more than it answers."""

import json
import sys
from typing import Any

import pipeline_dp
import pyarrow.parquet as pq
from asked import NOTHING_DECLARED, TOP, TWICE, search, tell

given = json.loads(sys.argv[1])
rows = pq.read_table(given["file"]).slice(0, 1000).to_pydict()
pairs = list(zip(rows["user"], rows["item"], strict=True))
extractors = pipeline_dp.DataExtractors(
    privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1], value_extractor=lambda _: 0
)


def ask(times: int = 1, **bounds: Any) -> str:  # noqa: ANN401
    """Counts of the first thousand rows, on one budget."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=given["epsilon"], total_delta=given["delta"])
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    params = pipeline_dp.AggregateParams(
        noise_kind=pipeline_dp.NoiseKind.GAUSSIAN, metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT], **bounds
    )
    told = []
    for _ in range(times):
        result = engine.aggregate(pairs, params, extractors)
        accountant.compute_budgets()
        told.append(f"{len(list(result))} rows")
    return " and ".join(told)


tell(
    {
        NOTHING_DECLARED: ask,
        TOP: lambda: search(pipeline_dp.Metrics, "top"),
        TWICE: lambda: ask(2, max_partitions_contributed=given["bound"], max_contributions_per_partition=1),
    }
)
