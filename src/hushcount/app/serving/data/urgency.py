"""Urgency: threads that read much let those go first who only want to know something."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress

# Of a processor that both want, whoever gives way has a thirtieth. A request goes through several threads, and if they
# were nearer to each other, the system would let a thread that reads go on for some milliseconds before each of these.
_LATER = 15


def give_way() -> None:
    """Let this thread, and every thread that it starts, go after others of this process; for good.

    A balance is looked at while fifty questions run, and their store's threads would take all of the processor. Python
    knows no urgency; Linux has one for each thread, which others have for a whole process, so there nothing is done.
    """
    if sys.platform == "linux":
        with suppress(OSError):
            # Counted from the first thread's, which whoever runs the service may have set.
            own = os.getpriority(os.PRIO_PROCESS, os.getpid())
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), own + _LATER)
