"""The spine: from request to release, with a made engine."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from hushcount.accounting import zcdp
from hushcount.app import receipts
from hushcount.app.answer import Asking, answer
from hushcount.app.planning import make_plan
from hushcount.app.receipt import REFERENCE_DELTA, Receipt, best_epsilon, cutoff_label, promise
from hushcount.app.request import make_request
from hushcount.app.secret import load_secret
from hushcount.app.setting import Setting
from hushcount.audit.asking import asked_by_name
from hushcount.errors import InvalidParameter, MissingExtra
from hushcount.library.surroundings import look_around
from hushcount.mechanisms.table import MECHANISMS
from hushcount.model.budgets import rho_budget
from hushcount.model.costs import Concentrated, Cost, Failure
from tests.plainly import plainly
from tests.unit.app.made_engine import made_engine
from tests.unit.mechanisms.made_inputs import facts_for


@pytest.fixture(autouse=True)
def setting(tmp_path):
    """A secret and receipts in a folder of the test's own, and nobody who keeps count."""
    _SETTING[:] = [Setting(secret=load_secret(tmp_path / "home"), receipts=tmp_path / "home" / "receipts")]
    return _SETTING[0]


_SETTING: list[Setting] = []


def ask(question="count", engine=None, **options):
    """One answer from the made engine."""
    request = make_request(question, user="user", item="item", options=options)
    return answer(request, engine or made_engine(), _SETTING[0])


def test_what_is_slow_without_machine_code_says_so_whatever_the_data():
    """A sequential method says what would be faster, also for a few rows: it tells nothing of the data."""
    noted = {}
    for method, missing in (("policy-gaussian", True), ("policy-gaussian", False), ("ladder", True)):
        request = make_request("vocab", user="user", item="item", options={"method": method})
        notes = noted[method, missing] = []
        with plainly() if missing else nullcontext():
            answer(request, made_engine(), _SETTING[0], call=Asking(note=notes.append))

    assert [len(notes) for notes in noted.values()] == [1, 0, 0]
    assert "C compiler" in noted["policy-gaussian", True][0]


def test_count_is_right_within_its_intervals():
    """Released counts are near the truth and carry whole-number intervals."""
    release = ask(fresh=True)
    truth = {f"item-{j}": 4000 - 500 * j for j in range(8)}

    assert release.counts.dtype == np.int64
    assert set(release.items) <= set(truth)
    assert len(release) >= 6
    off = np.array([abs(count - truth[item]) for item, count in zip(release.items, release.counts, strict=True)])
    # Three half widths are 5.9 standard deviations.
    assert (off <= 3 * (release.high - release.low) / 2).all()
    assert (release.low <= release.counts).all()
    assert (release.counts <= release.high).all()


def test_same_question_same_answer():
    """The same question on the same data version is answered by the same bytes; fresh noise differs."""
    first, again = ask().to_dict(), ask().to_dict()

    assert first == again
    assert any(ask(fresh=True).to_dict() != first for _ in range(3))


def test_changed_data_changes_the_noise():
    """Another data version draws other noise, even where the counts are equal (erratum 9)."""
    one, two = made_engine(), made_engine()
    two.version = "v2"

    assert ask(engine=one).to_dict() != ask(engine=two).to_dict()


def test_a_plan_that_fails_reads_nothing():
    """If the budget or the method is bad, the data is not touched."""
    engine = made_engine()
    with pytest.raises(InvalidParameter):
        ask(engine=engine, method="tsgd")

    assert engine.reads == []


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda entry: entry.name)
def test_every_method_by_name(mechanism):
    """Each mechanism of the table answers through the product, and its receipt names it and its cost."""
    keys = [f"item-{j}" for j in range(8)] + ["nobody has this"]
    options = {**asked_by_name(mechanism, max_items=2, k=3, keys=keys), "fresh": True, "rho": 1}
    release = ask(mechanism.question, **options)

    assert release.receipt.mechanism == mechanism.name
    assert len(release) >= 1
    planned = make_plan(make_request(mechanism.question, user="user", item="item", options=options))
    assert zcdp.spent(release.cost).rho <= zcdp.spent(planned.plan.cost).rho
    assert float(release.receipt.charged_rho) >= float(zcdp.spent(release.cost).rho)
    assert float(release.receipt.rho) >= float(release.receipt.charged_rho)


def test_a_method_of_another_question_is_refused():
    """Asking `count` for a vocabulary mechanism lists those that count."""
    with pytest.raises(InvalidParameter, match="one that answers 'count': ntm"):
        ask(method="sips")


def test_stages_are_named():
    """Whoever waits is told what is under way, in order."""
    stages = []
    answer(
        make_request("count", user="user", item="item", options={}),
        made_engine(),
        _SETTING[0],
        call=Asking(say=stages.append),
    )

    assert stages == ["looking at the data's columns and version", "counting people", "adding noise"]


