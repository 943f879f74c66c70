"""Draining: how a worker that leaves parts from its connections, so that nobody who was let in is turned away.

uvicorn closes an idle connection at once. One that was opened a moment ago is idle, too, and what its client has sent
by then is lost: closed unread, it is answered by a reset. So a worker that leaves goes on listening to the connections
that it has for a short while: who sends something is answered, with `Connection: close`, and who does not is let go.
What nobody has accepted yet waits at the socket, which all workers share, for another one.
"""

from __future__ import annotations

import select

from uvicorn.protocols.http.h11_impl import H11Protocol

# So many seconds of silence are enough; whoever is in the middle of a request, or does not come to be read, has more.
_LINGER, _PATIENCE = 1.0, 5.0
_STEP = 0.05


class DrainingProtocol(H11Protocol):
    """One connection, as uvicorn's own but for its end."""

    _heard = 0.0

    def data_received(self, data: bytes) -> None:
        """Note that the other side is there."""
        self._heard = self.loop.time()
        super().data_received(data)

    def shutdown(self) -> None:
        """Called by uvicorn when the worker leaves."""
        self._leave(self.loop.time())

    def _leave(self, since: float) -> None:
        if self.transport.is_closing():
            return
        now = self.loop.time()
        is_answering = self.cycle is not None and not self.cycle.response_complete
        is_silent = now - max(since, self._heard) >= _LINGER and not self._has_unread()
        if is_answering or is_silent or now - since >= _PATIENCE:
            super().shutdown()
        if not self.transport.is_closing():
            # Also after an answer under way: it may have said that the connection stays.
            self.loop.call_later(_STEP, self._leave, since)

    def _has_unread(self) -> bool:
        """Whether something came that was not read yet."""
        looked = select.poll()
        looked.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(looked.poll(0))
