"""What a process of these tests has before others are forked from it: all that a worker imports and computes once.

Nothing of it starts a thread.
"""

from __future__ import annotations

from importlib import import_module

_IMPORTED = (
    "hushcount.app.serving.opening",
    "hushcount.api.app",
    "hushcount.api.draining",
    "hushcount.api.logs",
    "hushcount.console.pages",
    "hushcount.engines.duckdb.engine",
    "uvicorn.protocols.http.h11_impl",
    "duckdb",
    "numpy.ma",
    "psycopg",
    "tests.faults.points",
    "tests.faults.twins",
)

for _name in _IMPORTED:
    import_module(_name)
# Drawn once by whoever is the first to plan a question.
import_module("hushcount.noise.steepest").curve()
