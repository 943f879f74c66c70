"""The walk of a question through the house, traced: it goes down, and CONTRIBUTING draws what was traced."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from hushcount.cli.main import main
from tests.architecture.sources import ROOT
from tests.architecture.walk import Walk, room_of, walk
from tests.stored.questions import write_rows

# A question of the command line tells it how far it is, and a step of a mechanism is applied where the counts are.
MOST_UPWARD = 3
ASK = ("--user", "person", "--item", "item")


@pytest.fixture(scope="module")
def walks(tmp_path_factory):
    """Traces of the questions that CONTRIBUTING draws."""
    folder = tmp_path_factory.mktemp("walk")
    rows = write_rows(folder / "rows.csv")
    env = {"HUSHCOUNT_HOME": str(folder / "home")}

    def run(*words: str) -> Walk:
        def ask() -> None:
            done = CliRunner().invoke(main, list(words), env=env)
            assert done.exit_code == 0, done.output

        return walk(ask)

    # Once before, so that what is compiled, founded or registered only the first time is not drawn.
    run("vocab", str(rows), *ASK, "--rho", "0.001")
    return {
        "count": run("count", str(rows), *ASK, "--where", "country = 'NZ'", "--rho", "0.01"),
        "vocab": run("vocab", str(rows), *ASK, "--rho", "0.01"),
        "limit": run("ledger", "limit", "--data", str(rows), "--releases", "20"),
    }


@pytest.mark.parametrize("name", ["count", "vocab", "limit"])
def test_a_question_goes_down(walks, name):
    """No more calls go upwards than the few that must: telling stages, and applying a mechanism's step."""
    assert len(walks[name].upward) <= MOST_UPWARD, sorted(walks[name].upward)


def test_calls_upwards_are_seen(walks):
    """The measure can fail: the stages of a command are told by a call upwards, which is found."""
    assert ("app/answer.py", "cli/stages.py") in walks["count"].upward


@pytest.mark.parametrize("name", ["count", "vocab", "limit"])
def test_the_drawing_is_the_trace(walks, name):
    """CONTRIBUTING names the files of the walk in the order in which they are entered."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    drawn = re.search(rf"^```walk {name}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert drawn is not None
    files = re.findall(r"[a-z_]+(?:/[a-z_]+)*\.py", drawn.group(1))

    assert files == [file for file in walks[name].files if file in files]
    missing = {room_of(file) for file in walks[name].files} - {room_of(file) for file in files}
    assert not missing
    told = re.search(r"About (\d+) files", drawn.group(1))
    assert told is not None
    assert abs(len(walks[name].files) - int(told.group(1))) <= 5
