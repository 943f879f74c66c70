"""Run a command as the systemd unit would: under its filter of system calls, without capabilities.

    python confined.py '{"calls": ["read", ...], "strict_memory": false}' COMMAND...

There is no systemd here to start a unit, but the filter is the kernel's, and what the unit allows is in systemd's own
lists: so the same filter is loaded by hand. Run as a program, since a filter cannot be taken off again.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import sys

_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_SET_MDWE, _REFUSE_EXEC_GAIN = 24, 38, 65, 1
_MOST_CAPABILITIES = 64
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 1  # the second: fail with EPERM, as `SystemCallErrorNumber=EPERM`
# What the program that starts the command needs beyond the filter, as systemd does.
_STARTING = ("execve",)
UNSUPPORTED = 77


def main() -> None:
    """Confine this process, then become the command."""
    wanted = json.loads(sys.argv[1])
    libc = ctypes.CDLL(None, use_errno=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o077)
    if os.getuid() == 0:
        # Root without any capability, as `CapabilityBoundingSet=`, is a user like others.
        for capability in range(_MOST_CAPABILITIES):
            libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        sys.exit("no_new_privs is refused")
    if wanted.get("strict_memory") and libc.prctl(_PR_SET_MDWE, _REFUSE_EXEC_GAIN, 0, 0, 0):
        sys.exit(UNSUPPORTED)
    if wanted.get("calls"):
        _filter(wanted["calls"])
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 (what the test wants to run)


def _filter(names: list[str]) -> None:
    """Allow these system calls; all others fail."""
    library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_rule_add.argtypes = (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint)
    library.seccomp_load.argtypes = (ctypes.c_void_p,)
    made = library.seccomp_init(_REFUSE)
    for name in (*names, *_STARTING):
        number = library.seccomp_syscall_resolve_name(name.encode())
        # Calls of other processors, and some that are newer than the library, are not known here.
        if number >= 0:
            library.seccomp_rule_add(made, _ALLOW, number, 0)
    if library.seccomp_load(made):
        sys.exit("the filter cannot be loaded")


if __name__ == "__main__":
    main()
