"""The command line as a person uses it: real files, real processes where start-up matters, texts and exit codes."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from hushcount.app.sample import true_counts, write_log
from hushcount.cli.main import main


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A made-up log of 4000 readers."""
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    write_log(path, 4000)
    return path


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """Each test keeps its secret, receipts and ledger in a folder of its own."""
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def run(*words, code=0):
    """One command; its output and error text."""
    result = CliRunner().invoke(main, [str(word) for word in words])

    assert result.exit_code == code, result.output
    return result


ASK = ("--user", "reader", "--item", "article")


def test_count_prints_a_table_and_a_receipt(log):
    """The table has whole numbers with two ends, and the receipt it names can be shown."""
    output = run("count", log, *ASK).stdout

    assert "people" in output
    assert "at least" in output
    assert "unlikely to be shown" in output
    receipt = output.split("hushcount receipt ")[1].split()[0]
    paragraph = run("receipt", receipt).stdout
    assert "Each person in column 'reader'" in paragraph
    assert json.loads(run("receipt", receipt, "--json").stdout)["mechanism"] == "ntm"


def test_no_greek_unless_asked(log):
    """Tables and sentences for everybody hold no Greek letters and none of their names."""
    for words in (
        ("count", log, *ASK),
        ("top", log, *ASK, "-k", 3),
        ("vocab", log, *ASK),
        ("count", log, *ASK, "--dry-run"),
    ):
        output = run(*words).stdout

        for name in ("rho", "epsilon", "delta", "sigma", "ρ", "ε", "δ", "σ"):
            assert name not in output.replace("threshold", "")


def test_json_is_rows_and_receipt(log):
    """--json prints one JSON document whose counts are near the truth."""
    form = json.loads(run("count", log, *ASK, "--json").stdout)
    truth = true_counts(log)

    assert form["receipt"]["question"] == "count"
    assert form["schema"] == 1
    assert form["rows"]
    for row in form["rows"]:
        assert list(row) == ["article", "count", "low", "high"]
        assert abs(row["count"] - truth[row["article"]]) < 2000


def test_quiet_prints_rows_only(log):
    """--quiet prints tab-separated rows and nothing else."""
    lines = run("top", log, *ASK, "-k", 3, "--quiet").stdout.splitlines()

    assert len(lines) == 3
    assert all(len(line.split("\t")) == 4 for line in lines)


def test_same_question_same_answer(log):
    """Asked twice, the same; asked afresh, new noise."""
    words = ("top", log, *ASK, "-k", 5, "--quiet")
    first = run(*words).stdout

    assert run(*words).stdout == first
    assert any(run(*words, "--fresh").stdout != first for _ in range(3))


def test_vocab_of_text(log):
    """Words of a text column are named, lower-cased, in alphabetical order."""
    words = run("vocab", log, "--user", "reader", "--text", "search", "--ngrams", "1-2", "--quiet").stdout.splitlines()

    assert words == sorted(words)
    assert "harbour" in words


@pytest.mark.parametrize("name", ["counts.parquet", "counts.csv", "counts.json"])
def test_out_writes_rows_and_receipt(log, tmp_path, name):
    """--out writes the table and its receipt beside it."""
    run("count", log, *ASK, "--out", tmp_path / name)

    assert (tmp_path / name).stat().st_size > 0
    assert json.loads((tmp_path / "counts.receipt.json").read_text(encoding="utf-8"))["question"] == "count"


def test_plot_draws(log, tmp_path):
    """--plot writes a picture."""
    run("top", log, *ASK, "-k", 5, "--plot", tmp_path / "top.png")

    assert (tmp_path / "top.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("words", [("count",), ("top", "-k", 5), ("vocab",)])
def test_dry_run_reads_no_value(log, words, monkeypatch):
    """--dry-run looks at the file's columns, says so, and asks the engine for nothing else."""

    def read(*_, **__):
        raise AssertionError("a value was read")

    for name in ("fingerprint", "sighting", "rows_identity", "histogram", "incidence"):
        monkeypatch.setattr(f"hushcount.engines.duckdb.engine.DuckdbEngine.{name}", read)
    output = run(words[0], log, *words[1:], *ASK, "--dry-run").stdout

    assert "No value was read and nothing is charged. The file can be opened, and its columns fit." in output
    assert "one standard release" in output


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((*ASK, "--where", "colour = 'red'"), 2, "no column 'colour'"),
        (("--user", "raeder", "--item", "article"), 2, "Did you mean 'reader'?"),
    ],
)
def test_dry_run_finds_the_typo(log, words, code, told):
    """What the question itself would be refused for is told by its rehearsal, in the same words."""
    dry, wet = (run("count", log, *words, *more, code=code).stderr for more in (("--dry-run",), ()))

    assert told in dry
    assert dry.splitlines()[0] in wet
    assert "no such file" in run("count", "no-such-file.parquet", *ASK, "--dry-run", code=3).stderr


