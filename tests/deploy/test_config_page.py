"""The page of the configuration and the code that reads it say the same; every TOML on the pages can be read."""

from __future__ import annotations

import re
import tomllib
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from hushcount.app.serving.setup.config_file import read_config
from hushcount.errors import InvalidParameter
from tests.architecture.sources import ROOT
from tests.deploy.shipped import CONFIGS

PAGES = [*sorted((ROOT / "docs" / "serve").glob("*.md")), ROOT / "docs" / "pinot.md"]
PAGE = (ROOT / "docs" / "serve" / "config.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SECTION = re.compile(r"^### `\[([^\]]+)\]`\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| `([a-z_]+)` \| (.+?) \| (.+) \|$", re.MULTILINE)
# Where `NAME` stands on the page.
_NAMES = {"stores.NAME": "stores.logs", "stores.PINOT": "stores.olap", "datasets.NAME": "datasets.reading"}
# The least that each table needs beside the key that is looked at.
LEAST: dict[str, Any] = {
    "keys": {"noise": "noise-key", "tokens": "token-key"},
    "ledger": {"address": "ledger.sqlite"},
    "stores": {
        "logs": {"kind": "files", "place": "data"},
        "olap": {"kind": "pinot", "broker": "http://broker:8099"},
    },
    "datasets": {"reading": {"store": "logs", "person": "reader"}},
}
# What may be left out, but not here: a way to sign in, a place for files, where a proxy calls from.
STATED = {("keys", "tokens"), ("stores.logs", "place"), ("auth.proxy", "addresses")}
TABLES = {
    "alerts": {"to": "https://hooks.example.org/hushcount", "secret_file": "secret"},
    "auth.oidc": {"issuer": "https://login.example.org", "client_id": "hushcount"},
    "auth.proxy": {"header": "X-User", "secret_file": "proxy", "addresses": ["10.0.0.7"]},
}


def sections() -> dict[str, dict[str, str]]:
    """What the page says: table, key, default."""
    return {
        _NAMES.get(name, name): {key: default for key, default, _ in _ROW.findall(text)}
        for name, text in _SECTION.findall(PAGE)
    }


SECTIONS = sections()


def written(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {written(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def least(section: str) -> dict[str, Any]:
    """The smallest configuration in which a table is there."""
    values = deepcopy(LEAST)
    place = values
    for part in section.split("."):
        place = place.setdefault(part, {})
    place.update(TABLES.get(section, {}))
    return values


def place_of(values: dict[str, Any], section: str) -> dict[str, Any]:
    """One table of a configuration."""
    for part in section.split("."):
        values = values[part]
    return values


def read(values: dict[str, Any], folder: Path):
    """The configuration with these values, and with every file of a secret that it may name."""
    for name in ("noise-key", "token-key", "proxy", "secret"):
        if not (folder / name).exists():
            (folder / name).touch(mode=0o600)
            (folder / name).write_bytes(bytes(range(65, 97)))
    path = folder / "hushcount.toml"
    path.write_text("\n".join(f"{key} = {written(value)}" for key, value in values.items()), encoding="utf-8")
    return read_config(path, {})


@pytest.mark.parametrize("section", SECTIONS)
def test_the_page_has_every_key_and_no_other(section, tmp_path):
    """A key that nobody knows is answered with those that there are: they are the page's."""
    values = least(section)
    place_of(values, section)["zzz"] = 1
    with pytest.raises(InvalidParameter) as refused:
        read(values, tmp_path)
    known = set(refused.value.want.removeprefix("one of ").split(", "))

    assert known - {"oidc", "proxy"} == set(SECTIONS[section])


def test_the_page_has_every_table(tmp_path):
    """The tables of the page are those of the code."""
    with pytest.raises(InvalidParameter) as refused:
        read({**least("server"), "zzz": {}}, tmp_path)
    known = set(refused.value.want.removeprefix("one of ").split(", "))

    assert known == {section.split(".")[0] for section in SECTIONS}
    assert len(SECTIONS) == 12


KEYS = [(section, key, default) for section, keys in SECTIONS.items() for key, default in keys.items()]


@pytest.mark.parametrize(("section", "key", "default"), KEYS, ids=[f"{section} {key}" for section, key, _ in KEYS])
def test_a_default_is_what_holds_without_it(section, key, default, tmp_path):
    """Typed out, a default changes nothing; what is needed cannot be left out; what has none can be."""
    values = least(section)
    if default == "needed":
        place_of(values, section).pop(key)

        with pytest.raises(InvalidParameter, match=key):
            read(values, tmp_path)
        return
    without = read(values, tmp_path)
    if default == "none":
        assert key not in place_of(values, section) or (section, key) in STATED
        return
    place_of(values, section)[key] = tomllib.loads(f"value = {default.strip('`')}")["value"]

    assert read(values, tmp_path) == without


def test_a_wrong_default_would_be_seen(tmp_path):
    """The comparison can fail: another number of workers is another configuration."""
    values = least("server")
    without = read(values, tmp_path)
    values["server"]["workers"] = 2

    assert read(values, tmp_path) != without


BLOCKS = [
    (page.name, number, text)
    for page in PAGES
    for number, text in enumerate(_BLOCK.findall(page.read_text(encoding="utf-8")))
]


def with_secrets(values: Any, folder: Path) -> Any:
    """The values, with every file of a secret as one that is there: where it lies differs, what it is does not."""
    if isinstance(values, dict):
        return {key: with_secrets(value, folder) for key, value in values.items()}
    if isinstance(values, str) and values.startswith(("/run/secrets/", "/etc/hushcount/")):
        path = folder / Path(values).name
        path.touch(mode=0o600)
        path.write_bytes(bytes(range(65, 97)))
        return str(path)
    return values


@pytest.mark.parametrize(("page", "number", "text"), BLOCKS, ids=[f"{page} {number}" for page, number, _ in BLOCKS])
def test_every_block_can_be_read(page, number, text, tmp_path):
    """A whole configuration as it stands; a part together with the least that it needs."""
    values = with_secrets(tomllib.loads(text), tmp_path)
    config = read({**deepcopy(LEAST), **values}, tmp_path)

    assert {store.name for store in config.stores} == set(values.get("stores", LEAST["stores"]))


def test_a_block_that_cannot_be_read_is_seen(tmp_path):
    """The check can fail: a misspelt key on a page is told."""
    with pytest.raises(InvalidParameter, match="analysts"):
        read({**deepcopy(LEAST), "privacy": {"analyst": "separate"}}, tmp_path)


@pytest.mark.parametrize("kind", CONFIGS)
def test_shipped_configurations_hold_keys_of_the_page(kind):
    """What is shipped is a part of what is explained."""
    values = tomllib.loads(CONFIGS[kind].read_text(encoding="utf-8"))
    for name, table in values.items():
        nested = name in {"stores", "datasets"}
        for one in table.values() if nested else [table]:
            section = {"stores": "stores.logs", "datasets": "datasets.reading"}.get(name, name)

            assert set(one) <= set(SECTIONS[section])
