"""What a study is made of: numbers with errors, pages that claim no more than their rows, and the pages there are."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from hushcount.mechanisms.table import find
from studies import __main__ as command
from studies import logs
from studies.findings import Chart, Claim, Findings, Measured, Series, Table, measured, share_of
from studies.page import index, opening, page, shown
from studies.picture import draw
from studies.sips_scaling import SPARK
from studies.stamp import Stamp, stale
from studies.study import Scale, Study
from studies.table import STUDIES, chosen
from tests.conftest import ROOT

PAGES = ROOT / "docs" / "studies"
BY_HAND = "its words or its picture were changed since"


def findings(*, holds: bool) -> Findings:
    """One row, one line, one claim."""
    return Findings(
        sentence="Two is more than one.",
        tables=(Table(title="Numbers", columns=("one", "two"), rows=((1, 2.0),)),),
        charts=(Chart(title="Numbers", x="x", y="y", series=(Series(name="line", points=((0.0, 1.0), (1.0, 2.0))),)),),
        claims=(Claim("two is more than one", holds),),
    )


def study(*, holds: bool = True) -> Study:
    """A study that finds the above."""
    run = lambda scale: scale.find("ntm") and findings(holds=holds)  # noqa: E731
    return Study(name="made-up", title="Made up", source="ours", question="Why?", run=run)


def test_a_mean_has_its_standard_error():
    """Of independent runs; and a ratio has that of both, to first order."""
    ratio = measured([9, 11]) / Measured(2.0, 0.2)

    assert measured([9, 11]) == Measured(10.0, 1.0)
    assert measured([0.97, 0.97, 0.97]).error == 0
    assert ratio.mean == 5
    assert ratio.error == pytest.approx(5 * math.hypot(0.1, 0.1))
    assert share_of(1, 4).error == pytest.approx(math.sqrt(0.25 * 0.75 / 4))


def test_near_is_within_errors():
    """Four of them and no more, of both numbers together."""
    assert Measured(10.0, 1.0).near(14)
    assert not Measured(10.0, 1.0).near(14.5)
    assert Measured(10.0, 1.0).near(Measured(14.5, 1.0))


def test_numbers_are_printed_to_their_digits():
    """Two digits of an error, and the mean to the same place."""
    assert shown(Measured(1234.567, 12.3)) == "1,235 ± 12"
    assert shown(Measured(0.12345, 0.0067)) == "0.1235 ± 0.0067"
    assert shown(Measured(1234.567)) == shown(1234.567) == "1,235"
    assert shown(0.1) == "0.1"
    assert shown(None) == ""


def test_a_row_of_another_length_is_refused():
    """A table says what its columns are."""
    with pytest.raises(ValueError, match="another length than its 2 columns"):
        Table(title="Numbers", columns=("one", "two"), rows=((1,),))


def test_a_claim_that_does_not_hold_is_told_and_fails_the_run(tmp_path, monkeypatch, capsys):
    """On the page, by the command, and by what it returns; one that holds does not."""
    monkeypatch.setattr(command, "PAGES", tmp_path)
    monkeypatch.setattr(command, "STUDIES", ())
    for holds, returned in ((True, 0), (False, 1)):
        monkeypatch.setattr(command, "chosen", lambda names, holds=holds: [study(holds=holds)])

        assert command.main([]) == returned
        assert ("**Does not hold**: two" in (tmp_path / "made-up.md").read_text(encoding="utf-8")) != holds
    assert "does not hold: two is more than one" in capsys.readouterr().out


def test_a_page_begins_with_what_was_found():
    """And says how it was made, and that it is not private; the index quotes the sentence."""
    text = page(study(), findings(holds=True), Stamp("ntm 7", "none"))

    assert opening(text) == "Two is more than one."
    assert "*not private*" in text
    assert 'make study ARGS="made-up"' in text
    assert "Two is more than one." in index({study(): opening(text)})


def test_a_picture_is_the_same_for_the_same_numbers():
    """To the byte; another number is another picture."""
    one, same = (draw(findings(holds=True).charts, "Numbers") for _ in range(2))

    assert one == same
    assert one != draw((Chart(title="Numbers", x="x", y="y", series=(Series(name="l", points=((0, 1), (1, 3))),)),), "")


def test_a_study_that_is_not_there_is_told():
    """By name, with those that are."""
    with pytest.raises(SystemExit, match=r"no study is called nothing; there are: .*sips-table-2"):
        chosen(["nothing"])


def test_missing_data_is_told(monkeypatch, tmp_path):
    """With the variable that names its folder."""
    monkeypatch.setenv("HUSHCOUNT_DATA", str(tmp_path))

    with pytest.raises(SystemExit, match="set HUSHCOUNT_DATA"):
        logs.place()


def test_noise_of_studies_is_not_private():
    """A seed is fixed, so every outcome says so."""
    assert not Scale(log=logs.made).noise(0).private


def test_people_who_are_made_one_keep_their_pairs():
    """Two people of one item each, made one, have both; a pair that both have counts once."""
    log = logs.made("merged")
    together = logs.Log("together", logs.merged(log, 2))

    assert together.people == log.people // 2
    assert len(log.ids) * 0.8 < len(together.ids) <= len(log.ids)


@pytest.mark.parametrize("name", [one.name for one in STUDIES])
def test_every_study_has_its_page(name):
    """With a picture, and no claim on it that does not hold."""
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")

    assert (PAGES / f"{name}.svg").exists()
    assert "**Does not hold**" not in text
    assert "- Holds: " in text


@pytest.mark.parametrize("name", [one.name for one in STUDIES])
def test_every_page_is_what_the_code_makes(name):
    """By the versions of mechanisms that it names, the study's code, and its seal; `make study ARGS=stale` mends it."""
    text, picture = ((PAGES / f"{name}.{kind}").read_text(encoding="utf-8") for kind in ("md", "svg"))

    assert not stale(next(one for one in STUDIES if one.name == name), text, picture)


