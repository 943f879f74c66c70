"""What tests of the client share."""

from __future__ import annotations

from pathlib import Path

import pytest

from hushcount.app.sample import write_log


@pytest.fixture(scope="package")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up log of 3000 readers."""
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    write_log(path, 3000)
    return path
