"""The verbs that look after budgets, as owners, analysts and auditors use them: texts, exit codes, JSON, pictures."""

from __future__ import annotations

import json
import re
import sqlite3
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from click.testing import CliRunner

from hushcount.app.sample import write_log
from hushcount.app.secret import load_secret
from hushcount.cli.main import main
from hushcount.ledger.founding import Founding
from hushcount.ledger.ledger import Ask
from hushcount.ledger.sqlite import found_sqlite, open_sqlite
from hushcount.ledger.store import utc_now
from hushcount.model.costs import Concentrated, Cost, Failure
from hushcount.model.identities import Identity, Sighting

ASK = ("--user", "reader", "--item", "article", "--quiet")
COST = Cost.of((Concentrated(rho=Decimal("0.1")), 1), (Failure(delta=Decimal("1e-6")), 1))
GREEK = ("rho", "epsilon", "delta", "ρ", "ε", "δ")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A made-up log of 1500 readers."""
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    write_log(path, 1500)
    return path


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Each test has a home and a ledger of its own, and 'olga' is at the keyboard; gives the ledger's path."""
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HUSHCOUNT_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("HUSHCOUNT_ANALYST", "olga")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "ledger.sqlite"


def run(*words, code=0):
    """One command; its output and error text."""
    result = CliRunner().invoke(main, [str(word) for word in words])

    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def ask(log, *words, k=3, code=0):
    """A question that takes a whole standard release; another k is another question."""
    return run("top", log, *ASK, "-k", k, "--method", "unknown-gumbel", *words, code=code)


def balance(log, *words):
    """The budget as JSON."""
    return json.loads(run("budget", log, "--json", *words).stdout)


def reserve(ledger, *, who, key, cost=COST, **more):
    """Hold a made-up question of this data."""
    return ledger.reserve(
        Ask(analyst=who, dataset="log", version="made up", query=key, cost=cost, key=key, what="made up", **more)
    )


def opened(place, log, *, clock=utc_now):
    """The ledger at this place, where the data is known."""
    run("ledger", "limit", "--data", log, "--releases", 1000)
    run("ledger", "limit", "--data", log, "--none")
    return open_sqlite(place, secret=load_secret(place.parent / "home").fingerprint, clock=clock)


