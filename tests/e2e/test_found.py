"""What attackers and newcomers found at the command line, each as it was reproduced: it must not happen again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from hushcount.app import answer
from hushcount.app.charging import HELD
from hushcount.app.items import read_list
from hushcount.cli.main import main
from hushcount.errors import UnreadableSource

ASK = ("--user", "user", "--item", "item")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Each test has a home of its own; gives the user's own ledger."""
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HUSHCOUNT_ANALYST", "olga")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home" / "ledger.sqlite"


def run(*words, code=0):
    """One command; its output and error text."""
    result = CliRunner().invoke(main, [str(word) for word in words])

    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def write_csv(path, people=900, extra=""):
    """A made-up table of user, item, session, x."""
    rows = [f"u{n},thing {n % 3},s{n // 2},{n % 5}" for n in range(people)]
    path.write_text("\n".join(["user,item,session,x", *rows]) + "\n" + extra, encoding="utf-8")
    return path


def questions(name):
    """How many questions were charged to a data set, and how much in all."""
    lines = json.loads(run("ledger", "report", "--json").stdout)
    line = next(line for line in lines if line["dataset"] == name)
    return line["questions"], line["ever"]["rho"]


def datasets():
    """The names of all data sets."""
    return [line["dataset"] for line in json.loads(run("ledger", "report", "--json").stdout)]


def test_keys_of_json_are_private(tmp_path):
    """One row of 3,000 with a key of its own: the key is in no message, also when another column is not there."""
    rows = [json.dumps({"user": n, "item": f"i{n % 3}", "x": 1}) for n in range(3000)]
    rows[1500] = json.dumps({"user": 1500, "item": "i0", "x": 1, "diagnosed_hiv_2019": True})
    log = tmp_path / "e.jsonl"
    log.write_text("\n".join(rows) + "\n", encoding="utf-8")

    told = [run("count", log, *ASK, "--where", "x = 1").output]
    told.append(run("count", log, *ASK, "--where", "nothing = 1").output)
    told.append(run("count", log, *ASK, "--where", "x = 1", "--dry-run").output)

    assert "i0" in told[0]
    assert not any("diagnosed" in text for text in told)


def test_twenty_keys_in_one_row_change_nothing(tmp_path):
    """They turned the whole file into a MAP before; now exactly the columns that the question names are read."""
    rows = [json.dumps({"user": n, "item": f"i{n % 3}"}) for n in range(3000)]
    plain = tmp_path / "plain.jsonl"
    plain.write_text("\n".join(rows) + "\n", encoding="utf-8")
    rows[7] = json.dumps({"user": 7, "item": "i1"} | {f"key{n}": n for n in range(20)})
    many = tmp_path / "many.jsonl"
    many.write_text("\n".join(rows) + "\n", encoding="utf-8")

    names = [json.loads(run("vocab", log, *ASK, "--json").stdout)["rows"] for log in (plain, many)]

    assert names[0] == names[1] == [{"item": "i0"}, {"item": "i1"}, {"item": "i2"}]


def test_a_limit_on_unasked_data_binds_every_name(tmp_path):
    """No release at all for a.csv: neither by a pattern, nor by itself, nor as a copy, nor compressed."""
    log = write_csv(tmp_path / "a.csv")
    run("ledger", "limit", "--data", log, "--releases", "0")
    copy = tmp_path / "copy.csv"
    copy.write_bytes(log.read_bytes())

    for name in ("a.cs?", "a.csv", "./a.csv", "copy.csv", "[a].csv"):
        refused = run("count", name, *ASK, code=4)

        assert "nothing was charged" in refused.output

    assert len(datasets()) == 1


def test_another_working_directory_has_the_same_ledger(tmp_path, monkeypatch):
    """The ledger is not looked for in the folder that one happens to be in."""
    log = write_csv(tmp_path / "a.csv")
    founded = run("count", log, *ASK)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    again = run("count", log, *ASK)

    assert "A new ledger was founded" in founded.stderr
    assert "founded" not in again.stderr
    assert not list(elsewhere.iterdir())
    assert len(datasets()) == 1