def test_dry_run_says_what_it_could_not_look_at(tmp_path):
    """Keys of JSON are private, and a SQLite table would have to be copied: neither is told to fit."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"u": 1, "i": "a"}\n', encoding="utf-8")
    with sqlite3.connect(tmp_path / "shop.sqlite") as database:
        database.execute("CREATE TABLE orders (u, i)")
    database.close()
    asked = ("--user", "u", "--item", "i", "--dry-run")

    assert "keys are private" in run("count", rows, *asked).stdout
    assert "The data was not opened" in run("count", tmp_path / "shop.sqlite", *asked).stdout


def test_budget_runs_out_with_a_way_out(log):
    """Ten standard releases, then exit code 4: asked, left, who spent it, what would fit; a repeat is still free.

    A cautious one comes first: `ntm` uses all that it is given, so that ten standard ones would leave nothing.
    """
    run("count", log, *ASK, "--quiet", "--preset", "cautious")
    first = run("count", log, *ASK, "--quiet").stdout
    result, paid = None, 1
    while result is None or result.exit_code == 0:
        result = CliRunner().invoke(main, ["count", str(log), *ASK, "--fresh"])
        paid += result.exit_code == 0

    assert result.exit_code == 4
    assert 9 <= paid <= 14
    lines = result.stderr.splitlines()
    assert len(lines) <= 5
    assert lines[0] == "hushcount: This question may cost 1 standard release; nothing was charged."
    assert "standard releases left, renewed on" in lines[1]
    assert "count of article per reader" in lines[2]
    again = f"hushcount count {log} --user reader --item article --fresh --preset cautious"
    assert lines[-1] == f"To type: {again}"
    assert max(map(len, lines[:-1])) < 160
    form = json.loads(CliRunner().invoke(main, ["count", str(log), *ASK, "--fresh", "--json"]).stdout)["refused"]
    assert form["lines"] == [lines[0].removeprefix("hushcount: "), *lines[1:-1]]
    assert (form["releases"]["asked"], form["to_type"]) == (1.0, again.replace("--fresh", "--fresh --json"))
    assert run("count", log, *ASK, "--quiet").stdout == first
    assert "Left for this data: 0." in run("count", log, *ASK, "--dry-run").stdout


@pytest.mark.parametrize(
    ("words", "code", "texts"),
    [
        (
            ("--user", "raeder", "--item", "article"),
            2,
            ["no column 'raeder'", "reader, article, search", "Did you mean 'reader'?"],
        ),
        (("--user", "reader"), 2, ["--item COLUMN, or --text COLUMN"]),
        ((*ASK, "--preset", "bold"), 2, ["one of cautious, standard, generous"]),
        ((*ASK, "--rho", "0"), 2, ["above zero"]),
        ((*ASK, "--delta", "0"), 2, ["delta = 0", "1e-6"]),
        ((*ASK, "--method", "policy-gaussian-l1"), 2, ["not private", "corrigendum"]),
        ((*ASK, "--method", "magic"), 2, ["one of ladder"]),
        ((*ASK, "--where", "lower(article) = 'a'"), 2, ["functions are not allowed"]),
        ((*ASK, "--where", "article = 'a'; DROP TABLE x"), 2, ["filter"]),
        ((*ASK, "--where", "colour = 'red'"), 2, ["no column 'colour'"]),
        ((*ASK, "--engine", "abacus"), 2, ["duckdb"]),
        ((*ASK, "--out", "rows.xls"), 2, [".parquet"]),
    ],
)
def test_errors_say_what_to_type(log, words, code, texts):
    """Each mistake is told with what happened and what to write instead, on the error stream, with its exit code."""
    result = run("count", log, *words, code=code)

    for text in texts:
        assert text in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("missing.parquet", None, "no such file"),
        ("broken.parquet", b"not parquet at all", "broken.parquet"),
        ("empty.csv", b"", "empty.csv"),
    ],
)
def test_unreadable_files(tmp_path, name, content, text):
    """Missing, broken and empty files are told by name, with exit code 3."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
    result = run("count", tmp_path / name, "--user", "u", "--item", "i", code=3)

    assert text in result.stderr


