"""Signing in: every way in, every way that looks like one, and how often one may fail."""

from __future__ import annotations

import base64
import hmac
from dataclasses import replace
from ipaddress import ip_network
from types import SimpleNamespace

import pytest
from joserfc.jwk import ECKey, RSAKey

from hushcount.app.serving.callers import sessions, signing
from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.callers.issuers import Issuer
from hushcount.app.serving.callers.signing import (
    MOST_FAILURES,
    Attempts,
    Door,
    Knock,
    caller_address,
    open_door,
    sign_in,
)
from hushcount.app.serving.callers.tokens import WantedToken, make_token, revoke
from hushcount.app.serving.setup.config import Config, KeyFiles, LedgerPlace, Oidc, Proxy, Server, SignIn
from hushcount.errors import Busy, NotPermitted, NotSignedIn, TooManyRequests
from hushcount.ledger.ledger import SERVICE
from tests.unit.app.serving.issuer import TinyIssuer
from tests.unit.app.serving.stand_in import START, make_service

SECRET = "shared-with-the-proxy"  # noqa: S105
PROXY = "10.1.2.3"


@pytest.fixture(scope="module")
def issuer():
    """A provider for the whole file: its keys take long to make."""
    tiny = TinyIssuer()
    yield tiny
    tiny.close()


@pytest.fixture
def config(tmp_path, issuer):
    """All ways in at once."""
    (tmp_path / "proxy").write_text(SECRET, encoding="utf-8")
    (tmp_path / "proxy").chmod(0o600)
    issuer.published, issuer.status, issuer.says, issuer.asked = ["rsa", "ec"], 200, None, 0
    return Config(
        server=Server(trusted_proxies=(ip_network("10.0.0.0/8"),)),
        keys=KeyFiles(noise=tmp_path / "noise", tokens=tmp_path / "tokens"),
        ledger=LedgerPlace(address="ledger.sqlite"),
        auth=SignIn(
            tokens=True,
            oidc=Oidc(issuer=issuer.address, client_id="hushcount", audience="hushcount", groups_claim="groups"),
            proxy=Proxy(
                header="X-Forwarded-User",
                secret_header="Hushcount-Proxy-Secret",  # noqa: S106
                secret_file=tmp_path / "proxy",
                addresses=(ip_network("10.1.0.0/16"),),
                groups_header="X-Forwarded-Groups",
            ),
        ),
    )


@pytest.fixture
def service(config):
    """A service with all ways in."""
    return make_service(config)


@pytest.fixture
def seconds():
    """A clock for failures and keys."""
    return SimpleNamespace(now=1000.0)


@pytest.fixture
def door(config, seconds):
    """Its door, by that clock."""
    opened = open_door(config)
    return Door(
        attempts=Attempts(seconds=lambda: seconds.now),
        issuer=Issuer(config.auth.oidc, seconds=lambda: seconds.now),
        proxy_secret=opened.proxy_secret,
    )


@pytest.fixture
def enter(service, door):
    """Knock with these headers."""

    def knock(*headers, method="GET", peer="192.0.2.7"):
        return sign_in(service, Knock(method=method, peer=peer, headers=headers), door=door)

    return knock


def bearer(text):
    """The header of a token."""
    return ("Authorization", f"Bearer {text}")


