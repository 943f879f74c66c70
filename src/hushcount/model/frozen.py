"""Frozen values: `@frozen` is `@dataclass(frozen=True, slots=True, kw_only=True)`, made without compiling.

Python 3.11 writes six functions as text for each dataclass and compiles them when the class is made: a millisecond, and
a question needs two hundred of them before it can be asked. Here all classes share the same few functions. What the
standard library has for dataclasses works with them: `replace`, `fields`, `asdict`; and type checkers know them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from inspect import Signature

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(described: type[_T]) -> type[_T]:
    """Make a class of frozen values from its annotated fields; methods of its own stay as they are."""
    # The standard library reads the fields and makes the slots; each function that it is kept from is not compiled.
    made: Any = dataclass(init=False, repr=False, eq=False, kw_only=True, slots=True)(described)
    compared = _compared(made)
    shared: dict[str, Callable[..., Any]] = {
        "__init__": _init(made, fields(made)),
        "__repr__": _repr,
        "__eq__": lambda self, other: (
            compared(self) == compared(other) if type(self) is type(other) else NotImplemented
        ),
        "__hash__": lambda self: hash(compared(self)),
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
        "__getstate__": _state,
        "__setstate__": _set_state,
    }
    own = vars(described)
    for name, function in shared.items():
        # Python itself writes None for the hash of a class that has an equality of its own.
        if own.get(name) is None:
            setattr(made, name, function)
    made.__signature__ = _Signature()
    return made  # type: ignore[no-any-return]  # it was one of those


class _Signature:
    """What help and editors show of a class: its fields, looked up when somebody asks."""

    def __get__(self, value: object, owner: type[Any]) -> Signature:
        from inspect import Parameter, Signature

        given = [one for one in fields(owner) if one.init]
        return Signature(
            [
                Parameter(one.name, Parameter.KEYWORD_ONLY, default=_shown_default(one), annotation=one.type)
                for one in given
            ]
        )


def _shown_default(one: Field[Any]) -> object:
    from inspect import Parameter

    if one.default is not MISSING:
        return one.default
    return Parameter.empty if one.default_factory is MISSING else one.default_factory


def _init(made: type, every: tuple[Field[Any], ...]) -> Callable[..., None]:
    # Slots write where a frozen value refuses.
    setters = {one.name: getattr(made, one.name).__set__ for one in every}
    # So many known names are all of them; where some are not given but made, they are looked at each time.
    whole = len(every) if all(one.init for one in every) else -1
    defaults = {one.name: one.default for one in every if one.init and one.default is not MISSING}
    checks = hasattr(made, "__post_init__")

    def __init__(self: Any, **given: Any) -> None:  # noqa: ANN401, N807  any field's type; its name in tracebacks
        if len(given) != whole:
            given = {**defaults, **given}
        if len(given) != whole or not setters.keys() >= given.keys():
            given = _completed(made, every, given)
        for name, value in given.items():
            setters[name](self, value)
        if checks:
            self.__post_init__()

    return __init__


def _completed(made: type, every: tuple[Field[Any], ...], given: dict[str, Any]) -> dict[str, Any]:
    """What was given, and defaults for the rest."""
    unknown = given.keys() - {one.name for one in every if one.init}
    if unknown:
        raise TypeError(f"{made.__qualname__}() got an unexpected keyword argument {min(unknown)!r}")
    found = dict(given)
    for one in every:
        if one.name in given:
            continue
        if one.default_factory is not MISSING:
            found[one.name] = one.default_factory()
        elif one.default is not MISSING:
            found[one.name] = one.default
        elif one.init:
            raise TypeError(f"{made.__qualname__}() misses the keyword argument {one.name!r}")
    return found


@recursive_repr()
def _repr(self: Any) -> str:  # noqa: ANN401
    told = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(told)})"


def _compared(made: type) -> Callable[[Any], tuple[Any, ...]]:
    """What of a value is compared, as a tuple."""
    names = [one.name for one in fields(made) if one.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _refuse_to_set(_: object, name: str, __: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:  # noqa: ANN401
    return [getattr(self, one.name) for one in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:  # noqa: ANN401
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)
