"""hushcount_client: ask a hushcount service, from any Python, with nothing else installed.

connection = hushcount_client.connect("https://counts.example.org")
print(connection.estimate("engagements", item="article").give_or_take)
release = connection.top("engagements", item="article", k=10)
"""

from __future__ import annotations

from hushcount_client.connection import Connection, connect
from hushcount_client.estimate import Estimate
from hushcount_client.patience import Patience
from hushcount_client.problems import (
    BudgetExhausted,
    InvalidOption,
    NotSignedIn,
    NotUnderstood,
    Said,
    ServiceError,
    StillRunning,
    Unreachable,
)
from hushcount_client.question import Options, new_key
from hushcount_client.release import Release, Row

__all__ = [
    "BudgetExhausted",
    "Connection",
    "Estimate",
    "InvalidOption",
    "NotSignedIn",
    "NotUnderstood",
    "Options",
    "Patience",
    "Release",
    "Row",
    "Said",
    "ServiceError",
    "StillRunning",
    "Unreachable",
    "__version__",
    "connect",
    "new_key",
]
__version__ = "0.1.0"
