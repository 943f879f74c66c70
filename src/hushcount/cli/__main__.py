"""`python -m hushcount.cli`: the command where no script is on the path."""

from __future__ import annotations

from hushcount.cli.main import run

# Guarded: processes that the command starts read this file again.
if __name__ == "__main__":
    run()