def basic(name, password):
    """The header of a name and a password."""
    return ("Authorization", "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode())


@pytest.fixture
def token(service):
    """A token of zoe's."""
    return make_token(service.setting, service.tokens_key, owner="zoe", wanted=WantedToken(label="script"))


def test_a_token_signs_in(enter, token):
    """As Bearer for everything, in whatever letters the word is written."""
    assert enter(bearer(token.text.text), method="POST") == Caller(name="zoe", token=token.token)
    assert enter(("authorization", f"bearer {token.text.text}")).name == "zoe"


def test_tokens_that_end_or_are_wrong_do_not(enter, token, service):
    """Mistyped, of nobody, revoked."""
    for text in (token.text.text[:-1], "hush_", "nonsense", token.text.text[:-2] + "zz"):
        with pytest.raises(NotSignedIn):
            enter(bearer(text))
    revoke(service.setting, token.token.id, by="zoe")
    with pytest.raises(NotSignedIn, match="revoked"):
        enter(bearer(token.text.text))


def test_basic_is_for_reading_only(enter, token):
    """The token is the password, whatever the name; any other method is refused, and so is what cannot be read."""
    assert enter(basic("anything", token.text.text)).name == "zoe"
    assert enter(basic("", token.text.text), method="HEAD").name == "zoe"
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        with pytest.raises(NotSignedIn, match="read only"):
            enter(basic("zoe", token.text.text), method=method)
    for text in ("%%%", base64.b64encode(b"no colon").decode(), base64.b64encode(b"\xff:\xff").decode()):
        with pytest.raises(NotSignedIn):
            enter(("Authorization", f"Basic {text}"))
    with pytest.raises(NotSignedIn):
        enter(basic(token.text.text, ""))


def test_nobody_is_told_how_to_sign_in(enter):
    """And it is no failed attempt: a browser asks once without knowing."""
    for _ in range(MOST_FAILURES + 5):
        with pytest.raises(NotSignedIn, match="Authorization: Bearer TOKEN"):
            enter()


def test_a_proxy_names_people_from_listed_addresses_with_the_secret(enter):
    """Both together, and with the groups that it names."""
    headers = (("X-Forwarded-User", "max"), ("Hushcount-Proxy-Secret", SECRET), ("X-Forwarded-Groups", "lab, staff,"))

    assert enter(*headers, peer=PROXY) == Caller(name="max", groups=("lab", "staff"))
    assert enter(*headers, peer=f"::ffff:{PROXY}").name == "max"


@pytest.mark.parametrize(
    ("peer", "headers"),
    [
        ("192.0.2.7", [("X-Forwarded-User", "olga"), ("Hushcount-Proxy-Secret", SECRET)]),
        ("10.2.0.1", [("X-Forwarded-User", "olga"), ("Hushcount-Proxy-Secret", SECRET)]),
        ("not an address", [("X-Forwarded-User", "olga"), ("Hushcount-Proxy-Secret", SECRET)]),
        (PROXY, [("X-Forwarded-User", "olga")]),
        (PROXY, [("X-Forwarded-User", "olga"), ("Hushcount-Proxy-Secret", "")]),
        (PROXY, [("X-Forwarded-User", "olga"), ("Hushcount-Proxy-Secret", SECRET + "x")]),
        (PROXY, [("Hushcount-Proxy-Secret", SECRET)]),
        (PROXY, [("X-Forwarded-User", ""), ("Hushcount-Proxy-Secret", SECRET)]),
        (PROXY, [("X-Forwarded-User", SERVICE), ("Hushcount-Proxy-Secret", SECRET)]),
        (PROXY, [("X-Forwarded-User", "group:boss"), ("Hushcount-Proxy-Secret", SECRET)]),
        (PROXY, [("X-Forwarded-User", "*"), ("Hushcount-Proxy-Secret", SECRET)]),
        (PROXY, [("X-Forwarded-User", "a\x07b"), ("Hushcount-Proxy-Secret", SECRET)]),
        (PROXY, [("X-Forwarded-User", "olga"), ("x-forwarded-user", "max"), ("Hushcount-Proxy-Secret", SECRET)]),
    ],
)
def test_any_other_identity_header_is_dropped(enter, peer, headers):
    """From elsewhere, without the secret, with a wrong one, twice, or with a name that means something else."""
    with pytest.raises(NotSignedIn):
        enter(*headers, peer=peer)


def test_a_dropped_header_takes_nothing_from_a_token(enter, token):
    """Whoever signs in by token is who the token says, whatever else is claimed."""
    assert enter(bearer(token.text.text), ("X-Forwarded-User", "olga")).name == "zoe"


def test_authorization_decides_alone(enter):
    """One that fails is not made good by a proxy; two of them are refused."""
    proxied = (("X-Forwarded-User", "max"), ("Hushcount-Proxy-Secret", SECRET))
    with pytest.raises(NotSignedIn):
        enter(bearer("hush_wrong"), *proxied, peer=PROXY)
    with pytest.raises(NotSignedIn):
        enter(("Authorization", "Digest x"), *proxied, peer=PROXY)
    with pytest.raises(NotSignedIn, match="more than once"):
        enter(bearer("a"), bearer("b"))


def test_other_sites_change_nothing_through_a_browser(enter):
    """Where the browser is signed in by itself; reading is left to the browser's own rules."""
    proxied = (("X-Forwarded-User", "max"), ("Hushcount-Proxy-Secret", SECRET), ("Host", "c.example"))
    for bad in (("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.example"), ("Origin", "null")):
        with pytest.raises(NotPermitted):
            enter(*proxied, bad, method="POST", peer=PROXY)
        assert enter(*proxied, bad, peer=PROXY)

    assert enter(
        *proxied, ("Sec-Fetch-Site", "same-origin"), ("Origin", "https://c.example"), method="POST", peer=PROXY
    )


@pytest.mark.parametrize(("url", "taken"), [(None, "hushcount"), ("https://c.example", "__Host-hushcount")])
def test_over_tls_only_the_cookie_is_taken_that_no_other_host_can_set(config, url, taken):
    """Or a page next door could sign somebody in as whom it likes, and read what they ask."""
    service = make_service(replace(config, server=replace(config.server, public_url=url)))
    text = sessions.begin(service.setting, service.tokens_key, caller=Caller(name="zoe")).text
    other = {"hushcount": "__Host-hushcount", "__Host-hushcount": "hushcount"}[taken]

    def known(cookies):
        return sign_in(service, Knock(method="GET", peer="192.0.2.7", headers=(("Cookie", cookies),)), door=Door())

    assert known(f"{taken}={text}").name == "zoe"
    assert known(f"{other}=planted; {taken}={text}").name == "zoe"
    with pytest.raises(NotSignedIn, match="nobody knows"):
        known(f"{other}={text}")


def test_jwts_sign_in(enter, issuer):
    """Under both algorithms; an audience among several; groups from their claim."""
    assert enter(bearer(issuer.sign())) == Caller(name="zoe")
    assert enter(bearer(issuer.sign(key="ec", sub="max"))).name == "max"
    assert enter(bearer(issuer.sign(aud=["other", "hushcount"], groups=["lab", 3]))).groups == ("lab",)
    assert issuer.asked == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda i: i.sign(iss="https://evil.example"),
        lambda i: i.sign(iss=None),
        lambda i: i.sign(aud="another service"),
        lambda i: i.sign(aud=None),
        lambda i: i.sign(exp=int(START.timestamp()) - 31),
        lambda i: i.sign(exp=None),
        lambda i: i.sign(exp="soon"),
        lambda i: i.sign(nbf=int(START.timestamp()) + 31),
        lambda i: i.sign(sub=None),
        lambda i: i.sign(sub=""),
        lambda i: i.sign(sub=SERVICE),
        lambda i: i.sign(sub="group:boss"),
        lambda i: i.sign(key="rsa", signer=RSAKey.generate_key(2048)),
        lambda i: i.sign(key="ec", signer=ECKey.generate_key("P-256")),
        lambda i: i.sign(header={"kid": "ec"}),
        lambda i: i.sign(header={"kid": None}),
        lambda i: i.by_hand({"alg": "RS256", "kid": 3}),
        lambda i: i.sign(header={"alg": "PS256"}),
        lambda i: i.by_hand({"alg": "none", "kid": "rsa"}),
        lambda i: i.by_hand({"alg": "None", "kid": "rsa"}),
        lambda i: i.by_hand({"alg": "RS256", "kid": "rsa"}),
        lambda i: i.confused(),
        lambda i: i.sign()[:-4] + "AAAA",
        lambda i: i.sign().replace(".", "..", 1),
        lambda i: "a.b.c",
        lambda i: "." * 2,
        lambda i: "x" * 20_000,
    ],
    ids=range(27),
)
def test_jwts_that_are_not_ours_do_not(enter, issuer, make, caplog):
    """Other issuers, audiences, times, names, keys, algorithms, and what is no JWT at all: all in the same words.

    The log says more, and nothing of what was sent.
    """
    caplog.set_level("INFO", "hushcount.serving")
    text = make(issuer)
    with pytest.raises(NotSignedIn) as refused:
        enter(bearer(text))

    assert str(refused.value) == (
        f"what was sent is neither a token of this service nor a JWT by which {issuer.address} names somebody to it. "
        "Sign in anew and send the new token. Nothing was charged."
    )
    assert [(one.msg, bool(one.kind)) for one in caplog.records] == [("a JWT was refused", True)]
    told = "".join(str(vars(one)) for one in caplog.records)
    assert not any(part in told for part in text.split(".") if len(part) > 3)


