"""PyDP: Google's building blocks; bounding people and adding up is the user's own work."""

import json
import sys

given = json.loads(sys.argv[1])
# ask
import random  # noqa: E402
from collections import Counter, defaultdict  # noqa: E402

import pyarrow.parquet as pq  # noqa: E402
from pydp.algorithms.numerical_mechanisms import GaussianMechanism  # noqa: E402
from pydp.algorithms.partition_selection import create_partition_strategy  # noqa: E402

rows = pq.read_table(given["file"]).to_pydict()
lists = defaultdict(set)
for user, item in zip(rows["user"], rows["item"], strict=True):
    lists[user].add(item)
kept = Counter()
for held in lists.values():
    kept.update(random.sample(sorted(held), min(len(held), given["bound"])))
half = given["epsilon"] / 2, given["delta"] / 2
strategy = create_partition_strategy("gaussian", *half, given["bound"])
noise = GaussianMechanism(*half, sensitivity=given["bound"] ** 0.5)
shown = {item: noise.add_noise(float(count)) for item, count in kept.items() if strategy.should_keep(count)}
ends = [noise.noise_confidence_interval(0.95, count) for count in shown.values()]
# end
low, high = [end.lower_bound for end in ends], [end.upper_bound for end in ends]
print(json.dumps({"items": list(shown), "counts": list(shown.values()), "low": low, "high": high}))
