"""Every file says what it is, and none is an attic."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from tests.architecture.sources import ROOT, Source, read

FOLDERS = ("src", "tests", "benchmarks", "studies", "examples")
ATTICS = {"utils", "util", "common", "helpers", "helper", "misc"}
# What goes over the wire has the noun of what it carries.
FORMS = re.compile(r"hushcount/api/(forms/|bodies\.py)")


def everything() -> list[Source]:
    """All Python files of the project."""
    return [source for folder in FOLDERS for source in read(ROOT / folder)]


def nameless(sources: list[Source]) -> list[str]:
    """Files whose first line is not the opening of a module docstring that holds words."""
    first_lines = {source.name: source.text.split("\n", 1)[0] for source in sources}
    return [name for name, first in first_lines.items() if not (first.startswith('"""') and first.strip('" '))]


def attics(sources: list[Source]) -> list[str]:
    """Files and folders with a name that could hold anything."""
    return [
        source.name
        for source in sources
        if {part.removesuffix(".py").strip("_") for part in source.name.split("/")} & ATTICS
    ]


def shared_names(sources: list[Source]) -> dict[str, list[str]]:
    """Names that several classes have, each with their files; what stands for itself in one file may be called so."""
    found = defaultdict(list)
    for source in sources:
        if not FORMS.search(source.name):
            for name in re.findall(r"^class ([A-Z]\w*)", source.text, re.MULTILINE):
                found[name].append(source.name)
    return {name: files for name, files in found.items() if len(files) > 1}


def test_every_file_opens_with_what_it_is():
    """The first line is the opening of the module docstring, and it holds words."""
    assert len(everything()) > 200
    assert not nameless(everything())


def test_no_file_or_folder_is_an_attic():
    """No utils, common or helpers: code lives under the noun it is about."""
    assert not attics(everything())


def test_one_word_stands_for_one_thing():
    """No two classes of the package have one name, but for the forms that something takes on the wire."""
    package = read(ROOT / "src" / "hushcount")

    assert sum(source.text.count("\nclass ") for source in package) > 300
    assert not shared_names(package)


def test_shared_names_are_seen():
    """Across files and within one; private ones, forms and words within a line are none."""
    texts = {
        "src/hushcount/a.py": "class Rows:\n    ...\nclass _Own: ...\n",
        "src/hushcount/b.py": "class Rows(X): ...\nclass _Own: ...\n# class Page\nclass Two: ...\nclass Two: ...\n",
        "src/hushcount/api/forms/c.py": "class Page: ...\n",
        "src/hushcount/d.py": "class Page: ...\n",
    }

    assert shared_names([Source(Path(name), text) for name, text in texts.items()]) == {
        "Rows": ["src/hushcount/a.py", "src/hushcount/b.py"],
        "Two": ["src/hushcount/b.py", "src/hushcount/b.py"],
    }


def test_nameless_files_and_attics_are_seen():
    """By name, beside files that are as they should be."""
    texts = {"a.py": '"""Words."""\n', "b.py": "x = 1\n", "c.py": '""""""\n', "d.py": '"""\nLater."""\n', "e.py": ""}
    made = [Source(Path(name), text) for name, text in texts.items()]
    places = [Source(Path(name), "") for name in ("noise/_utils.py", "helpers/x.py", "noise/common_law.py")]

    assert nameless(made) == ["b.py", "c.py", "d.py", "e.py"]
    assert attics(places) == ["noise/_utils.py", "helpers/x.py"]