def test_an_algorithm_that_is_not_taken_makes_us_call_nobody(enter, issuer):
    """It is refused before any key is looked for."""
    for text in (issuer.by_hand({"alg": "none", "kid": "rsa"}), issuer.confused(), issuer.by_hand({"kid": "rsa"})):
        with pytest.raises(NotSignedIn):
            enter(bearer(text))

    assert issuer.asked == 0


def test_a_key_is_good_for_its_own_algorithm_alone(enter, issuer, caplog):
    """A JWT that names an algorithm beside its key is refused before its signature is looked at."""
    caplog.set_level("INFO", "hushcount.serving")
    with pytest.raises(NotSignedIn):
        enter(bearer(issuer.by_hand({"alg": "ES256", "kid": "rsa"})))

    assert [one.kind for one in caplog.records] == ["a key that its issuer does not publish"]


def test_the_confused_jwt_would_pass_a_naive_check(issuer):
    """The twin: whoever lets the JWT choose its algorithm takes the public key for a shared secret."""
    head, body, signature = issuer.confused().split(".")
    public = issuer.keys["rsa"].as_pem(private=False)
    naive = base64.urlsafe_b64encode(hmac.digest(public, f"{head}.{body}".encode(), "sha256")).decode().rstrip("=")

    assert naive == signature


