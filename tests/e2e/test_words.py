"""What a person reads on the first day: mistakes by what was typed, empty answers, prices, standard input."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from hushcount.app.sample import write_log
from hushcount.cli.main import main

ASK = ("--user", "reader", "--item", "article")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A made-up log of 2000 readers."""
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    write_log(path, 2000)
    return path


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """Each test keeps its secret, receipts and ledger in a folder of its own."""
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def run(*words, code=0, given=None):
    """One command; its output and error text."""
    result = CliRunner().invoke(main, [str(word) for word in words], input=given)

    assert result.exit_code == code, result.output
    return result


@pytest.mark.parametrize(
    ("words", "told", "typed"),
    [
        (("vocab", *ASK, "--keys", "list.txt"), "--keys 'a list' cannot be used: it must be left out", None),
        (
            ("count", *ASK, "--max-items-per-user", "0"),
            "--max-items-per-user 0 cannot be used",
            "--max-items-per-user N",
        ),
        (
            ("count", *ASK, "--ngrams", "1-2"),
            "--ngrams '1-2' cannot be used: it must be left out where the values",
            None,
        ),
        (
            ("count", *ASK, "--timezone", "UTC"),
            "--timezone 'UTC' cannot be used: it must be said with day",
            "day(COLUMN)",
        ),
        (
            ("people", "--user", "reader", "--trim"),
            "--trim cannot be used: it must be said with by",
            "--by COLUMN --keys",
        ),
        (("count", *ASK, "--error", "20"), "--error '20' cannot be used: it must be a share", "--error 10%"),
        (("count", "--user", "reader"), "--item must be given, or else a text column", "--item COLUMN, or --text"),
        (("count", *ASK, "--text", "search"), "--item 'article' cannot be used: it must be left out", None),
        (
            ("count", *ASK, "--keys", "none.txt"),
            "public list 'none.txt' cannot be read: there is no such file",
            None,
        ),
        (("count", "--user", "reader", "--item", "year(article)"), "there are hour(COLUMN), day(COLUMN)", None),
    ],
)
def test_what_is_wrong_is_called_as_it_was_typed(log, tmp_path, words, told, typed):
    """By the option and not by a name from inside; what to type is never what was just refused."""
    (tmp_path / "list.txt").write_text("a\n", encoding="utf-8")
    said = run(words[0], log, *words[1:], code=3 if "none.txt" in words else 2).stderr

    assert told in said
    assert ("To type: " in said) == (typed is not None)
    assert typed is None or typed in said.split("To type: ")[1]
    assert "Nothing was charged." in said
    assert not re.search("public_items|max_items |with_counts|relative_error|None", said)


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (("count", "no-such.parquet", *ASK), 3, "UnreadableSource"),
        (("count", "LOG", "--user", "raeder", "--item", "article"), 2, "UnknownColumn"),
        (("count", "LOG", *ASK, "--dry-run", "--preset", "bold"), 2, "InvalidParameter"),
        (("count", "LOG", *ASK, "--where", "lower(article) = 'a'"), 2, "UnsafeFilter"),
        (("receipt", "beef"), 2, "InvalidParameter"),
        (("budget", "no-such.parquet"), 3, "UnreadableSource"),
    ],
)
def test_errors_are_json_where_answers_are(log, words, code, kind):
    """One object on the output, with the words of the error stream; the exit code is the same."""
    result = run(*(log if word == "LOG" else word for word in words), "--json", code=code)
    form = json.loads(result.stdout)

    assert form["schema"] == 1
    assert form["error"]["kind"] == kind
    assert f"hushcount: {form['error']['words']}" in result.stderr.splitlines()
    assert form["error"]["to_type"] in result.stderr


def test_a_failure_inside_is_json_too_and_shows_no_value(log, monkeypatch):
    """Its kind and place, as on the error stream."""

    def fail(*_, **__):
        raise RuntimeError("Jane Doe")

    monkeypatch.setattr("hushcount.library.questions.ask", fail)
    result = run("count", log, *ASK, "--json", code=70)

    assert json.loads(result.stdout)["error"]["kind"] == "Unexpected"
    assert "Jane" not in result.output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--names-only", "--plot", "x.png"), "--plot draws counts, and --names-only has none"),
        (("--quiet", "--rows", "3"), "--rows is for the table"),
        (("--json", "--rows", "3"), "--rows is for the table"),
        (("--quiet", "--json"), "leave one of them out"),
        (("--rows", "-1"), "'--rows': -1 is not in the range"),
    ],
)
def test_what_would_not_be_shown_is_refused_before_it_is_paid(log, words, told):
    """A picture of names was refused after the answer was charged; rows were shown whatever was said."""
    assert told in run("top", log, *ASK, "-k", "3", *words, code=2).stderr
    assert "nothing was asked of it" in run("top", log, *ASK, "-k", "3", "--dry-run").stdout


