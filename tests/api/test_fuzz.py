"""Every route with every role, fuzzed by what the interface says of itself, and by what it does not say.

Whatever is sent: nothing fails inside, every refusal is a known problem, what is forbidden looks like what is missing,
nothing of the rare items leaves, and afterwards the ledger is whole and no enforced account is over.
"""

from __future__ import annotations

import itertools
import json
import logging
import random
import re
from collections import Counter

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode

from hushcount.api.problems import STATUS
from hushcount.app.serving.owners.rules import dataset_of
from hushcount.ledger.ledger import Account
from tests.api.served import CANARY, ROLES, TOP, released

CALLERS = (*ROLES, "stranger", "anybody")
# To make up a case takes longer than to answer it. So each is sent by the owner, who gets the farthest, and by two of
# the others, who take turns; each of them this often to each route.
_LOOKS, _OTHERS = 2, CALLERS[1:]
_OTHER_STATUS = {("not-found", 405), ("not-json", 400)}


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


class Failures(logging.Handler):
    """The kinds and places of what failed inside, so that a red run says where."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.kinds = []

    def emit(self, record):
        """Keep one."""
        self.kinds.append(getattr(record, "kind", record.msg))


@pytest.fixture
def failures():
    """What fails inside during a test."""
    kept, logger = Failures(), logging.getLogger("hushcount")
    logger.addHandler(kept)
    yield kept
    logger.removeHandler(kept)


def test_nothing_fails_inside_and_every_refusal_is_a_known_problem(stage, known, failures):
    """Also with what no honest caller sends."""
    schema = schemathesis.openapi.from_dict(stage.anybody.get("/openapi.json").form)
    calls = Counter()
    # Limits last: an account whose limit was cut is over without anybody's fault.
    found = sorted((one.ok() for one in schema.get_all_operations()), key=_sets_limits)
    assert {(one.method.upper(), one.path) for one in found} == set(operations())
    for operation in found:
        if _sets_limits(operation):
            accounts_hold(stage)
        calls += _searched(stage, known, failures, operation)
    # A route that takes next to nothing is soon tried out.
    assert min(calls[who] for who in CALLERS) > len(found)
    assert stage.service.ledger.verify().problems == ()


def _sets_limits(operation):
    return (operation.method.upper(), operation.path) == ("PUT", "/v1/limits")


def _searched(stage, known, failures, operation):
    """Search one route with all roles, which take turns; how often it was called."""
    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    calls, others = Counter(), itertools.cycle(_OTHERS)

    @settings(
        max_examples=_LOOKS * len(_OTHERS) // 2,
        database=None,
        deadline=None,
        derandomize=True,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(
        case=st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in modes)),
        pick=st.integers(0, 2**32),
    )
    def look(case, pick):
        # Nothing is raised in here: a case that fails would be tried again on a service that has changed.
        chance = random.Random(pick)
        for who in (next(others), next(others), "owner"):
            if not wrong:
                calls[who] += 1
                path, reply = _call(case, stage.role(who), known, chance)
                seen = (who, operation.method, path, reply.status, reply.body[:500])
                wrong.extend((*seen, why) for why in (*failures.kinds, *wrong_with(who, operation.path, path, reply)))

    wrong = []
    look()
    assert wrong == []
    return calls


def _call(case, client, known, chance):
    """Send a case that was made up; half of its names become names that exist."""
    parameters = dict(case.path_parameters or {})
    for name in parameters:
        if name in known and chance.random() < 0.5:
            parameters[name] = chance.choice(known[name])
    path = re.sub(r"\{(\w+)\}", lambda found: quoted(parameters.get(found[1], "x")), case.path)
    query = "&".join(f"{quoted(name)}={quoted(value)}" for name, value in (case.query or {}).items())
    body = case.body if isinstance(case.body, dict | list | str | int | float | bool | None) else None
    if isinstance(body, dict) and "dataset" in body and chance.random() < 0.5:
        body = {**body, "dataset": chance.choice(known["dataset"])}
    headers = {name: str(value) for name, value in (case.headers or {}).items() if sendable(str(value))}
    headers.pop("Authorization", None)
    headers.setdefault("Prefer", "respond-async")
    sent = json.dumps(body).encode() if body is not None else None
    called = path + (f"?{query}" if query else "")
    return path, client.begin(case.method.upper(), called, sent, headers=headers).result(60)


def wrong_with(who, path, called, reply):
    """What is wrong with a reply, in words."""
    if reply.broken is not None:
        yield reply.broken
    if reply.status >= 500:
        yield "failed inside"
    if CANARY in reply.body.decode(errors="replace"):
        yield "a rare item"
    if reply.status >= 400:
        yield from _wrong_refusal(reply)
    if path.startswith("/v1/") and path != "/v1/invitations":
        if who == "anybody" and reply.status not in {401, 429}:
            yield "something for nobody"
        if who == "stranger" and reply.status == 403 and ("hidden" in called or "events" in called):
            yield "what is forbidden is told from what is missing"


def _wrong_refusal(reply):
    form = reply.form
    if STATUS.get(form["code"]) != reply.status and (form["code"], reply.status) not in _OTHER_STATUS:
        yield "another status than the code's"
    if form["type"] != f"/problems/{form['code']}" or "request_id" not in form or "detail" not in form:
        yield "no whole problem"
    if form["charged"] is not False and form["code"] not in {"reservation-closed", "internal"}:
        yield "a refusal that does not say that it was free"


def accounts_hold(stage):
    """Nobody has spent beyond a limit that is enforced; something was spent, so that there is something to see."""
    service = stage.service
    spent = []
    for name in ("events", "hidden"):
        population = dataset_of(service.setting, service.served.find(name)).population
        accounts = [Account(kind="dataset", name=population, entity=population)]
        accounts += [Account(kind="analyst", name=person, entity=population) for person in ("ana", "olga", "nightly")]
        for balance in map(service.ledger.balance, accounts):
            spent.append(balance.spent.rho)
            if balance.limit is not None and balance.limit.mode == "enforce":
                assert balance.left.rho >= 0, balance
                assert balance.left.delta >= 0, balance
    assert max(spent) > 0


def quoted(value):
    """A value as a part of a path or of a query."""
    from urllib.parse import quote

    text = value if isinstance(value, str) else json.dumps(value)
    return quote(text.encode("utf-8", "surrogatepass"), safe="") or "x"


def sendable(text):
    """Whether a text can be a header."""
    return all(" " <= sign <= "~" for sign in text)
