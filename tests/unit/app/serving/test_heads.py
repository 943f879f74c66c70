"""A ledger that was put back from a copy is noticed, and nothing is answered until an owner decides."""

from __future__ import annotations

import json
import shutil

import pytest

from hushcount.app.serving.jobs.tasks import Order, Task
from hushcount.app.serving.owners.heads import freeze_if_restored, keep_heads
from hushcount.app.serving.questions.queries import price, release
from hushcount.errors import Frozen, LedgerMismatch
from hushcount.ledger.ledger import EVERY
from tests.unit.app.serving.services import OLGA, ZOE, make_config, running_service

COUNT = Task(dataset="events", question="count", said={"item": "article"})


def test_a_restored_ledger_is_frozen(tmp_path):
    """The copy has forgotten an answer; the kept link has not."""
    config = make_config(tmp_path)
    ledger, copy, kept = tmp_path / "ledger.sqlite", tmp_path / "copy.sqlite", tmp_path / "heads.json"
    with running_service(config) as service:
        keep_heads(service.ledger, kept)
    shutil.copy(ledger, copy)
    with running_service(config) as service:
        assert not freeze_if_restored(service.ledger, kept, by="the service")
        job = release(service, ZOE, Order(tasks=(COUNT,)), key="a")
        service.runner.under_way(job.id).result(60)
        keep_heads(service.ledger, kept)
        assert not freeze_if_restored(service.ledger, kept, by="the service")
    for side in ("", "-wal", "-shm"):
        (tmp_path / f"ledger.sqlite{side}").unlink(missing_ok=True)
    shutil.copy(copy, ledger)
    with running_service(config) as service:
        assert freeze_if_restored(service.ledger, kept, by="the service")
        with pytest.raises(Frozen):
            release(service, ZOE, Order(tasks=(COUNT,)), key="b")
        # An owner lifts it.
        service.ledger.records.put("freeze", "*", None, owner="olga", by="olga")
        assert price(service, OLGA, COUNT)["fits"]


def test_a_restored_ledger_that_has_grown_since_is_frozen_too(tmp_path):
    """As many entries as were kept, and others: a number tells nothing, a link does."""
    config, kept = make_config(tmp_path), tmp_path / "heads.json"
    with running_service(config) as service:
        keep_heads(service.ledger, kept)
        number, link = json.loads(kept.read_text(encoding="utf-8"))[EVERY]
        kept.write_text(json.dumps({EVERY: [1, link]}), encoding="utf-8")

        assert number > 1
        assert freeze_if_restored(service.ledger, kept, by="the service")


def test_links_that_cannot_be_read_are_no_links(tmp_path):
    """Then nobody can tell, and nothing is started."""
    config = make_config(tmp_path)
    kept = tmp_path / "heads.json"
    kept.write_text("{", encoding="utf-8")
    with running_service(config) as service, pytest.raises(LedgerMismatch, match="Nothing was started"):
        freeze_if_restored(service.ledger, kept, by="the service")
