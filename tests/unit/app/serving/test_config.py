"""The configuration: what is read, what overrides it, what is refused and in which words."""

from __future__ import annotations

from datetime import timedelta
from ipaddress import ip_network

import pytest

from hushcount.app.serving.opening import address_of
from hushcount.app.serving.setup.config import Listen, StoreConfig, Timing, explain, single
from hushcount.app.serving.setup.config_file import read_config
from hushcount.app.serving.setup.keyfiles import read_key, read_password
from hushcount.app.setting import Places
from hushcount.errors import InvalidParameter, SecretUnusable

WHOLE = """
[server]
listen = "0.0.0.0:8443"
public_url = "https://counts.example.org/"
workers = 4
trusted_proxies = ["10.0.0.0/8"]
graceful = "45s"
[keys]
noise = "noise-key"
tokens = "token-key"
[ledger]
address = "postgresql://budgets@db/budgets"
password_file = "db"
[stores.events]
kind = "pinot"
broker = "http://broker:8099"
controller = "controller:9000"
snapshot = "day"
timeout = "30s"
max_running = 8
[stores.Big-Files]
kind = "files"
place = "data/*.parquet"
[datasets.engagements]
store = "events"
table = "engagements"
person = "member"
items = ["article", "region"]
people = "members"
[datasets.visits]
store = "Big-Files"
person = "user"
[auth.oidc]
issuer = "https://login.example.org"
client_id = "hushcount"
client_secret_file = "oidc"
groups_claim = "groups"
[auth.proxy]
header = "X-Forwarded-User"
secret_file = "proxy"
[privacy]
analysts = "separate"
presets = ["cautious", "standard"]
[observe]
metrics = "127.0.0.1:9464"
logs = "json"
"""


@pytest.fixture
def folder(tmp_path):
    """A folder with every file of a secret."""
    for name, content in {
        "noise-key": bytes(range(32)),
        "token-key": bytes(32),
        "db": b"pw-of-db\n",
        "oidc": b"pw-of-oidc",
        "proxy": b"pw-of-proxy",
    }.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o600)
    return tmp_path


@pytest.fixture
def load(folder):
    """Reads a configuration from its text."""

    def read(text, **environment):
        (folder / "hushcount.toml").write_text(text, encoding="utf-8")
        return read_config(folder / "hushcount.toml", environment)

    return read


LEAST = '[keys]\nnoise = "noise-key"\ntokens = "token-key"\n[ledger]\naddress = "ledger.sqlite"\n'


def test_every_key_is_read(load, folder):
    """The whole example of the design arrives as values; files start from the configuration's folder."""
    config = load(WHOLE)

    assert config.server.listen == Listen(host="0.0.0.0", port=8443)  # noqa: S104
    assert config.server.public_url == "https://counts.example.org"
    assert (config.server.workers, config.server.graceful) == (4, timedelta(seconds=45))
    assert config.server.trusted_proxies == (ip_network("10.0.0.0/8"),)
    assert (config.keys.noise, config.keys.tokens) == (folder / "noise-key", folder / "token-key")
    assert (config.ledger.address, config.ledger.password_file) == ("postgresql://budgets@db/budgets", folder / "db")
    assert config.store("events") == StoreConfig(
        name="events",
        kind="pinot",
        place="http://broker:8099",
        controller="controller:9000",
        snapshot="day",
        timeout=timedelta(seconds=30),
        max_running=8,
        max_waiting=100,
    )
    assert config.store("Big-Files").place == str(folder / "data/*.parquet")
    assert [(one.name, one.items, one.people) for one in config.datasets] == [
        ("engagements", ("article", "region"), "members"),
        ("visits", None, None),
    ]
    assert config.auth.oidc.audience == "hushcount"
    assert config.auth.proxy.addresses == config.server.trusted_proxies
    assert (config.auth.tokens, config.auth.local) == (True, False)
    assert config.privacy.presets == ("cautious", "standard")
    assert config.observe.metrics == Listen(host="127.0.0.1", port=9464)


