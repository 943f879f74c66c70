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
from hushcount.app.charging import HELD, UNCHARGED
from hushcount.cli.hints import hint, spoken

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
UNEXPECTED = 70
STOPPED = 130
_ENDED = 143
PIPE = 141


class _Terminated(BaseException):
    """The process was asked to end: everything is tidied up on the way out, so that no spilled row stays on disk."""


@contextmanager
def told() -> Iterator[None]:
    """Turn errors into a sentence and an exit code, and also into JSON on the output, if the command has --json."""
    context = click.get_current_context(silent=True)
    as_json = context is not None and bool(context.params.get("as_json"))
    ends = _Ends()
    before = {number: signal.signal(number, ends) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    except BrokenPipeError:
        # Whoever read our output has seen enough, as `head` does; closing the stream must not complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(PIPE)
    except (click.ClickException, click.exceptions.Exit):
        raise
    except (Exception, KeyboardInterrupt, _Terminated) as error:
        if ends.code is not None or isinstance(error, KeyboardInterrupt):
            # Whatever the error is: a database that is interrupted fails with one of its own.
            sys.exit(_tell_end(error, ends.code or STOPPED, as_json=as_json))
        if isinstance(error, errors.HushcountError):
            _tell(error, as_json=as_json)
            sys.exit(next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 2))
        if os.environ.get("HUSHCOUNT_DEBUG"):
            raise
        _tell_unexpected(error, as_json=as_json)
        sys.exit(UNEXPECTED)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Ends:
    """What a signal to end does: everything is left, and so tidied up. Remembers which exit code it asks for."""

    def __init__(self) -> None:
        self.code: int | None = None

    def __call__(self, number: int, frame: object) -> None:
        del frame
        self.code = STOPPED if number == signal.SIGINT else _ENDED
        raise KeyboardInterrupt if number == signal.SIGINT else _Terminated


def _tell_end(error: BaseException, code: int, *, as_json: bool) -> int:
    """That somebody ended it, and whether anything was charged; gives the exit code."""
    word = "stopped" if code == STOPPED else "ended"
    words = f"{word}. {_charged(error) or 'What was read may already have been paid for.'}"
    click.echo(f"hushcount: {words}", err=True)
    if as_json:
        _show_error("Interrupted", words)
    return code


def _tell_unexpected(error: BaseException, *, as_json: bool) -> None:
    """The text of an unforeseen error may quote data, so only its kind and place are told."""
    sentence = "No value is shown, since it may be private."
    words = " ".join(filter(None, [f"something failed inside ({_place(error)}).", sentence, _charged(error)]))
    click.echo(f"hushcount: {words}", err=True)
    click.echo("Set HUSHCOUNT_DEBUG=1 to see all of it on a machine where the data may be seen.", err=True)
    if as_json:
        _show_error("Unexpected", words)


def _charged(error: BaseException) -> str:
    """Whether anything was charged, if that is known. Notes of others may quote data and are left out."""
    return next((note for note in getattr(error, "__notes__", ()) if note in {UNCHARGED, HELD}), "")


def _tell(error: errors.HushcountError, *, as_json: bool) -> None:
    """The error in its own words, whether anything was charged, and what to type."""
    from hushcount.cli.render import printable

    sentence, notes = spoken(error), getattr(error, "__notes__", [])
    # Another sentence follows: the first one ends.
    end = "." if notes and not sentence.endswith((".", "?", "!", "\n")) else ""
    words = " ".join([sentence + end, *notes])
    for line in f"hushcount: {words}".splitlines():
        click.echo(printable(line), err=True)
    if typed := hint(error):
        click.echo(f"To type: {typed}", err=True)
    if as_json and not (isinstance(error, errors.BudgetExhausted) and _show_refusal(error.refusal, typed)):
        _show_error(type(error).__name__, words, typed)


def _show_refusal(refusal: object, typed: str) -> bool:
    """A refusal with all that it tells, as JSON; False if it tells nothing."""
    from hushcount.app.forms import refusal_form
    from hushcount.cli.render import show_json
    from hushcount.ledger.ledger import Refusal

    if isinstance(refusal, Refusal):
        show_json({"refused": {**refusal_form(refusal), "to_type": typed}})
    elif isinstance(refusal, Mapping):
        # A service's, which is a form already.
        show_json({"refused": dict(refusal)})
    else:
        return False
    return True


def _show_error(kind: str, words: str, typed: str = "") -> None:
    """An error as JSON, in the words of the error stream, which say whether anything was charged."""
    from hushcount.cli.render import show_json

    show_json({"error": {"kind": kind, "words": words, "to_type": typed}})


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace is not None else ""
    return f"{type(error).__name__}{where}"
