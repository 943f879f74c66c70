"""Every route with every role, fuzzed by what the interface says of itself, and by what it does not say.

Whatever is sent: nothing fails inside, every refusal is a known problem, what is forbidden looks like what is missing,
nothing of the rare items leaves, and afterwards the ledger is whole and no enforced account is over.
"""

from __future__ import annotations

import json
import re
import time

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode

from hushcount.api.problems import STATUS
from hushcount.ledger.ledger import Account
from tests.api.served import CANARY, ROLES, TOP, released

CALLERS = (*ROLES, "stranger", "anybody")
# So long the search may take in all; what is begun is ended.
SECONDS = 60.0
_LOOKS = 6


@pytest.fixture(scope="module")
def known(stage):
    """Names that exist, put into paths and bodies so that the search gets beyond 'not found'."""
    reply = released(stage.analyst)
    assert reply.status == 200
    wish = stage.analyst.post("/v1/requests", {"dataset": "events", "releases": 1, "why": "why"}).form["id"]
    saved = stage.analyst.post("/v1/questions", {"name": "weekly", "asked": TOP}).form["id"]
    return {
        "dataset": ("events", "hidden", "nowhere"),
        "query": (reply.form["id"], "q_nothing"),
        "release": (reply.form["release"]["id"], f"{reply.form['release']['id']}.csv", "r_nothing"),
        "wish": (wish, "w_nothing"),
        "question": ("weekly", saved, "nothing"),
        "person": ("ana", "zoe"),
        "group": ("team",),
        "token": ("t_nothing",),
        "reservation": ("h_nothing", "h_ifa"),
        "suffix": ("csv", "exe"),
        "code": ("busy", "nothing"),
    }


def operations():
    """Every route as the interface in docs/ tells it."""
    from tests.api.test_openapi import KEPT

    return [
        (verb.upper(), path)
        for path, verbs in json.loads(KEPT.read_text(encoding="utf-8"))["paths"].items()
        for verb in verbs
    ]


def test_nothing_fails_inside_and_every_refusal_is_a_known_problem(stage, known):
    schema = schemathesis.openapi.from_dict(stage.anybody.get("/openapi.json").form)
    until, calls = time.monotonic() + SECONDS, 0
    found = {(one.ok().method.upper(), one.ok().path): one.ok() for one in schema.get_all_operations()}
    assert set(found) == set(operations())
    left = list(found.items())
    for place, ((method, path), operation) in enumerate(left):
        share = time.monotonic() + (until - time.monotonic()) / (len(left) - place)
        modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
        cases = st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in modes))

        @settings(
            max_examples=_LOOKS * len(CALLERS),
            database=None,
            deadline=None,
            derandomize=True,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        )
        @given(case=cases, who=st.sampled_from(CALLERS), data=st.data())
        def look(case, who, data, *, method=method, path=path, share=share):
            nonlocal calls
            if time.monotonic() > share:
                return
            calls += 1
            sent = _call(case, stage.role(who), known, data)
            _judge(stage, who, method, path, *sent)

        look()
    assert calls > 3 * len(left)
    _accounts_hold(stage)


def _call(case, client, known, data):
    """Send a case that was made up; half of its names become names that exist."""
    parameters = dict(case.path_parameters or {})
    for name in parameters:
        if name in known and data.draw(st.booleans()):
            parameters[name] = data.draw(st.sampled_from(known[name]))
    path = re.sub(r"\{(\w+)\}", lambda found: _quoted(parameters.get(found[1], "x")), case.path)
    query = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in (case.query or {}).items())
    body = case.body if isinstance(case.body, dict | list | str | int | float | bool | None) else None
    if isinstance(body, dict) and "dataset" in body and data.draw(st.booleans()):
        body = {**body, "dataset": data.draw(st.sampled_from(known["dataset"]))}
    headers = {name: str(value) for name, value in (case.headers or {}).items() if _sendable(str(value))}
    headers.pop("Authorization", None)
    headers.setdefault("Prefer", "respond-async")
    sent = json.dumps(body).encode() if body is not None else None
    return path, client.request(case.method.upper(), path + (f"?{query}" if query else ""), sent, headers=headers)


def _judge(stage, who, method, path, called, reply):
    told = (who, method, called, reply.status, reply.body[:500])
    assert reply.status < 500, told
    assert CANARY not in reply.body.decode(errors="replace"), told
    if reply.status >= 400:
        form = reply.form
        assert STATUS[reply.code] == reply.status or (reply.code, reply.status) in {("not-found", 405), ("not-json", 400)}
        assert form["charged"] in {False, None} or form["code"] not in {"not-found", "not-permitted"}, told
        assert form["type"] == f"/problems/{form['code']}", told
    if path.startswith("/v1/") and path != "/v1/invitations":
        if who == "anybody":
            assert reply.status in {401, 405, 429}, told
        if who == "stranger" and reply.status in {403, 404} and "hidden" in called:
            # What is there and not theirs, and what is not there.
            assert reply.code == "not-found", told


def _accounts_hold(stage):
    ledger = stage.service.ledger
    for name in ("events", "hidden"):
        population = ledger.catalog.find(name).population
        balance = ledger.balance(Account(kind="dataset", name="", entity=population))
        if balance.limit is not None and balance.limit.mode == "enforce" and balance.left is not None:
            assert balance.left.rho >= 0 or balance.limit.ceiling.rho < balance.spent.rho
    assert ledger.verify().problems == ()


def _quoted(value):
    from urllib.parse import quote

    text = value if isinstance(value, str) else json.dumps(value)
    return quote(text.encode("utf-8", "surrogatepass"), safe="") or "x"


def _sendable(text):
    return all(" " <= sign <= "~" for sign in text)
