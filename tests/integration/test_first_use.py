"""First use by many at once: one secret, one ledger, one data set; and one setting that many threads share."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import hushcount
from hushcount.app.catalog import report
from hushcount.app.sample import write_log
from hushcount.app.setting import Places
from hushcount.app.wiring import make_setting

PRICE = {"rho": "0.001", "delta": "1e-9"}


@pytest.fixture
def log(tmp_path):
    """Two thousand made-up readers."""
    path = tmp_path / "log.parquet"
    write_log(path, 2000)
    return path


def asked(home: str, log: str, number: int) -> str:
    """One question in a process of its own."""
    os.environ["HUSHCOUNT_HOME"] = home
    os.environ["HUSHCOUNT_ANALYST"] = f"analyst-{number % 4}"
    release = hushcount.top(log, user="reader", item="article", k=2 + number % 2, **PRICE)
    return release.receipt.data_version


def test_sixteen_processes_at_first_use(log, tmp_path):
    """Nothing was there: afterwards one secret, one ledger that adds up, one data set, and one version of it."""
    home = tmp_path / "home"
    with multiprocessing.get_context("spawn").Pool(8) as pool:
        versions = pool.starmap(asked, [(str(home), str(log), number) for number in range(16)])
    with make_setting(Places(home=home, ledger=None, analyst="somebody"), log) as setting:
        lines = report(setting)

        # Two questions were asked, and each has its own name for the one version.
        assert len(set(versions)) == 2
        assert [line.dataset.name for line in lines] == ["log"]
        assert lines[0].balance.queries >= 2
        assert setting.ledger.verify().problems == ()
    assert sorted(path.name for path in home.iterdir() if "-" not in path.name) == [
        "ledger.sqlite",
        "receipts",
        "secret",
    ]


def test_sixteen_threads_share_a_setting(log, tmp_path):
    """Different questions and the same, at once, on one data set: each is answered as if it were alone."""
    start = threading.Barrier(16)

    def one(number: int) -> tuple[int, dict[str, list[object]]]:
        start.wait()
        release = hushcount.top(log, user="reader", item="article", k=2 + number % 8, setting=setting, **PRICE)
        return number % 8, release.to_dict()

    with make_setting(Places(home=tmp_path / "home", ledger=None, analyst="ann"), log) as setting:
        with ThreadPoolExecutor(16) as pool:
            found = list(pool.map(one, range(16)))
        alone = {
            k: hushcount.top(log, user="reader", item="article", k=2 + k, setting=setting, **PRICE).to_dict()
            for k in range(8)
        }

        assert all(alone[k] == rows for k, rows in found)
        assert len(report(setting)) == 1
        assert setting.ledger.verify().problems == ()
