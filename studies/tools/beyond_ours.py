"""hushcount asked the same."""

import json
import subprocess
import sys

from asked import NOTHING_DECLARED, TOP, TWICE, tell

import hushcount

given = json.loads(sys.argv[1])
asked = {"user": "user", "item": "item", "epsilon": given["epsilon"], "delta": given["delta"]}


def twice() -> str:
    """Two questions on a budget for one, which its owner sets."""
    ledger = f"{given['ledger']}.twice"
    first = hushcount.count(given["file"], **asked, ledger=ledger)
    limit = ["ledger", "limit", "--data", given["file"], "--releases", "1", "--ledger", ledger]
    subprocess.run([sys.executable, "-m", "hushcount.cli", *limit], check=True, capture_output=True)  # noqa: S603
    second = hushcount.count(given["file"], **asked, ledger=ledger, fresh=True)
    return f"{len(first)} and {len(second)} rows"


tell(
    {
        NOTHING_DECLARED: lambda: f"{len(hushcount.count(given['file'], **asked, ledger=given['ledger']))} rows",
        TOP: lambda: f"{len(hushcount.top(given['file'], **asked, k=10, ledger=given['ledger']))} rows",
        TWICE: twice,
    }
)
