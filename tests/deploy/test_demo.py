"""The demo of the service: it runs to its end, says what it should, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import sys

from tests.architecture.sources import ROOT
from tests.deploy.shipped import need, run


def test_the_demo_tells_its_story(tmp_path):
    """Priced, rehearsed, paid, repeated for nothing, shared, refused with help, granted, verified, stopped."""
    need("curl", "curl")
    done = run(
        [sys.executable, ROOT / "examples" / "serve_demo.py"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    told = done.stdout

    assert done.returncode == 0, told + done.stderr
    for words in (
        "at most 1 release",
        "made-up article 1",
        "The same rows, cost 0.",
        "article,count,low,high",
        "budget-exhausted, 403",
        "ask olga",
        "The log is whole",
        "The server is stopped",
    ):
        assert words in told
    assert re.search(r"^  It would fit with .*cautious", told, re.MULTILINE)
    assert "OTHER ROWS" not in told
    assert len(re.findall(r"^  \$ curl", told, re.MULTILINE)) >= 15
    assert not list(tmp_path.iterdir())


def test_make_knows_it():
    """The command that the demo names is there, and runs it."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert re.search(r"^serve-demo: .*\n\t@\$\(BIN\)/python examples/serve_demo\.py$", makefile, re.MULTILINE)
