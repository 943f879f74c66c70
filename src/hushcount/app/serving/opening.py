"""Opening a service: its keys, its ledger, its stores and its runner, from a configuration. Nothing else starts it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from hushcount.app.secret import Secret, load_secret
from hushcount.app.serving.callers.tokens import ledger_of
from hushcount.app.serving.data.access import direct_access, make_access
from hushcount.app.serving.data.served import Served
from hushcount.app.serving.data.stores import Stores
from hushcount.app.serving.ids import new_id
from hushcount.app.serving.jobs.answering import Means
from hushcount.app.serving.jobs.running import Runner, Telling
from hushcount.app.serving.owners.grants import end_old_grants
from hushcount.app.serving.owners.heads import freeze_if_restored, keep_heads
from hushcount.app.serving.questions.scheduling import Schedules
from hushcount.app.serving.service import Service
from hushcount.app.serving.setup.config import Config, LedgerPlace
from hushcount.app.serving.setup.keyfiles import read_key, read_password
from hushcount.app.setting import Setting
from hushcount.app.wiring import open_ledger
from hushcount.errors import NotPermitted
from hushcount.ledger.ledger import SERVICE


def open_service(config: Config, *, telling: Telling | None = None) -> Service:
    """Open a service and meet its data; what cannot be read is unavailable until it can.

    Args:
        config: how it is set up.
        telling: whom it tells what it does, for metrics.

    Raises:
        SecretUnusable: a key cannot be read, or is not that of the ledger.
        LedgerUnavailable: the ledger cannot be reached.
        NotPermitted: the ledger was founded by somebody else, who must let the service act first.
    """
    setting = open_setting(config)
    state = config.server.state
    try:
        if state is not None:
            state.mkdir(parents=True, exist_ok=True, mode=0o700)
            freeze_if_restored(ledger_of(setting), state / "heads.json", by=setting.analyst)
        stores = Stores(direct_access() if state is None else make_access(setting, state / "copies"))
        served = Served(config, stores, setting)
        end_old_grants(setting)
        means = Means(setting=setting, stores=stores, find=served.find, privacy=config.privacy)
        chores = (*_chores(setting, state), served.refresh)
        runner = Runner(means, worker=new_id("w"), chores=chores, telling=telling, shared=config.server.workers > 1)
        keys = config.keys
        tokens_key = setting.secret.key(b"hushcount tokens") if keys.tokens is None else read_key(keys.tokens)
        served.meet()
        service = Service(
            config=config, setting=setting, served=served, stores=stores, runner=runner, tokens_key=tokens_key
        )
        runner.start(Schedules(service).tick)
    except BaseException:
        setting.close()
        raise
    return service


def _chores(setting: Setting, state: Path | None) -> tuple[Callable[[], object], ...]:
    """What is done about once a minute: the newest links of the ledger are kept elsewhere."""
    return () if state is None else (partial(keep_heads, ledger_of(setting), state / "heads.json"),)


def open_setting(config: Config) -> Setting:
    """The secret and the ledger of a service; a ledger that is not there is founded, with the service as its owner."""
    local = config.auth.local
    secret = load_secret(config.keys.noise.parent) if local else Secret(read_key(config.keys.noise))
    acting = config.auth.person or SERVICE if local else SERVICE
    ledger = open_ledger(address_of(config.ledger), secret, owner=acting)
    setting = Setting(secret=secret, ledger=ledger, analyst=acting)
    if not local and ledger.role_of(SERVICE) != "owner":
        ledger.close()
        raise NotPermitted(
            f"the ledger has owners already, and {SERVICE!r} is none of them: it could not register data or invite "
            f"anybody. Let one of them write: hushcount ledger grant '{SERVICE}' owner. Nothing was started."
        )
    return replace(setting, notes=(ledger.migrated,) if ledger.migrated else ())


def address_of(place: LedgerPlace) -> str:
    """Where the ledger is, with the password that its file holds."""
    if place.password_file is None:
        return place.address
    parts = urlsplit(place.address)
    user, _, host = parts.netloc.rpartition("@")
    who = f"{user.partition(':')[0]}:{quote(read_password(place.password_file), safe='')}@"
    return urlunsplit(parts._replace(netloc=who + host))