def test_every_object_has_its_schema(log):
    """Answers, prices, budgets and what is advised: the version of their form is the first member."""
    for words in (("count", log, *ASK), ("count", log, *ASK, "--dry-run"), ("budget", log), ("advise",)):
        form = json.loads(run(*words, "--json").stdout)

        assert next(iter(form.items())) == ("schema", 1), words


def test_an_empty_answer_names_dates_where_days_are_counted(tmp_path):
    """Days that are not written as they were said to be are why nothing is there: free to look at, before a price."""
    rows = tmp_path / "rows.csv"
    rows.write_text("u,at\n" + "".join(f"p{n},31/01/2026\n" for n in range(900)), encoding="utf-8")
    asked = ("--user", "u", "--item", "day(at)")
    empty = run("count", rows, *asked, "--preset", "cautious").stdout
    right = run("count", rows, *asked, "--preset", "cautious", "--date-format", "%d/%m/%Y").stdout

    assert "Dates: texts that are not ISO 8601" in empty
    assert empty.index("Dates: ") < empty.index("--preset standard")
    assert "The filter" not in empty
    assert "2026-01-31" in right


def test_what_is_left_is_told_as_it_is(log, tmp_path):
    """One release is one; what does not fit is told with the price; of a file that is new by name only, nothing is."""
    run("people", log, "--user", "reader", "--quiet")
    run("ledger", "limit", "--data", log, "--releases", "2")
    dear = run("count", log, *ASK, "--preset", "generous", "--dry-run").stdout
    (tmp_path / "copy.parquet").write_bytes(log.read_bytes())
    copied = run("count", "copy.parquet", *ASK, "--dry-run").stdout

    assert re.search(r"Left for this data: 1 standard release this month", dear)
    assert "It does not fit into that, and would be refused" in dear
    assert "would be refused" not in run("count", log, *ASK, "--dry-run").stdout
    assert "nothing was asked of it under this name" in copied
    assert "1 left of 2 standard releases" in run("budget", "copy.parquet").stdout


def test_standard_input_is_called_so(log):
    """In errors, and where a price is asked: what is left is known when it was read."""
    empty = run("people", "-", "--user", "reader", code=3, given="").stderr
    price = run("people", "-", "--user", "reader", "--dry-run", given="reader\n1\n").stdout

    assert "standard input cannot be read: the file is empty" in empty
    assert "hushcount-input" not in empty
    assert "Left for this data: known when it has been read." in price


def test_the_number_of_people_is_one_number(log):
    """No rows, no items and no list in what is said of it."""
    told = run("people", log, "--user", "reader").stdout
    paragraph = run("receipt", re.search(r"receipt ([0-9a-f]{12})", told)[1]).stdout

    assert "The true number is between 'at least' and 'at most' with 95 % probability." in told
    assert "there is one number to tell, and it adds the least noise" in paragraph
    assert "The true number was not released." in paragraph
    assert "items" not in paragraph


def test_a_command_to_type_keeps_what_it_does_not_change(log):
    """A smaller preset in place of a price; the delta and a share that was said stay; no address is repeated."""
    run("people", log, "--user", "reader", "--preset", "cautious")
    run("ledger", "limit", "--data", log, "--releases", "0.5")
    asked = ("count", log, *ASK, "--rho", "0.2", "--delta=1e-7", "--error", "20%", "--where", "article LIKE 'a%'")
    typed = run(*asked, code=4).stderr.split("To type: ")[1].strip()

    assert typed == (
        f"hushcount count {log} --user reader --item article --delta=1e-7 --error 20% "
        "--where 'article LIKE '\"'\"'a%'\"'\"'' --preset cautious"
    )


def test_what_rounding_leaves_of_a_limit_is_nothing(log):
    """Two questions use it up to the last digit but sixteen: a person reads none."""
    for _ in range(2):
        run("count", log, *ASK, "--preset", "generous", "--fresh", "--quiet")
    refused = run("count", log, *ASK, "--fresh", code=4).stderr
    report = run("ledger", "report").stdout

    assert "has 0 standard releases left" in refused
    assert "would fit" not in refused
    assert "This data: 0 left of 10 standard releases" in run("budget", log).stdout
    assert "e-" not in refused + report


def test_what_runs_out_first_is_told(log):
    """A small price may take as much of naming as a large one: where that is less, it says so."""
    small = run("vocab", log, *ASK, "--preset", "cautious").stdout
    large = run("people", log, "--user", "reader").stdout

    assert "Price: 0.1 standard releases" in small
    assert "Left for this data: 9 standard releases" in small
    assert "Naming items runs out first" in small
    assert "Left for this data: 8.9 standard releases" in large
    assert "Naming" not in large
