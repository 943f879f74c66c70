"""The compose file: what it mounts is what the image and the configuration name, and nothing else gets in or out."""

from __future__ import annotations

import re
from ipaddress import ip_network
from urllib.parse import urlsplit

import pytest
import yaml

from hushcount.app.serving.setup.config_file import read_config
from tests.architecture.sources import ROOT
from tests.deploy.shipped import COMPOSE, CONFIGS, entrypoint, installed, instructions

FORM = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
SERVICE, DATABASE = FORM["services"]["hushcount"], FORM["services"]["db"]
_TYPED = re.compile(r"password|secret|token|key", re.IGNORECASE)


@pytest.fixture
def config(tmp_path):
    """The shipped configuration as the service reads it."""
    return read_config(installed("container", tmp_path), {})


def test_it_builds_the_container_that_is_shipped():
    """Context and file lead to the Containerfile, from the folder of the compose file."""
    context = (COMPOSE.parent / SERVICE["build"]["context"]).resolve()

    assert context == ROOT
    assert (context / SERVICE["build"]["dockerfile"]).is_file()


def test_nothing_can_be_written_and_nothing_gained():
    """Read-only, without root, without capabilities, without dumps, without swap."""
    assert SERVICE["read_only"] is True
    assert SERVICE["cap_drop"] == ["ALL"]
    assert SERVICE["security_opt"] == ["no-new-privileges:true"]
    assert SERVICE["ulimits"]["core"] == 0
    assert SERVICE["memswap_limit"] == SERVICE["mem_limit"]
    ((_, user),) = [line for line in instructions(-1) if line[0] == "USER"]
    assert SERVICE["user"] == user != "0:0"
    assert "privileged" not in SERVICE


def test_what_it_writes_has_its_place(config, tmp_path):
    """Spilled rows are in memory; what must stay is on a volume of its own."""
    variables = " ".join(words for name, words in instructions(-1) if name == "ENV")
    said = dict(word.split("=", 1) for word in variables.split())
    mounted = dict(one.split(":", 1) for one in SERVICE["tmpfs"])
    kept = {one.split(":")[1] for one in SERVICE["volumes"] if one.split(":")[0] in FORM["volumes"]}

    assert set(mounted) == {"/tmp"}  # noqa: S108 (of the container)
    assert kept == {said["HOME"]}
    assert config.server.state.is_relative_to(f"{tmp_path}{said['HOME']}")


def test_the_configuration_is_mounted_where_it_is_read():
    """The shipped TOML is at the path that the command names, the data where the store is; both read-only."""
    mounted = {one.split(":")[1]: one.split(":")[0::2] for one in SERVICE["volumes"] if one.count(":") == 2}
    place = entrypoint()[-1]
    stores = re.findall(r'^place = "([^"]+)"', CONFIGS["container"].read_text(encoding="utf-8"), re.MULTILINE)

    assert (COMPOSE.parent / mounted[place][0]).resolve() == CONFIGS["container"]
    assert set(stores) == {"/data"} == set(mounted) - {place}
    assert {mode for _, mode in mounted.values()} == {"ro"}


def test_every_secret_is_a_file_that_is_handed_over():
    """The configuration names the secrets that compose hands over, and no other; none is typed."""
    text = CONFIGS["container"].read_text(encoding="utf-8")
    named = set(re.findall(r'"/run/secrets/([^"]+)"', text))
    typed = [key for key in DATABASE["environment"] if _TYPED.search(key) and not key.endswith("_FILE")]

    assert named == set(SERVICE["secrets"]) == set(FORM["secrets"])
    assert all(set(one) == {"file"} and one["file"].startswith("./secrets/") for one in FORM["secrets"].values())
    assert not typed
    assert "environment" not in SERVICE
    assert "secrets/" in (COMPOSE.parent / ".gitignore").read_text(encoding="utf-8").split()


def test_the_ledger_is_the_database_beside_it(config):
    """Host, user and database are those of the address, and the password is one file for both."""
    address = urlsplit(config.ledger.address)
    environment = DATABASE["environment"]

    assert FORM["services"][address.hostname] is DATABASE
    assert address.username == environment["POSTGRES_USER"]
    assert address.path.strip("/") == environment["POSTGRES_DB"]
    assert config.ledger.password_file.name == environment["POSTGRES_PASSWORD_FILE"].rpartition("/")[2]
    assert re.fullmatch(r"docker\.io/library/postgres:\d+\.\d+-[a-z]+", DATABASE["image"])
    assert SERVICE["depends_on"]["db"]["condition"] == "service_healthy"
    assert "pg_isready" in " ".join(DATABASE["healthcheck"]["test"])


def test_only_this_machine_reaches_it(config):
    """Plain HTTP is shown to loopback only, the ledger to the service only; the proxy's network is a listed one."""
    (shown,) = SERVICE["ports"]
    host, outside, inside = shown.split(":")

    assert host == "127.0.0.1"
    assert int(inside) == config.server.listen.port == int(outside)
    assert DATABASE.get("ports") is None
    assert FORM["networks"]["back"]["internal"] is True
    assert DATABASE["networks"] == ["back"]
    assert config.server.trusted_proxies == (ip_network(FORM["networks"]["front"]["ipam"]["config"][0]["subnet"]),)


def test_it_is_asked_whether_it_is_ready():
    """An orchestrator that reads the compose file asks /readyz, at the container's own port."""
    words = SERVICE["healthcheck"]["test"]

    assert words[:3] == ["CMD", "python", "-c"]
    assert "http://127.0.0.1:8443/readyz" in words[3]
    compile(words[3], "health check", "exec")


def test_it_gets_its_time_to_stop(config):
    """Longer than the service gives to running questions."""
    assert float(SERVICE["stop_grace_period"].removesuffix("s")) >= config.server.graceful.total_seconds() + 10