def test_a_bad_out_name_is_told_before_anything_is_read(tmp_path):
    """An ending that cannot be written is refused before the data is opened: nothing is spent on it."""
    result = run("count", tmp_path / "none.parquet", *ASK, "--out", "rows.xls", code=2)

    assert "ends in" in result.stderr


@pytest.mark.parametrize(
    "words", [("--out", "no-folder/rows.csv"), ("--plot", "no-folder/rows.png"), ("--out", "taken.csv")]
)
def test_a_place_that_cannot_be_written_costs_nothing(log, tmp_path, words):
    """Output that could not be written is refused before data is read: no fresh answer is paid for and then lost."""
    (tmp_path / "taken.csv").mkdir()
    result = run("count", log, *ASK, "--fresh", *words, code=2)

    assert "can be written to" in result.stderr
    assert "nothing was asked of it" in run("count", log, *ASK, "--dry-run").stdout


def test_receipts_are_listed_and_handed_on(log, tmp_path):
    """The newest first, with the data set and the question in words; one of them as a page, printed or written."""
    assert "No receipts" in run("receipt", "--list").stdout
    run("count", log, *ASK, "--quiet")
    found = json.loads(run("receipt", "--list", "--json").stdout)
    listed = run("receipt", "--list").stdout.splitlines()
    page = run("receipt", found[0]["id"], "--html").stdout
    written = run("receipt", found[0]["id"], "--html", "--out", tmp_path / "receipt.html").stdout

    assert len(listed) == 2
    for words in (found[0]["id"], "log", "how many people have each article", "one standard release"):
        assert words in listed[1]
    assert page.startswith("<!doctype html>")
    assert (tmp_path / "receipt.html").read_text(encoding="utf-8") == page
    assert str(tmp_path / "receipt.html") in written


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "an id, or else --list"),
        (("abc", "--list"), "an id, or else --list"),
        (("--list", "--html"), "an id alone"),
        (("abc", "--out", "x.html"), "unless --html"),
        (("abc", "--html", "--json"), "without --json"),
    ],
)
def test_a_receipt_refuses_what_it_would_not_use(words, told):
    """With a word each."""
    result = run("receipt", *words, code=2)

    assert told in result.stderr


def test_a_repeat_is_free_and_says_so(log):
    """A price the first time, none the second, and a price again for new noise; as JSON, too."""
    told = [run("top", log, *ASK, "-k", 3, *more).stdout for more in ((), (), ("--fresh",))]
    forms = [json.loads(run("top", log, *ASK, "-k", number, "--json").stdout)["free"] for number in (3, 4, 4)]

    assert ["Free: asked before." in text for text in told] == [False, True, False]
    assert ["Price: " in text for text in told] == [True, False, True]
    assert forms == [True, False, True]


def test_an_empty_answer_names_what_is_free_to_look_at_first(log, tmp_path):
    """The filter, spelling, case and dates before a larger price; the filter only where there is one."""
    own = tmp_path / "own.csv"
    own.write_text("u,i\n" + "".join(f"{n},item {n}\n" for n in range(50)), encoding="utf-8")
    told = run("count", log, *ASK, "--where", "article = 'Harbour opens today'").stdout
    reasons = [line.split(":")[0].strip() for line in told.splitlines() if line.startswith("  ")]

    assert reasons == ["The filter", "The item", "Spelling and case", "Dates"]
    assert told.index("Dates") < told.index("--preset")
    assert "article = 'Harbour opens today'" in told
    assert "The filter" not in run("count", own, "--user", "u", "--item", "i").stdout


def test_where_nothing_fits_the_budget_is_what_to_look_at(log):
    """With no releases at all there is no cheaper way, and what is left is none, not less."""
    run("count", log, *ASK)
    run("ledger", "limit", "--data", log, "--releases", "0.5")
    result = run("count", log, *ASK, "--fresh", "--json", code=4)
    refused = json.loads(result.stdout)["refused"]

    assert refused["to_type"] == f"hushcount budget {log}"
    assert "has 0 standard releases left" in result.stderr
    assert refused["short"][0]["left"]["rho"] == "0"
    assert refused["releases"]["left"] == 0
    assert "-" not in run("budget", log, "--expert").stdout.partition("dataset left")[2].splitlines()[0].replace(
        "e-", "e"
    )


