"""The system checks: the product passes each, and a broken twin fails the one that is for it."""

from __future__ import annotations

import hashlib
import logging
import os
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hushcount.audit.system.canaries import Heard
from hushcount.audit.system.changes import look_at_changes
from hushcount.audit.system.checks import SYSTEM_CHECKS, SYSTEM_FALSE_ALARM, run_check
from hushcount.audit.system.product import ITEM, Pinned, Product, Said, ask, workspace, write_csv
from hushcount.audit.system.timing import rank_correlation
from hushcount.audit.twins.system import SYSTEM_TWINS
from hushcount.errors import UnreadableSource

CHECKS = {check.name: check for check in SYSTEM_CHECKS}


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """A home that must stay empty: the checks bring their own."""
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HUSHCOUNT_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.chdir(tmp_path)
    yield
    assert not list(tmp_path.iterdir())


def test_a_broken_twin_is_named():
    """The check that is for it fails, and the finding carries the twin's name. All twins: tests/e2e/test_audit.py."""
    twin = next(twin for twin in SYSTEM_TWINS if twin.name == "reused seed on changed data")
    finding = twin.attack(quick=True)

    assert finding is not None
    assert (finding.subject, finding.step, finding.holds) == (twin.name, "system", False)
    assert all((finding.claimed, finding.measured, finding.where, finding.looked))


def test_every_check_has_a_twin():
    """No check is there that was never seen to fail."""
    assert {twin.check for twin in SYSTEM_TWINS} == set(CHECKS)
    assert len({twin.name for twin in SYSTEM_TWINS}) == len(SYSTEM_TWINS)


def test_a_sound_product_is_no_twin():
    """A twin that makes no mistake is not caught: what catches the others is the mistake."""
    sound = replace(SYSTEM_TWINS[1], product=Product())

    assert sound.attack(quick=True) is None


def test_fresh_noise_that_is_not_paid_for_is_seen():
    """A product that takes --fresh for a repeat gives old noise and charges nothing."""

    def stale(question, path, options, *, version=None, folder=None):
        return ask(question, path, {**options, "fresh": False}, version=version, folder=folder)

    finding = run_check(CHECKS["repeat spends once"], Product(ask=stale), quick=True)

    assert not finding.holds
    assert "count: fresh noise was the old noise" in finding.measured
    assert "vocab: fresh noise was not charged" in finding.measured


def test_a_copied_file_that_is_answered_anew_is_seen():
    """A product that goes by the file's name gives another answer to the same bytes."""

    def by_name(question, path, options, *, version=None, folder=None):
        return ask(question, path, {**options, "ledger": False}, version=version or str(path), folder=folder)

    finding = run_check(CHECKS["changed data, new noise"], Product(ask=by_name), quick=True)

    assert not finding.holds
    assert "A COPIED FILE" in finding.measured


def test_a_canary_on_the_command_line_is_seen():
    """What a command prints is searched, on either stream."""

    def chatty(words, _folder):
        rows = Path(words[1]).read_text(encoding="utf-8", errors="replace") if len(words) > 1 else ""
        return Said(code=0, out="popular", err=rows)

    finding = run_check(CHECKS["canaries stay silent"], Product(command=chatty), quick=True)

    assert not finding.holds
    assert "command count" in finding.measured


def test_every_channel_is_heard(capsys):
    """A canary in a log record, a warning, printed text and the cause of an error is found in each of them."""

    def leak(question, path, options, *, version=None, folder=None):
        line = path.read_bytes().splitlines()[-1].decode("latin-1")
        logging.getLogger("hushcount.made_up").debug("read %s", line)
        warnings.warn(line, stacklevel=1)
        print(line)  # noqa: T201 (that is the leak)
        if path.name == "torn.csv":
            raise UnreadableSource("it cannot be read") from ValueError(line)
        return ask(question, path, options, version=version, folder=folder)

    # The command line has nothing to do with it, and each command would be a process.
    silent = Product(ask=leak, command=lambda _words, _folder: Said(code=0, out="popular", err=""))
    finding = run_check(CHECKS["canaries stay silent"], silent, quick=True)
    channels = {"log records", "warnings", "standard output", "error on file torn"}

    assert not finding.holds
    assert channels <= set(finding.measured.removeprefix("found in ").split(", "))


