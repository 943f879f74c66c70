"""The clients at a real server: the page for analysts as it stands, the library's verbs, and the command line."""

from __future__ import annotations

import os
import re
import sys
from contextlib import chdir
from pathlib import Path

import pytest

import hushcount
import hushcount_client
from hushcount.errors import BudgetExhausted
from tests.architecture.sources import ROOT, SRC
from tests.deploy.live import HUSHCOUNT, make_world, serving
from tests.deploy.shipped import run

PAGE = (ROOT / "docs" / "analysts.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```(sh|python) server\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """A server on whose data `engagements` ann may ask; its owner is olga."""
    config = make_world(tmp_path_factory.mktemp("clients"))
    served = config.read_text(encoding="utf-8").replace("[datasets.reading]", "[datasets.engagements]")
    config.write_text(served, encoding="utf-8")
    with serving(config, "olga", "ann") as running:
        running.call("PUT", "/v1/people/ann", {"role": "analyst"}, who="olga")
        yield running


@pytest.fixture
def surroundings(live, tmp_path, monkeypatch):
    """What the page's lines find around them: an address, a token, and the command."""
    command = tmp_path / "bin" / "hushcount"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m hushcount.cli "$@"\n', encoding="utf-8")
    command.chmod(0o700)
    monkeypatch.setenv("URL", live.url)
    monkeypatch.setenv("TOKEN", live.tokens["ann"])
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", f"{SRC}{os.pathsep}{ROOT}")
    return {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}"}


def test_every_block_of_the_page_runs(live, surroundings, tmp_path):
    """In order, Python in one namespace, the shell with an address and a token; what they ask is answered."""
    blocks, namespace = _BLOCK.findall(PAGE), {"__name__": "__main__"}
    for language, block in blocks:
        if language == "python":
            with chdir(tmp_path):
                exec(compile(block, "analysts.md", "exec"), namespace)  # noqa: S102 (our own page)
            continue
        done = run(["bash", "-euo", "pipefail", "-c", block], cwd=tmp_path, env=surroundings)

        assert done.returncode == 0, block + done.stdout + done.stderr
    _, asked = live.call("GET", "/v1/queries", who="ann")

    assert [language for language, _ in blocks].count("sh") == 5
    assert [language for language, _ in blocks].count("python") == 5
    assert (tmp_path / "articles.csv").exists()
    assert [one["status"] for one in asked["data"]] == ["done"] * 3


def test_a_block_of_another_kind_is_not_forgotten():
    """Every fence of the page is one that is run."""
    fences = re.findall(r"^```(.+)$", PAGE, re.MULTILINE)

    assert set(fences) == {"sh server", "python server"}


@pytest.mark.parametrize(
    ("question", "options"),
    [("count", {}), ("top", {"k": 3}), ("top", {"k": 3, "counts": False}), ("vocab", {})],
)
def test_both_clients_give_what_the_server_stored(live, question, options):
    """Row for row, with its receipt and its price; asked again it is the same, and free."""
    said = {"item": "article", "preset": "cautious", **options}
    light = hushcount_client.connect(live.url, live.tokens["ann"])
    whole = hushcount.connect(live.url, live.tokens["ann"])
    release, again = getattr(whole, question)("engagements", **said), getattr(light, question)("engagements", **said)
    _, stored = live.call("GET", f"/v1/releases/{again.id}", who="ann")

    assert stored["rows"]
    assert [row.item for row in again.rows] == list(release.items) == [row["item"] for row in stored["rows"]]
    if "count" in stored["rows"][0]:
        assert list(release.counts) == [row["count"] for row in stored["rows"]]
        assert list(release.high) == [row["high"] for row in stored["rows"]]
    assert release.receipt.id == again.receipt["id"] == stored["receipt"]["id"]
    assert release.cost.to_json() == stored["cost"]
    assert (again.cost["releases"], again.cost["repeated"]) == (0, True)
    assert light.release(again.id).rows == again.rows


def test_a_key_is_joined_and_what_is_done_stays(live):
    """Two calls under one key are one question; a cancel that comes too late says that it stays charged."""
    light = hushcount_client.connect(live.url, live.tokens["ann"])
    asked = {"item": "article", "k": 2, "preset": "cautious", "key": "mine"}
    first, second = light.top("engagements", **asked), light.top("engagements", **asked)
    ended = light.cancel(first.id.replace("r_", "q_"))

    assert first == second
    assert (ended["status"], ended["charged"]) == ("done", True)


def test_what_is_refused_says_the_same_in_both(live):
    """No room: the library's own error, with the service's words; cheaper ways to ask are the same."""
    live.call("PUT", "/v1/limits", {"dataset": "engagements", "analyst": "ann", "releases": "0.95"}, who="olga")
    light = hushcount_client.connect(live.url, live.tokens["ann"])
    with pytest.raises(hushcount_client.BudgetExhausted) as told:
        light.count("engagements", item="article", preset="standard", fresh=True)
    with pytest.raises(BudgetExhausted) as ours:
        hushcount.connect(live.url, live.tokens["ann"]).count("engagements", item="article", fresh=True)
    live.call("PUT", "/v1/limits", {"dataset": "engagements", "analyst": "ann", "none": True}, who="olga")

    assert told.value.charged is False
    assert str(ours.value) == str(told.value)
    assert str(told.value).count("This would fit") <= 1


def test_the_command_line_at_a_server(live, surroundings, tmp_path):
    """A price, a table and what is left, of a data set by its name; a word of its method is said once."""
    words = ["top", "engagements", "--item", "article", "-k", "3", "--preset", "cautious", "--server", live.url]
    env = {**surroundings, "HUSHCOUNT_TOKEN": live.tokens["ann"]}
    priced, answered, budget = (
        run([*HUSHCOUNT, *some], cwd=tmp_path, env=env)
        for some in ([*words, "--dry-run"], words, ["budget", "engagements", "--server", live.url])
    )

    assert [one.returncode for one in (priced, answered, budget)] == [0, 0, 0], priced.stderr + answered.stderr
    assert "hybrid-top: hybrid-top" not in priced.stdout
    assert "people" in answered.stdout
    assert "Left for this data" in answered.stdout
    assert "Budget of engagements" in budget.stdout
    assert not list(Path(tmp_path).glob("*.db"))
