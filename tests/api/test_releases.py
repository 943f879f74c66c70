"""Releases over HTTP: every format, by suffix or Accept, cached for ever; receipts; arithmetic; other people's."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from hushcount.api import rendering
from hushcount.app.serving.callers.tokens import WantedToken, make_token, revoke
from hushcount.app.serving.questions.formats import to_csv, to_parquet
from hushcount.app.serving.questions.releases import answered
from tests.api.served import released

FORMATS = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.stream",
    "svg": "image/svg+xml",
    "html": "text/html; charset=utf-8",
}


@pytest.fixture(scope="module")
def release(stage):
    """A release of ana's, as it was told when it was made."""
    return released(stage.analyst).form["release"]


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_release_has_every_format_by_suffix_and_by_accept(stage, release, suffix):
    """The same bytes either way."""
    path = f"/v1/releases/{release['id']}"
    by_suffix = stage.analyst.get(f"{path}.{suffix}")
    by_accept = stage.analyst.get(path, Accept=FORMATS[suffix].partition(";")[0])
    assert by_suffix.status == by_accept.status == 200
    assert by_suffix.headers["content-type"] == FORMATS[suffix]
    assert by_suffix.body == by_accept.body
    assert by_suffix.headers["etag"] == by_accept.headers["etag"]
    assert int(by_suffix.headers["content-length"]) == len(by_suffix.body)


