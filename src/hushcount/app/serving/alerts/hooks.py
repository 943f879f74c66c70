"""Hooks: a signed form, posted to one place of the configuration. No redirect is followed, and no proxy asked.

The signature is an HMAC-SHA-256 over the moment of sending and the bytes of the body, so that whoever receives it knows
who sent it and when. The id in the body stays the same if it is sent again: what came before is passed over.

A receiver has so many seconds for all of it, from the name of its host to the last byte: the waits of sockets are each
for one step, and one that answers a byte at a time would never be done. What takes longer goes on in a thread that
nobody waits for, and while it does nothing else is sent there: there is never more than one.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import field
from http.client import HTTPException
from typing import Any

from hushcount.model.frozen import frozen

_TAKEN = range(200, 300)


class _Straight(urllib.request.HTTPRedirectHandler):
    """Follows nothing: an answer that points elsewhere is a failure."""

    def redirect_request(self, *given: Any, **named: Any) -> None:  # noqa: ANN401  as in the standard library
        """Never."""
        del given, named


@frozen
class Hook:
    """Where alerts go.

    Attributes:
        url: the address.
        secret: what its receiver shares with us.
        seconds: how long it may take, all in all.
    """

    url: str
    secret: str = field(repr=False)
    seconds: float = 10.0
    _hanging: list[threading.Thread] = field(default_factory=list, repr=False)

    def send(self, form: Mapping[str, Any]) -> bool:
        """Post a form; whether it was taken in time."""
        self._hanging[:] = [one for one in self._hanging if one.is_alive()]
        if self._hanging:
            return False
        taken = list[bool]()
        sending = threading.Thread(target=lambda: taken.append(self._post(form)), name="hook", daemon=True)
        sending.start()
        sending.join(self.seconds)
        if sending.is_alive():
            self._hanging.append(sending)
        return taken == [True]

    def _post(self, form: Mapping[str, Any]) -> bool:
        body = json.dumps(form, ensure_ascii=True, sort_keys=True).encode()
        headers = {"Content-Type": "application/json", "Hushcount-Signature": self.signature(body, at=int(time.time()))}
        request = urllib.request.Request(self.url, data=body, headers=headers, method="POST")  # noqa: S310  ours
        opener = urllib.request.build_opener(_Straight, urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=self.seconds) as reply:
                return reply.status in _TAKEN
        except (OSError, HTTPException):
            return False

    def signature(self, body: bytes, *, at: int) -> str:
        """What proves who sent it, and when."""
        signed = hmac.new(self.secret.encode(), f"{at}.".encode() + body, hashlib.sha256)
        return f"t={at},v1={signed.hexdigest()}"