def test_receipt_round_trip():
    """A receipt is written, found again by the beginning of its id, and says what matters in plain words."""
    release = ask()
    found = receipts.find(release.receipt.id[:6], _SETTING[0].receipts)

    assert found == release.receipt
    assert Receipt.from_json(found.to_json()) == found
    text = found.to_text()
    for words in ("Each person in column 'user'", "rho = ", "epsilon", "were not released", "same answer"):
        assert words in text
    assert json.loads(found.to_json())["data_version"]


def test_the_fingerprint_of_the_data_never_leaves():
    """What is shown as the data's version is keyed: the content's own fingerprint would tell neighbours apart."""
    engine = made_engine()
    engine.version = "fingerprint-of-the-content"
    release = ask(engine=engine)
    other = made_engine()
    other.version = "another-fingerprint"

    assert "fingerprint" not in release.to_bytes().decode()
    assert release.receipt.data_version == ask(engine=engine).receipt.data_version
    assert release.receipt.data_version != ask(engine=other).receipt.data_version


def test_receipts_state_what_the_plan_promises():
    """Rho, delta and epsilon do not depend on what came out; what was charged does, and is called so (erratum 47)."""
    few, many = (ask("top", made_engine(people, 8), k=8, method="unknown-gumbel").receipt for people in (300, 40_000))
    read_off = [best_epsilon(Cost.from_json(one.cost), "1e-5") for one in (few, many)]

    assert (few.rho, few.delta, few.epsilon, few.epsilon_delta) == (many.rho, many.delta, many.epsilon, 1e-5)
    assert float(few.charged_rho) < float(many.charged_rho) <= float(many.rho)
    # An epsilon of what happened to be spent would tell the two runs apart, and be below what is guaranteed.
    assert read_off[0] < read_off[1] <= few.epsilon
    assert "Promised before any data was read: rho = 0.1 and delta = 1e-06." in few.to_text()
    assert f"Charged for it: rho = {few.charged_rho} and delta = " in few.to_text()


def test_every_receipt_states_epsilon_at_one_delta():
    """Whatever the mechanism, at 1e-5, rounded up; at twice its own delta where that leaves no room below."""
    keys = [f"item-{place}" for place in range(8)]
    for mechanism in MECHANISMS:
        options = asked_by_name(mechanism, max_items=2, k=3, keys=keys)
        planned = make_plan(make_request(mechanism.question, user="user", item="item", options={**options, "rho": "1"}))
        found = promise(planned.plan.cost)
        exact = best_epsilon(planned.plan.cost, "1e-5")

        assert found.epsilon_delta == Decimal("1e-5"), mechanism.name
        assert exact <= found.epsilon <= exact * 1.001 + 1e-9, mechanism.name

    for delta, stated in (
        ("4e-6", "1e-5"),
        ("9e-6", "1e-5"),
        ("1e-5", "2e-5"),
        ("1e-4", "2e-4"),
        ("0.4", "0.7"),
        ("0.6", "0.8"),
    ):
        cost = Cost.of(Concentrated(rho=Decimal("0.1")), Failure(delta=Decimal(delta)))
        assert promise(cost).epsilon_delta == Decimal(stated), delta


def test_a_delta_is_never_told_smaller_than_it_is():
    """Where epsilon is stated at twice a delta of many digits, words and number are rounded up like all others."""
    receipt = ask("vocab", max_items_per_user=1, method="weighted-gaussian", rho="0.1", delta="1.2204e-5").receipt
    said = re.search(r"\(epsilon, delta\) = \([^,]+, ([^)]+)\)", receipt.to_text())

    assert said is not None
    assert float(said[1]) == receipt.epsilon_delta == 2.441e-5


def test_epsilon_is_rounded_up():
    """At rho = 0.1 and 3.955e-5 epsilon is 1.765004: a receipt that said 1.765 would say too little."""
    exact = best_epsilon(Cost.of(Concentrated(rho=Decimal("0.1"))), REFERENCE_DELTA)
    found = promise(Cost.of(Concentrated(rho=Decimal("0.1")))).epsilon

    assert found > exact
    assert f"{found:.4g}" == str(found)


def test_two_receipts_cannot_be_compared():
    """Neither ids nor versions of two questions, or of new noise, tell whether the data is the same (erratum 46)."""
    same, changed = made_engine(), made_engine()
    changed.version = "v2"
    releases = [ask(engine=same), ask("top", engine=same, k=3), ask(engine=same, preset="generous")]
    releases += [ask("top", engine=changed, k=3), ask(engine=same, fresh=True), ask(engine=same, fresh=True)]
    secret = _SETTING[0].secret

    assert len({one.receipt.data_version for one in releases}) == len(releases)
    assert len({one.receipt.id for one in releases}) == len(releases)
    # The keyed version by itself, which receipts once showed, is the same for all that is the same.
    assert secret.version(same.fingerprint(b"")) == secret.version(same.fingerprint(b"")) != secret.version("v2")


