"""The eighteen tasks of docs/first-day.md, each in a folder and with a ledger of its own, with what it must say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from hushcount.cli.main import main
from tests.conftest import ROOT
from tests.stored.questions import write_secret

PAGE = (ROOT / "docs" / "first-day.md").read_text(encoding="utf-8")
TASKS = {
    f"{number} {title}": block
    for number, title, block in re.findall(r"^## (\d+)\. (.+?)\n+```task\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
}
PRODUCTS = ("cup", "pen", "book", "lamp")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The made-up files, and nothing else."""
    rows = ["customer,country,product,note,ordered_at"]
    for n in range(4000):
        country, product = ("NZ", "FR", "FR")[n % 3], PRODUCTS[(n * n) % 4 if n % 5 else n % 4]
        rows.append(f"c{n % 2500},{country},{product},thanks for the {product},2026-03-2{n % 7}T{n % 24:02d}:30:00Z")
    (tmp_path / "orders.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "products.txt").write_text("\n".join((*PRODUCTS, "spoon", "fork", "knife", "bowl")), encoding="utf-8")
    (tmp_path / "countries.txt").write_text("NZ\nFR\n", encoding="utf-8")
    # Always the same noise: what a task must say is the same in every run.
    monkeypatch.setenv("HUSHCOUNT_HOME", str(write_secret(tmp_path / "home")))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line, before):
    """One line as a shell would run it; `{id}` is the receipt that was told last."""
    words = shlex.split(line.removeprefix("$ hushcount "))
    piped = words[words.index("<") + 1] if "<" in words else None
    words = words[: words.index("<")] if piped else words
    told = re.findall(r"hushcount receipt ([0-9a-f]+)", before)
    words = [word.replace("{id}", told[-1]) if "{id}" in word else word for word in words]
    return CliRunner().invoke(main, words, input=None if piped is None else Path(piped).read_bytes())


def test_there_are_eighteen():
    """And each has its line in the table."""
    assert len(TASKS) == 18
    assert [int(name.split()[0]) for name in TASKS] == list(range(1, 19))
    assert len(re.findall(r"^\| \d+ \|", PAGE, re.MULTILINE)) == 18


@pytest.mark.parametrize("name", TASKS)
def test_the_task_is_done_as_it_is_written(folder, name):
    """Every command works, the last one says what it must, and writes what it says."""
    lines, output, done = TASKS[name].splitlines(), "", None
    for line in [line for line in lines if line.startswith("$ ")]:
        assert done is None or done.exit_code == 0, done.output
        done = run(line, output)
        output += done.output

    assert done is not None
    assert (done.exit_code != 0) == ("fails" in lines), done.output
    for words in [line.removeprefix("says: ") for line in lines if line.startswith("says: ")]:
        assert words in done.output, done.output
    for file in [line.removeprefix("writes: ") for line in lines if line.startswith("writes: ")]:
        assert (folder / file).stat().st_size > 0
