"""The auditor: evidence that the privacy is real. It attacks the build and compares what it finds with the claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hushcount.audit.blackbox.checking import check

__all__ = ["check"]


def __getattr__(name: str) -> Any:  # noqa: ANN401  a module's attribute can be anything
    """Import `check` when it is first used: `import hushcount` alone loads nothing heavy."""
    if name != "check":
        raise AttributeError(f"module 'hushcount.audit' has no attribute {name!r}")
    from hushcount.audit.blackbox.checking import check

    return check
