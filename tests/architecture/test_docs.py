"""The documentation cannot go stale: its code runs, its links lead somewhere, and every mechanism is in it."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, SRC, library

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}

# A link may not be broken, so that a line may end a little later than where it is wrapped.
WIDEST = 140

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def python_blocks(text: str) -> list[tuple[int, str]]:
    """The Python blocks of a page, each with the number of the line before it."""
    return [(text.count("\n", 0, found.start(1)), found.group(1)) for found in _BLOCK.finditer(text)]


def run_blocks(name: str, text: str) -> None:
    """Run all Python blocks of a page one after another in one namespace, as a reader would."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for line, block in python_blocks(text):
        code = compile("\n" * line + block, name, "exec")
        exec(code, namespace)  # noqa: S102 (our own pages)


def has_heading(name: str, text: str) -> bool:
    """Whether a heading of the page holds the name as a whole word."""
    whole = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    return any(whole.search(heading) for heading in _HEADING.findall(text))


@pytest.mark.parametrize("page", [page for page, text in TEXTS.items() if python_blocks(text)])
def test_code_on_a_page_runs(page, tmp_path, monkeypatch):
    """What a reader copies from the page works."""
    monkeypatch.chdir(tmp_path)
    # Not in the ledger of whoever runs the tests.
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HUSHCOUNT_LEDGER", raising=False)

    run_blocks(page, TEXTS[page])


def test_broken_code_on_a_page_is_seen():
    """Blocks share one namespace, and one that fails fails the test."""
    run_blocks("made_up.md", "```python\nx = 1\n```\nwords\n```python\nassert x == 1\n```\n")

    with pytest.raises(AssertionError):
        run_blocks("made_up.md", "```python\nx = 1\n```\nwords\n```python\nassert x == 2\n```\n")


def test_examples_in_docstrings_run():
    """Every example in a docstring gives what it says."""
    failed = {}
    for source in library():
        if ">>>" in source.text:
            parts = source.path.relative_to(SRC).with_suffix("").parts
            module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
            failed[source.name] = doctest.testmod(module).failed

    assert not [name for name, count in failed.items() if count]


def dead_links(page: Path, text: str) -> list[str]:
    """Links of a page to files that are not there."""
    links = [link for link in _LINK.findall(text) if "://" not in link]
    return [f"{page.name}: {link}" for link in links if not (page.parent / link).exists()]


def test_links_lead_somewhere():
    """Every link to a file of the repository points at one that exists."""
    assert len(PAGES) > 10
    assert not [link for page in PAGES for link in dead_links(page, page.read_text(encoding="utf-8"))]


def test_dead_links_are_seen():
    """Links within a page and to other places are not looked at."""
    text = "[a](here.md) [b](LICENSE) [c](LICENSE#words) [d](#below) [e](https://hush.example/nowhere)"

    assert dead_links(ROOT / "made_up.md", text) == ["made_up.md: here.md"]


def too_wide(text: str) -> list[str]:
    """Lines of a page that are too long to read in an editor; those of tables and of code are as they are."""
    prose = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return [line for line in prose.splitlines() if len(line) > WIDEST and not line.startswith("|")]


def test_lines_can_be_read():
    """About 120 characters, and never many more."""
    assert not {name: found for name, text in TEXTS.items() if (found := too_wide(text))}


def test_wide_lines_are_seen():
    """In running text alone."""
    wide = "word " * 40

    assert too_wide(f"a\n\n{wide}\n| {wide} |\n\n```\n{wide}\n```\n") == [wide]


def test_every_mechanism_has_a_heading():
    """Each name of the mechanism table stands in a heading under docs/mechanisms."""
    from hushcount.mechanisms import table  # its absence is this test's failure alone

    pages = [text for page, text in TEXTS.items() if page.startswith("docs/mechanisms/")]
    names = [entry.name for entry in table.MECHANISMS]

    assert names
    assert not [name for name in names if not any(has_heading(name, page) for page in pages)]


def test_missing_headings_are_seen():
    """A name in running text, or as a part of a longer name, is no heading."""
    assert has_heading("k-tsgd", "words\n\n## `k-tsgd`: one item for each person\n")
    assert not has_heading("tsgd", "## `k-tsgd`\n")
    assert not has_heading("pcr", "pcr in a line\n\n# Counts\n")
