"""PipelineDP on one machine: bounding, selection and counts by one call, budgets split evenly."""

import json
import sys

given = json.loads(sys.argv[1])
# ask
import pipeline_dp  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

rows = pq.read_table(given["file"]).to_pydict()
pairs = list(zip(rows["user"], rows["item"], strict=True))
accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=given["epsilon"], total_delta=given["delta"])
engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
params = pipeline_dp.AggregateParams(
    noise_kind=pipeline_dp.NoiseKind.GAUSSIAN,
    metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT],
    max_partitions_contributed=given["bound"],
    max_contributions_per_partition=1,
    output_noise_stddev=True,
    partition_selection_strategy=pipeline_dp.PartitionSelectionStrategy.GAUSSIAN_THRESHOLDING,
)
extractors = pipeline_dp.DataExtractors(
    privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1], value_extractor=lambda _: 0
)
result = engine.aggregate(pairs, params, extractors)
accountant.compute_budgets()
shown = {item: (metrics.privacy_id_count, 1.96 * metrics.privacy_id_count_noise_stddev) for item, metrics in result}
# end
counts = [count for count, _ in shown.values()]
low, high = ([count + sign * half for count, half in shown.values()] for sign in (-1, 1))
print(json.dumps({"items": list(shown), "counts": counts, "low": low, "high": high}))
