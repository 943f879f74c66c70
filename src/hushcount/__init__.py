"""hushcount: which items are there, and how many people have each, without exposing any person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hushcount import audit, errors
    from hushcount.app.estimating import Estimate
    from hushcount.app.receipt import Receipt
    from hushcount.app.release import Release
    from hushcount.app.setting import Setting
    from hushcount.library.comparing import Comparison, compare
    from hushcount.library.questions import count, estimate, people, top, vocab
    from hushcount.library.remote import connect
    from hushcount.library.sample import sample_log
    from hushcount.library.surroundings import open_setting

__all__ = [
    "Comparison",
    "Estimate",
    "Receipt",
    "Release",
    "Setting",
    "__version__",
    "audit",
    "compare",
    "connect",
    "count",
    "errors",
    "estimate",
    "open_setting",
    "people",
    "sample_log",
    "top",
    "vocab",
]
__version__ = "0.1.0"

_HOME = {
    "audit": "hushcount.audit",
    "compare": "hushcount.library.comparing",
    "connect": "hushcount.library.remote",
    "count": "hushcount.library.questions",
    "errors": "hushcount.errors",
    "estimate": "hushcount.library.questions",
    "people": "hushcount.library.questions",
    "top": "hushcount.library.questions",
    "vocab": "hushcount.library.questions",
    "sample_log": "hushcount.library.sample",
    "Comparison": "hushcount.library.comparing",
    "Estimate": "hushcount.app.estimating",
    "Receipt": "hushcount.app.receipt",
    "Release": "hushcount.app.release",
    "Setting": "hushcount.app.setting",
    "open_setting": "hushcount.library.surroundings",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  a module's attribute can be anything
    """Import the public names when they are first used: `import hushcount` alone loads nothing heavy."""
    if name not in _HOME:
        raise AttributeError(f"module 'hushcount' has no attribute {name!r}")
    import importlib

    home = importlib.import_module(_HOME[name])
    return home if _HOME[name] == f"hushcount.{name}" else getattr(home, name)


def __dir__() -> list[str]:
    """The public names, also those that were not used yet, and none of our insides that were loaded meanwhile."""
    own = {name for name in globals() if name.startswith("__")}
    return sorted({*own, *__all__})
