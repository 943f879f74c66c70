"""Receipts to hand on: the page, the list, one delta for all, and what sizes of releases mean."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from decimal import Decimal
from html.parser import HTMLParser

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushcount
from hushcount.accounting import zcdp
from hushcount.app import receipts
from hushcount.app.receipt import REFERENCE_DELTA, Receipt, best_epsilon, promise, question_words
from hushcount.app.receipt_page import sizes
from hushcount.app.release import Release
from hushcount.model.costs import Concentrated, Cost, Failure

RHOS = st.decimals("0.001", "2", places=4)
BELOW = st.decimals("0", "0.0000099", places=8)


@pytest.fixture(scope="module")
def receipt(tmp_path_factory):
    """The receipt of a count with a bound and a filter, paid for."""
    folder = tmp_path_factory.mktemp("receipt")
    rows = pa.table({"who": [f"w{n}" for n in range(900)], "what": ["tea", "milk", "bread"] * 300})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HUSHCOUNT_HOME", str(folder))
        asked = {"user": "who", "item": "what", "max_items_per_user": 1, "where": "what <> 'x'"}
        return hushcount.count(rows, dataset="shop <1>", **asked).receipt


def cost(rho: Decimal, delta: Decimal) -> Cost:
    """A release of that size."""
    return Cost.of(Concentrated(rho=rho), *([Failure(delta=delta)] if delta else []))


def at_twice_its_own(one: Cost) -> float:
    """The broken twin: stated at twice its own delta as soon as that is above the reference."""
    spent = zcdp.spent(one)
    return best_epsilon(one, max(REFERENCE_DELTA, 2 * spent.delta))


@given(RHOS, RHOS, BELOW, BELOW)
@settings(deadline=None)
def test_cheaper_never_looks_worse(rho, other, delta, another):
    """Of two costs of which one is no larger in rho and delta, its epsilon is no larger; all at the reference delta."""
    cheap, dear = cost(min(rho, other), min(delta, another)), cost(max(rho, other), max(delta, another))

    assert promise(cheap).epsilon <= promise(dear).epsilon
    assert promise(cheap).epsilon_delta == promise(dear).epsilon_delta == REFERENCE_DELTA


def test_stated_at_twice_its_own_delta_cheaper_would_look_worse():
    """The twin calls delta 4.9e-6 worse than 6e-6 at the same rho; ours does not."""
    cheap, dear = cost(Decimal("0.1"), Decimal("4.9e-6")), cost(Decimal("0.1"), Decimal("6e-6"))

    assert at_twice_its_own(cheap) > at_twice_its_own(dear)
    assert promise(cheap).epsilon < promise(dear).epsilon


def test_what_cannot_be_compared_says_so(receipt):
    """A delta of the reference and more has no epsilon there: stated elsewhere, and told to promise less."""
    found = promise(cost(Decimal("0.1"), REFERENCE_DELTA))
    told = replace(receipt, delta="1e-05", epsilon=found.epsilon, epsilon_delta=float(found.epsilon_delta))

    assert found.epsilon_delta == 2 * REFERENCE_DELTA
    for text in (told.to_text(), told.to_html()):
        assert "leaves no epsilon at delta = 1e-05" in text
    assert "leaves no epsilon" not in receipt.to_text() + receipt.to_html()


def test_sizes_are_computed_and_never_too_small():
    """A tenth, one and five standard releases: epsilons above those of every accountant, months within the limit."""
    found = sizes(REFERENCE_DELTA)

    assert [(one.preset, one.releases, one.fit) for one in found] == [
        ("cautious", 0.1, 10),
        ("standard", 1.0, 10),
        ("generous", 5.0, 2),
    ]
    for one in found:
        rho = Decimal("0.1") * Decimal(str(one.releases))
        exact = best_epsilon(cost(rho, Decimal("1e-6")), REFERENCE_DELTA)
        month = best_epsilon(cost(rho * one.fit, Decimal("1e-6") * one.fit), one.month_delta)
        assert exact <= one.epsilon <= 1.3 * exact
        assert month <= one.month <= 1.3 * month


class Tags(HTMLParser):
    """The tags of a page, with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        """One more."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        """As well."""
        self.texts.append(data)


def test_the_page_stands_alone(receipt):
    """No script, no link, nothing fetched; light and dark; everything that a boss or a lawyer asks for."""
    page = Tags(receipt.to_html())
    text = " ".join(page.texts)

    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "link", "img", "iframe", "a", "object", "form"})
    assert not [one for _, one in page.tags if {"src", "href", "onclick", "onload"} & set(one)]
    assert "prefers-color-scheme:dark" in text
    for words in (receipt.id, "shop <1>", "how many people have each what", "who", "At most one item of each person"):
        assert words in text
    for words in (f"{receipt.epsilon:.4g} at delta = 1e-05", f"rho = {receipt.charged_rho}", "cautious", "generous"):
        assert words in text
    assert "only those with what" in text


@pytest.mark.parametrize("field", ["id", "dataset", "user", "item", "where", "remark", "mechanism", "made"])
def test_nothing_in_a_receipt_is_markup(receipt, field):
    """Whatever a column, a filter or a data set is called, it is text: also a half of a character."""
    planted = replace(receipt, **{field: "<script>alert(1)</script>\"'\ud800"})
    shown = planted.to_html() + planted._repr_html_()

    assert "<script" not in shown
    assert shown.encode()


def test_a_receipt_knows_its_data_set(receipt):
    """By its name in the catalog; in the paragraph and in JSON, and read again; an earlier one does not say."""
    form = asdict(receipt)

    assert receipt.dataset == "shop <1>"
    assert "in the data set 'shop <1>'" in receipt.to_text()
    assert Receipt.from_json(receipt.to_json()) == receipt
    del form["dataset"]
    assert Receipt.from_form(form) == replace(receipt, dataset=None)
    assert "not in a catalog" in Receipt.from_form(form).to_html()


def test_what_the_ledger_stores_names_no_data_set():
    """Its bytes are the same whatever the data is called, and give the receipt without a name."""
    rows = pa.table({"who": [f"w{n}" for n in range(300)], "what": ["tea"] * 300})
    release = hushcount.count(rows, user="who", item="what", keys=["tea"], ledger=False)
    named = replace(release, receipt=replace(release.receipt, dataset="shop"))

    assert named.to_bytes() == release.to_bytes()
    assert Release.from_bytes(named.to_bytes()).receipt == release.receipt


def test_without_a_ledger_no_data_set_is_named():
    """Nobody registered it."""
    rows = pa.table({"who": [f"w{n}" for n in range(300)], "what": ["tea"] * 300})
    release = hushcount.count(rows, user="who", item="what", keys=["tea"], ledger=False)

    assert release.receipt.dataset is None
    assert "data set" not in release.receipt.to_text()


def test_questions_in_words(receipt):
    """Each verb, everybody, and rows up to a cap."""
    told = {name: question_words(replace(receipt, question=name)) for name in ("count", "top", "vocab")}

    assert told == {
        "count": "how many people have each what",
        "top": "which what most people have",
        "vocab": "which what may be named",
    }
    assert question_words(replace(receipt, columns=())) == "how many people there are"
    assert "at most 3 times" in question_words(replace(receipt, per_item_cap=3))


def test_the_list_is_newest_first_and_survives_a_broken_file(receipt, tmp_path):
    """By when they were made; a file that cannot be read hides no other."""
    for made, name in (("2026-01-02", "aa"), ("2026-03-04", "bb"), ("2025-01-01", "cc")):
        receipts.keep(replace(receipt, id=name, made=f"{made}T00:00:00+00:00"), tmp_path)
    (tmp_path / "dd.json").write_text("{", encoding="utf-8")
    (tmp_path / "ee.json").write_text(json.dumps({"id": "ee"}), encoding="utf-8")

    assert [one.id for one in receipts.listed(tmp_path)] == ["bb", "aa", "cc"]
    assert receipts.listed(tmp_path / "nowhere") == []
