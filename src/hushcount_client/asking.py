"""From a question that costs something to its answer: sent under a key, joined while it runs, never paid twice."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hushcount_client.attempts import Line, perform
from hushcount_client.patience import wished
from hushcount_client.problems import Said, ServiceError, StillRunning, plain, problem
from hushcount_client.wire import Call, Reply, not_understood

QUERIES = "/v1/queries"
_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
_RUNNING = ("waiting", "running")
_USUAL_PAUSE = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question under way.

    Attributes:
        body: what was asked.
        key: the name of this attempt.
        say: told each stage.
    """

    body: bytes
    key: str
    say: Callable[[str], None]


def ask(asked: Asked, line: Line) -> Reply:
    """The reply that holds the answer to a question, waited for."""
    until = line.until()
    headers = {"Idempotency-Key": asked.key, **_waits(line)}
    reply = perform(Call(method="POST", path=QUERIES, body=asked.body, headers=headers), line, until=until)
    return _finished(reply, asked, line, until=until)


@contextmanager
def under(key: str) -> Iterator[None]:
    """Let every error say under which key it was asked, and what that is good for where money may be gone."""
    try:
        yield
    except ServiceError as error:
        error.key = key
        if error.charged is None:
            error.add_note(f"Whether it was charged is not known; asked again with key={key!r} it is paid once.")
        raise


def _waits(line: Line) -> dict[str, str]:
    """The wish that the server holds a request until its answer is there."""
    return {"Prefer": f"wait={line.patience.wait}"}


def require_id(text: object, reply: Reply) -> str:
    """An id as it may stand in a path: what the server says is not trusted to lead anywhere else."""
    if not isinstance(text, str) or _ID.fullmatch(text) is None:
        raise not_understood("the reply names no question that could be asked about", reply)
    return text


def _finished(reply: Reply, asked: Asked, line: Line, *, until: float) -> Reply:
    """The reply about the finished question: polled for, as often as the server wishes, while patience lasts."""
    told = ""
    while True:
        form = reply.form()
        status = form.get("status")
        if status == "done" or (status is None and reply.status == 200):
            return reply
        if status not in _RUNNING:
            raise _ended(form, reply)
        query = require_id(form.get("id") or _located(reply), reply)
        stage = plain(str(form.get("stage") or status))
        if stage != told:
            asked.say(stage)
            told = stage
        pause = wished(reply.headers.get("retry-after")) or _USUAL_PAUSE
        if line.patience.clock() + pause >= until:
            raise _still_running(query, asked.key, form)
        line.patience.sleep(pause)
        reply = perform(Call(method="GET", path=f"{QUERIES}/{query}", headers=_waits(line)), line, until=until)


def _located(reply: Reply) -> str:
    """The id at the end of Location: only the id is taken, so that it leads to no other place."""
    return reply.headers.get("location", "").rstrip("/").rpartition("/")[2]


def _ended(form: Mapping[str, Any], reply: Reply) -> ServiceError:
    """How a question ended without an answer."""
    status = form.get("status")
    stated = next((form[name] for name in ("problem", "error") if isinstance(form.get(name), dict)), None)
    if stated is not None:
        number = stated.get("status")
        return problem(number if isinstance(number, int) else reply.status, stated)
    if status not in {"failed", "cancelled"}:
        return not_understood("the reply says nothing about the question that this client knows", reply)
    charged = form.get("charged")
    title = "The question was cancelled" if status == "cancelled" else "The question failed"
    return ServiceError(
        Said(
            code=str(status),
            title=title,
            detail=str(form.get("detail") or ""),
            charged=charged if isinstance(charged, bool) else None,
            members=form,
        )
    )


def _still_running(query: str, key: str, form: Mapping[str, Any]) -> StillRunning:
    said = Said(
        code="still-running",
        title="The answer is not there yet, and patience is over",
        detail=f"The question goes on at the server as {query}. The same call with key={key!r} joins it and pays once.",
        members=form,
    )
    return StillRunning(said, query=query)