def use(place, log, days):
    """Made-up answers: for each analyst the days of last January and how many standard releases on each."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    secret = load_secret(place.parent / "home").fingerprint
    ledger = found_sqlite(place, Founding(owner="olga", limit=None, secret=secret), clock=lambda: now)
    known = (Identity(kind="path", value=str(log.resolve())),)
    ledger.catalog.register(Sighting(title="log", finds=known, binds=known), person="reader", name=None, by="olga")
    asked = sorted((day, who, count) for who, each in days.items() for day, count in each)
    for number, (day, who, count) in enumerate(asked):
        now = datetime(2026, 1, 1, 9, tzinfo=UTC) + timedelta(days=day)
        cost = Cost.of((Concentrated(rho=Decimal(count) / 10), 1), (Failure(delta=Decimal(count) / 10**6), 1))
        held = reserve(ledger, who=who, key=str(number), cost=cost)
        ledger.settle(held, cost, payload=b"rows")
    ledger.close()


def test_a_new_data_set_has_ten_standard_releases(log):
    """Before the first question all is there, and the sentence on renewal says what it means for a person."""
    output = run("budget", log).stdout

    assert "This data: 10 left of 10 standard releases a month, from the next question on." in output
    assert "about 10 more questions like a standard count" in output
    assert "what is learnt adds up over renewals as long as the same person stays in the data" in output
    assert "The last charges" not in output


def test_a_question_shows_in_the_budget(log):
    """What was spent, what is left, when it renews, the lifetime total, and who spent it on what."""
    ask(log, "--analyst", "ann")
    output = run("budget", log, "--analyst", "ann").stdout
    renewed = datetime.now(UTC).replace(day=1) + timedelta(days=32)

    assert "This data: 9 left of 10 standard releases a month" in output
    assert f"renewed on 01 {renewed:%B %Y}" in output
    assert "about 9 more questions" in output
    assert "This data: 1 spent this month; 1 ever, in 1 question." in output
    assert "Your own account (ann): 1 spent this month; 1 ever, in 1 question." in output
    assert "The last charges (yours; owners and auditors see everybody's):" in output
    assert "top of article per reader" in output


def test_no_greek_unless_asked(log):
    """The budget, the history and limits in plain words; --expert adds all three currencies."""
    ask(log)
    for words in (("budget", log), ("ledger", "history", log), ("ledger", "limit", "--data", log, "--releases", 5)):
        output = run(*words).stdout

        assert not [name for name in GREEK if name in output]
    expert = run("budget", log, "--expert").stdout
    assert "(epsilon, delta)" in expert
    assert "dataset left   0.4" in expert
    assert "of 0.15" in expert
    assert "of 1e-10" in expert


def test_budget_json(log):
    """--json has every account in every currency, exact amounts as texts, and the charges."""
    ask(log, "--analyst", "ann")
    form = balance(log, "--analyst", "ann")
    dataset, own = form["accounts"]

    assert form["more_standard_counts"] == 9
    assert form["analyst"] == "ann"
    assert dataset["kind"] == "dataset"
    assert dataset["window"] == "month"
    assert dataset["releases"]["limit"] == pytest.approx(10)
    assert dataset["releases"]["left"] == pytest.approx(9)
    limit, spent, left = (Fraction(dataset[name]["rho"]) for name in ("limit", "spent", "left"))
    assert limit - spent == left
    assert dataset["left"]["epsilon"] > 0
    assert own["name"] == "ann"
    assert own["releases"]["limit"] is None
    assert [charge["who"] for charge in form["charges"]] == ["ann"]
    assert form["charges"][0]["outcome"] == "answered"


def test_a_repeat_is_free_and_recorded(log):
    """The same question is answered again for nothing; history says so."""
    first = ask(log).stdout
    spent = balance(log)["accounts"][0]["spent"]

    assert ask(log).stdout == first
    assert balance(log)["accounts"][0]["spent"] == spent
    assert "repeated, free" in run("ledger", "history", log).stdout


def test_an_analyst_sees_their_own_charges_and_owners_all(log):
    """Ann sees hers, Bob sees his, the owner and an auditor see both."""
    run("ledger", "grant", "zoe", "auditor")
    ask(log, "--analyst", "ann")
    ask(log, "--analyst", "bob", k=4)

    seen = {who: {c["who"] for c in balance(log, "--analyst", who)["charges"]} for who in ("ann", "bob", "olga", "zoe")}
    assert seen == {"ann": {"ann"}, "bob": {"bob"}, "olga": {"ann", "bob"}, "zoe": {"ann", "bob"}}
    assert "everybody's" in run("budget", log, "--analyst", "zoe").stdout
    assert "bob" not in run("ledger", "history", log, "--analyst", "ann").stdout


def test_an_auditor_asks_nothing(log):
    """Auditors read; a question of theirs is refused."""
    output = run("ledger", "grant", "zoe", "auditor").stdout

    assert "sees everything and asks nothing" in output
    assert "auditors read the ledger" in ask(log, "--analyst", "zoe", code=2).stderr


@pytest.mark.parametrize(
    "words",
    [
        ("limit", "--all-data", "--releases", 100),
        ("limit", "--all-data", "--none"),
        ("grant", "ann", "owner"),
        ("enroll", "ann", "ads"),
    ],
)
def test_an_analyst_cannot_change_the_rules(log, words):
    """Rules are the owner's: the refusal names the role and whom to ask, and nothing changes."""
    run("budget", log)
    result = run("ledger", *words, "--analyst", "ann", code=2)

    assert "'ann' may not" in result.stderr
    assert "Owners here: olga." in result.stderr
    assert "'ann'" not in run("ledger", "history", log).stdout
    assert balance(log)["accounts"][0]["releases"]["limit"] == pytest.approx(10)