def test_the_files_hold_the_rows(stage, release):
    """And the receipt, where a file can."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = f"/v1/releases/{release['id']}"
    assert stage.analyst.get(path).form == release
    rows = list(csv.DictReader(io.StringIO(stage.analyst.get(f"{path}.csv").body.decode())))
    (name,) = release["receipt"]["columns"]
    assert [(row[name], int(row["count"])) for row in rows] == [(row["item"], row["count"]) for row in release["rows"]]
    parquet = pq.read_table(io.BytesIO(stage.analyst.get(f"{path}.parquet").body))
    arrow = pa.ipc.open_stream(stage.analyst.get(f"{path}.arrow").body).read_all()
    told = [{name if column == "item" else column: value for column, value in row.items()} for row in release["rows"]]
    assert parquet.to_pylist() == arrow.to_pylist() == told
    assert json.loads(parquet.schema.metadata[b"hushcount_receipt"])["id"] == release["receipt"]["id"]


def test_parquet_needs_no_other_package_and_arrow_says_which(fresh, monkeypatch):
    """The shipped container has neither pyarrow nor matplotlib."""
    for name in ("pyarrow", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)
    path = f"/v1/releases/{released(fresh.analyst).form['release']['id']}"
    found = {form: fresh.analyst.get(f"{path}.{form}") for form in FORMATS}

    assert {form for form, reply in found.items() if reply.status == 200} == {"json", "csv", "parquet", "html"}
    assert {reply.code for form, reply in found.items() if form in {"arrow", "svg"}} == {"no-such-format"}


def holding(stage, release, items):
    """A release like one that was made, of these items, and the last of them below zero."""
    job = stage.service.ledger.jobs.find(release["id"].replace("r_", "q_"))
    numbers = np.arange(len(items), dtype=np.int64)[::-1] - 1
    shown = {"items": np.array(items, dtype=object), "counts": numbers, "low": numbers, "high": numbers}
    return replace(answered(stage.service, job)[0].release, **shown)


@pytest.mark.parametrize("items", [[], ["'", "\x00", '"', "=1"]])
def test_a_parquet_file_holds_any_text_and_none(stage, release, items):
    """Also in the names of columns; numbers are whole, items are texts, marks are a column that says so."""
    import pyarrow.parquet as pq

    job = stage.service.ledger.jobs.find(release["id"].replace("r_", "q_"))
    numbers, like = np.arange(len(items), dtype=np.int64), answered(stage.service, job)[0].release
    receipt = replace(like.receipt, columns=("it\"em's",))
    shown = {"items": np.array(items, dtype=object), "counts": numbers, "low": numbers, "high": numbers}
    made = replace(like, **shown, receipt=receipt)
    table = pq.read_table(io.BytesIO(to_parquet(made, {"limits": "tracked"})))

    assert table.to_pydict() == {**made.to_dict(), "limits": ["tracked"] * len(items)}
    assert [str(kind) for kind in table.schema.types] == ["string", "int64", "int64", "int64", "string"]
    assert table.schema.metadata[b"hushcount_receipt"].decode() == made.receipt.to_json()


def test_a_cell_that_a_spreadsheet_would_compute_is_quoted_and_no_other(stage, release):
    """By each sign that begins a formula somewhere; numbers stay numbers."""
    begins = ["=", "+", "-", "@", "\t", "\r"]
    written = to_csv(holding(stage, release, [*(f"{sign}1" for sign in begins), "a=1"]), {}).decode()
    cells = [row[0] for row in csv.reader(io.StringIO(written, newline=""))]

    assert cells[1:] == [*(f"'{sign}1" for sign in begins), "a=1"]
    assert written.endswith("a=1,-1,-1,-1\r\n")


def test_a_release_may_be_kept_for_ever_and_is_not_sent_twice(stage, release):
    """By its digest, in each form that the header may have."""
    path = f"/v1/releases/{release['id']}.csv"
    first = stage.analyst.get(path)
    assert first.headers["cache-control"] == "private, immutable, max-age=31536000"
    # A browser that keeps it gives it to nobody else who signs in there later, by whichever way.
    assert first.headers["vary"] == "Accept, Authorization, Cookie"
    assert first.headers["link"] == f'</v1/releases/{release["id"]}/receipt>; rel="describedby"'
    for match in (first.headers["etag"], f'"other", W/{first.headers["etag"]}', "*"):
        again = stage.analyst.get(path, If_None_Match=match)
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
    assert stage.analyst.get(path, If_None_Match='"other"').status == 200


def test_whoever_may_not_read_it_learns_nothing_from_a_digest(stage, release):
    """Who asks comes before what is asked."""
    etag = stage.analyst.get(f"/v1/releases/{release['id']}").headers["etag"]
    assert stage.stranger.get(f"/v1/releases/{release['id']}", If_None_Match=etag).status == 404
    assert stage.anybody.get(f"/v1/releases/{release['id']}", If_None_Match=etag).status == 401


def test_a_release_is_rendered_once(stage, release, monkeypatch):
    """It never changes."""
    path = f"/v1/releases/{release['id']}"
    expected = stage.analyst.get(path).body

    def never(found):
        raise AssertionError("rendered again")

    monkeypatch.setattr(rendering, "release_form", never)
    assert stage.analyst.get(path).body == expected


def test_what_was_read_once_is_read_again_without_the_ledger_by_whoever_asked_and_by_nobody_else(fresh, monkeypatch):
    """Whom a token belongs to, whether it was revoked and how far it goes is asked each time."""
    path = f"/v1/releases/{released(fresh.analyst).form['release']['id']}"
    first = fresh.analyst.get(path)
    narrow = fresh.token("ana", datasets=(fresh.service.served.find("hidden").id,))
    setting, wanted = fresh.service.setting, WantedToken(label="script", scopes=("read",))
    made = make_token(setting, fresh.service.tokens_key, owner="ana", wanted=wanted)
    script = fresh.anybody.signed(made.text.text)
    found = [script.get(path).status, narrow.get(path).status, fresh.stranger.get(path).status]
    revoke(setting, made.token.id, by="ana")
    looked = []
    monkeypatch.setattr(type(fresh.service.ledger.jobs), "find", lambda _, name: looked.append(name))
    again = fresh.analyst.get(path)

    assert found == [200, 404, 404]
    assert script.get(path).code == "not-signed-in"
    assert (again.status, again.body, again.headers["etag"]) == (200, first.body, first.headers["etag"])
    assert not looked
    assert fresh.stranger.get(path).code == "not-found"
    assert looked


@pytest.mark.parametrize(
    ("name", "accept"), [(".exe", "*/*"), ("", "application/pdf"), ("", "text/csv;q=0"), (".csv.csv", "*/*")]
)
def test_a_format_that_is_not_there_is_refused(stage, release, name, accept):
    """Rather than answered in another."""
    reply = stage.analyst.get(f"/v1/releases/{release['id']}{name}", Accept=accept)
    assert reply.code in {"no-such-format", "not-found"}
    assert reply.status in {404, 406}


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("text/html;q=0.1, text/csv;q=0.9", "text/csv"),
        ("text/*", "text/csv"),
        ("*/*", "application/json"),
        ("image/png, image/svg+xml", "image/svg+xml"),
        ("text/csv;q=nonsense, application/json", "application/json"),
    ],
)
def test_the_wish_that_weighs_most_is_taken(stage, release, accept, media):
    """As RFC 9110 reads the header."""
    reply = stage.analyst.get(f"/v1/releases/{release['id']}", Accept=accept)
    assert reply.headers["content-type"].partition(";")[0] == media


def test_the_receipt_is_for_people_and_programs(stage, release):
    """The same as in the release."""
    form = stage.analyst.get(f"/v1/releases/{release['id']}/receipt").form
    assert form == release["receipt"]
    assert "events" in form["words"] or "user_id" in form["words"]


def test_rows_are_added_up_for_nothing(stage, release):
    """With intervals; of rows that were released only."""
    items = [row["item"] for row in release["rows"]]
    path = f"/v1/releases/{release['id']}/derive"
    form = stage.analyst.post(path, {"deed": "sum", "items": items}).form
    assert form["value"] == sum(row["count"] for row in release["rows"])
    assert form["low"] < form["value"] < form["high"]
    share = stage.analyst.post(path, {"deed": "share", "items": items[:1], "against": items}).form
    assert 0 <= share["low"] < share["value"] < share["high"] <= 1
    reply = stage.analyst.post(path, {"deed": "sum", "items": ["nothing"]})
    assert (reply.status, reply.code) == (400, "invalid-parameter")


def test_others_read_it_by_their_role(stage, release):
    """To all others it is not there, in the same words."""
    path = f"/v1/releases/{release['id']}"
    assert stage.owner.get(path).form == stage.auditor.get(path).form == release
    nothing = {
        role: stage.role(role).get("/v1/releases/r_aaaaaaaaaaaaaaaaaaaaaaaa")
        for role in ("reader", "program", "stranger")
    }
    for role, missing in nothing.items():
        reply = stage.role(role).get(path)
        assert (reply.status, reply.code) == (404, "not-found")
        assert reply.form["detail"] == missing.form["detail"]


def test_a_token_that_is_narrowed_reads_only_what_it_reaches(stage, release):
    """Also of what its owner asked."""
    hidden = stage.service.served.find("hidden").id
    path = f"/v1/releases/{release['id']}"
    elsewhere = stage.token("ana", scopes=("ask",), datasets=(hidden,))
    assert elsewhere.get(path).code == "not-found"
    assert elsewhere.get("/v1/queries").form["data"] == []
    assert stage.token("ana", scopes=("program",)).get(path).code == "not-found"
    assert stage.token("ana", scopes=("read",)).get(path).status == 200


def test_items_are_hostile_text(fresh):
    """Formulas and scripts stay text in every format."""
    evil = ["=cmd()", "<script>alert(1)</script>", '"quoted"', "a\u2028b"]
    data = fresh.service.config.stores[0].place
    lines = [f'p{person},"{item.replace(chr(34), chr(34) * 2)}"' for item in evil for person in range(900)]
    with open(f"{data}/more.csv", "w", encoding="utf-8") as file:  # noqa: PTH123  a name, not a path
        file.write("user_id,item\n" + "\n".join(lines) + "\n")
    made = fresh.owner.post(
        "/v1/datasets", {"name": "more", "store": "files", "table": "more.csv", "person": "user_id"}
    )
    assert made.status == 201, made.body
    form = released(fresh.owner, {"dataset": "more", "question": "top", "item": "item", "k": 4}).form["release"]
    assert {row["item"] for row in form["rows"]} == set(evil)
    path = f"/v1/releases/{form['id']}"
    assert b"<script>" not in fresh.owner.get(f"{path}.html").body
    assert b"<script>" not in fresh.owner.get(f"{path}.svg").body
    cells = [row[0] for row in csv.reader(io.StringIO(fresh.owner.get(f"{path}.csv").body.decode()))]
    assert "'=cmd()" in cells


def test_a_page_is_shown_in_its_own_style_and_no_other(stage, release):
    """Its policy names the digest of what stands in it: nothing else that were put into it would count or run."""
    page = stage.analyst.get(f"/v1/releases/{release['id']}.html")
    style = re.search(rb"<style>(.*?)</style>", page.body)[1]
    digest = base64.b64encode(hashlib.sha256(style).digest()).decode()
    policy = dict(part.split(" ", 1) for part in page.headers["content-security-policy"].split("; "))

    assert policy["style-src"] == f"'sha256-{digest}'"
    assert policy["default-src"] == "'none'"
    assert "script-src" not in policy
