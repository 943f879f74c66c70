"""Logs: one line for each event, made of a few known fields; never a text that may quote a request or data."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

_FIELDS = ("request_id", "trace", "method", "route", "status", "code", "caller", "dataset", "kind", "job")
_OURS = "hushcount"
_THEIRS = ("uvicorn", "uvicorn.error")


def set_up(form: Literal["text", "json"]) -> None:
    """Write the logs of this process to the error stream, in this form."""
    # What no line tells need not be found out for each: who logs where, in which thread and process. The words for it
    # are those of the logging HOWTO, "Optimization".
    setattr(logging, "_srcfile", None)  # noqa: B010
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    for name in (_OURS, *_THEIRS):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], False
        logger.setLevel(logging.INFO if name == _OURS else logging.WARNING)
        logger.addHandler(handler)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """What is told of an event: its words, its known fields, and of an exception only its kind and place."""
    told: dict[str, Any] = {
        "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "event": _words(record),
    }
    told |= {name: value for name in _FIELDS if (value := getattr(record, name, None)) is not None}
    if record.exc_info is not None and record.exc_info[1] is not None:
        told["kind"] = place_of(record.exc_info[1])
    return told


def place_of(error: BaseException) -> str:
    """The kind of an error, and the line that raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace is not None else ""
    return f"{type(error).__name__}{where}"


def _words(record: logging.LogRecord) -> str:
    """The words of an event as they stand in the code: what would be put into them may be anything."""
    if record.name.startswith(_OURS):
        return str(record.msg)
    # Of others' words the first line; the rest is the trace of a failed start, which was told in a sentence.
    line = record.getMessage().partition("\n")[0]
    return "the server could not start" if line.startswith("Traceback") else line


class JsonLines(logging.Formatter):
    """Each event as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        return json.dumps(fields_of(record), ensure_ascii=True, default=str)


class TextLines(logging.Formatter):
    """Each event as one line for people."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; what would break it is escaped."""
        told = fields_of(record)
        head = f"{told.pop('at')} {told.pop('level')} {told.pop('event')}"
        return " ".join([head, *(f"{name}={json.dumps(value, default=str)}" for name, value in told.items())])
