"""What is shipped under deploy/, read as its programs would read it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import duckdb
import pytest

from hushcount.app.sample import write_log
from tests.architecture.sources import ROOT
from tests.conftest import IN_CI

DEPLOY = ROOT / "deploy"
UNIT = DEPLOY / "systemd" / "hushcount.service"
CONTAINERFILE = DEPLOY / "container" / "Containerfile"
COMPOSE = DEPLOY / "container" / "compose.yaml"
CONFIGS = {"systemd": DEPLOY / "systemd" / "hushcount.toml", "container": DEPLOY / "container" / "hushcount.toml"}
# Where the shipped files say that things are; in a temporary root they are below it.
_PLACES = ("/etc/hushcount", "/var/lib/hushcount", "/srv/hushcount", "/run/secrets", "/data")


def need(program: str, package: str) -> str:
    """The path of a program. Without it the test is skipped, and says so; in CI it fails."""
    found = shutil.which(program)
    if found is None:
        words = f"no {program} here: install the package {package!r}"
        if IN_CI:
            pytest.fail(f"{words} (CI is set, so this is a failure and not a skip)")
        pytest.skip(words)
    return found


def run(words: list[str | Path], **how: Any) -> subprocess.CompletedProcess[str]:
    """Run a command of the shipped files to its end, whatever that is."""
    return subprocess.run(words, capture_output=True, text=True, check=False, **how)  # noqa: S603 (our own)


def unit() -> dict[str, dict[str, list[str]]]:
    """The systemd unit: section, key, values in order."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    section = ""
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found[section][key].append(value)
    return found


def instructions(stage: int | None = None) -> list[tuple[str, str]]:
    """The Containerfile: instruction and its words, of one stage or of all."""
    text = re.sub(r"\\\n", " ", CONTAINERFILE.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found = [(line.split(None, 1)[0], " ".join(line.split()[1:])) for line in lines]
    starts = [place for place, (word, _) in enumerate(found) if word == "FROM"]
    if stage is None:
        return found
    stages = [found[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
    return stages[stage]


def entrypoint() -> list[str]:
    """What the container runs."""
    ((_, words),) = [line for line in instructions() if line[0] == "ENTRYPOINT"]
    return json.loads(words)


def installed(kind: str, root: Path) -> Path:
    """The shipped configuration, installed with made-up keys and data in a temporary root.

    Only where things are differs from what is shipped: each place begins with the root.
    """
    text = CONFIGS[kind].read_text(encoding="utf-8")
    for place in _PLACES:
        text = text.replace(f'"{place}', f'"{root}{place}')
    for folder in ("etc/hushcount/keys", "var/lib/hushcount", "srv/hushcount", "run/secrets", "data"):
        (root / folder).mkdir(parents=True)
    for name in (
        "etc/hushcount/keys/noise",
        "etc/hushcount/keys/tokens",
        "run/secrets/noise-key",
        "run/secrets/token-key",
    ):
        _keep(root / name, os.urandom(32))
    _keep(root / "run/secrets/db-password", b"a password\n")
    for folder in ("srv/hushcount", "data"):
        write_members(root / folder / "engagements.parquet")
    config = root / "etc/hushcount/hushcount.toml"
    config.write_text(text, encoding="utf-8")
    return config


def write_members(path: Path) -> None:
    """Made-up data with the columns that the shipped configurations name."""
    write_log(path.with_suffix(".log"), readers=2_000)
    with duckdb.connect() as connection:
        log = connection.read_parquet(str(path.with_suffix(".log")))
        log.project("reader AS member, article, search").write_parquet(str(path))
    path.with_suffix(".log").unlink()


def _keep(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)