def test_timing_follows_the_analysts_unless_it_is_said(load):
    """Separate analysts get a grid, colleagues none; what is said goes before."""
    said = {
        "": Timing(kind="off"),
        "analysts = 'separate'": Timing(kind="grid", every=timedelta(milliseconds=500)),
        "analysts = 'separate'\ntiming = 'off'": Timing(kind="off"),
        "timing = { grid = '1s' }": Timing(kind="grid", every=timedelta(seconds=1)),
        "timing = { fixed = '5s' }": Timing(kind="fixed", every=timedelta(seconds=5)),
    }

    for text, timing in said.items():
        assert load(f"{LEAST}[privacy]\n{text}").privacy.timing == timing, text


def test_variables_override_the_file(load, folder):
    """By their path in capitals; names with hyphens are met, lists and numbers are read; others are left alone."""
    config = load(
        WHOLE,
        HUSHCOUNT_SERVER__LISTEN="127.0.0.1:9000",
        HUSHCOUNT_SERVER__WORKERS="2",
        HUSHCOUNT_SERVER__TRUSTED_PROXIES="192.0.2.1, 192.0.2.2",
        HUSHCOUNT_STORES__BIG_FILES__TIMEOUT="2m",
        HUSHCOUNT_PRIVACY__TIMING__GRID="250ms",
        HUSHCOUNT_PRIVACY__PRESETS='["standard"]',
        HUSHCOUNT_HOME="/elsewhere",
        OTHER__THING="x",
    )

    assert str(config.server.listen) == "127.0.0.1:9000"
    assert config.server.workers == 2
    assert len(config.server.trusted_proxies) == 2
    assert config.store("Big-Files").timeout == timedelta(minutes=2)
    assert config.privacy.timing == Timing(kind="grid", every=timedelta(milliseconds=250))
    assert config.privacy.presets == ("standard",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[server]\nlisten_on = '127.0.0.1:1'", "Did you mean 'listen'"),
        ("[servr]\nlisten = '127.0.0.1:1'", "Did you mean 'server'"),
        ("[stores.a]\nkind = 'postgres'\nplace = 'x'\nbroker = 'http://b'", "Did you mean 'place'"),
        ("[stores.a]\nkind = 'pinot'\nbroker = 'http://b:1'\nplace = 'x'", "Did you mean 'broker'"),
        ("[stores.a]\nkind = 'pinot'", "broker in [stores.a]"),
        ("[stores.a]\nkind = 'pinot'\nbroker = 'b:8099'", "such as http://broker:8099"),
        ("[stores.a]\nkind = 'pinot'\nbroker = 'http://b'", "such as http://broker:8099"),
        ("[stores.a]\nkind = 'pinot'\nbroker = 'http://b:1'\ncontroller = 'ftp://c:2'", "such as controller:9000"),
        ("[stores.a]\nkind = 'pinot'\nbroker = 'http://b:1'\nuser = 'ann'", "said together"),
        ("[stores.a]\nkind = 'pinot'\nbroker = 'http://b:1'\nca_file = 'ca.pem'", "ca_file"),
        ("[stores.a]\nkind = 'files'\nplace = 'x'\ncontroller = 'c:2'", "a key in [stores.a]"),
        ("[stores.a]\nkind = 'postgress'\nplace = 'x'", "Did you mean 'postgres'"),
        ("[stores.a]\nkind = 'files'", "given for files"),
        ("[stores.a]\nkind = 'files'\nplace = 'x'\nmaster = 'local'", "unless the kind is spark"),
        ("[stores.events]\nkind = 'files'\nplace = 'x'\n[datasets.d]\nstore = 'evnts'\nperson = 'u'", "'events'"),
        ("[stores.e]\nkind = 'files'\nplace = 'x'\n[datasets.d]\nstore = 'e'", "person in [datasets.d]"),
        ("[privacy]\nanalysts = 'seperate'", "Did you mean 'separate'"),
        ("[privacy]\ntiming = { grid = '1s', fixed = '2s' }", "timing in [privacy]"),
        ("[privacy]\npresets = ['huge']", "presets in [privacy]"),
        ("[server]\nworkers = 0", "workers in [server]"),
        ("[server]\nworkers = true", "workers in [server]"),
        ("[server]\ngraceful = '30'", "such as 500ms"),
        ("[server]\nlisten = '8443'", "host:port"),
        ("[server]\nlisten = '::1:8443'", "[host]:port"),
        ("[server]\nlisten = '127.0.0.1:99999'", "host:port"),
        ("[server]\npublic_url = 'http://counts.example.org'", "https://"),
        ("[server]\ntrusted_proxies = ['10.0.0.1/8']", "trusted_proxies in [server]"),
        ("[auth.oidc]\nissuer = 'http://login.example.org'\nclient_id = 'h'", "https://"),
        ("[auth.proxy]\nheader = 'X-User'\nsecret_file = 'proxy'", "where the proxy calls from"),
        ("[auth]\nlocal = 'ann'", "left out where callers sign in"),
        ("[observe]\nmetrics = '127.0.0.1:8443'", "an address of its own"),
        ("server = 3", "a table of keys"),
        ("[server", "TOML"),
    ],
)
def test_what_cannot_be_is_refused_with_the_right_words(load, text, words):
    """A misspelt key or a value out of range stops the start, and the text says what to write."""
    with pytest.raises(InvalidParameter) as refused:
        load(f"{LEAST if text != 'server = 3' else ''}{text}")

    assert words in str(refused.value)