def test_a_search_that_finds_nothing_at_all_is_no_pass():
    """If even a released item is not found in the command's output, the search is deaf and the check fails."""
    deaf = Product(command=lambda _words, _folder: Said(code=0, out="", err=""))
    finding = run_check(CHECKS["canaries stay silent"], deaf, quick=True)

    assert not finding.holds
    assert "command count" in finding.measured


def test_digests_without_a_key_are_found():
    """A canary's plain SHA-256, MD5 or hexadecimal form is a leak as well."""
    heard = Heard()
    heard.hear("hexadecimal", b"zqcanary".hex())
    heard.hear("nothing", "zqother")
    heard.hear("sha256", hashlib.sha256(b"zqcanary").hexdigest())

    assert heard.leaks(("zqcanary",)) == ["hexadecimal", "sha256"]
    heard.released.add("zqcanary")
    assert heard.leaks(("zqcanary",)) == []


def test_a_product_that_releases_nothing_shows_nothing_about_order():
    """Where no row is released, nothing was compared, and that is no pass."""

    def silent(question, path, options, *, version=None, folder=None):
        release = ask(question, path, options, version=version, folder=folder)
        none = release.items[:0]
        empty = None if release.counts is None else release.counts[:0]
        return replace(release, items=none, counts=empty, low=empty, high=empty)

    finding = run_check(CHECKS["order tells nothing"], Product(ask=silent), quick=True)

    assert not finding.holds


def test_a_workspace_leaves_nothing_behind(tmp_path):
    """Within it all files are in its folder, the user's home stays empty, and the environment is not touched."""
    before = dict(os.environ)
    with workspace() as folder:
        ask("vocab", write_csv(folder / "a.csv", [("p", "x")]), {"ledger": folder / "ledger.sqlite"})
        assert (folder / "home" / "secret").exists()

    assert dict(os.environ) == before
    assert not folder.exists()
    assert not (tmp_path / "home").exists()


def test_a_pinned_engine_only_changes_the_version(tmp_path):
    """It answers as the engine does, under the version that was said."""
    from hushcount.app.wiring import open_engine
    from hushcount.model.queries import Selection

    path = write_csv(tmp_path / "a.csv", [("p", "x"), ("q", "x"), ("q", "y")])
    engine = open_engine(path)
    pinned = Pinned(engine=engine, version="v")
    selection = Selection(user="person", item=ITEM)

    assert pinned.fingerprint(b"key") == "v"
    assert pinned.describe() == engine.describe()
    assert pinned.histogram(selection, top=5).counts.tolist() == [2, 1]
    path.unlink()


def test_rank_correlation():
    """One for the same order, minus one for the reverse, ties at their middle rank, 0 if all are equal."""
    up = np.arange(5.0)

    assert rank_correlation(up, up**3) == pytest.approx(1)
    assert rank_correlation(up, -up) == pytest.approx(-1)
    assert rank_correlation(up, np.ones(5)) == 0
    # By hand: ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4 give 4.5 / sqrt(4.5 * 5).
    assert rank_correlation(np.array([1.0, 2, 2, 3]), np.arange(4.0)) == pytest.approx(4.5 / np.sqrt(22.5))


def test_false_alarms_are_rare_by_design():
    """The system checks have a thousandth of the share that the whole audit may have."""
    assert SYSTEM_FALSE_ALARM <= 1e-6


def test_versions_by_size_and_date_are_told_apart_in_every_kind_of_place():
    """The broken variant answers about relations too, which have no name, and is caught for a wrong version."""
    (twin,) = [one for one in SYSTEM_TWINS if one.name == "versions by size and date"]
    found = look_at_changes(twin.product, quick=False)

    assert not found.holds
    assert "VERSION" in found.measured
