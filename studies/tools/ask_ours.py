"""hushcount itself, asked as anybody asks it."""

import json
import sys

given = json.loads(sys.argv[1])
# ask
import hushcount  # noqa: E402  what a user writes begins here

release = hushcount.count(
    given["file"], user="user", item="item", epsilon=given["epsilon"], delta=given["delta"], ledger=given["ledger"]
)
# end
print(
    json.dumps(
        {
            "items": release.to_dict()["item"],
            "counts": [int(count) for count in release.counts],
            "low": [int(low) for low in release.low],
            "high": [int(high) for high in release.high],
        }
    )
)
