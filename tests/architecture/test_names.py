"""Every file says what it is, and none is an attic."""

from __future__ import annotations

import pytest

from tests.architecture.sources import ROOT, Source, read

FOLDERS = ("src", "tests", "benchmarks", "examples")
ATTICS = {"utils", "util", "common", "helpers", "helper", "misc"}
FILES = [source for folder in FOLDERS for source in read(ROOT / folder)]


@pytest.mark.parametrize("source", FILES, ids=lambda source: source.name)
def test_a_file_opens_with_what_it_is(source: Source):
    """The first line is the opening of the module docstring, and it holds words."""
    first = source.text.split("\n", 1)[0]

    assert first.startswith('"""')
    assert len(first) > len('""""""')


@pytest.mark.parametrize("source", FILES, ids=lambda source: source.name)
def test_no_file_or_folder_is_an_attic(source: Source):
    """No utils, common or helpers: code lives under the noun it is about."""
    words = {part.removesuffix(".py").strip("_") for part in source.name.split("/")}

    assert not words & ATTICS
