"""A service on a real ledger and small files, and a client for each role: what the tests of the interface share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal

from hushcount.api.app import make_app
from hushcount.app.serving.callers.tokens import WantedToken, make_token
from hushcount.app.serving.opening import open_service
from hushcount.app.serving.service import Service
from hushcount.app.serving.setup.config import Config, Timing
from hushcount.app.serving.setup.config_file import read_config
from tests.api.asgi import Client, Reply

# Rare items have marked names, so that it is noticed wherever one shows up.
CANARY = "canary"
ROLES = ("owner", "analyst", "reader", "auditor", "program")
# Who has which role for `events`; olga owns everything.
PEOPLE = {"analyst": "ana", "reader": "rea", "auditor": "audrey", "program": "nightly"}
SCOPES = {"owner": ("manage", "ask"), "auditor": ("read", "manage"), "program": ("program",), "reader": ("read",)}
COUNT = {"dataset": "events", "question": "count", "item": "article", "max_items_per_user": 1}
TOP = {"dataset": "events", "question": "top", "item": "article", "k": 3}

_TOML = """
[server]
listen = "127.0.0.1:8443"
graceful = "2s"
[keys]
noise = "noise-key"
tokens = "token-key"
[ledger]
address = "ledger.sqlite"
[stores.files]
kind = "files"
place = "data"
timeout = "60s"
[datasets.events]
store = "files"
table = "events.csv"
person = "user_id"
[datasets.hidden]
store = "files"
table = "hidden.csv"
person = "user_id"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A service, and whoever calls it.

    Attributes:
        service: the service.
        anybody: a client who has not signed in.
        owner: olga, who owns everything.
        analyst: ana, who may ask about `events`, and knows nothing of `hidden`.
        reader: rea.
        auditor: audrey, who audits everything.
        program: nightly.
        stranger: signed in, without any role.
    """

    service: Service
    anybody: Client
    owner: Client
    analyst: Client
    reader: Client
    auditor: Client
    program: Client
    stranger: Client

    def role(self, name: str) -> Client:
        """The client of a role."""
        found: Client = getattr(self, name)
        return found

    def token(self, person: str, **wanted: Any) -> Client:
        """A client with another token of somebody."""
        new = make_token(
            self.service.setting, self.service.tokens_key, owner=person, wanted=WantedToken(label="another", **wanted)
        )
        return replace(self.anybody, headers={}).signed(new.text.text)


def make_files(folder: Path) -> Path:
    """Small files and a configuration for them; where that is."""
    data = folder / "data"
    data.mkdir()
    rows = [f"u{person},a{person % 7},{'NZ' if person % 2 else 'AU'}" for person in range(4000)]
    rows += [f"u{person},{CANARY}-{person},NZ" for person in range(5)]
    (data / "events.csv").write_text("user_id,article,country\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (data / "hidden.csv").write_text("user_id,item\nv1,x\nv2,y\n", encoding="utf-8")
    (data / "more.csv").write_text("user_id,item\nw1,x\nw2,y\n", encoding="utf-8")
    for name in ("noise-key", "token-key"):
        (folder / name).write_bytes(os.urandom(32))
        (folder / name).chmod(0o600)
    config = folder / "hushcount.toml"
    config.write_text(_TOML, encoding="utf-8")
    return config


@contextmanager
def staged(folder: Path, change: Any = None) -> Iterator[Stage]:
    """A service in a folder, with everybody in their role; `change` gives another configuration."""
    config = read_config(make_files(folder), {})
    with open_service(config if change is None else change(config)) as service, start_blocking_portal() as portal:
        anybody = Client(app=make_app(service), portal=portal)
        service.ledger.grant("olga", "owner", by=service.setting.analyst)
        offer = service.served.find("events")
        for role, person in PEOPLE.items():
            if role != "auditor":
                service.ledger.grant(person, role, dataset=offer.id, by="olga")
        # The log is of people, who may be in several data sets: whoever reads it audits all of them.
        service.ledger.grant(PEOPLE["auditor"], "auditor", by="olga")
        clients = {role: anybody.signed(_text(service, person, role)) for role, person in _everybody().items()}
        yield Stage(service=service, anybody=anybody, **clients)


def ticking(every: float) -> Any:
    """A change of the configuration: answers become visible on a grid."""

    def change(config: Config) -> Config:
        timing = Timing(kind="grid", every=timedelta(seconds=every))
        return replace(config, privacy=replace(config.privacy, timing=timing))

    return change


def released(client: Client, body: dict[str, Any] = TOP, *, key: str = "a-key", **headers: str) -> Reply:
    """Release an answer."""
    return client.post("/v1/queries", {**body, "mode": "release"}, Idempotency_Key=key, **headers)


def _everybody() -> dict[str, str]:
    return {"owner": "olga", **PEOPLE, "stranger": "sam"}


def _text(service: Service, person: str, role: str) -> str:
    wanted = WantedToken(label=role, scopes=SCOPES.get(role, ("ask",)))
    return make_token(service.setting, service.tokens_key, owner=person, wanted=wanted).text.text


@contextmanager
def staged_alone(folder: Path) -> Iterator[Client]:
    """The service of one person at their own machine, where nobody signs in."""
    config = read_config(make_files(folder), {})
    alone = replace(config, auth=replace(config.auth, tokens=False, person="olga"))
    with open_service(alone) as service, start_blocking_portal() as portal:
        yield Client(app=make_app(service), portal=portal)
