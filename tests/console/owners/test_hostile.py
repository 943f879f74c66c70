"""Names of data sets and analysts, reasons and sentences are hostile text: no page breaks, and none of it is markup."""

from __future__ import annotations

import json
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.owners import wishes
from hushcount.console.curves import figure
from tests.console.conftest import HOSTILE
from tests.console.markup import strange, words
from tests.console.owners.conftest import overseen
from tests.console.site import fetched, got

NASTY = st.one_of(
    st.sampled_from(HOSTILE), st.text(max_size=200), st.text("<>&\"'`=/{}%$#;()[]\\\u202e\u0000", max_size=40)
)
SCRIPT = "<script>window.ran=true</script>"
IMAGE = '"><img src=x onerror=window.ran=true>'
DATA = urlencode({"data": SCRIPT})
PAGES = (
    "overview",
    f"limits?{DATA}",
    f"people?{DATA}",
    "requests",
    f"trail?{DATA}",
    "trail?rules=yes",
    f"setup?{DATA}",
    "health",
)
FEW = settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=(Phase.explicit, Phase.generate),
)


def sent(site, path, token, fields):
    """What a form is answered with, as a browser would send it; redirects are followed."""
    headers = {"Authorization": f"Bearer {token}", "Origin": site.url}
    body = urlencode(fields, errors="replace").encode()
    try:
        with urlopen(Request(site.url + path, data=body, headers=headers), timeout=60) as reply:  # noqa: S310  ours
            return reply.status, reply.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A console of their own: what is left of hostile names would be in the way of others."""
    with overseen(tmp_path_factory.mktemp("hostile")) as made:
        yield made


@pytest.fixture(scope="module")
def olga(site):
    """A token of whoever owns everything."""
    return site.token("olga", scopes=("manage", "ask"))


@pytest.fixture(scope="module")
def spoilt(site, olga):
    """A data set, an analyst, a group, a wish and a stop with names that are markup."""
    folder = site.service.config.store("files").place
    body = {"name": SCRIPT, "store": "files", "table": "spoilt.parquet", "person": "who"}
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE rows AS SELECT 'spoilt' AS who, 'thing' AS \"<b onclick=window.ran=1>\"")
        connection.execute(f"COPY rows TO '{folder}/spoilt.parquet' (FORMAT parquet)")
    fetched(site, "/v1/datasets", olga, body)
    fetched(site, f"/v1/people/{quote(IMAGE, safe='')}", olga, {"role": "analyst", "dataset": SCRIPT}, method="PUT")
    # A name with a slash cannot be part of an address; forms name it.
    sent(site, "/console/people/group", olga, {"data": SCRIPT, "person": IMAGE, "group": SCRIPT})
    offer, service = site.service.served.find(SCRIPT), site.service
    until = service.setting.clock().replace(year=service.setting.clock().year + 1)
    wish = wishes.make_wish(service, Caller(name=IMAGE), offer, releases="1", why=SCRIPT * 20, until=until)
    sent(site, "/console/overview/freeze", olga, {"data": SCRIPT, "frozen": "yes", "why": IMAGE})
    yield wish.id
    sent(site, "/console/overview/freeze", olga, {"data": SCRIPT, "frozen": "no"})
    fetched(site, f"/v1/requests/{wish.id}/decision", olga, {"grant": False, "sentence": IMAGE})


def test_markup_is_text_on_every_page(site, window, olga, spoilt):
    """Nothing runs, nothing is wider than the window, and nothing is a tag that our templates do not have."""
    page, found, shown = window(olga), {}, ""
    for path in PAGES:
        status = page.goto(f"/console/{path}").status
        shown += page.inner_text("main")
        ran, wide = page.evaluate("[window.ran, document.documentElement.scrollWidth > innerWidth]")
        odd = strange(got(site, f"/console/{path}", olga)[1])
        found |= {path: (status, ran, wide, odd)} if status != 200 or ran or wide or odd else {}

    assert found == {}
    assert SCRIPT in shown
    assert IMAGE in shown


@FEW
@given(data=NASTY, who=NASTY, other=NASTY)
def test_whatever_an_address_says_breaks_no_page(site, olga, data, who, other):
    """Data sets, people, limits and places in the trail in any text: a page of ours, and never a failure inside."""
    for path, fields in (
        ("limits", {"data": data}),
        ("limits", {"data": "reading", "releases": other, "window": who}),
        ("limits", {"data": "reading", "share": other}),
        ("people", {"data": "reading", "who": who, "after": other}),
        ("trail", {"data": "reading", "before": other}),
        ("trail", {"data": "reading", "who": who}),
        ("setup", {"data": "reading", "column": who, "most": other}),
        ("add", {"store": "files", "table": who}),
        ("add", {"store": data}),
    ):
        status, page = got(site, f"/console/{path}?{urlencode(fields, errors='replace')}", olga)
        assert status in {200, 400, 404, 502}, (status, path, fields)
        assert strange(page) == [], (path, fields)


@FEW
@given(name=NASTY, words_=NASTY, amount=NASTY)
def test_whatever_a_form_says_breaks_no_page(site, olga, name, words_, amount):
    """Reasons, sentences, names and amounts in any text: done or refused, in a page of ours."""
    for path, fields in (
        ("limits", {"data": "surveys", "whose": "analyst", "name": name, "releases": amount, "mode": "track"}),
        ("limits", {"data": "surveys", "releases": "1", "enforced_from": amount}),
        ("people/role", {"data": "surveys", "person": name, "role": "reader"}),
        ("people/group", {"data": "surveys", "person": name, "group": words_}),
        ("people/invitation", {"data": "surveys", "person": name}),
        ("requests", {"wish": name, "decision": "grant", "sentence": words_, "releases": amount}),
        ("overview/freeze", {"data": name, "frozen": "yes", "why": words_}),
        ("setup/facts", {"data": "surveys", "column": name, "most": amount, "list": words_}),
        ("setup/live", {"data": name, "preset": "standard", "people": words_}),
        ("trail/verified", {"kept": json.dumps({"heads": [{"entity": name, "seq": 1, "hash": words_}]})}),
        ("trail/verified", {"kept": words_}),
        ("add", {"store": "files", "table": name, "name": words_, "person": "who"}),
    ):
        status, page = sent(site, f"/console/{path}", olga, fields)
        assert status in {200, 201, 400, 404, 502}, (status, path, fields, words(page)[:300])
        assert strange(page) == [], (path, fields)


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("overview/freeze", {"frozen": "yes"}),
        ("limits", {"releases": "1"}),
        ("people/role", {"person": "eve", "role": "owner"}),
        ("setup/live", {"preset": "generous"}),
        ("setup/facts", {"column": "article", "most": "1"}),
    ],
)
def test_a_form_that_names_no_data_is_about_nothing(site, olga, path, fields):
    """Neither left out nor empty: it must not become a rule for everything."""
    before = fetched(site, "/v1/limits", olga), fetched(site, "/v1/people", olga)
    found = [sent(site, f"/console/{path}", olga, {**fields, **more})[0] for more in ({}, {"data": ""}, {"data": "  "})]

    assert set(found) <= {400, 404}
    assert (fetched(site, "/v1/limits", olga), fetched(site, "/v1/people", olga)) == before
    assert fetched(site, "/console/overview.json", olga)["frozen"] is None


def test_a_reason_is_told_as_it_was_written(site, olga, spoilt):
    """Every sign of it, on the page of requests."""
    _, page = got(site, "/console/requests", olga)

    assert SCRIPT * 20 in words(page)


def test_names_in_a_picture_are_text():
    """The figure escapes whatever its lines are called."""
    drawn = figure("a", SCRIPT, [(IMAGE, [0.1, 0.5]), (SCRIPT, [0.0, 0.0])], most=0.5)

    assert "<script" not in drawn
    assert "<img" not in drawn
