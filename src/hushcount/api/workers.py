"""Workers: the first process looks after those that answer, and sees at once that one of them has ended."""

from __future__ import annotations

from uvicorn.supervisors import Multiprocess


class Workers(Multiprocess):
    """As uvicorn's own, but for whoever ends while it is asked whether it lives.

    uvicorn holds the worker's end of the line as well, and so waits for an answer that nobody can give any more, as
    long as it waits for a worker that is only slow.
    """

    def keep_subprocess_alive(self) -> None:
        """Called twice a second."""
        for process in self.processes:
            process.child_conn.close()
        super().keep_subprocess_alive()