def test_tables_of_a_database(tmp_path):
    """A SQLite file with two tables needs --table; without it the error lists them."""
    path = tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE orders (person, item)")
        database.execute("CREATE TABLE other (x)")
        database.executemany("INSERT INTO orders VALUES (?, 'tea')", [(n,) for n in range(3000)])
    database.close()
    words = ("count", path, "--user", "person", "--item", "item")

    assert "orders" in run(*words, code=2).stderr
    assert "tea" in run(*words, "--table", "orders").stdout


def test_row_id_warning(tmp_path):
    """A person column with the name of a row number is warned of, by its name alone."""
    path = tmp_path / "rows.csv"
    path.write_text("id,item\n1,a\n2,a\n", encoding="utf-8")
    result = run("count", path, "--user", "id", "--item", "item")

    assert "has the name of a row number" in result.stderr


def test_unforeseen_errors_show_no_values(log, monkeypatch):
    """If something unforeseen fails after data was read, its text is not shown: it might quote data."""

    def leak(*_, **__):
        raise RuntimeError("the secret item is PLANTED")

    monkeypatch.setattr("hushcount.app.answer.bounded_input", leak)
    result = run("count", log, *ASK, code=70)

    assert "PLANTED" not in result.output
    assert "RuntimeError" in result.stderr


def test_planted_items_stay_inside(tmp_path):
    """Items of one person never appear in any output: table, error stream, receipt or files."""
    path = tmp_path / "log.csv"
    rows = [f"{person},common" for person in range(2000)] + [f"{person},CANARY{person}" for person in range(2000)]
    path.write_text("person,item\n" + "\n".join(rows), encoding="utf-8")
    for question in (("count",), ("top", "-k", 5), ("vocab",)):
        result = run(question[0], path, *question[1:], "--user", "person", "--item", "item", "--rows", 100)

        assert "common" in result.stdout
        assert "CANARY" not in result.output
    kept = "".join(file.read_text(encoding="utf-8", errors="replace") for file in (tmp_path / "home").rglob("*.json"))
    assert kept
    assert "CANARY" not in kept


def test_help_is_fast_and_light():
    """`hushcount --help` answers in under half a second and loads neither NumPy nor DuckDB."""
    code = "import sys, hushcount.cli.main; print(sorted({'numpy', 'duckdb', 'numba', 'rich'} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout  # noqa: S603

    assert loaded.strip() == "[]"
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "hushcount.cli", "--help"], capture_output=True, check=True)
        times.append(time.perf_counter() - begun)
        assert b"without exposing any" in done.stdout
    assert min(times) < 0.5


@pytest.mark.parametrize(("verb", "person", "code"), [("vocab", "reader", 0), ("count", "nobody", 2)])
def test_no_library_has_the_last_word(log, verb, person, code):
    """A process that ends says what we say and no more: libraries tell of what they could not let go."""
    words = [verb, str(log), "--user", person, "--item", "article"]
    done = subprocess.run([sys.executable, "-m", "hushcount.cli", *words], capture_output=True, text=True, check=False)  # noqa: S603
    said = done.stderr.splitlines()

    assert done.returncode == code
    assert said == [line for line in said if line.startswith("hushcount: ")]


_ENDING = """
import atexit, sys
from hushcount.cli.main import main, run

@main.command()
def ending():
    import threading, time
    atexit.register(lambda: print("registered", flush=True))
    threading.Thread(target=lambda: (time.sleep(0.2), print("thread", end=" ", flush=True))).start()
    sys.stdout.write("x" * 100_000)
    {how}

run()
"""


@pytest.mark.parametrize(
    ("how", "code"), [("sys.exit(7)", 7), ("pass", 0), ("sys.exit('words')", 1), ("raise KeyError('k')", 1)]
)
def test_nothing_is_lost_when_a_command_ends_at_once(how, code):
    """All that was written arrives, threads end, what was to be done at the end is done, and the code is the one."""
    asked = [sys.executable, "-c", _ENDING.format(how=how), "ending"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603

    assert done.stdout == "x" * 100_000 + "thread registered\n"
    assert done.returncode == code
    assert ("words" in done.stderr) == ("words" in how)
    assert ("Traceback" in done.stderr) == ("raise" in how)


def test_what_was_there_before_has_its_end():
    """A tool that was loaded with Python, and is called at its end, is called; and the code is the same."""
    code = "import atexit; atexit.register(print, 'before'); from hushcount.cli.main import run; run()"
    done = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=False)  # noqa: S603

    assert done.stdout.splitlines()[-1] == "before"
    assert done.returncode == 0


