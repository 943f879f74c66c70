"""The surface of the library: what `help` and editors show of its functions, and errors without our insides."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from hushcount.app.options import Options
from hushcount.errors import HushcountError
from hushcount.library.surroundings import wants_internals

_Said = ParamSpec("_Said")
_Given = TypeVar("_Given")
_ENTRY = re.compile(r"^        (\w+): ")


class _Unsaid:
    """Stands for an option that may be left out, where signatures are shown."""

    def __repr__(self) -> str:
        return "..."


def public(*unused: str) -> Callable[[Callable[_Said, _Given]], Callable[_Said, _Given]]:
    """Make a function one of the library's own.

    An error that hushcount raises on purpose says all there is to say in its words: it is raised again from here,
    without the frames and causes inside, unless HUSHCOUNT_DEBUG asks for them. Options are shown one by one in the
    signature and the docstring.

    Args:
        *unused: options that this function refuses, and so are not shown.
    """

    def made(function: Callable[_Said, _Given]) -> Callable[_Said, _Given]:
        @wraps(function)
        def called(*args: _Said.args, **options: _Said.kwargs) -> _Given:
            try:
                return function(*args, **options)
            except HushcountError as error:
                if wants_internals():
                    raise
                raise error.with_traceback(None) from None

        _show_options(cast("Any", called), unused)
        return called

    return made


def _show_options(function: Any, unused: tuple[str, ...]) -> None:  # noqa: ANN401  a function, whose attributes are set
    """Put the options in place of `**options`, in signature and docstring."""
    signature = inspect.signature(function)
    plain = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    if len(plain) == len(signature.parameters):
        return
    named = {name: kind for name, kind in Options.__annotations__.items() if name not in unused}
    shown = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=_Unsaid(), annotation=getattr(kind, "__forward_arg__", kind)
        )
        for name, kind in named.items()
    ]
    function.__signature__ = signature.replace(parameters=[*plain, *shown])
    function.__doc__ = (
        f"{inspect.cleandoc(function.__doc__)}\n\nOptions, each of which may be left out:\n{_said(named)}"
    )


def _said(named: dict[str, Any]) -> str:
    """What the docstring of `Options` says of these."""
    lines, shows = [], False
    for line in (Options.__doc__ or "").splitlines():
        entry = _ENTRY.match(line)
        shows = entry[1] in named if entry else shows and line.startswith(" " * 12)
        if shows:
            lines.append(line[4:])
    return "\n".join(lines)
