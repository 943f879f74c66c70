"""Who may import whom, where randomness may come from, and what a light import must not pull in."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.sources import PACKAGE, ROOT, SRC, Source, library

RANDOM_MODULES = ("random", "secrets", "numpy.random", "uuid")
RANDOM_FUNCTIONS = {"os.urandom", "os.getrandom"}
HEAVY = ("scipy", "duckdb", "pandas", "pyarrow")


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the import contracts of `folder`/pyproject.toml on `folder`/src."""
    program = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(  # noqa: S603 (our own program, no outside input)
        [str(program), "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


def random_imports(source: Source) -> Iterator[str]:
    """Every place where the file reaches for a random module, by import or by attribute."""
    for node in ast.walk(source.tree):
        for name in _named(node):
            if name in RANDOM_FUNCTIONS or any(name == m or name.startswith(f"{m}.") for m in RANDOM_MODULES):
                yield f"{source.name}:{getattr(node, 'lineno', 0)}: {name}"


def _named(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield f"{'numpy' if node.value.id == 'np' else node.value.id}.{node.attr}"
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        # importlib.import_module("numpy.random") and the like
        yield from (node.value for module in RANDOM_MODULES if node.value == module and "." in module)


def test_import_contracts_are_kept():
    """The layers hold: see [tool.importlinter] in pyproject.toml."""
    run = lint_imports(ROOT)

    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("engines/leak.py", "import hushcount.noise"),
        ("noise/leak.py", "import hushcount.mechanisms"),
        ("accounting/leak.py", "import hushcount.noise"),
        ("model/leak.py", "import hushcount.engines"),
        ("app/leak.py", "import hushcount.audit"),
        ("cli/leak.py", "import hushcount.audit.twins"),
        ("mechanisms/counts/leak.py", "import hushcount.mechanisms.table"),
        ("attic/__init__.py", "x = 1"),
    ],
)
def test_import_contracts_can_be_broken(tmp_path, file, line):
    """Imports upwards, between siblings or in a circle, and a new folder without a layer, turn the contracts red."""
    shutil.copytree(SRC, tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    offender = tmp_path / "src" / "hushcount" / file
    offender.parent.mkdir(exist_ok=True)
    offender.write_text(f'"""Not allowed."""\n\n{line}\n', encoding="utf-8")

    run = lint_imports(tmp_path)

    assert run.returncode == 1, run.stdout + run.stderr
    assert "BROKEN" in run.stdout


def test_randomness_comes_from_noise_alone():
    """No file outside hushcount.noise reaches for a random module."""
    outside = [source for source in library() if PACKAGE / "noise" not in source.path.parents]

    assert outside
    assert not [place for source in outside for place in random_imports(source)]


@pytest.mark.parametrize(
    "text",
    [
        "import random",
        "import numpy.random as r",
        "from numpy import random",
        "from numpy.random import default_rng",
        "from secrets import token_bytes",
        "from os import urandom",
        "import os\nos.urandom(8)",
        "import numpy as np\nnp.random.default_rng()",
        "import importlib\nimportlib.import_module('numpy.random')",
        "import uuid",
    ],
)
def test_random_imports_are_seen(text):
    """Every way of reaching for randomness that we know of is found."""
    assert list(random_imports(Source(Path("made_up.py"), text)))


def test_harmless_names_are_not_seen():
    """A name that only looks random is let through."""
    text = "import hmac\nfrom hushcount.noise import source\nsource.random\nrandomly = 1\n"

    assert not list(random_imports(Source(Path("made_up.py"), text)))


@pytest.mark.parametrize("module", ["hushcount", "hushcount.errors", "hushcount.model.costs", "hushcount.noise"])
def test_light_imports_stay_light(module):
    """Importing the package or its noise loads no compiler, no database and no statistics library."""
    script = f"import sys, {module}; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603 (our own)

    assert run.stdout.split() == []