def test_the_owner_changes_a_limit_and_it_is_in_the_history(log):
    """A limit of one question lets one through and refuses the next with what to do; the change is on record."""
    output = run("ledger", "limit", "--data", log, "--releases", 1, "--window", "week").stdout
    ask(log)
    refused = ask(log, k=4, code=4).stderr

    assert "The limit of this data set is now: 1 standard release a week." in output
    assert "renewed every week" in output
    assert "nothing was charged" in refused
    history = run("ledger", "history", log).stdout
    assert "olga  set the limit of this data set to 1 standard release a week" in history
    assert "0 left of 1 standard release a week" in run("budget", log).stdout


@pytest.mark.parametrize(
    ("words", "text", "left"),
    [
        (("--releases", "2.5"), "2.5 standard releases a month", 2.5),
        (("--releases", "0"), "nothing at all", 0),
        (("--rho", "0.5", "--delta", "1e-5"), "5 standard releases a month", 5),
        (("--rho", "0.5", "--delta", "0"), "5 standard releases a month, for public lists of items only", 5),
        (("--releases", "4", "--window", "none"), "4 standard releases in all", 4),
        (("--none",), "10 standard releases a month", 10),
    ],
)
def test_limits_in_every_currency(log, words, text, left):
    """However a limit is typed, it is told and kept in standard releases; lifting it brings back the general one."""
    output = run("ledger", "limit", "--data", log, *words).stdout

    assert f"The limit of this data set is now: {text}." in output
    assert balance(log)["accounts"][0]["releases"]["left"] == pytest.approx(left)


def test_limits_of_epsilon_and_of_units(log):
    """(epsilon, delta) and LinkedIn's units come back as they were typed."""
    run("ledger", "limit", "--data", log, "--epsilon", 3, "--delta", "1e-5")
    epsilon = balance(log)["accounts"][0]["limit"]
    run("ledger", "limit", "--data", log, "--information", 3000, "--calls", 30, "--delta-per-call", "1e-6")
    units = balance(log)["accounts"][0]["limit"]

    assert epsilon["epsilon"] == pytest.approx(3, rel=1e-6)
    assert epsilon["epsilon"] <= 3
    assert Decimal(epsilon["epsilon_delta"]) == Decimal("1e-5")
    assert (units["information"], units["calls"], units["epsilon_per"]) == (3000, 30, "0.15")


def test_no_limit_at_all(log):
    """Once the general limit is lifted nothing is refused, and results count as not enforced."""
    assert "every data set is now: no limit." in run("ledger", "limit", "--all-data", "--none").stdout
    output = run("budget", log).stdout
    ask(log)

    assert "This data: nothing limits what may be asked." in output
    assert "Nothing is refused at present." in output
    assert "no limit was enforced" in run("ledger", "history", log).stdout


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--releases", 5), "or else --all-data"),
        (("--data", "x", "--all-data", "--releases", 5), "or else --all-data"),
        (("--all-data",), "said in exactly one way"),
        (("--all-data", "--releases", 5, "--none"), "said in exactly one way"),
        (("--all-data", "--rho", 1), "given with rho"),
        (("--all-data", "--epsilon", 1), "given with epsilon"),
        (("--all-data", "--information", 10), "given with information"),
        (("--all-data", "--releases", "many"), "--releases 'many'"),
        (("--all-data", "--releases", -1), "releases"),
        (("--all-data", "--releases", 5, "--for-analyst", "a", "--for-group", "g"), "for an analyst or for a group"),
        (("--all-data", "--releases", 5, "--window", "year"), "month"),
    ],
)
def test_mistyped_limits(words, text):
    """Each mistake says what to write; exit code 2."""
    assert text in run("ledger", "limit", *words, code=2).stderr


def test_tracked_limits_let_through_and_mark(log):
    """With --track nothing is refused; what goes over is marked in history, budget and JSON."""
    output = run("ledger", "limit", "--data", log, "--releases", 1, "--track").stdout
    ask(log)
    ask(log, k=4)

    assert "tracked and not enforced" in output
    assert "Nothing is refused" in output
    assert run("ledger", "history", log).stdout.count("OVER THE LIMIT, which is only tracked") == 1
    text = run("budget", log).stdout
    assert "This data: OVER ITS LIMIT of 1 standard release a month" in text
    assert "Nothing is refused at present." in text
    form = balance(log)
    assert form["accounts"][0]["mode"] == "track"
    assert form["more_standard_counts"] is None
    assert [(charge["mode"], charge["over"]) for charge in form["charges"]] == [("track", True), ("track", False)]


