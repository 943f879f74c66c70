"""The links of the interface, followed at random by every role: what one answer names, the next request uses.

Schemathesis walks them over the application: a question to its job, its release and what is derived of it; a
reservation to its end; a saved question to its publication. Whatever is sent on the way: nothing fails inside, every
answer keeps to its form, every refusal is a known problem, a thing of somebody else's answers as one that never was,
and afterwards the ledger is whole and no enforced account is over.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test
from schemathesis.core.result import Ok
from schemathesis.core.transforms import UNRESOLVABLE
from schemathesis.core.transport import Response
from schemathesis.generation import GenerationMode
from schemathesis.generation.stateful.state_machine import StepOutput

from hushcount.api.contract import LEADS
from tests.api.served import COUNT, TOP, Stage, staged
from tests.api.test_fuzz import CALLERS, Failures, accounts_hold, failures, quoted, sendable, wrong_with

# Links are walked by family, since a walk that may go everywhere gets nowhere: the routes that they begin at.
FAMILIES = {
    "questions": (
        *("POST /v1/queries", "GET /v1/queries", "GET /v1/queries/{query}", "POST /v1/batches"),
        "GET /v1/releases/{release}",
    ),
    "saved questions": (
        *("POST /v1/questions", "POST /v1/questions/{question}/release", "POST /v1/datasets/{dataset}/publish"),
    ),
    "people": (
        *("POST /v1/requests", "GET /v1/requests", "POST /v1/tokens", "GET /v1/people", "POST /v1/log/verify"),
        "POST /v1/people/{person}/invitation",
    ),
    "data": (*("GET /v1/datasets", "POST /v1/datasets", "GET /v1/datasets/{dataset}", "POST /v1/budget/reservations"),),
}
# Which routes each role must have reached by links, at least; the owner follows every link.
REACHED = {
    "analyst": {
        *("GET /v1/queries/{query}", "GET /v1/releases/{release}", "POST /v1/releases/{release}/derive"),
        *("POST /v1/questions/{question}/release", "DELETE /v1/requests/{wish}"),
    },
    "program": {
        *("POST /v1/budget/reservations/{reservation}/settle", "DELETE /v1/budget/reservations/{reservation}"),
    },
    "auditor": {"POST /v1/log/verify"},
    "reader": {"GET /v1/datasets/{dataset}", "POST /v1/queries"},
}
# Walks in a round, steps in a walk, and rounds after which what was not reached cannot be reached.
WALKS, STEPS, MOST_ROUNDS = 2, 16, 40
# In this part of the walks things are also ended: where they are in all, most steps are about what is gone.
ENDING = 0.4
# What gives a saved question, of which the walk may want the newest release; and where its name is.
MADE = {"POST /v1/questions": "name", "POST /v1/datasets/{dataset}/publish": "published"}
# So often a stranger tries what somebody has.
TRIES = 3
LIMITS = (
    {"dataset": "events", "releases": "40"},
    {"dataset": "events", "analyst": "nightly", "releases": "1"},
    {"dataset": "events", "analyst": "ana", "releases": "4"},
)
# So little that walks never use a limit up.
_COST = {"rho": "0.00001"}
ASYNC = "respond-async"
_WORDS = {"count", "top"}

__all__ = ["failures"]

# Who has nothing, and reaches nothing.
NOBODIES = ("stranger", "anybody")
NUMBERS = itertools.count()


@pytest.fixture
def stage(tmp_path):
    """A service of its own: no caller is too fast, items are told, and limits are enforced from the start."""

    def change(config):
        named = [replace(one, items=("article",)) if one.name == "events" else one for one in config.datasets]
        return replace(config, datasets=tuple(named), server=replace(config.server, rate=0))

    with staged(tmp_path, change) as made:
        for limit in LIMITS:
            assert made.owner.put("/v1/limits", limit).status == 200
        yield made


class Walking:
    """How a walk calls, and what it judges; schemathesis only chooses where it goes next.

    Attributes:
        stage: the service and its callers.
        failures: what failed inside.
        who: who walks.
        prefer: whether it waits for answers.
        ends: whether it also ends things.
        chance: chance, always the same.
        wrong: what was wrong.
        followed: how often each caller followed each link, with all that it names.
        compared: how often a stranger tried each route with what a caller has.
    """

    stage: Stage
    failures: Failures
    who: str
    prefer: str
    ends: bool
    chance: random.Random
    wrong: list
    followed: Counter
    compared: Counter

    def setup(self):
        """Take back what waits: nobody may have more than a few wishes that do."""
        self.ends = self.chance.random() < ENDING
        client = self.stage.role(self.who)
        for wish in client.get("/v1/requests").form.get("data", ()):
            if wish["state"] == "waiting":
                client.delete(f"/v1/requests/{wish['id']}")

    def step(self, given):
        """One request; none where something would be ended that this walk leaves."""
        call = Call(given, self.chance, number=next(NUMBERS), prefer=self.prefer)
        if call.method == "DELETE" and not self.ends:
            return None
        if call.named and self.who not in NOBODIES and call.route != "POST /v1/invitations":
            self.compare(call)
        reply = call.sent(self.stage.role(self.who))
        self.judge(call, reply, self.who)
        if reply.status == 201 and call.route in MADE and self.chance.random() < 0.6:
            self.release(reply.form[MADE[call.route]])
        if call.named and reply.status < 300:
            self.followed[self.who, given.transition.id] += 1
        return StepOutput(_as_response(reply, given.case), given.case)

    def release(self, name):
        """Ask a saved question at once, so that it has a newest release wherever the walk goes with it."""
        client, path = self.stage.role(self.who), f"/v1/questions/{quoted(name)}/release"
        client.post(path, Idempotency_Key=f"first-{next(NUMBERS)}", Prefer="wait=5")

    def compare(self, call):
        """A stranger, who comes first, sees no difference between what is there and what never was."""
        if self.compared[self.who, call.route] == TRIES:
            return
        self.compared[self.who, call.route] += 1
        other = call.other()
        there, never = call.sent(self.stage.stranger), other.sent(self.stage.stranger)
        self.judge(call, there, "stranger")
        if there.status < 400 or _without(there, call.named) != _without(never, other.named):
            self.wrong.append((call.route, call.path, there.status, there.body, never.status, never.body))

    def judge(self, call, reply, who):
        """Note what is wrong with a reply. Nothing is raised: a walk that fails would be tried again."""
        reasons = [*self.failures.kinds, *wrong_with(who, call.template, call.path, reply)]
        self.wrong.extend((who, call.route, call.path, reply.status, reply.body[:500], why) for why in reasons)


def walker(stage, failures, family):
    """A walk along a family of the links that the service tells."""
    told = stage.anybody.get("/openapi.json").form
    for route, reply in _replies(told):
        links = reply.pop("links", {})
        if route in FAMILIES[family]:
            # As OpenAPI means it: the body of a link is the whole body.
            reply["links"] = {name: {**link, "x-schemathesis": {"merge_body": False}} for name, link in links.items()}
    schema = schemathesis.openapi.from_dict(told)
    # Only the links that are told.
    schema.config.phases.stateful.inference.algorithms = []
    # What breaks the rules of a route is sent by `test_fuzz`; here what keeps to them gets far.
    schema.config.generation.modes = [GenerationMode.POSITIVE]
    own = {"stage": stage, "failures": failures, "chance": random.Random(1), "wrong": []}
    counts = {"followed": Counter(), "compared": Counter()}
    return type("Walk", (Walking, schema.as_state_machine()), {**own, **counts})


def _replies(told):
    for path, verbs in told["paths"].items():
        for verb, route in verbs.items():
            yield from ((f"{verb.upper()} {path}", reply) for reply in route["responses"].values())


class Call:
    """One request: a case that was made up, with what its link took from an answer before, and bodies that work.

    Attributes:
        named: the texts that were taken from the answer before and are sent; empty if not all of them are.
    """

    def __init__(self, step, chance, *, number, prefer):
        case, self.template = step.case, step.case.path
        self.method, self.route = case.method.upper(), f"{case.method.upper()} {case.path}"
        by = {location.value for location, _ in step.applied_parameters}
        self.path = re.sub(
            r"\{(\w+)\}", lambda found: quoted((case.path_parameters or {}).get(found[1], "x")), case.path
        )
        query = (case.query or {}) if "query" in by or chance.random() < 0.3 else {}
        if query:
            self.path += "?" + "&".join(f"{quoted(name)}={quoted(value)}" for name, value in query.items())
        self.body = case.body if isinstance(case.body, dict | list | str | int | float | bool | None) else None
        bodies = working(number, new=prefer == ASYNC)
        if "body" not in by and self.route in bodies and chance.random() < 0.9:
            self.body = bodies[self.route]
        given = {name: str(value) for name, value in (case.headers or {}).items() if sendable(str(value))}
        given = given if chance.random() < 0.2 else {}
        given.pop("Authorization", None)
        self.headers = {
            "Idempotency-Key": f"key-{number}",
            "Prefer": prefer,
            **given,
        }
        # An address of its own: whoever fails to accept an invitation too often is made to wait.
        self.peer = f"10.{number // 65536 % 256}.{number // 256 % 256}.{number % 256}"
        taken = _taken(step.transition)
        sent = [*map(quoted, _texts(self.body)), self.path]
        self.named = taken if taken and all(any(quoted(one) in part for part in sent) for one in taken) else ()

    def other(self):
        """The same about things that never were."""
        made = object.__new__(Call)
        made.__dict__ = {**self.__dict__, "named": tuple(map(_never, self.named))}
        swaps = dict(zip(self.named, made.named, strict=True))
        for one, never in swaps.items():
            made.path = made.path.replace(quoted(one), quoted(never))
        made.body = _swapped(self.body, swaps)
        return made

    def sent(self, client):
        """The reply to a client."""
        body = None if self.body is None else json.dumps(self.body).encode()
        return replace(client, peer=self.peer).begin(self.method, self.path, body, headers=self.headers).result(60)


def working(number, *, new):
    """Bodies that do something, by route; a name is used once.

    What was answered is answered on the spot when it is asked again; `new` questions, at next to no cost, are not.
    """
    asked = {**TOP, "k": 1 + number % 900, "rho": "0.0001", "delta": "1e-10"} if new else TOP
    return {
        "POST /v1/queries": {**asked, "mode": "release"},
        "POST /v1/batches": {"mode": "release", "questions": [asked, COUNT]},
        "POST /v1/datasets": {
            "name": f"more-{number}", "store": "files", "table": "more.csv", "person": "user_id", "items": ["item"]
        },
        "POST /v1/questions": {"name": f"weekly-{number}", "asked": asked},
        "PATCH /v1/questions/{question}": {"schedule": None},
        "POST /v1/requests": {"dataset": "events", "releases": 1, "why": "why"},
        "POST /v1/requests/{wish}/decision": {"grant": False, "sentence": "not now"},
        "POST /v1/tokens": {"label": "another"},
        "POST /v1/budget/reservations": {"dataset": "events", "cost": _COST},
        "POST /v1/budget/reservations/{reservation}/settle": {"cost": _COST},
    }  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_every_link_leads_on_and_nobody_goes_where_they_may_not(stage, failures, family):
    """The owner reaches every link with what the answer before it named; others get where their role goes."""
    machine = walker(stage, failures, family)
    every = links_of(family)
    for who in CALLERS:
        machine.who = who
        for number in range(MOST_ROUNDS):
            walk(machine, number)
            missing = wanted(who, every) - reached(machine, who)
            if not missing:
                break

        assert missing == set(), who
    assert set().union(*(reached(machine, who) for who in NOBODIES)) == set()
    assert len(machine.compared) > len(every) / 2
    spend_all(stage.program)
    accounts_hold(stage)
    assert stage.service.ledger.verify().problems == ()


def spend_all(program):
    """Spend all that a program has left, so that a limit that is not kept is seen."""
    body = {"dataset": "events", "cost": {"rho": "0.01"}}
    replies = [program.post("/v1/budget/update", body, Idempotency_Key=f"all-{number}") for number in range(20)]

    assert replies[-1].code == "budget-exhausted"


def test_every_link_is_in_a_family():
    """None is walked past."""
    assert sorted(route for routes in FAMILIES.values() for route in routes) == sorted(LEADS)


def links_of(family):
    """The links of a family, by where they lead: as schemathesis calls them, and the route."""
    return {
        (f"{route} -> [{status}] {lead.name} -> {lead.to}", lead.to)
        for route in FAMILIES[family]
        for status, leads in LEADS[route].items()
        for lead in leads
    }


def wanted(who, every):
    """What a role must have reached: the owner every link, others some routes."""
    if who == "owner":
        return {link for link, _ in every}
    return {to for _, to in every} & REACHED.get(who, set())


def reached(machine, who):
    """The links that a role followed, and the routes that it reached by them."""
    links = {link for one, link in machine.followed if one == who}
    return links | {link.rpartition(" -> ")[2] for link in links}


def walk(machine, number):
    """One round of walks; nothing may be wrong with it."""
    seed(number)(machine)
    machine.rule_order_seed = number
    # By turns, so that jobs under way lead on as well as answers.
    machine.prefer = ("wait=5", ASYNC)[number % 2]
    made = settings(
        max_examples=WALKS,
        stateful_step_count=STEPS,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    # What was asked before changes what is answered, so two walks that begin alike may go on differently. The round
    # ends then; all that was called until then was judged.
    with suppress(Flaky):
        run_state_machine_as_test(machine, settings=made)
    assert machine.wrong[:1] == []


def _taken(transition):
    """The texts that a link took from an answer, without the words of the interface itself; empty if it found none."""
    if transition is None:
        return ()
    found = [one for by_name in transition.parameters.values() for one in by_name.values()]
    found += [] if transition.request_body is None else [transition.request_body]
    if not all(isinstance(one.value, Ok) and one.value.ok() not in (None, UNRESOLVABLE) for one in found):
        return ()
    texts = [text for one in found for text in _read(one.definition, one.value.ok())]
    return tuple(text for text in texts if text not in _WORDS)


def _read(told, found):
    """The texts of what was found, where the link tells to look for them and not what they are."""
    if isinstance(told, str):
        return _texts(found) if told.startswith("$") else []
    pairs = ((told[key], found[key]) for key in told) if isinstance(told, dict) else zip(told, found, strict=True)
    return [text for one, value in pairs for text in _read(one, value)]


def _texts(form):
    """All texts in a form."""
    if isinstance(form, str):
        return [form]
    parts = form.values() if isinstance(form, dict) else form if isinstance(form, list) else ()
    return [text for part in parts for text in _texts(part)]


def _swapped(form, swaps):
    """A form with other texts in it."""
    if isinstance(form, dict):
        return {name: _swapped(one, swaps) for name, one in form.items()}
    if isinstance(form, list):
        return [_swapped(one, swaps) for one in form]
    return swaps.get(form, form) if isinstance(form, str) else form


def _never(name):
    return name[:-1] + ("a" if name[-1:] != "a" else "b")


def _without(reply, names):
    """A reply without what it was called with, and without its own id."""
    text = json.dumps({name: value for name, value in reply.form.items() if name != "request_id"})
    for name in sorted((name for name in names if len(name) > 3), key=len, reverse=True):
        text = text.replace(json.dumps(name)[1:-1], "*")
    return reply.status, text


def _as_response(reply, case):
    headers = {name: [value] for name, value in reply.headers.items()}
    asked = requests.Request(case.method, "http://127.0.0.1/").prepare()
    return Response(reply.status, headers, reply.body, asked, 0.0, verify=True)
