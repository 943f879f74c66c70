"""Every command of the pages on serving is run, in order, against a real server; every path that they name is there."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tests.deploy.live import make_world, serving
from tests.deploy.shipped import need, run

PAGES = ("config", "linkedin", "operators", "owners")
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOP = {"mode": "release", "dataset": "reading", "question": "top", "item": "article", "k": 3}
# A reply that is an error ends the line with an error, whatever the line says.
_SHELL = 'set -eu; curl() { command curl --fail-with-body "$@"; }; hushcount() { "$PYTHON" -m hushcount.cli "$@"; }; '


def text_of(page: str) -> str:
    """A page on serving."""
    return (ROOT / "docs" / "serve" / f"{page}.md").read_text(encoding="utf-8")


def command_lines(text: str) -> list[str]:
    """The commands of a page; one that goes on in the next line is one."""
    blocks = [block.replace("\\\n", " ") for block in _BLOCK.findall(text)]
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A server on whose data ann has asked something and wishes for more; the variables that the pages use."""
    config = make_world(tmp_path_factory.mktemp("pages"))
    with serving(config, "olga", "ann") as live:
        live.call("PUT", "/v1/people/ann", {"role": "analyst"}, who="olga")
        live.call("POST", "/v1/queries", TOP, who="ann", Idempotency_Key="k1", Prefer="wait=30")
        wish = {"dataset": "reading", "releases": 1, "why": "for the board"}
        status, made = live.call("POST", "/v1/requests", wish, who="ann")

        assert status == 201
        yield config.parent, {"URL": live.url, "TOKEN": live.tokens["olga"], "WISH": made["id"]}


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_work(page, world):
    """Each ends well: no reply is an error, and what is a command of ours exits with 0."""
    need("curl", "curl")
    folder, variables = world
    lines = command_lines(text_of(page))
    for line in lines:
        done = run(
            ["/bin/sh", "-c", _SHELL + line],
            cwd=folder,
            env={**os.environ, **variables, "PYTHON": sys.executable},
        )

        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
        assert done.stdout.strip(), line

    assert lines


def test_an_error_is_seen(world):
    """The check can fail: a limit that cannot be is a reply of 400, which ends the line."""
    folder, variables = world
    line = (
        "curl -s -X PUT $URL/v1/limits -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' -d '{}'"
    )
    done = run(["/bin/sh", "-c", _SHELL + line], cwd=folder, env={**os.environ, **variables, "PYTHON": sys.executable})

    assert done.returncode != 0
    assert "invalid-parameter" in done.stdout


def test_lines_go_on():
    """A line that ends with a backslash goes on; other blocks are left alone."""
    page = "```console\ncurl a \\\n  -d 'b c'\n\nls\n```\n```sh\nrm -r /\n```\n"

    assert [shlex.split(line) for line in command_lines(page)] == [["curl", "a", "-d", "b c"], ["ls"]]


@pytest.mark.parametrize("page", [*PAGES, "threats"])
def test_what_a_page_names_is_there(page):
    """Paths under deploy and examples."""
    named = re.findall(r"(?<![\w/])((?:deploy|examples)/[\w./-]*\w)", text_of(page))

    assert not [path for path in named if not (ROOT / path).exists()]


def test_the_unit_is_installed_where_it_says():
    """The steps of the page put the shipped files where the unit and the configuration look for them."""
    page = text_of("operators")
    steps = re.search(r"^```sh\n(python3 -m venv.*?)^```$", page, re.MULTILINE | re.DOTALL)
    unit = (ROOT / "deploy/systemd/hushcount.service").read_text(encoding="utf-8")

    assert steps is not None
    for line in steps[1].splitlines():
        words = shlex.split(line.split("&&")[0], comments=True)
        if words[:1] == ["install"] and words[-2].startswith("deploy/"):
            assert Path(words[-1]).suffix in {".service", ".toml", ".conf"}
    assert "/opt/hushcount/bin/hushcount" in unit
    assert "/etc/hushcount/hushcount.toml" in unit
    assert "venv /opt/hushcount" in steps[1]
    assert "/etc/hushcount/hushcount.toml" in steps[1]