def test_analysts_and_groups_have_limits_of_their_own(log):
    """Each member's questions are charged to the group; each analyst has an own limit; leaving ends it."""
    for member in ("ann", "bob"):
        assert "charged to it as well" in run("ledger", "enroll", member, "ads").stdout
    run("ledger", "limit", "--data", log, "--for-group", "ads", "--releases", 2)
    run("ledger", "limit", "--all-data", "--for-analyst", "*", "--releases", 5)
    ask(log, "--analyst", "ann")
    output = run("budget", log, "--analyst", "bob").stdout

    assert "Your group 'ads': 1 left of 2 standard releases a month" in output
    assert "Your own account (bob): 5 left of 5 standard releases a month" in output
    assert "about 1 more questions like a standard count for bob" in output
    assert "no longer in the group ads" in run("ledger", "enroll", "bob", "ads", "--leave").stdout
    assert "ads" not in run("budget", log, "--analyst", "bob").stdout
    history = run("ledger", "history", log, "--all").stdout
    assert "put 'ann' into the group 'ads'" in history
    assert "took 'bob' out of the group 'ads'" in history
    assert "set the limit of every analyst on every data set to 5 standard releases a month" in history


def test_roles_are_given_and_taken(log):
    """A second owner may change limits, and no longer once the role is taken."""
    run("ledger", "grant", "ann", "owner")
    run("ledger", "limit", "--all-data", "--releases", 7, "--analyst", "ann")

    assert "asks as an analyst" in run("ledger", "grant", "ann", "nobody").stdout
    run("ledger", "limit", "--all-data", "--releases", 8, "--analyst", "ann", code=2)
    assert balance(log)["accounts"][0]["releases"]["limit"] == pytest.approx(7)


def test_history_shows_the_last_twenty_or_all(log, place):
    """Without --all the newest twenty lines; with it, everything from the first on."""
    names = [f"analyst-{number:02d}" for number in range(30)]
    use(place, log, {name: [(0, 1)] for name in names})
    short = json.loads(run("ledger", "history", log, "--json").stdout)
    everything = json.loads(run("ledger", "history", log, "--all", "--json").stdout)

    # The owner founded the ledger and registered the data before the first question.
    assert [deed["who"] for deed in short] == names[-20:]
    assert [deed["who"] for deed in everything] == ["olga", "olga", *names]
    assert run("ledger", "history", log, "--all").stdout.count("answered") == 30
    assert [charge["who"] for charge in balance(log)["charges"]] == names[:-11:-1]
    assert [charge["who"] for charge in balance(log, "--analyst", names[3])["charges"]] == [names[3]]


def test_a_question_that_took_long_is_told_whole(log, place):
    """The beginning of a question may lie far behind its end in the log; running and unused ones are told too."""
    run("ledger", "limit", "--all-data", "--releases", 1000)
    ledger = opened(place, log)
    slow, dropped, running = (reserve(ledger, who=who, key=who) for who in ("slow", "dropped", "running"))
    for number in range(30):
        ledger.refund(reserve(ledger, who="other", key=str(number)))
    ledger.refund(dropped)
    ledger.settle(slow, COST, payload=b"rows")
    ledger.close()
    outcomes = {deed["who"]: deed["outcome"] for deed in json.loads(run("ledger", "history", log, "--json").stdout)}

    assert running.analyst == "running"
    assert outcomes["slow"] == "answered"
    assert outcomes["dropped"] == outcomes["other"] == "not run, free"
    assert "1 held by running questions" in run("budget", log).stdout
    assert '"outcome": "running"' in run("ledger", "history", log, "--all", "--json").stdout