def test_a_page_that_is_not_what_the_code_makes_is_told(tmp_path, monkeypatch):
    """Another version of a mechanism, another line of the study, a word or a picture changed by hand: each alone."""
    command.write(study(), Scale(log=logs.made), tmp_path)
    text, picture = ((tmp_path / f"made-up.{kind}").read_text(encoding="utf-8") for kind in ("md", "svg"))

    assert not stale(study(), text, picture)
    assert stale(study(), text.replace("more than one", "less than one"), picture) == [BY_HAND]
    assert stale(study(), text, picture.replace("line", "curve")) == [BY_HAND]
    assert stale(replace(study(), programs="tools"), text, picture) == ["the study's code is another now"]
    monkeypatch.setattr("studies.stamp.find", lambda name: replace(find(name), version=99))
    assert stale(study(), text, picture) == ["other versions of mechanisms made it"]


def test_a_page_names_what_ran(tmp_path):
    """The mechanisms that the study asked for, and those that it says it reads, with their versions."""
    asks = replace(study(), reads=("pcr",), run=lambda scale: scale.find("ladder") and findings(holds=True))
    command.write(asks, Scale(log=logs.made), tmp_path)
    text = (tmp_path / "made-up.md").read_text(encoding="utf-8")

    assert f"| mechanisms | ladder {find('ladder').version}, pcr {find('pcr').version} |" in text


def test_the_index_quotes_the_pages():
    """All of them, as they are."""
    said = {one: opening((PAGES / f"{one.name}.md").read_text(encoding="utf-8")) for one in STUDIES}

    assert (PAGES / "index.md").read_text(encoding="utf-8") == index(said)


def test_seconds_of_spark_are_those_of_its_benchmark():
    """The study of scaling computes with rows of docs/spark.md: a new benchmark there is new numbers in the study."""
    told = [line for line in (ROOT / "docs" / "spark.md").read_text("utf-8").splitlines() if "`vocab`, `sips`" in line]

    for people, rows, workers, clock, core, shuffled in SPARK:
        row = (
            f"| {people / 1e6:.0f} M people, {rows / 1e6:.4g} M rows | `vocab`, `sips` | {workers} | {clock:,} s "
            f"| {1e6 * core / rows:.1f} µs | {shuffled} |"
        )
        assert any(line.startswith(row) for line in told)


def test_sentences_of_the_readme_rest_on_studies():
    """What it says of counts and names links to the pages that show it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    for name in ("default-count", "sips-table-2", "peers"):
        assert f"(docs/studies/{name}.md)" in text


def test_numbers_of_the_readme_are_those_of_the_pages():
    """How many times as many counts and names, as the opening sentences of both pages have it."""
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())

    for name, first in (("default-count", 0), ("sips-table-2", 1)):
        said = re.findall(r"\d[\d.]* to \d[\d.]* times as many", opening((PAGES / f"{name}.md").read_text("utf-8")))
        assert len(said) == 2
        assert all(words in text for words in said[first:])