def test_unknown_variables_are_refused_like_unknown_keys(load):
    """A misspelt variable would be a limit that is not there."""
    with pytest.raises(InvalidParameter, match="Did you mean 'listen'"):
        load(LEAST, HUSHCOUNT_SERVER__LISTN="127.0.0.1:1")


CANARY = "s3cr3t-canary-s3cr3t-canary-s3cr3t-canary-0"


@pytest.mark.parametrize(
    "text",
    [
        f"[stores.a]\nkind = 'postgres'\nplace = 'postgresql://h/d'\npassword = '{CANARY}'",
        f"[stores.a]\nkind = 'postgres'\nplace = 'postgresql://u:{CANARY}@h/d'",
        f"[stores.a]\nkind = 'postgres'\nplace = 'postgresql://h/d?password={CANARY}'",
        f"[stores.a]\nkind = 'postgres'\nplace = 'host=h password={CANARY}'",
        f"[stores.a]\nkind = 'postgres'\nplace = 'postgresql:///d?host=/run/pg password={CANARY}'",
        f"[stores.a]\nkind = 'postgres'\nplace = 'postgresql://h/d password={CANARY}'",
        f"[stores.a]\nkind = 'postgres'\nplace = 'postgresql://h/d'\npassword_file = '{CANARY}'",
        f"[auth.oidc]\nissuer = 'https://i.example'\nclient_id = 'h'\nclient_secret = '{CANARY}'",
        f"[auth.proxy]\nheader = 'X'\nsecret = '{CANARY}'",
        f"[auth.proxy]\nheader = 'X'\nsecret_file = 'two words {CANARY}'",
    ],
)
def test_a_typed_secret_is_refused_and_not_shown(load, text):
    """The words to type are there, the secret is not."""
    with pytest.raises(InvalidParameter) as refused:
        load(LEAST + text)

    assert "umask 077" in str(refused.value)
    assert "_file = 'FILE'" in str(refused.value)
    assert CANARY not in str(refused.value)


def test_a_server_may_be_reached_by_its_socket(load, folder):
    """An address may name the folder of a socket; it is no password, and one from a file goes with it."""
    place = "postgresql://budgets@/budgets?host=/run/postgresql&port=5433"
    config = load(LEAST.replace("ledger.sqlite", place) + "password_file = 'db'")

    assert config.ledger.address == place
    assert address_of(config.ledger) == place.replace("budgets@", "budgets:pw-of-db@", 1)


def test_a_key_typed_in_place_of_its_file_is_not_shown(load):
    """Also where a variable sets it."""
    key = bytes(range(32)).hex()
    with pytest.raises(InvalidParameter) as refused:
        load(LEAST, HUSHCOUNT_KEYS__NOISE=key)

    assert key not in str(refused.value)


