"""The walk of a question on Spark, traced as in `test_walk.py`."""

from __future__ import annotations

import pytest

from tests.architecture.walk import assert_drawn, walk_command
from tests.local_spark import local_spark
from tests.stored.questions import write_rows

ASK = ("--user", "person", "--item", "item", "--engine", "spark")
MOST_UPWARD = 3


@pytest.fixture(scope="module")
def walks(tmp_path_factory):
    """Traces of `count` and `vocab` in the session that all tests share."""
    local_spark()
    folder = tmp_path_factory.mktemp("walk")
    rows, home = write_rows(folder / "rows.csv"), folder / "home"
    walk_command(home, "vocab", str(rows), *ASK, "--rho", "0.001")
    return {
        "count on Spark": walk_command(home, "count", str(rows), *ASK, "--where", "country = 'NZ'", "--rho", "0.5"),
        "vocab on Spark": walk_command(home, "vocab", str(rows), *ASK, "--rho", "0.01"),
    }


@pytest.mark.parametrize("name", ["count on Spark", "vocab on Spark"])
def test_the_drawing_is_the_trace(walks, name):
    """It goes down, and CONTRIBUTING names its files in the order in which they are entered."""
    assert len(walks[name].upward) <= MOST_UPWARD, sorted(walks[name].upward)
    assert_drawn(name, walks[name])
