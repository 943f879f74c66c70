"""`python -m hushcount.cli`: the command where no script is on the path."""

from __future__ import annotations

from hushcount.cli.main import main

main(prog_name="hushcount")
