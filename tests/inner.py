"""A run of pytest within a test, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT


def pytest_run(*words: str, folder: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder. Of plugins only what the suite's own conftest needs: to look for others takes longest."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(  # noqa: S603 (our own program, no outside input)
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "xdist", "-q", *words],
        cwd=folder,
        env={**inherited, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
