"""Errors on the command line: one sentence on the error stream and an exit code; never a value from the data."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from hushcount import errors

# One table for all: what the shell sees. Anything else that hushcount raises on purpose exits with 2.
EXIT_CODES: dict[type[errors.HushcountError], int] = {
    errors.InvalidParameter: 2,
    errors.UnsafeMechanism: 2,
    errors.UnreadableSource: 3,
    errors.InvalidInput: 3,
    errors.BudgetExhausted: 4,
    errors.MissingExtra: 5,
}
_UNEXPECTED = 70
_STOPPED = 130
_PIPE = 141


@contextmanager
def told() -> Iterator[None]:
    """Turn errors into a sentence and an exit code."""
    try:
        yield
    except errors.HushcountError as error:
        click.echo(f"hushcount: {error}", err=True)
        sys.exit(next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 2))
    except BrokenPipeError:
        # Whoever read our output has seen enough, as `head` does; closing the stream must not complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_PIPE)
    except KeyboardInterrupt:
        click.echo("hushcount: stopped. What was read may already have been paid for.", err=True)
        sys.exit(_STOPPED)
    except (click.ClickException, click.exceptions.Exit):
        raise
    except Exception as error:
        if os.environ.get("HUSHCOUNT_DEBUG"):
            raise
        # The text of an unforeseen error may quote data, so only its kind and place are told.
        click.echo(
            f"hushcount: something failed inside ({_place(error)}). No value is shown, since it may be private.",
            err=True,
        )
        click.echo("Set HUSHCOUNT_DEBUG=1 to see all of it on a machine where the data may be seen.", err=True)
        sys.exit(_UNEXPECTED)


def _place(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace is not None else ""
    return f"{type(error).__name__}{where}"
