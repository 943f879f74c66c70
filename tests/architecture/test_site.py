"""The documentation as a site: every page has its place, every link leads somewhere, the reference is the code's."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import hushcount
from hushcount import errors
from hushcount.app.forms import estimate_form
from hushcount.cli import reference
from tests.conftest import ROOT


def built(folder: Path) -> subprocess.CompletedProcess[str]:
    """The site of a folder; anything that the builder would warn of fails it."""
    words = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "-f", str(folder / "mkdocs.yml")]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, cwd=folder)  # noqa: S603


@pytest.fixture
def copy(tmp_path):
    """The documentation in a folder of its own."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    return tmp_path


def test_the_site_is_built_without_a_warning(copy):
    """With search, and with every page; nothing is fetched from elsewhere by whoever reads it."""
    done = built(copy)
    pages = {path.relative_to(copy / "docs").with_suffix(".html") for path in (copy / "docs").rglob("*.md")}

    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stderr
    assert not [page for page in pages if not (copy / "build" / "site" / page).exists()]
    assert (copy / "build" / "site" / "search.json").stat().st_size > 100_000
    fetched = re.compile(r"""<(?:script|link|img)[^>]+(?:src|href)=["']?https?://""")
    assert not [page for page in pages if fetched.search((copy / "build" / "site" / page).read_text(encoding="utf-8"))]


def test_a_link_that_leads_nowhere_is_seen(copy):
    """The check can fail."""
    page = copy / "docs" / "quickstart.md"
    page.write_text(page.read_text(encoding="utf-8") + "\n[gone](nothing.md)\n", encoding="utf-8")

    assert built(copy).returncode != 0


def test_every_page_has_a_place():
    """What is not in the navigation nobody finds."""
    placed = set(re.findall(r"[:-] ([\w/-]+\.md)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))

    assert placed == {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}


def test_the_reference_is_that_of_the_code():
    """Every command, option, error and variable: python -m hushcount.cli.reference > docs/reference.md."""
    assert (ROOT / "docs" / "reference.md").read_text(encoding="utf-8") == reference.render()


def test_every_member_of_a_price_and_of_a_receipt_is_told():
    """docs/formats.md names each; what `--json` prints beside is in its own tests."""
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    price, receipt = (page.split(f"## A {name}\n")[1].split("\n## ")[0] for name in ("price", "receipt"))
    told = [
        set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", part, re.MULTILINE))))
        for part in (price, receipt)
    ]

    assert told[0] == {*estimate_form(hushcount.estimate(user="u", item="i")), "checked"}
    assert told[1] == {field.name for field in fields(hushcount.Receipt)}


def test_every_error_and_every_variable_is_told():
    """Those of the code are those of the page: none is missing from the lists that it is made of."""
    raised = {name for name, kind in vars(errors).items() if isinstance(kind, type) and name != "HushcountError"}
    named = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in re.findall(r"HUSHCOUNT_[A-Z][A-Z_]*[A-Z]\b", path.read_text(encoding="utf-8"))
        if "__" not in name
    }
    page = reference.render()

    assert {name for name in raised if issubclass(getattr(errors, name), errors.HushcountError)} == {
        name for name in raised if f"| `{name}` |" in page
    }
    assert named - {"HUSHCOUNT_SERVE"} == {name.removeprefix("_") for name in reference.VARIABLES}
    assert all(f"| `{name}` |" in page for name in reference.VARIABLES)
