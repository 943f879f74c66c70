"""Portions on a disk: each is read when it is needed, and memory holds one or two at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from hushcount.compiled.passes import once
from hushcount.engines.portions import Portion, Users
from hushcount.errors import UnreadableSource
from hushcount.model.texts import Texts


class StoredPortions(Sequence[Portion]):
    """Portions in files of a private folder, which goes with the engine.

    Args:
        folder: the folder, which is made.
        portions: what is stored, one after the other.
    """

    def __init__(self, folder: Path, portions: Iterable[Portion]) -> None:
        self._folder, self.people = folder, 0
        # Of each portion what its arrays are called: none may be missing later.
        self._names = list[tuple[str, ...]]()
        for portion in portions:
            self._store(portion)
            self.people += len(portion.users)

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, number: int) -> Portion: ...

    @overload
    def __getitem__(self, number: slice) -> list[Portion]: ...

    def __getitem__(self, number: int | slice) -> Portion | list[Portion]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(number)
        found = self._load(number)
        users: Users = found["users"]
        if "edges" in found:
            users = Texts(found["users"], found["edges"])
        times = found.get("times", once(len(found["ids"])))
        return Portion(users=users, offsets=found["offsets"], ids=found["ids"], times=times)

    def _store(self, portion: Portion) -> None:
        arrays: dict[str, npt.NDArray[Any]] = {"offsets": portion.offsets, "ids": portion.ids}
        if isinstance(portion.users, Texts):
            arrays |= {"users": portion.users.buffer, "edges": portion.users.edges}
        else:
            arrays["users"] = portion.users
        # One number stands for all where nothing is repeated.
        if portion.times.strides != (0,):
            arrays["times"] = portion.times
        place = self._folder / str(len(self))
        place.mkdir(parents=True)
        for name, values in arrays.items():
            np.save(place / f"{name}.npy", values)
        self._names.append(tuple(arrays))

    def _load(self, number: int) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a portion; where one cannot be read whole, say so without the system's own words."""
        try:
            place = self._folder / str(number)
            return {name: np.load(place / f"{name}.npy") for name in self._names[number]}
        except (OSError, EOFError, ValueError, MemoryError) as error:
            kind = type(error).__name__
        # Raised outside the handler: what it handled names a place, or quotes bytes.
        raise UnreadableSource(
            "rows that were put on the disk for this question cannot be read back whole: the temporary directory was "
            f"emptied, its disk failed, or memory ran out; see to it, and ask once more ({kind})"
        )
