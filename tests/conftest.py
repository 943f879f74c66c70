"""What all tests share: where the real data is, and how hypothesis searches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
IN_CI = os.environ.get("CI", "").lower() not in {"", "0", "false", "no"}

# Deadlines measure the machine, not the code. In CI the search is the same in every run: a red run can be repeated.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if IN_CI else "default")


def find_data() -> Path | None:
    """The directory of real data: HUSHCOUNT_DATA, or shared/data beside the repository, or None."""
    said = os.environ.get("HUSHCOUNT_DATA")
    place = Path(said) if said else ROOT.parent / "shared" / "data"
    return place.resolve() if any(place.glob("*.parquet")) else None


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The directory of real data. Without it the test is skipped; in CI it fails, so that it cannot go missing."""
    place = find_data()
    if place is None:
        reason = "no real data: set HUSHCOUNT_DATA to the directory that holds the parquet files"
        if IN_CI:
            pytest.fail(f"{reason} (CI is set, so this is a failure and not a skip)")
        pytest.skip(reason)
    return place