def test_unknown_keys_are_looked_for_once_a_minute(enter, issuer, seconds):
    """A new key is found at once if the last look is a minute old; strangers cannot make us call more often."""
    enter(bearer(issuer.sign()))
    issuer.keys["new"] = RSAKey.generate_key(2048)
    issuer.published = ["rsa", "new"]
    for _ in range(10):
        with pytest.raises(NotSignedIn):
            enter(bearer(issuer.sign(key="new")), peer="198.51.100.1")
    assert issuer.asked == 1
    seconds.now += 60

    assert enter(bearer(issuer.sign(key="new"))).name == "zoe"
    assert enter(bearer(issuer.sign())).name == "zoe"
    assert issuer.asked == 2
    with pytest.raises(NotSignedIn):
        enter(bearer(issuer.sign(key="ec")))
    assert issuer.asked == 2


@pytest.mark.parametrize("change", [{"status": 500}, {"status": 302}, {"says": "https://evil.example"}])
def test_an_issuer_that_cannot_be_asked_is_said(enter, issuer, seconds, change):
    """Down, sending us elsewhere, or being another: nobody is let in, and soon it is asked again."""
    for name, value in change.items():
        setattr(issuer, name, value)
    for _ in range(3):
        with pytest.raises(Busy, match="cannot be had now"):
            enter(bearer(issuer.sign()))
    assert issuer.asked <= 1
    issuer.status, issuer.says = 200, None
    seconds.now += 5

    assert enter(bearer(issuer.sign())).name == "zoe"


def test_known_keys_outlive_an_issuers_failure(enter, issuer, seconds):
    """What was fetched before still holds."""
    enter(bearer(issuer.sign()))
    issuer.status = 500
    seconds.now += 600
    with pytest.raises(NotSignedIn):
        enter(bearer(issuer.sign(header={"kid": "unknown"})))

    assert enter(bearer(issuer.sign())).name == "zoe"


def test_an_address_that_nobody_verified_names_nobody(config, service, issuer):
    """Where people are named by e-mail, it must be verified."""
    by_mail = Oidc(issuer=issuer.address, client_id="h", audience="hushcount", name_claim="email")
    door = Door(issuer=Issuer(by_mail))
    for claims, good in (({"email_verified": True}, True), ({"email_verified": "true"}, False), ({}, False)):
        knock = Knock(method="GET", peer="192.0.2.7", headers=(bearer(issuer.sign(email="z@c.example", **claims)),))
        if good:
            assert sign_in(service, knock, door=door).name == "z@c.example"
        else:
            with pytest.raises(NotSignedIn, match="names somebody to it"):
                sign_in(service, knock, door=door)


