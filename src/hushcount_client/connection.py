"""A connection: the library's verbs, asked of a service."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeVar, Unpack
from urllib.parse import quote

from hushcount_client.asking import QUERIES, Asked, ask, require_id, under
from hushcount_client.attempts import Line, perform
from hushcount_client.estimate import Estimate, read_estimate
from hushcount_client.lists import PAGE, read_list
from hushcount_client.origin import read_origin
from hushcount_client.patience import Patience
from hushcount_client.problems import InvalidOption
from hushcount_client.question import Mode, Number, Options, Question, encode, make_body, new_key, require_key
from hushcount_client.release import Release, read_release
from hushcount_client.tokens import find_token
from hushcount_client.wire import Call, Reply, Wire, not_understood

_Made = TypeVar("_Made")
_MOST = 10_000


def connect(
    url: str, token: str | Path | None = None, *, patience: Patience | None = None, plain_http: bool = False
) -> Connection:
    """A connection to a service. Nothing is sent yet.

    Args:
        url: its address, as https://counts.example.org.
        token: the token, or the path of a file that holds it; left out, HUSHCOUNT_TOKEN or HUSHCOUNT_TOKEN_FILE.
        patience: how long to wait, and how often to try.
        plain_http: send the token without TLS to another computer, where everybody on the way can read it.

    Raises:
        InvalidOption: the address or the token cannot be used.
    """
    origin, found = read_origin(url), find_token(token)
    if found is not None and not (origin.secure or origin.loopback or plain_http):
        raise InvalidOption(
            "the token would cross the network for everybody to read: write https://, or plain_http=True if the way "
            "is sealed otherwise"
        )
    return Connection(line=Line(wire=Wire(origin=origin, token=found), patience=patience or Patience()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A service, and who asks it. `count`, `top` and `vocab` cost something; nothing else does."""

    line: Line

    def count(self, dataset: str, *, item: str | Sequence[str] | None = None, **options: Unpack[Options]) -> Release:
        """How many people have each item. See `Options` for everything that can be said."""
        return self._answer("count", dataset, item=item, options=options)

    def top(self, dataset: str, *, item: str | Sequence[str] | None = None, **options: Unpack[Options]) -> Release:
        """The k items that most people have; `k` must be given."""
        return self._answer("top", dataset, item=item, options=options)

    def vocab(self, dataset: str, *, item: str | Sequence[str] | None = None, **options: Unpack[Options]) -> Release:
        """Which items may be named at all, without counts."""
        return self._answer("vocab", dataset, item=item, options=options)

    def people(self, dataset: str, **options: Unpack[Options]) -> Release:
        """How many people there are in all; `by` and `keys` for how many in each group of a public list."""
        return self._answer("people", dataset, item=None, options=options)

    def estimate(
        self,
        dataset: str,
        *,
        item: str | Sequence[str] | None = None,
        question: Question = "count",
        **options: Unpack[Options],
    ) -> Estimate:
        """What a question would cost at most and how accurate its answer would be. Free; the data is not read."""
        return _made(read_estimate, self._try_out("estimate", question, dataset, item=item, options=options))

    def rehearse(
        self,
        dataset: str,
        *,
        item: str | Sequence[str] | None = None,
        question: Question = "count",
        **options: Unpack[Options],
    ) -> Release:
        """The question answered on an invented table that looks like the data. Free, and it says nothing of anybody."""
        reply = self._try_out("rehearse", question, dataset, item=item, options=options)
        # Whatever the server forgot to say: what came of a rehearsal is made up.
        return replace(_made(read_release, reply), made_up=True)

    def budget(self, dataset: str) -> dict[str, Any]:
        """What is left for a data set, when it is renewed, and what was spent."""
        return _get(f"/v1/datasets/{quote(dataset, safe='')}/budget", self.line).form()

    def datasets(self) -> list[dict[str, Any]]:
        """The data sets that may be asked."""
        return read_list("/v1/datasets", self.line, most=_MOST)

    def history(self, most: int = PAGE) -> list[dict[str, Any]]:
        """The last questions, newest first, at most so many."""
        return read_list(QUERIES, self.line, most=most)

    def release(self, release_id: str) -> Release:
        """A release that was made before. Free."""
        return self._with_receipt(_get(f"/v1/releases/{quote(release_id, safe='')}", self.line))

    def ask_for_more(
        self, dataset: str, *, releases: Number, why: str, until: date | datetime | str | None = None
    ) -> dict[str, Any]:
        """Ask the owners for more: how many standard releases, why, and until when.

        It is sent once: if no reply comes, it may have arrived all the same.
        """
        end = until if until is None or isinstance(until, str) else until.isoformat()
        form = {"dataset": dataset, "releases": str(releases), "why": why, "until": end}
        body = encode({name: value for name, value in form.items() if value is not None})
        headers = {"Idempotency-Key": new_key()}
        call = Call(method="POST", path="/v1/requests", body=body, headers=headers, repeatable=False)
        return _perform(call, self.line).form()

    def cancel(self, query_id: str) -> dict[str, Any]:
        """Cancel a running question; the reply says whether that was free."""
        reply = _perform(Call(method="DELETE", path=f"{QUERIES}/{quote(query_id, safe='')}"), self.line)
        return reply.form() if reply.body else {}

    def _answer(
        self, question: Question, dataset: str, *, item: str | Sequence[str] | None, options: Options
    ) -> Release:
        body = make_body("release", question, dataset, item=item, options=options)
        key = require_key(options.get("key") or new_key())
        with under(key):
            asked = Asked(body=body, key=key, say=options.get("say") or (lambda _: None))
            return _grouped(self._with_receipt(ask(asked, self.line)), options)

    def _try_out(
        self, mode: Mode, question: Question, dataset: str, *, item: str | Sequence[str] | None, options: Options
    ) -> Reply:
        body = make_body(mode, question, dataset, item=item, options=options)
        return _perform(Call(method="POST", path=QUERIES, body=body), self.line)

    def _with_receipt(self, reply: Reply) -> Release:
        """The release of a reply, with its receipt, fetched if it did not come along."""
        release = _made(read_release, reply)
        if release.receipt:
            return release
        path = f"/v1/releases/{require_id(release.id, reply)}/receipt"
        return replace(release, receipt=_get(path, self.line).form())


def _grouped(release: Release, options: Options) -> Release:
    by = options.get("by", ())
    return release.grouped(1 if isinstance(by, str) else len(by)) if by else release


def _get(path: str, line: Line) -> Reply:
    return _perform(Call(method="GET", path=path), line)


def _perform(call: Call, line: Line) -> Reply:
    return perform(call, line, until=line.until())


def _made(make: Callable[[Mapping[str, Any]], _Made], reply: Reply) -> _Made:
    form = reply.form()
    try:
        return make(form)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise not_understood("the reply is not in a form that this client knows; a newer one may", reply) from None
