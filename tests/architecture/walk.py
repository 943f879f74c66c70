"""A walk: which files of the package one question goes through, in which order, and which calls go upwards.

Read from a trace of the running program, so that the drawing in CONTRIBUTING is what happens and not what was meant.
A call goes upwards if the function that is called lives in a layer above that of the caller, as a callback does.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper
from pathlib import Path
from types import FrameType
from typing import Any

from click.testing import CliRunner

from hushcount.cli.main import main
from tests.architecture.sources import PACKAGE, ROOT

LAYERS = (
    ("cli",),
    ("api", "audit"),
    ("library",),
    ("app",),
    ("mechanisms", "engines", "ledger"),
    ("accounting", "noise"),
    ("compiled",),
    ("model",),
    ("errors",),
)
_LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
_ROOT = str(PACKAGE) + "/"
# How values are made is no step of a walk: it stands for functions that Python would write into each of their classes.
_UNSEEN = "model/frozen.py"


@dataclass(kw_only=True)
class Walk:
    """Files in the order in which they are first entered, and the calls between layers that go upwards."""

    files: list[str] = field(default_factory=list)
    upward: set[tuple[str, str]] = field(default_factory=set)

    def rooms(self) -> list[str]:
        """The folders in the order in which they are first entered."""
        return list(dict.fromkeys(room_of(file) for file in self.files))


def room_of(file: str) -> str:
    """The layer's folder that a file is in."""
    return file.split("/", maxsplit=1)[0].removesuffix(".py")


def walk(action: Callable[[], Any]) -> Walk:
    """Run something and see where it goes. Import of modules is no call."""
    found = Walk()

    def see(frame: FrameType, event: str, _: object) -> None:
        # Of all that is told, calls of Python functions are the fewest: the rest costs one comparison.
        if event != "call" or frame.f_code.co_name == "<module>":
            return
        file = _own(frame)
        if file is None:
            return
        if file not in found.files:
            found.files.append(file)
        caller = _caller(frame)
        if caller is not None and _LEVEL.get(room_of(file), 99) < _LEVEL.get(room_of(caller), -1):
            found.upward.add((caller, file))

    threading.setprofile(see)
    sys.setprofile(see)
    try:
        action()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def walk_command(home: Path, *words: str) -> Walk:
    """The walk of one command, with a home of its own."""
    _forget()

    def ask() -> None:
        done = CliRunner().invoke(main, list(words), env={"HUSHCOUNT_HOME": str(home)})
        assert done.exit_code == 0, done.output

    return walk(ask)


def _forget() -> None:
    """Empty every cache of the package: what another test planned or looked up before would not be drawn."""
    for name, module in list(sys.modules.items()):
        if name == "hushcount" or name.startswith("hushcount."):
            for thing in list(vars(module).values()):
                if isinstance(thing, _lru_cache_wrapper):
                    thing.cache_clear()


def assert_drawn(name: str, traced: Walk) -> None:
    """CONTRIBUTING names the files of this walk in the order in which they are entered, and every layer's folder."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    drawn = re.search(rf"^```walk {name}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert drawn is not None
    files = re.findall(r"[a-z_]+(?:/[a-z_]+)*\.py", drawn.group(1))

    assert files == [file for file in traced.files if file in files]
    missing = {room_of(file) for file in traced.files} - {room_of(file) for file in files}
    assert not missing
    told = re.search(r"About (\d+) files", drawn.group(1))
    assert told is not None
    assert abs(len(traced.files) - int(told.group(1))) <= 5, len(traced.files)


def _own(frame: FrameType) -> str | None:
    name = frame.f_code.co_filename
    file = name.removeprefix(_ROOT) if name.startswith(_ROOT) else None
    return None if file == _UNSEEN else file


def _caller(frame: FrameType) -> str | None:
    """The nearest function of ours that led here; modules that are being imported are passed over."""
    above = frame.f_back
    while above is not None:
        file = _own(above)
        if file is not None and above.f_code.co_name != "<module>":
            return file
        above = above.f_back
    return None