def test_output_that_was_closed_before_is_no_failure():
    """As by `>&-` in a shell: nothing is said about it."""
    words = shlex.join([sys.executable, "-m", "hushcount.cli", "--version"])
    done = subprocess.run(["/bin/sh", "-c", f"{words} >&-"], capture_output=True, text=True, check=False)  # noqa: S603

    assert "Exception ignored" not in done.stderr


def test_a_reader_who_leaves_is_no_failure_of_ours(log):
    """What could not be written ends as Python ends it, and never as if all was well."""
    asked = [sys.executable, "-m", "hushcount.cli", "vocab", str(log), "--user", "reader", "--item", "article", "-q"]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:  # noqa: S603
        assert running.stdout is not None
        running.stdout.close()

        assert running.wait(60) != 0


def test_demo(tmp_path):
    """The demo shows three tables with the true values, and leaves a picture and its log with a command that works."""
    kept = tmp_path / "log.parquet"
    output = run("demo", "--readers", 3000, "--plot", tmp_path / "demo.png", "--log", kept).stdout
    told = [line.split()[1:] for line in output.splitlines() if line.startswith("  hushcount ")]

    assert output.count("truly") == 2
    assert "Which search words may be published?" in output
    assert (tmp_path / "demo.png").read_bytes()[:4] == b"\x89PNG"
    assert [words[1] for words in told] == [str(kept), str(kept)]
    assert "No value was read" in run(*told[0]).stdout
    assert "stadium tour" in run(*told[1]).stdout


def test_demo_leaves_a_file_alone(tmp_path):
    """Whatever stands where the log would go is somebody's."""
    kept = tmp_path / "log.parquet"
    kept.write_bytes(b"mine")
    output = run("demo", "--readers", 300, "--plot", tmp_path / "demo.png", "--log", kept).stdout

    assert kept.read_bytes() == b"mine"
    assert "left as it is" in output


def test_completion_is_there():
    """Shell completion knows the verbs."""
    env = {**os.environ, "_HUSHCOUNT_COMPLETE": "bash_complete", "COMP_WORDS": "hushcount v", "COMP_CWORD": "1"}
    code = "import sys; sys.argv[0] = 'hushcount'; from hushcount.cli.main import main; main(prog_name='hushcount')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)  # noqa: S603

    assert "vocab" in done.stdout


def test_pairs_and_days_are_asked_in_one_line(tmp_path):
    """--by, --item, day(), a zone and a format: a table with the columns' own names, sorted by group."""
    log = tmp_path / "orders.csv"
    rows = [f"c{n},{'NZ' if n % 2 else 'FR'},{29 + n % 2}/03/2026 23:30" for n in range(600)]
    log.write_text("\n".join(["customer,country,at", *rows]) + "\n", encoding="utf-8")
    asked = ("count", log, "--user", "customer", "--by", "country", "--item", "day(at)", "--max-items-per-user", 1)
    told = run(*asked, "--date-format", "%d/%m/%Y %H:%M", "--timezone", "Europe/Berlin").stdout
    lines = [line.split() for line in told.splitlines()]

    assert lines[0] == ["country", "day(at)", "people", "at", "least", "at", "most"]
    assert [line[:2] for line in lines[1:3]] == [["FR", "2026-03-30"], ["NZ", "2026-03-31"]]
    assert run(*asked, "--timezone", "Europe/Berlin", "--date-format", "%d/%m/%Y %H:%M", "--plot", tmp_path / "p.png")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--item", "article", "--ngrams", "2"), "--ngrams '2' cannot be used"),
        (("--item", "article", "--keep-case"), "--keep-case is for --text"),
        (("--text", "search", "--lower"), "--lower is for --item"),
        (("--item", "article", "--timezone", "UTC"), "day(COLUMN)"),
        (("--item", "article", "--rho", "1", "--rho", "2"), "--rho was said twice"),
        (("--item", "article", "--item", "article"), "columns that differ"),
    ],
)
def test_what_would_not_be_used_is_refused(log, words, told):
    """With a word, and nothing is charged."""
    done = CliRunner().invoke(main, ["count", str(log), "--user", "reader", *words])

    assert done.exit_code != 0
    assert told in done.output


def test_sentences_end_before_the_next(tmp_path):
    """An error without a full stop gets one before the word about its price."""
    done = CliRunner().invoke(main, ["count", str(tmp_path / "missing.csv"), *map(str, ASK)])

    assert done.exit_code != 0
    assert ". Nothing was charged." in done.output
    assert ".. " not in done.output
