"""The wheel of the light client: it builds, is small, needs nothing, and works where nothing else is installed."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
import zipfile

import pytest

from hushcount import __version__
from tests.architecture.sources import ROOT, read

MOST_BYTES = 100_000
FILES = read(ROOT / "src" / "hushcount_client")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    words = ["wheel", "--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", str(folder)]
    built = subprocess.run(  # noqa: S603 (our own package)
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *words, str(ROOT / "packages" / "client")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (found,) = folder.glob("*.whl")
    return found


def bare(wheel, script):
    """A script in an interpreter that has the wheel and the standard library, and nothing else."""
    start = f"import sys; sys.path.insert(0, {str(wheel)!r}); "
    run = subprocess.run(  # noqa: S603 (our own)
        [sys.executable, "-I", "-S", "-c", start + script], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_the_wheel_is_small_and_whole(wheel):
    """Below 100 kB, every file of the package, its types and its licence, and nothing that was compiled."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = [archive.read(name).decode() for name in names if name.endswith("METADATA")]

    assert wheel.stat().st_size < MOST_BYTES
    assert {f"hushcount_client/{source.path.name}" for source in FILES} <= set(names)
    assert {"hushcount_client/py.typed", "hushcount_client/LICENSE"} <= set(names)
    assert not [name for name in names if name.endswith(".pyc") or "tests" in name]
    assert "Requires-Dist" not in metadata
    assert f"Version: {__version__}\n" in metadata


def test_the_wheel_works_on_its_own(wheel):
    """Imported from it alone; a question to a port where nobody listens fails as it should."""
    script = (
        "import hushcount_client as h; p = h.Patience(attempts=1)\n"
        "try:\n    h.connect('http://127.0.0.1:9', patience=p).count('a', item='b')\n"
        "except h.Unreachable as error:\n    print(error.charged, h.__file__)\n"
        "print(*(name for name in ('numpy', 'hushcount') if name in sys.modules))"
    )

    told, heavy = bare(wheel, script).splitlines()
    assert told.startswith(f"False {wheel}")
    assert heavy == ""


def foreign(tree: ast.AST) -> list[str]:
    """Modules that a file imports, beside the standard library and its own package."""
    named = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    named += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return [name for name in named if name.split(".")[0] not in {*sys.stdlib_module_names, "hushcount_client"}]


def test_the_client_is_of_the_standard_library_only():
    """No file of it imports anything else."""
    assert len(FILES) > 8
    assert not [name for source in FILES for name in foreign(source.tree)]


def test_foreign_imports_are_seen():
    """Also late ones and those of the product."""
    text = "import json\nfrom hushcount_client import x\ndef f():\n    import numpy.linalg\n    from hushcount import y"

    assert foreign(ast.parse(text)) == ["numpy.linalg", "hushcount"]


def test_the_main_wheel_carries_the_client():
    """Whoever has the product has the client, and both are of one version."""
    import hushcount_client

    setting = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert "src/hushcount_client" in setting["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert hushcount_client.__version__ == __version__
