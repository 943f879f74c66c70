"""Attempts: one request, sent again where that is safe, until there is a reply that means something."""

from __future__ import annotations

from dataclasses import dataclass

from hushcount_client.patience import Patience
from hushcount_client.problems import ServiceError, Unreachable, problem
from hushcount_client.wire import Call, Reply, Wire, not_understood

# A proxy without its server, a server that stops or is full, a store that is late: all of them pass.
_PASSING = (502, 503, 504)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A wire and the patience of whoever holds it."""

    wire: Wire
    patience: Patience

    def until(self) -> float:
        """When the patience for a call that begins now is over."""
        return self.patience.clock() + self.patience.whole


def perform(call: Call, line: Line, *, until: float) -> Reply:
    """Send a request until it is answered; a failure that may pass is tried again, unless that could do it twice.

    Args:
        call: the request. One that carries a key goes out with the same key each time.
        line: where to, and how patiently.
        until: when patience is over, by its own clock.

    Raises:
        ServiceError: what the server refused, or how the last try failed.
    """
    patience, attempt = line.patience, 0
    while True:
        wish = None
        try:
            reply = line.wire.exchange(call, min(patience.reply, max(1.0, until - patience.clock())))
            failure = _failure(reply)
            if failure is None:
                return reply
            again = call.repeatable and reply.status in _PASSING and not failure.charged
            wish = reply.headers.get("retry-after")
        except Unreachable as error:
            failure, again = error, call.repeatable or not error.sent
        pause = patience.before(attempt, wish)
        attempt += 1
        if not again or attempt >= patience.attempts or patience.clock() + pause >= until:
            raise failure
        patience.sleep(pause)


def _failure(reply: Reply) -> ServiceError | None:
    """What a reply says went wrong; None if it is an answer."""
    if 200 <= reply.status < 300:
        return None
    if 300 <= reply.status < 400:
        return not_understood(
            "the server sends elsewhere, which is not followed: name the right address", reply, code="redirected"
        )
    if not reply.is_json:
        return not_understood("the reply is an error page of something between you and the server", reply)
    try:
        members = reply.form()
    except ServiceError as error:
        return error
    return problem(reply.status, members, request_id=reply.headers.get("request-id"))