def test_receipts_of_earlier_versions_are_read():
    """What an earlier receipt called its rho and delta was what was charged."""
    form = json.loads(ask().receipt.to_json())
    for name in ("charged_rho", "charged_delta", "noise_scale", "noise_bound", "shown_above"):
        del form[name]
    found = Receipt.from_form({**form, "of a later one": 1})

    assert (found.charged_rho, found.charged_delta) == (found.rho, found.delta)
    assert (found.noise_scale, found.shown_above) == (None, None)


def test_a_cut_off_behind_a_boundary_is_told_as_such():
    """A list of two among items of thousands: the sentence counts from the first item that is not looked at.

    'Fewer than about N people' would be false: items of twenty times N are not shown.
    """
    receipt = ask("top", made_engine(40_000, 8), k=2, method="unknown-gumbel").receipt
    plain = replace(receipt, mechanism="gaussian-threshold")

    assert receipt.cutoff < 5000 / 10
    assert "more people have it than have the first item that is not looked at (nobody, where all" in receipt.to_text()
    assert "fewer than about" not in receipt.to_text()
    assert cutoff_label(receipt).startswith("cut-off, at least ")
    assert "Items held by fewer than about" in plain.to_text()
    assert cutoff_label(plain).startswith("cut-off, about ")


def test_mechanisms_that_look_at_the_largest_counts_alone_say_so():
    """All that fetch only the largest counts count their cut-off from behind them, or say why not."""
    # One releases it with the boundary, one names what is behind them by its weight.
    others = {"unknown-laplace", "hybrid-top"}
    for mechanism in MECHANISMS:
        planned = mechanism.plan(rho_budget("0.5", "1e-6"), facts_for(mechanism))
        cut = mechanism.fetch(planned) is not None
        assert mechanism.from_boundary == (cut and mechanism.name not in others), mechanism.name


def test_unknown_receipt():
    """An id that matches nothing lists the last ones."""
    ask()
    with pytest.raises(InvalidParameter, match="exactly one id"):
        receipts.find("zzzz", _SETTING[0].receipts)
    with pytest.raises(InvalidParameter, match="letters and digits"):
        receipts.find("../secret", _SETTING[0].receipts)


def test_frames():
    """A release turns into Arrow, pandas and Polars with the same columns."""
    release = ask()
    columns = release.to_dict()

    assert release.to_arrow().to_pydict() == columns
    assert release.to_pandas().to_dict("list") == columns
    assert release.to_polars().to_dict(as_series=False) == columns


def test_missing_package_names_the_command(monkeypatch):
    """Where an optional package is missing, the error says what to type."""
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(MissingExtra, match="pip install polars"):
        ask().to_polars()


@pytest.mark.parametrize("ending", ["parquet", "csv", "json"])
def test_saved_rows_read_back(tmp_path, ending):
    """Saved rows are the released rows, and the receipt stands beside them."""
    import duckdb

    release = ask()
    path = tmp_path / f"it's.{ending}"
    beside = release.save(path)
    rows = duckdb.sql(f"SELECT item, count FROM '{str(path).replace(chr(39), chr(39) * 2)}'").fetchall()  # noqa: S608

    assert rows == list(zip(release.items.tolist(), release.counts.tolist(), strict=True))
    assert Receipt.from_json(beside.read_text(encoding="utf-8")) == release.receipt


def test_saving_elsewhere_is_refused(tmp_path):
    """Another ending is refused with the ones that work."""
    with pytest.raises(InvalidParameter, match=r"\.parquet, \.csv, \.json"):
        ask().save(tmp_path / "rows.xls")


def test_notebook_card_escapes_items():
    """The card is HTML with the released rows; an item cannot smuggle markup into it."""
    engine = made_engine()
    engine.items = [item.replace("item-0", "<script>alert(1)</script>") for item in engine.items]
    card = ask(engine=engine)._repr_html_()

    assert "&lt;script&gt;" in card
    assert "<script>" not in card
    assert card.startswith("<div><table>")


def test_picture(tmp_path):
    """A release with counts draws itself; names alone cannot be drawn, and other endings are refused."""
    release = ask()
    release.plot(tmp_path / "counts.png")

    assert (tmp_path / "counts.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(InvalidParameter, match="count or top"):
        ask("vocab").plot(tmp_path / "names.png")
    with pytest.raises(InvalidParameter, match="ends in"):
        release.plot(tmp_path / "counts.gif")


def test_empty_data():
    """No rows give an empty release with its receipt, at full price."""
    engine = made_engine()
    engine.users, engine.items = [], []
    for question in ("count", "vocab"):
        release = ask(question, engine=engine)

        assert len(release) == 0
        assert release.receipt.rows == 0


def test_home_defaults_to_the_state_folder(monkeypatch, tmp_path):
    """Without HUSHCOUNT_HOME, files go to the user's state folder."""
    monkeypatch.delenv("HUSHCOUNT_HOME", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    assert look_around().home == tmp_path / "hushcount"
