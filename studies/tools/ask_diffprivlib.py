"""diffprivlib: noise only; bounding, adding up and the threshold are the work of its user."""

import json
import sys

given = json.loads(sys.argv[1])
# ask
import math  # noqa: E402
import random  # noqa: E402
from collections import Counter, defaultdict  # noqa: E402
from statistics import NormalDist  # noqa: E402

import pyarrow.parquet as pq  # noqa: E402
from diffprivlib.mechanisms import GaussianDiscrete  # noqa: E402

rows = pq.read_table(given["file"]).to_pydict()
lists = defaultdict(set)
for user, item in zip(rows["user"], rows["item"], strict=True):
    lists[user].add(item)
kept = Counter()
for held in lists.values():
    kept.update(random.sample(sorted(held), min(len(held), given["bound"])))
half = given["delta"] / 2
noise = GaussianDiscrete(epsilon=given["epsilon"], delta=half, sensitivity=math.ceil(given["bound"] ** 0.5))
sigma = noise._scale  # noqa: SLF001  it is told nowhere else
threshold = 1 + sigma * NormalDist().inv_cdf((1 - half) ** (1 / given["bound"]))
shown = {item: noisy for item, count in kept.items() if (noisy := noise.randomise(count)) > threshold}
# end
print(json.dumps({"items": list(shown), "counts": list(shown.values())}))
