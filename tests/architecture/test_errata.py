"""Every known error of the papers that touches privacy has a row in docs/errata.md and a test that pins it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

# The errata that break a guarantee as printed (P0), or overspend or leak in plausible use (P1).
P0 = {1, 2, 4, 22, 23, 24, 25, 36, 37}
P1 = {3, 5, 6, 8, 9, 11, 12, 13, 16, 20, 21, 28, 29, 32, 34, 38, 39, 40, 41}
_MENTION = re.compile(r"errat(?:um|a)[ _](\d+(?:(?:, | and |, and |-|_and_|_)\d+)*)", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    number: int
    severity: str
    wrong: str
    ours: str
    tests: str

    @property
    def paths(self) -> list[Path]:
        """The test files and test folders that the row names."""
        return [ROOT / path for path in re.findall(r"`(tests/[^`]*)`", self.tests)]


def read_rows(text: str) -> dict[int, Row]:
    """The rows of the table, by number; a number that stands twice is refused."""
    rows: dict[int, Row] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and cells[0].isdigit():
            row = Row(int(cells[0]), *cells[1:])
            assert row.number not in rows
            rows[row.number] = row
    return rows


def mentioned(text: str) -> set[int]:
    """The numbers of the errata that a text names, as in 'erratum 24', 'errata 22, 23 and 36' and 'errata 1-6'."""
    numbers: set[int] = set()
    for found in _MENTION.findall(text):
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", found):
            numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def files_at(path: Path) -> list[Path]:
    """The test files at `path`, which is a file or a folder."""
    return sorted(path.rglob("test_*.py")) if path.is_dir() else [path] if path.is_file() else []


ROWS = read_rows((ROOT / "docs" / "errata.md").read_text(encoding="utf-8"))


def test_the_severity_list_is_complete():
    """The table has exactly the P0 and P1 errata, beside whatever P2 ones it tells of."""
    assert {number for number, row in ROWS.items() if row.severity == "P0"} == P0
    assert {number for number, row in ROWS.items() if row.severity == "P1"} == P1
    assert {row.severity for row in ROWS.values()} <= {"P0", "P1", "P2"}


def test_every_row_says_what_is_wrong_and_what_we_do():
    """No cell of the table is empty."""
    assert not [row.number for row in ROWS.values() if not (row.wrong and row.ours and row.tests)]


def unpinned(rows: dict[int, Row]) -> list[str]:
    """Rows that name no tests, or tests that are not there, or none that mentions the erratum by its number."""
    found = []
    for number, row in rows.items():
        missing = [str(path) for path in row.paths if not files_at(path)]
        texts = [file.read_text(encoding="utf-8") for path in row.paths for file in files_at(path)]
        if missing or number not in set().union(*map(mentioned, texts)):
            found.append(f"erratum {number}: {', '.join(missing) or 'no test names it'}")
    return found


def test_the_named_tests_exist_and_name_the_erratum():
    """The test files that a row names are there, and one of them mentions the erratum by its number."""
    assert not unpinned({number: ROWS[number] for number in P0 | P1})


def test_unpinned_errata_are_seen():
    """A row without tests, one whose file is gone, and one whose file does not know of it."""
    tests = {1: "none", 2: "`tests/gone.py`", 3: "`tests/architecture/sources.py`", 4: f"`tests/{Path(__file__).name}`"}
    rows = {number: Row(number, "P0", "wrong", "ours", told) for number, told in tests.items()}

    assert [line.partition(":")[0] for line in unpinned(rows)] == [f"erratum {number}" for number in tests]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("erratum 24", {24}),
        ("Errata 22, 23 and 36", {22, 23, 36}),
        ("errata 1-3, 9", {1, 2, 3, 9}),
        ("def test_erratum_12_keeps_rows(): ...", {12}),
        ("24 of 36", set()),
    ],
)
def test_mentions_are_read(text, numbers):
    """Numbers count only after the word erratum or errata."""
    assert mentioned(text) == numbers
