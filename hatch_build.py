"""Compiles the passes when the package is built, if there is a C compiler; without one it does without them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("src", "hushcount", "compiled")
# Doubles exactly as written: no contracted products, no fast-math. Nobody looks at errno or for traps, so that several
# roots may be taken at once, each rounded as ever.
FLAGS = (
    *("-std=c11", "-O3", "-shared", "-fPIC", "-fvisibility=hidden"),
    *("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
)


class CompilePasses(BuildHookInterface[Any]):
    """Builds `libpasses.so` of the C files beside it, and marks the wheel as one for this kind of machine."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a wheel, or an install for work on the package, is made."""
        del version
        folder = Path(self.root) / FOLDER
        if not compiled(folder, folder / "libpasses.so"):
            self.app.display_warning("no C compiler: large questions take longer, with the same answers")
            return
        # Of Python it uses nothing, so it is the same for every version.
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
        build_data["pure_python"] = False
        build_data["artifacts"].append(str(FOLDER / "libpasses.so"))


def compiled(folder: Path, library: Path, *more: str) -> bool:
    """Compile the C files of a folder; whether that could be done. What was there before goes in any case."""
    library.unlink(missing_ok=True)
    compiler = shlex.split(os.environ.get("CC") or "cc")
    if shutil.which(compiler[0]) is None:
        return False
    draft = library.with_suffix(".draft")
    done = subprocess.run(  # noqa: S603 (the compiler of whoever builds)
        [*compiler, *FLAGS, *more, *map(str, sorted(folder.glob("*.c"))), "-o", str(draft), "-lm"],
        capture_output=True,
        check=False,
    )
    if done.returncode == 0:
        draft.replace(library)
    draft.unlink(missing_ok=True)
    return done.returncode == 0
