"""The engine port. Engines turn data into bounded inputs and know no privacy notion, no secret and no environment."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import NoReturn, Protocol, runtime_checkable

from hushcount.errors import InvalidParameter
from hushcount.model.identities import Identity, Sighting
from hushcount.model.inputs import Bound, Counts, Incidence
from hushcount.model.queries import Description, Selection


class Engine(Protocol):
    """One data set, opened. Rows whose user or item is NULL are left out, in every answer.

    An answer is complete or refused: an engine that cannot be sure to have seen every row raises instead of answering.
    """

    def describe(self) -> Description:
        """The columns. Reads no values."""
        ...

    def validate(self, selection: Selection) -> None:
        """Refuse all that can be refused without reading a value, so that nothing is charged for it.

        Raises:
            UnknownColumn: a column is named that is not there.
            UnsafeFilter: the filter compares a column with a literal of another kind.
            InvalidInput: a column holds nested values, or words are asked of numbers.
            InvalidParameter: this engine cannot do it.
        """
        ...

    def fingerprint(self, key: bytes) -> str:
        """An id that changes whenever the data does, the same for the same data.

        Of files it is a digest of their bytes and needs no key; of all else a digest of the rows, keyed so that nobody
        can compute rows that do not change it. It tells of the data: it leaves the product only under a further key.
        """
        ...

    def sighting(self, key: bytes) -> Sighting:
        """The identities that can be told without a pass over the rows: of each file, or of the table."""
        ...

    def rows_identity(self, key: bytes) -> Identity:
        """The identity of all rows, the same from every format and engine: one pass that reads everything.

        Raises:
            UnreadableSource: something cannot be parsed. Whoever asks for this first charges nothing for a broken file.
        """
        ...

    def histogram(self, selection: Selection, *, bound: Bound | None = None, top: int | None = None) -> Counts:
        """People per item (capped sums, if the cap is above one), largest first, ties by item; `top` rows if given.

        With a bound, each person's items are bounded first, as the bound says. With `top` it is a `Histogram`; without,
        the rows may be spread over many machines and in any order.
        """
        ...

    def incidence(self, selection: Selection) -> Incidence:
        """A handle on who has what, for mechanisms that weigh people's lists. The per-item cap must be one."""
        ...

    def close(self) -> None:
        """Let go of everything: files, memory, temporary folders. A second time does nothing."""
        ...


@runtime_checkable
class Distributed(Protocol):
    """An engine of many machines: it must be watched, and stopped if nobody waits for it; it cannot list people."""

    def asking(self, say: Callable[[str], None]) -> AbstractContextManager[None]:
        """All that one question does: progress is told; on leaving, nothing runs on, and changed data is refused."""
        ...


@runtime_checkable
class Confirming(Protocol):
    """An engine that makes sure of what it has read while that is used already, and refuses before it is shown."""

    def confirming(self) -> AbstractContextManager[None]:
        """All that is done with what is read: on leaving, it was complete, or it is refused. Nothing may leave before.

        Whoever does not stand in it is refused at once, and given nothing.
        """
        ...


@runtime_checkable
class Interruptible(Protocol):
    """An engine whose reading can be stopped from outside, when nobody waits for it any more."""

    def interrupt(self, thread: int) -> None:
        """Stop what a thread, by its identifier, is reading; its call fails. Nothing if it reads nothing."""
        ...


@runtime_checkable
class Paged(Protocol):
    """An engine that counts where the data is, and fetches rows up to a size only: of larger data it lists nobody."""

    def validate_lists(self) -> None:
        """Refuse a question that needs rows, before it is charged, if there are too many of them.

        Raises:
            InvalidParameter: so it is.
        """
        ...


def asking(engine: Engine, say: Callable[[str], None]) -> AbstractContextManager[None]:
    """What one question stands in, for any engine. Nothing of what was read may leave it before it is left."""
    if isinstance(engine, Distributed):
        return engine.asking(say)
    return engine.confirming() if isinstance(engine, Confirming) else nullcontext()


def refuse_sequential(method: str) -> NoReturn:
    """Say why a policy that visits people one after another does not run on many machines, and what does."""
    raise InvalidParameter(
        "method",
        method,
        "one that can be spread over machines, such as 'sips'",
        "A policy visits people one after another, and its choice for each depends on all before, so more machines "
        "cannot help. Write method='sips', or engine='duckdb'.",
    )
