"""Items, filters and names are hostile text: no page breaks, nothing of it is markup, and no script of it runs."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hushcount.console.drawing import bars
from hushcount.console.texts import item, plain
from tests.console.conftest import HOSTILE
from tests.console.markup import strange, words
from tests.console.site import ODD, fetched, got

NASTY = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(max_size=300),
    st.text("<>&\"'`=/{}%$#;()[]\\\u202e\u0000\ud800", max_size=40),
)


@pytest.fixture(scope="module")
def answered(site):
    """Somebody with an answer of hostile items: their token, its name, and how many rows it has."""
    _, token = site.person(dataset="hostile")
    body = {"mode": "release", "dataset": "hostile", "question": "count", "item": "thing", "rho": "0.5"}
    done = fetched(site, "/v1/queries", token, body, headers={"Idempotency-Key": "hostile"})
    return token, done["release"]["id"], len(done["release"]["rows"])


def test_hostile_items_are_text_in_a_browser(site, window, answered):
    """Every one of them is shown, in the table and in the picture; none runs, and the page stays in its width."""
    token, release, rows = answered
    page = window(token)
    page.goto(f"/console/answers/{release}?a=0&b=1&sum=0&sum=1")
    shown = page.locator("tbody").inner_text()

    assert rows == len(HOSTILE)
    assert page.evaluate("window.ran") is None
    assert "<script>window.ran = true</script>" in shown
    assert "10,000 signs in all" in shown
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_hostile_answer_is_nothing_but_our_own_markup(site, answered):
    """No tag, attribute or address that our templates do not have; a page with one of them is noticed."""
    token, release, _ = answered
    _, page = got(site, f"/console/answers/{release}?a=0&b=1&sum=0&sum=1", token)

    assert strange(page) == []
    assert strange(page.replace("&lt;script&gt;", "<b onclick=x>", 1)) == ["b onclick"]


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=(Phase.explicit, Phase.generate),
)
@given(where=NASTY, column=NASTY, name=NASTY)
def test_whatever_is_said_breaks_no_page(site, answered, where, column, name):
    """Filters, columns and names of data sets in any text: a page of ours, and never a failure inside."""
    token, *_ = answered
    said = [
        {"data": "hostile", "where": where, "item": column},
        {"data": name, "question": "count"},
        {"data": "hostile", "question": name},
        {"data": "hostile", "step": where, "k": column},
    ]
    for fields in said:
        try:
            query = urlencode(fields)
        except UnicodeEncodeError:
            continue
        status, page = got(site, f"/console/ask?{query}", token)
        assert status in {200, 400, 404}, (status, fields)
        assert strange(page) == [], fields


def test_a_data_set_with_an_odd_name_is_asked_like_any_other(site, window):
    """Its name, its person and its columns are text everywhere."""
    _, token = site.person(dataset=ODD)
    page = window(token)
    page.goto("/console/data")
    page.click("a.main")
    page.wait_for_selector(".price")
    page.click("text=Release the answer")
    page.wait_for_url("**/console/answers/*")
    shown = page.inner_text("main")
    for path in ("/console/data", "/console/history", f"/console/budget?{urlencode({'data': ODD})}"):
        _, other = got(site, path, token)
        assert strange(other) == [], path
        assert ODD in words(other), path

    assert ODD in shown
    assert page.evaluate("window.ran") is None


@given(NASTY)
def test_an_item_is_shown_as_one_text(text):
    """Nothing of it is markup, nothing of it is unseen, and it turns nothing round that stands beside it."""
    shown = str(item(text))

    assert strange(f"<p>{shown}</p>") == []
    assert not any(sign in shown for sign in "\u202e\u0000\u2066\u200f")
    assert len(shown) < 2000


@given(
    st.lists(st.tuples(NASTY, st.integers(0, 10**12)), min_size=1, max_size=40), st.one_of(st.none(), st.floats(0, 1e9))
)
def test_a_picture_is_nothing_but_our_own_markup(rows, cutoff):
    """Whatever the items are called and however large their numbers; at most as many bars as it says."""
    made = [{"item": text, "count": count, "low": max(0, count - 5), "high": count + 9} for text, count in rows]
    for narrow in (False, True):
        drawn = str(bars(made, cutoff, narrow=narrow))

        assert strange(drawn) == []
        assert drawn.count('class="bar"') == min(25, len(rows))
        assert "nan" not in drawn.lower().replace(plain("".join(text for text, _ in rows)).lower(), "")