def test_failed_attempts_are_limited_for_each_address(enter, token, seconds):
    """After twenty in a minute everything from that address waits, also what is right; others do not."""
    for _ in range(MOST_FAILURES):
        with pytest.raises(NotSignedIn):
            enter(bearer("hush_wrong"))
    with pytest.raises(TooManyRequests) as refused:
        enter(bearer(token.text.text))
    assert 0 < refused.value.after <= 60
    assert enter(bearer(token.text.text), peer="192.0.2.8").name == "zoe"
    seconds.now += 61

    assert enter(bearer(token.text.text)).name == "zoe"


def test_a_guessed_proxy_secret_counts_as_failure(enter):
    """A secret must not be guessed in peace."""
    for _ in range(MOST_FAILURES):
        with pytest.raises(NotSignedIn):
            enter(("X-Forwarded-User", "olga"), ("Hushcount-Proxy-Secret", "guess"), peer=PROXY)
    with pytest.raises(TooManyRequests):
        enter(peer=PROXY)


def test_addresses_are_counted_behind_our_own_proxies_only():
    """The nearest that is not ours; a stranger's list is not believed; IPv6 counts by network."""
    trusted = (ip_network("10.0.0.0/8"),)

    def address(peer, *forwarded):
        headers = tuple(("X-Forwarded-For", value) for value in forwarded)
        return caller_address(Knock(method="GET", peer=peer, headers=headers), trusted)

    assert address("192.0.2.7", "198.51.100.1") == "192.0.2.7"
    assert address("10.0.0.1", "203.0.113.5, 198.51.100.1, 10.9.9.9") == "198.51.100.1"
    assert address("10.0.0.1", "203.0.113.5", "198.51.100.1") == "198.51.100.1"
    assert address("10.0.0.1") == "10.0.0.1"
    assert address("2001:db8::1") == address("2001:db8::ffff") != address("2001:db8:0:1::1")
    assert address("10.0.0.1", "made up 1") == address("10.0.0.1", "made up 2")


def test_forgotten_addresses_do_not_fill_the_memory(monkeypatch):
    """The oldest go first."""
    monkeypatch.setattr(signing, "_MOST_ADDRESSES", 3)
    attempts = Attempts()
    for n in range(10):
        attempts.failed(f"192.0.2.{n}")

    assert list(attempts._failed) == ["192.0.2.7", "192.0.2.8", "192.0.2.9"]  # noqa: SLF001


@pytest.fixture
def alone(tmp_path):
    """A service for one person."""
    config = Config(
        server=Server(),
        keys=KeyFiles(noise=tmp_path / "secret"),
        ledger=LedgerPlace(address="ledger.sqlite"),
        auth=SignIn(person="ann"),
    )
    return make_service(config)


def test_the_person_at_the_machine_signs_in_by_being_there(alone):
    """On a loopback connection to a loopback name."""
    for peer, host in (("127.0.0.1", "127.0.0.1:8443"), ("::1", "[::1]:8443"), ("127.0.0.1", "localhost")):
        knock = Knock(method="POST", peer=peer, headers=(("Host", host), ("Origin", f"http://{host}")))
        assert sign_in(alone, knock, door=Door()) == Caller(name="ann", local=True), host


@pytest.mark.parametrize(
    ("peer", "headers"),
    [
        ("192.0.2.7", [("Host", "localhost")]),
        ("127.0.0.1", [("Host", "evil.example")]),
        ("127.0.0.1", [("Host", "localhost.evil.example:8443")]),
        ("127.0.0.1", []),
        ("127.0.0.1", [("Host", "localhost"), ("X-Forwarded-For", "192.0.2.7")]),
        ("127.0.0.1", [("Host", "localhost"), ("Via", "1.1 proxy")]),
        ("127.0.0.1", [("Host", "localhost"), ("Host", "evil.example")]),
    ],
)
def test_nobody_else_is_the_person_at_the_machine(alone, peer, headers):
    """Not from afar, not through a proxy, not under a name that a web page elsewhere points at us."""
    with pytest.raises(NotSignedIn):
        sign_in(alone, Knock(method="GET", peer=peer, headers=tuple(headers)), door=Door())


def test_a_page_elsewhere_changes_nothing_on_this_machine(alone):
    """A browser says where a page is from."""
    headers = (("Host", "localhost:8443"), ("Origin", "https://evil.example"))
    with pytest.raises(NotPermitted):
        sign_in(alone, Knock(method="POST", peer="127.0.0.1", headers=headers), door=Door())