def test_a_person_is_pinned(tmp_path):
    """--user session after --user user would count sessions as people: refused, free, with the words to type."""
    log = write_csv(tmp_path / "a.csv")
    first = run("count", log, *ASK)
    before = questions("a")
    refused = run("count", log, "--user", "session", "--item", "item", "--where", "user = 'u7'", code=2)

    assert "Registered as data set 'a': a person is who stands in column 'user'" in first.stderr
    assert "hushcount catalog repin a --user session" in refused.output
    assert "Nothing was charged" in refused.output
    assert questions("a") == before

    run("catalog", "repin", "a", "--user", "session")
    run("count", log, "--user", "session", "--item", "item")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--user", "user", "--item", "artcle"), "there is no column 'artcle'"),
        (("--user", "usr", "--item", "item"), "there is no column 'usr'"),
        ((*ASK, "--where", "cuntry = 'NZ'"), "there is no column 'cuntry'"),
        ((*ASK, "--where", "(" * 60 + "x = 1" + ")" * 60), "deep"),
        ((*ASK, "--where", " OR ".join(f"x = {n}" for n in range(4000))), "characters"),
        ((*ASK, "--method", "tsgd"), "--max-items-per-user must be declared for 'tsgd'"),
        ((*ASK, "--delta", "1e-99999"), "delta"),
        ((*ASK, "--rho", "1e-99999"), "rho"),
    ],
)
def test_a_typo_costs_nothing(tmp_path, words, text):
    """Ten such typos used up the month before; now what is public is checked before the charge."""
    log = write_csv(tmp_path / "a.csv")
    run("count", log, *ASK)
    before = questions("a")
    refused = run("count", log, *words, code=2)

    assert text in refused.output
    assert questions("a") == before


@pytest.mark.parametrize("depth", [26, 40, 49])
def test_a_deep_filter_is_answered_or_refused_but_not_charged_and_lost(tmp_path, depth):
    """Some nestings passed the first look and failed after the charge, since the filter was parsed twice."""
    log = write_csv(tmp_path / "a.csv")
    where = "(" * depth + "x = 1" + ")" * depth
    result = CliRunner().invoke(main, ["count", str(log), *ASK, "--where", where])

    asked = questions("a")[0] if result.exit_code == 0 else 0
    assert (result.exit_code, asked) in {(0, 1), (2, 0)}, result.output


def test_a_malformed_file_costs_nothing(tmp_path):
    """It is read to its end before anything is charged, once for each version of it."""
    log = write_csv(tmp_path / "a.csv", extra='u1,"never closed\n')
    for _ in range(3):
        refused = run("count", log, *ASK, code=3)

        assert "never closed" not in refused.output

    assert datasets() == []


def test_two_spellings_of_a_number_are_one_question(tmp_path):
    """--rho 0.10 and 0.1 cost once."""
    log = write_csv(tmp_path / "a.csv")
    first = json.loads(run("count", log, *ASK, "--rho", "0.10", "--json").stdout)
    paid = questions("a")[1]
    again = json.loads(run("count", log, *ASK, "--rho", "0.1", "--json").stdout)

    assert {**first, "free": True} == again
    assert questions("a")[1] == paid


def test_two_spellings_of_a_filter_are_one_question(tmp_path):
    """<> and != cost once."""
    log = write_csv(tmp_path / "a.csv")
    first, again = (
        json.loads(run("count", log, *ASK, "--where", f"x {sign} 3", "--json").stdout) for sign in ("<>", "!=")
    )

    assert {**first, "free": True} == again


@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_the_data_is_not_written_over(tmp_path, option):
    """An answer never goes into the file that it is about, under any name, nor into a list that it read."""
    log = write_csv(tmp_path / "a.csv")
    (tmp_path / "b.csv").symlink_to(log)
    ending = ".png" if option == "--plot" else ".csv"
    if ending == ".png":
        log = log.rename(tmp_path / "a.png.csv")
        (tmp_path / "b.png").symlink_to(log)
    before = log.read_bytes()
    refused = run("count", log, *ASK, option, f"b{ending}", code=2)

    assert "overwritten" in refused.output
    assert log.read_bytes() == before


def test_control_characters_do_not_reach_the_terminal(tmp_path):
    """An item that clears the screen, forges a row or writes backwards is shown as its escapes."""
    evil = "a\x1b[2Jb\tfake\u202e\nrow\x9b"
    rows = [json.dumps({"user": n, "item": evil}) for n in range(3000)]
    log = tmp_path / "e.jsonl"
    log.write_text("\n".join(rows) + "\n", encoding="utf-8")

    for words in ((), ("--quiet",), ("--json",)):
        shown = run("count", log, *ASK, *words).stdout

        assert all(sign.isprintable() or sign in "\n\t" for sign in shown)
    quiet = run("count", log, *ASK, "--quiet").stdout
    assert len(quiet.splitlines()) == 1
    assert quiet.count("\t") == 3
    (row,) = json.loads(run("count", log, *ASK, "--json").stdout)["rows"]
    assert row["item"] == evil


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_ending_a_command_leaves_no_rows_on_disk(tmp_path, number, code):
    """SIGTERM or Ctrl-C while people are counted: the folder for spilled rows is gone."""
    log = write_csv(tmp_path / "a.csv", people=400_000)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(  # noqa: S603 (our own words)
        [sys.executable, "-m", "hushcount.cli", "count", str(log), *ASK],
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 60
    while not list(scratch.glob("hushcount-*")) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)

    assert process.returncode == code, said
    assert "charged" in said
    assert not list(scratch.glob("hushcount-*"))


