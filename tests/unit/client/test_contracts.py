"""The client stands alone, its parts are small, and the contracts that say so can be broken."""

from __future__ import annotations

import shutil

import pytest

from tests.architecture import test_budgets as budgets
from tests.architecture.sources import ROOT, SRC, read
from tests.architecture.test_imports import lint_imports


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("hushcount_client/leak.py", "import hushcount.errors"),
        ("hushcount/app/leak.py", "import hushcount_client"),
        ("hushcount/cli/leak.py", "import hushcount_client.wire"),
    ],
)
def test_import_contracts_can_be_broken(tmp_path, file, line):
    """The client that knows the product, and a part of the product beside the library that knows the client."""
    shutil.copytree(SRC, tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "src" / file).write_text(f'"""Not allowed."""\n\n{line}\n', encoding="utf-8")

    run = lint_imports(tmp_path)

    assert run.returncode == 1, run.stdout + run.stderr
    assert "BROKEN" in run.stdout


def test_the_client_keeps_the_size_budgets():
    """Those of the product: short files and functions, small classes, few parameters, a docstring on what is public."""
    sources = read(SRC / "hushcount_client")

    assert budgets.long_files(sources)[0] <= budgets.FILE_LINES_P95
    assert not budgets.long_functions(sources)[1]
    assert not budgets.crowded_classes(sources)
    assert not budgets.crowded_parameters(sources)
    assert not budgets.positional_parameters(sources)
    assert not budgets.undocumented(sources)
    assert not budgets.deep_classes(sources)
