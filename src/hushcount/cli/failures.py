"""Errors on the command line: one sentence on the error stream and an exit code; never a value from the data."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from hushcount import errors
from hushcount.cli.hints import hint

# One table for all: what the shell sees. Anything else that hushcount raises on purpose exits with 2.
EXIT_CODES: dict[type[errors.HushcountError], int] = {
    errors.InvalidParameter: 2,
    errors.UnsafeMechanism: 2,
    errors.UnreadableSource: 3,
    errors.InvalidInput: 3,
    errors.StoreFailed: 3,
    errors.StoreIncomplete: 3,
    errors.StoreTimeout: 3,
    errors.BudgetExhausted: 4,
    errors.OverMaxCost: 4,
    errors.MissingExtra: 5,
}
_UNEXPECTED = 70
_STOPPED = 130
_ENDED = 143
_PIPE = 141


class _Terminated(BaseException):
    """The process was asked to end: everything is tidied up on the way out, so that no spilled row stays on disk."""


@contextmanager
def told(*, as_json: bool = False) -> Iterator[None]:
    """Turn errors into a sentence and an exit code; a refusal also into JSON on the output, if that is asked for."""
    ends = _Ends()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, ends)
    try:
        yield
    except errors.HushcountError as error:
        _tell(error, as_json=as_json)
        sys.exit(next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 2))
    except BrokenPipeError:
        # Whoever read our output has seen enough, as `head` does; closing the stream must not complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_PIPE)
    except KeyboardInterrupt:
        click.echo("hushcount: stopped. What was read may already have been paid for.", err=True)
        sys.exit(_STOPPED)
    except _Terminated:
        click.echo("hushcount: ended. What was read may already have been paid for.", err=True)
        sys.exit(_ENDED)
    except (click.ClickException, click.exceptions.Exit):
        raise
    except Exception as error:
        if ends.asked:
            # A database that is interrupted fails with an error of its own.
            click.echo("hushcount: ended. What was read may already have been paid for.", err=True)
            sys.exit(_ENDED)
        if os.environ.get("HUSHCOUNT_DEBUG"):
            raise
        # The text of an unforeseen error may quote data, so only its kind and place are told.
        click.echo(
            f"hushcount: something failed inside ({_place(error)}). No value is shown, since it may be private.",
            err=True,
        )
        click.echo("Set HUSHCOUNT_DEBUG=1 to see all of it on a machine where the data may be seen.", err=True)
        sys.exit(_UNEXPECTED)


class _Ends:
    """What a signal to end does: everything is left, and so tidied up."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self, number: int, frame: object) -> None:
        del number, frame
        self.asked = True
        raise _Terminated


def _tell(error: errors.HushcountError, *, as_json: bool) -> None:
    """The error in its own words, whether anything was charged, and what to type."""
    click.echo(" ".join([f"hushcount: {error}", *getattr(error, "__notes__", [])]), err=True)
    if words := hint(error):
        click.echo(f"To type: {words}", err=True)
    if as_json and isinstance(error, errors.BudgetExhausted):
        _show_refusal(error)


def _show_refusal(error: errors.BudgetExhausted) -> None:
    from hushcount.app.forms import refusal_form
    from hushcount.cli.render import show_json
    from hushcount.ledger.ledger import Refusal

    if isinstance(error.refusal, Refusal):
        show_json({"refused": refusal_form(error.refusal)})
    elif isinstance(error.refusal, Mapping):
        # A service's, which is a form already.
        show_json({"refused": dict(error.refusal)})


def _place(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace is not None else ""
    return f"{type(error).__name__}{where}"