@pytest.mark.parametrize(
    ("kind", "words"), [(RuntimeError, "Query interrupted"), (UnreadableSource, "a.csv cannot be read")]
)
@pytest.mark.parametrize(
    ("stage", "sentence"), [("sight", "Nothing was charged."), ("bounded_input", "stays charged, since data was read")]
)
def test_ctrl_c_is_told_as_such_whatever_the_database_makes_of_it(tmp_path, monkeypatch, stage, sentence, kind, words):
    """DuckDB swallows the interruption and fails in its own words: 130 and what was charged, not 70 or 3."""
    log = write_csv(tmp_path / "a.csv")

    def interrupted(*given: object, **named: object) -> None:
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
        raise kind(words)

    monkeypatch.setattr(answer, stage, interrupted)
    before = signal.getsignal(signal.SIGINT)
    said = run("count", log, *ASK, code=130).output

    assert "stopped" in said
    assert sentence in said
    assert words not in said
    assert signal.getsignal(signal.SIGINT) is before


def test_what_fails_inside_says_whether_it_was_charged(tmp_path, monkeypatch):
    """An error that nobody foresaw is told by its place alone, with whether anything was charged, and no other note."""
    log = write_csv(tmp_path / "a.csv")
    error = ValueError("secret value")
    error.add_note("secret note")

    def fails(*given: object, **named: object) -> None:
        raise error

    monkeypatch.setattr(answer, "bounded_input", fails)
    said = run("count", log, *ASK, code=70).output

    assert "ValueError" in said
    assert HELD in said
    assert "secret" not in said


@pytest.mark.parametrize(
    ("where", "words", "code", "sentence"),
    [
        ("home/secret", (), 2, "a pipe or a device and not a file"),
        ("pipe", ("--ledger", "pipe"), 2, "a pipe or a device and not a ledger"),
        ("pipe", ("--keys", "pipe"), 3, "no item stands in it"),
        ("pipe.csv", (), 3, "write it to a file first"),
    ],
)
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, where, words, code, sentence):
    """A pipe as the secret, the ledger, a list or the data is refused at once, free of charge, and not waited for."""
    log = write_csv(tmp_path / "a.csv")
    (tmp_path / "home").mkdir()
    os.mkfifo(tmp_path / where, mode=0o600)
    data = where if where.endswith(".csv") else log
    # As a process: one that waits for a writer can only be ended from outside.
    done = subprocess.run(  # noqa: S603 (our own words)
        [sys.executable, "-m", "hushcount.cli", "count", str(data), *ASK, *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == code, done.stderr
    assert sentence in done.stderr
    assert "othing was charged" in done.stderr


def test_a_list_may_come_from_a_program(tmp_path):
    """A pipe that somebody writes to, as a shell's <(...) is, is read to its end."""
    reading, writing = os.pipe()
    os.write(writing, b"one\n\ntwo\n")
    os.close(writing)

    assert read_list(Path(f"/dev/fd/{reading}")) == ["one", "two"]
    os.close(reading)


@pytest.mark.parametrize(
    "said",
    [
        ("--epsilon", "1e300", "--delta", "1e-6"),
        ("--rho", "1e40", "--delta", "1e-6"),
        ("--releases", "1e300"),
        ("--information", "9" * 300, "--calls", "3"),
        ("--information", "1", "--calls", "3", "--epsilon-per", "1e200"),
    ],
)
def test_a_limit_that_limits_nobody_is_refused_in_a_few_words(said):
    """More than a million standard releases is no limit, in any currency. Before, hundreds of digits were printed."""
    refused = run("ledger", "limit", "--all-data", *said, code=2).output

    assert re.search(r"[0-9]{30}", refused) is None, refused
    assert "cannot be used" in refused


def test_the_largest_limit_is_told_in_a_few_words(tmp_path):
    """A million standard releases is a limit, and no sentence about it is long."""
    log = write_csv(tmp_path / "a.csv")
    said = run("ledger", "limit", "--all-data", "--rho", "100000", "--delta", "0.5", "--window", "day").output
    asked = [run("count", log, *ASK), run("budget", log, "--expert"), run("ledger", "history", log)]

    assert "standard releases a day" in said
    assert all(re.search(r"[0-9]{30}", words) is None for words in (said, *(shown.output for shown in asked)))


def test_a_refusal_is_json_where_json_is_asked_for(tmp_path):
    """A program that asks reads why it was refused, and that nothing was charged."""
    log = write_csv(tmp_path / "a.csv")
    run("ledger", "limit", "--data", log, "--releases", "0")
    refused = CliRunner().invoke(main, ["count", str(log), *ASK, "--json"])
    form = json.loads(refused.stdout)["refused"]

    assert refused.exit_code == 4
    assert form["charged"] == {"rho": "0", "delta": "0"}
    assert form["ask"] == ["olga"]