def test_a_question_that_nobody_ends_is_charged(log, place):
    """A reservation whose time is over is charged in full, and the budget says so."""
    run("ledger", "limit", "--all-data", "--releases", 10)
    ledger = opened(place, log)
    reserve(ledger, who="gone", key="k", lifetime=timedelta(microseconds=1))
    ledger.close()
    form = balance(log)

    assert form["charges"][0]["outcome"] == "given up, charged in full"
    assert form["accounts"][0]["releases"]["left"] == pytest.approx(9)


def test_history_outlives_the_data(log, tmp_path):
    """The history of data that is gone is still there, by its name; unknown names are refused."""
    copy = tmp_path / "copy.parquet"
    write_log(copy, 1000, seed=2)
    ask(copy)
    copy.unlink()

    assert "top of article per reader" in run("ledger", "history", copy).stdout
    assert "knows nothing of that name" in run("ledger", "history", tmp_path / "never.parquet", code=3).stderr
    assert "1 spent this month" in run("budget", copy).stdout


def test_a_copy_under_another_name_has_the_same_budget(log, tmp_path):
    """Identity is the content: copying a file opens no fresh budget."""
    ask(log)
    (tmp_path / "copy.parquet").write_bytes(log.read_bytes())

    assert balance(tmp_path / "copy.parquet")["accounts"][0]["releases"]["left"] == pytest.approx(9)


def test_verify_finds_what_was_edited(log, place):
    """A whole ledger passes; one whose balance was edited by hand fails with exit code 1 and says where."""
    ask(log)
    assert "The ledger is whole" in run("ledger", "verify").stdout
    with sqlite3.connect(place) as connection:
        connection.execute("UPDATE accounts SET spent_rho = '0' WHERE kind = 'dataset'")
    connection.close()
    result = run("ledger", "verify", code=1)

    assert "table accounts is not what the log adds up to" in result.stderr
    assert json.loads(run("ledger", "verify", "--json", code=1).stdout)["problems"]


def test_verify_against_kept_links(log, place, tmp_path):
    """Links that were kept are found again; a ledger that was made anew cannot show them."""
    ask(log)
    links = tmp_path / "links.json"
    links.write_text(run("ledger", "verify", "--json").stdout, encoding="utf-8")
    ask(log, k=4)
    run("ledger", "verify", "--against", links)
    for file in tmp_path.glob("ledger.sqlite*"):
        file.unlink()
    ask(log)

    assert "not that of the proof that was kept" in run("ledger", "verify", "--against", links, code=1).stderr
    assert "a file of kept links" in run("ledger", "verify", "--against", tmp_path / "none.json", code=2).stderr


@pytest.mark.parametrize("words", [("verify",), ("history", "x"), ("propose", "x")])
def test_looking_back_makes_no_ledger(place, words):
    """A ledger that is not there is told, not made: an empty new one would look well."""
    assert "there is no ledger at" in run("ledger", *words, code=2).stderr
    assert not place.exists()


def test_propose_draws_who_would_exceed_what(log, place, tmp_path):
    """From made-up usage: 19 careful analysts and one greedy; the limit leaves the 19 alone, the picture is drawn."""
    use(place, log, {"greedy": [(0, 20), (9, 20)]} | {f"careful-{n:02d}": [(0, 1), (3, 2)] for n in range(19)})
    words = ("ledger", "propose", log, "--share", "0.9")
    output = run(*words, "--plot", tmp_path / "figure.png").stdout
    form = json.loads(run(*words, "--json").stdout)

    assert "20 analysts asked so far. With 3 standard releases a month each, at least 95 %" in output
    assert "These may have been: greedy." in output
    assert "--for-analyst '*' --releases 3 --window month" in output
    assert (tmp_path / "figure.png").read_bytes()[:4] == b"\x89PNG"
    assert form["releases"] == 3
    noise = {curve["releases"]: curve["shares"] for curve in form["curves"] if curve["part"] == "noise"}
    assert list(noise) == pytest.approx([0.75, 1.5, 3, 6])
    assert noise[1.5][0] == pytest.approx(0.05)
    assert noise[1.5][3] == pytest.approx(1)
    assert noise[3.0][30] == pytest.approx(0.05)


