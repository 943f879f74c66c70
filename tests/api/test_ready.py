"""Ready means: the ledger is reached, of this version, of this key, and by this clock; which one failed is told."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import replace
from datetime import timedelta

import pytest

from hushcount.api.app import make_app
from tests.api.served import staged
from tests.postgres import MISSING, find_programs, running_cluster


def edited(stage, sql):
    """Change the ledger behind everybody's back."""
    with contextlib.closing(sqlite3.connect(stage.service.config.ledger.address)) as ledger, ledger:
        ledger.execute(sql)


def shifted(stage, **span):
    """A client of the same service on a machine whose clock is wrong."""
    setting = stage.service.setting
    wrong = replace(setting, clock=lambda: setting.clock() + timedelta(**span))
    return replace(stage.anybody, app=make_app(replace(stage.service, setting=wrong)))


@pytest.mark.parametrize(
    ("sql", "check"),
    [
        ("UPDATE settings SET value = 'ffffffff' WHERE name = 'secret'", "key"),
        ("PRAGMA user_version = 99", "version"),
        ("PRAGMA user_version = 1", "version"),
    ],
)
def test_another_ledger_is_not_ready(tmp_path, sql, check):
    """The check that failed has a name; nothing of the ledger or the key is shown."""
    with staged(tmp_path) as stage:
        assert stage.anybody.get("/readyz").form == {"status": "ready"}
        edited(stage, sql)
        reply = stage.anybody.get("/readyz")

        assert (reply.status, reply.code, reply.form["check"]) == (503, "ledger-unavailable", check)
        for private in ("ffffffff", stage.service.setting.secret.fingerprint, str(tmp_path), "99"):
            assert private not in reply.body.decode()
        assert stage.anybody.get("/healthz").status == 200


@pytest.mark.skipif(find_programs() is None, reason=MISSING)
def test_a_clock_beside_the_databases_is_not_ready(tmp_path):
    """Within a second is ready, beyond it is not, whichever way; the amount is not told."""
    with running_cluster() as cluster:
        address = f"postgresql://postgres@/postgres?host={cluster.folder}"
        with staged(tmp_path, lambda config: replace(config, ledger=replace(config.ledger, address=address))) as stage:
            assert shifted(stage, seconds=0.5).get("/readyz").status == 200
            assert shifted(stage, seconds=-0.5).get("/readyz").status == 200
            for seconds in (1.7, -1.7, 86400):
                reply = shifted(stage, seconds=seconds).get("/readyz")

                assert (reply.status, reply.code, reply.form["check"]) == (503, "ledger-unavailable", "clock")
                assert str(abs(seconds)) not in reply.body.decode()