def test_an_unknown_key_never_shows_its_value(load):
    """It may be a secret under a misspelt name."""
    with pytest.raises(InvalidParameter) as refused:
        load(f"{LEAST}[auth.oidc]\nissuer = 'https://i.example'\nclient_id = 'h'\nclient_secrt = '{CANARY}'")

    assert "client_secret_file" in str(refused.value)
    assert CANARY not in str(refused.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_secrets_that_others_may_read_stop_the_start(load, folder, mode):
    """The mode is looked at before anything is started, and the text says chmod."""
    (folder / "token-key").chmod(mode)
    with pytest.raises(SecretUnusable, match="chmod 600"):
        load(LEAST)


def test_secrets_must_be_whole(load, folder):
    """A missing, short or empty file stops the start with the command that makes one."""
    (folder / "noise-key").write_bytes(bytes(31))
    with pytest.raises(SecretUnusable, match="32 bytes long"):
        load(LEAST)
    (folder / "noise-key").unlink()
    with pytest.raises(SecretUnusable, match="head -c 32 /dev/urandom"):
        load(LEAST)
    (folder / "db").write_bytes(b"\nx")
    with pytest.raises(SecretUnusable, match="empty"):
        read_password(folder / "db")


def test_what_the_files_hold_is_read(folder):
    """A key is its bytes, a password its first line."""
    assert read_key(folder / "noise-key") == bytes(range(32))
    assert read_password(folder / "db") == "pw-of-db"


def test_without_sign_in_only_loopback(load):
    """One person at one machine may do without; everything that others could reach is refused."""
    alone = LEAST.replace('tokens = "token-key"\n', "") + "[auth]\nlocal = 'ann'\n"
    assert load(alone).auth.local
    with pytest.raises(InvalidParameter, match="could sign in"):
        load(alone.replace("local = 'ann'", ""))
    for server in (
        "listen = '0.0.0.0:8443'",
        "listen = '192.0.2.1:8443'",
        "listen = 'counts.example.org:1'",
        "listen = '[::]:8443'",
        "public_url = 'https://counts.example.org'",
        "trusted_proxies = ['127.0.0.1']",
    ):
        with pytest.raises(InvalidParameter, match="Nothing was started"):
            load(f"{alone}[server]\n{server}")
    for host in ("127.0.0.1", "localhost", "[::1]", "127.8.8.8"):
        assert load(f"{alone}[server]\nlisten = '{host}:1'").server.listen.loopback, host


def test_a_single_file_is_served_to_this_machine_alone(tmp_path):
    """Loopback, nobody signs in, the ledger beside the data or the user's own; another address is refused."""
    data = tmp_path / "data" / "events.csv"
    data.parent.mkdir()
    data.write_text("user,item\na,b\n", encoding="utf-8")
    places = Places(home=tmp_path / "home", ledger=None, analyst="ann")
    config = single(str(data), places=places)
    beside = data.parent / ".hushcount" / "ledger.sqlite"
    beside.parent.mkdir()
    beside.touch()

    assert config.auth.local
    assert config.auth.person == "ann"
    assert config.server.listen.loopback
    assert config.ledger.address == str(tmp_path / "home" / "ledger.sqlite")
    assert single(str(data), places=places).ledger.address == str(beside)
    assert (config.datasets[0].name, config.stores[0].kind, config.stores[0].place) == ("events", "files", str(data))
    with pytest.raises(InvalidParameter, match="owns everything"):
        single(str(data), places=places, listen=Listen(host="0.0.0.0", port=1))  # noqa: S104


def test_the_explanation_says_all_and_no_secret(load):
    """Every choice that matters is in a sentence; passwords and addresses' users are not."""
    told = " ".join(explain(load(WHOLE)))

    for words in (
        "0.0.0.0:8443 with 4 workers: other machines can reach it",
        "https://counts.example.org",
        "postgresql://db/budgets",
        "The store 'events' is pinot at http://broker:8099: 8 questions at once, 100 waiting, 30 s each",
        "'engagements' is in store 'events', table 'engagements'; a person is who stands in 'member'",
        "Callers sign in by token.",
        "a JWT of https://login.example.org",
        "A proxy at 10.0.0.0/8",
        "Analysts are separate",
        "ticks of 0.5 s",
        "put a proxy with TLS before it",
    ):
        assert words in told, words
    assert "pw-of" not in told
    assert "budgets@" not in told
