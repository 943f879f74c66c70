"""The stamp of a page: what made it, so that a page that no longer is what the code would make can be told.

Three things: the versions of the mechanisms that ran, a digest of the study's own code, and one of the page itself with
its picture, which a word that is changed by hand breaks.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hushcount.mechanisms.table import find
from studies.study import Study

HERE = Path(__file__).parent
# How numbers are kept and runs are made is not what a study finds.
_FRAME = {"study", "findings"}


@dataclass(frozen=True, slots=True)
class Stamp:
    """The versions of the mechanisms that ran, and the digest of the code that ran them."""

    mechanisms: str
    code: str


def versions(names: Iterable[str]) -> str:
    """The mechanisms of these names as they are now."""
    return ", ".join(f"{name} {find(name).version}" for name in sorted(names)) or "none"


def code(study: Study) -> str:
    """A digest of the study's file, of all files of this folder that it imports, and of the programs that it runs."""
    own = Path(sys.modules[study.run.__module__].__file__ or "")
    programs = sorted((HERE / study.programs).glob("*.py")) if study.programs else []
    return _digest(path.read_bytes() for path in [*_imported(own), *programs])


def sealed(text: str, picture: str) -> str:
    """The page with the digest of all that stands above it, and of its picture."""
    return f"{text}| seal | {_seal(text, picture)} |\n"


def stale(study: Study, text: str, picture: str) -> list[str]:
    """Why a page is not what the code would make now, or not what it made then; nothing if it is both."""
    said = dict(re.findall(r"^\| (mechanisms|code|seal) \| (.*) \|$", text, re.MULTILINE))
    ran = [one.rpartition(" ")[0] for one in said.get("mechanisms", "").split(", ") if " " in one]
    body = text[: text.rfind("| seal |")]
    wrong = {
        "other versions of mechanisms made it": said.get("mechanisms") != versions(ran),
        "the study's code is another now": said.get("code") != code(study),
        "its words or its picture were changed since": said.get("seal") != _seal(body, picture),
    }
    return [why for why, so in wrong.items() if so]


def _seal(text: str, picture: str) -> str:
    return _digest([text.encode(), picture.encode()])


def _digest(parts: Iterable[bytes]) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _imported(file: Path) -> list[Path]:
    """The file, and those of this folder that it imports, directly or not, in the order of their names."""
    found, left = {file}, [file]
    while left:
        for node in ast.walk(ast.parse(left.pop().read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "studies":
                _, _, own = node.module.partition(".")
                names = [own] if own else [alias.name for alias in node.names]
                fresh = {HERE / f"{name}.py" for name in names if name not in _FRAME} - found
                found |= fresh
                left += fresh
    return sorted(found)
