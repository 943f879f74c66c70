"""The command `hushcount` and its verbs.

Click rather than typer: the three verbs share twenty options, which click lets us write once, and it starts faster.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import suppress

import click

from hushcount import __version__
from hushcount.cli.advise import advise
from hushcount.cli.ask import count, people, top, vocab
from hushcount.cli.audit import audit
from hushcount.cli.budget import budget
from hushcount.cli.catalog import catalog
from hushcount.cli.demo import demo
from hushcount.cli.ledger import ledger
from hushcount.cli.receipt import receipt
from hushcount.cli.serve import serve

# So many objects are made before Python looks for garbage again. A question loads hundreds of modules, which all stay:
# by Python's own measure they are looked through hundreds of times, a tenth of a second in all.
_MADE = 100_000


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="hushcount")
def main() -> None:
    """Which items are there, and how many people have each, without exposing any person.

    Point at a file, say which column is the person and which is the item:

        hushcount count events.parquet --user user_id --item article

    Try it on made-up data first:  hushcount demo
    """
    gc.set_threshold(_MADE)


def run() -> None:
    """The command as it is typed: `main`, and then the process ends without being taken to pieces.

    Python would let go of each of some hundred thousand objects, for a tenth of a second in which nothing happens that
    the system does not do at once. What was registered to be done at the end is done: `atexit` goes backwards, and this
    is first, or it is left out. No thread is left then, and whatever was to be closed was closed.
    """
    codes = list[int]()
    # Something was there before, such as a tool that measures coverage: then Python ends as it always does.
    if not getattr(atexit, "_ncallbacks", lambda: 1)():
        atexit.register(_end, codes)
    try:
        main(prog_name="hushcount")
    except SystemExit as ended:
        if isinstance(ended.code, int):
            codes.append(ended.code)
        raise


def _end(codes: list[int]) -> None:
    """End with a code that is known, once all that was written has left; else Python ends as it always does."""
    with suppress(OSError, ValueError):
        for stream in (sys.stdout, sys.stderr):
            # None if it was closed before we came.
            if stream is not None:
                stream.flush()
        for code in codes:
            os._exit(code)


for verb in (count, top, vocab, people, demo, receipt, budget, catalog, ledger, advise, audit, serve):
    main.add_command(verb)