def test_propose_is_for_owners_and_needs_a_history(log, tmp_path):
    """Analysts may not see what everybody spent; without questions there is nothing to propose from."""
    ask(log, "--analyst", "ann")
    write_log(tmp_path / "other.parquet", 1000, seed=3)

    assert "may not see what everybody spent" in run("ledger", "propose", log, "--analyst", "ann", code=2).stderr
    assert "at least one query" in run("ledger", "propose", tmp_path / "other.parquet", code=2).stderr
    assert "ends in .png" in run("ledger", "propose", log, "--plot", "figure.txt", code=2).stderr


def test_advise_states_attacks_and_guarantee():
    """By itself from the goals; with LinkedIn's choices their numbers come back."""
    output = run("advise").stdout
    linkedin = ("advise", "--epsilon-per", "0.15", "--delta-per-call", "1e-10")
    form = json.loads(run(*linkedin, "--json").stdout)

    for text in ("Averaging", "Differencing", "Unique counts", "ε_per", "k*", "l*", "ε*, as printed", "ε*, tight"):
        assert text in output
    assert form["results"] == 738
    assert form["averaging"] == pytest.approx(0.163, abs=0.001)
    assert form["budget"] == {"information": 2954, "calls": 30, "epsilon_per": "0.15", "delta_per_call": "1E-10"}
    assert form["promise"]["tight"] < form["promise"]["printed"] < 34.9
    assert Decimal(form["promise"]["total_delta"]) == Decimal("7e-9")
    assert "--information 2954 --calls 30" in run(*linkedin).stdout


@pytest.mark.parametrize("unique", ["1e-8", "1.0449e-8", "3.3333e-7"])
def test_advice_is_never_told_better_than_it_is(unique):
    """What is printed of a guarantee in few digits is rounded up."""
    output = run("advise", "--unique", unique).stdout
    form = json.loads(run("advise", "--unique", unique, "--json").stdout)
    (said,) = re.findall(r"probability at most (\S+), one in", output)
    lines = {line[:14].strip(): line for line in output.splitlines()}

    assert float(said) >= form["unique"]
    assert float(re.findall(r"together +(\S+)", output)[0]) >= float(form["promise"]["total_delta"])
    assert float(lines["ε*, tight"].split()[2]) >= form["promise"]["tight"]


def test_advice_can_be_set_as_a_limit(log):
    """The command that the advice ends with works as it stands."""
    command = run("advise").stdout.strip().splitlines()[-1].replace("'", "").split()
    run(*command[1:])

    assert balance(log)["accounts"][1]["limit"]["calls"] == 30


def test_bad_goals_are_told():
    """A probability above one is refused in words, and an infinite epsilon is null in JSON."""
    assert "averaging" in run("advise", "--averaging", 2, code=2).stderr
    form = json.loads(run("advise", "--total-delta", "1e-12", "--json").stdout)

    assert form["promise"]["tight"] is None


def test_colleagues_see_the_shared_account_and_not_the_questions(log):
    """As docs/budgets.md says: an analyst sees exactly what others spent of the data's budget, and not who on what."""
    ask(log)
    olgas, bobs = balance(log), balance(log, "--analyst", "bob")
    history = run("ledger", "history", log, "--analyst", "bob").stdout

    assert bobs["accounts"][0]["spent"] == olgas["accounts"][0]["spent"]
    assert bobs["accounts"][0]["questions"] == 1
    assert olgas["charges"]
    assert bobs["charges"] == []
    assert "top" not in history


def test_a_limit_below_one_release_says_what_fits_and_the_refusal_offers_it(log):
    """Every preset takes the whole of the usual delta, so that one must be told to ask for less."""
    told = run("ledger", "limit", "--data", log, "--releases", "0.5").stdout
    refused = ask(log, code=4)
    assert "a delta of 1e-7" in told
    assert "preset cautious, delta 1e-7" in refused.stderr
    assert "--preset cautious --delta 1e-7" in refused.stderr
    ask(log, "--preset", "cautious", "--delta", "1e-7")
