"""Forged JWTs at a running server, with an issuer of its own on loopback: each gets the same 401, and leaves no trace.

The unit of signing in is tried elsewhere; here everything between the socket and the log takes part.
"""

from __future__ import annotations

import base64
import http.client
import json
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from joserfc.jwk import ECKey, RSAKey

from tests.api.keeping import broken
from tests.api.served import TOP, make_files
from tests.api.test_serve import PATIENCE, free_port, running
from tests.unit.app.serving.issuer import TinyIssuer

# Whom the forged ones name: nothing else in the test is called so.
MALLORY = "mallory-of-the-forged-ones"
# The least that counts as a piece of a token.
PIECE = 12


def claims(**changed: Any) -> dict[str, Any]:
    """What a good token says now, but for some."""
    now = int(time.time())
    return {"sub": MALLORY, "iat": now - 5, "exp": now + 300, **changed}


def other_keys() -> dict[str, Any]:
    """Keys that the issuer does not have."""
    return {"rsa": RSAKey.generate_key(2048), "ec": ECKey.generate_key("P-256")}


OTHER = other_keys()


def own_key(issuer: TinyIssuer, *, header: dict[str, Any], key: str = "rsa") -> str:
    """A JWT under the forger's own key, which its header hands over."""
    return issuer.sign(key=key, signer=OTHER[key], header=header, **claims())


def with_header(text: str, head: dict[str, Any]) -> str:
    """A JWT with another header before its own claims and signature."""
    written = base64.urlsafe_b64encode(json.dumps(head).encode()).decode().rstrip("=")
    return ".".join([written, *text.split(".")[1:]])


TRICKS = {
    "alg none": lambda i: i.by_hand({"alg": "none", "kid": "rsa"}, **claims()),
    "alg none without a kid": lambda i: i.by_hand({"alg": "none"}, **claims()),
    "alg nOnE": lambda i: i.by_hand({"alg": "nOnE", "kid": "rsa"}, **claims()),
    "alg none with a good signature": lambda i: with_header(i.sign(**claims()), {"alg": "none", "kid": "rsa"}),
    "no alg": lambda i: i.by_hand({"kid": "rsa"}, **claims()),
    "HS256 with the public key": lambda i: i.by_hand(
        {"alg": "HS256", "kid": "rsa"}, i.keys["rsa"].as_pem(private=False), **claims()
    ),
    "HS256 with the public key as it is published": lambda i: i.by_hand(
        {"alg": "HS256", "kid": "rsa"}, json.dumps(i.keys["rsa"].as_dict(private=False)).encode(), **claims()
    ),
    "RS256 that is HS256": lambda i: i.by_hand(
        {"alg": "RS256", "kid": "rsa"}, i.keys["rsa"].as_pem(private=False), **claims()
    ),
    "a kid that is not published": lambda i: i.sign(header={"kid": "nobody's"}, **claims()),
    "the kid of another key": lambda i: i.sign(header={"kid": "ec"}, **claims()),
    "a kid that is a path": lambda i: i.sign(header={"kid": "../../../../dev/null"}, **claims()),
    "no kid among several": lambda i: i.sign(header={"kid": None}, **claims()),
    "expired": lambda i: i.sign(**claims(exp=int(time.time()) - 60)),
    "not yet valid": lambda i: i.sign(**claims(nbf=int(time.time()) + 600)),
    "issued in the future": lambda i: i.sign(**claims(iat=int(time.time()) + 600)),
    "another issuer": lambda i: i.sign(iss="https://evil.example", **claims()),
    "an issuer with a slash more": lambda i: i.sign(iss=f"{i.address}/", **claims()),
    "another audience": lambda i: i.sign(aud="another service", **claims()),
    "no iss": lambda i: i.sign(iss=None, **claims()),
    "no aud": lambda i: i.sign(aud=None, **claims()),
    "no sub": lambda i: i.sign(**claims(sub=None)),
    "no exp": lambda i: i.sign(**claims(exp=None)),
    "a sub that is a list": lambda i: i.sign(**claims(sub=[MALLORY])),
    "a sub that is a group": lambda i: i.sign(**claims(sub="group:boss")),
    "a huge one": lambda i: i.sign(more="x" * 20_000, **claims()),
    "an embedded jwk": lambda i: own_key(i, header={"jwk": OTHER["rsa"].as_dict(private=False)}),
    "an embedded jwk under a kid of its own": lambda i: own_key(
        i, header={"kid": "mine", "jwk": {**OTHER["rsa"].as_dict(private=False), "kid": "mine"}}
    ),
    "an embedded jwk of a curve": lambda i: own_key(i, key="ec", header={"jwk": OTHER["ec"].as_dict(private=False)}),
    "a signature cut short": lambda i: i.sign(**claims())[:-8],
    "claims of another": lambda i: ".".join(
        one.split(".")[place] for place, one in enumerate((i.sign(**claims()), i.sign(**claims(exp=2**33)), i.sign()))
    ),
    "no JWT": lambda i: f"{MALLORY}.{MALLORY}.{MALLORY}",
}


@dataclass
class Live:
    """A server and its issuer; `stopped` ends it and gives all that it wrote."""

    process: Any
    port: int
    issuer: TinyIssuer
    forger: TinyIssuer
    sent: list[str]
    tried: int = 1

    def call(self, *authorizations: str, method: str = "GET", path: str = "/v1/me", address: str = "127.0.0.1") -> Any:
        """One exchange with these headers, from an address of this machine."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE, source_address=(address, 0))
        try:
            line.putrequest(method, path)
            body = json.dumps(TOP).encode() if method == "POST" else b""
            for given in authorizations:
                line.putheader("Authorization", given)
            if body:
                line.putheader("Content-Type", "application/json")
                line.putheader("Content-Length", str(len(body)))
            line.endheaders(body or None)
            reply = line.getresponse()
            return reply.status, dict(reply.getheaders()), reply.read()
        finally:
            line.close()

    def forged(self, *authorizations: str, **how: str) -> Any:
        """As `call`, from an address that nobody has failed from: too many failures make an address wait."""
        self.tried += 1
        self.sent += [given.partition(" ")[2] for given in authorizations]
        return self.call(*authorizations, address=f"127.0.{self.tried // 200}.{self.tried % 200 + 1}", **how)

    def good(self) -> str:
        """A good token, of somebody else."""
        return f"Bearer {self.issuer.sign(**claims(sub='zoe'))}"

    def stopped(self) -> str:
        """All that the server wrote, once it has ended in good order."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0
        return str(self.process.stdout.read() + self.process.stderr.read())


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A running service that signs people in by an issuer on loopback, and a forger's own issuer beside it."""
    folder = tmp_path_factory.mktemp("live")
    config, issuer, forger = make_files(folder), TinyIssuer(), TinyIssuer()
    port = free_port()
    text = config.read_text(encoding="utf-8").replace("127.0.0.1:8443", f"127.0.0.1:{port}")
    oidc = f'[auth.oidc]\nissuer = "{issuer.address}"\nclient_id = "hushcount"\naudience = "hushcount"\n'
    config.write_text(f'{text}{oidc}[observe]\nlogs = "json"\n', encoding="utf-8")
    try:
        with running(folder, "--config", str(config)) as (process, found):
            made = Live(process=process, port=found, issuer=issuer, forger=forger, sent=[])
            yield made
            written = made.stopped()
            assert traces(made.sent, written) == []
            assert written.count('"status": 401') > len(TRICKS)
    finally:
        issuer.close()
        forger.close()


def traces(sent: list[str], written: str) -> list[str]:
    """The pieces of what was sent that stand in what was written: parts of tokens, or the name in them."""
    parts = {part[place : place + PIECE] for text in sent for part in text.split(".") for place in (0, len(part) // 2)}
    return sorted(one for one in {*parts, MALLORY} if len(one) >= PIECE and one in written)


def problem(reply: Any) -> dict[str, Any]:
    """The refusal, which is whole and quotes nothing; without the words of its reason and without its id."""
    status, headers, body = reply
    lower = {name.lower(): value for name, value in headers.items()}
    assert status == 401, (status, body[:300])
    assert broken("GET", None, status, media=lower["content-type"], body=body) is None
    form = json.loads(body)
    return {
        **{name: value for name, value in form.items() if name not in {"detail", "request_id"}},
        "challenge": lower["www-authenticate"],
        "members": sorted(form),
    }


@pytest.mark.parametrize("trick", TRICKS)
def test_a_forged_jwt_gets_the_one_refusal(live, trick):
    """Whatever is wrong with it: as for one that is merely old; and a good one is good before and after."""
    text = TRICKS[trick](live.issuer)
    expired = problem(live.forged(f"Bearer {live.issuer.sign(**claims(exp=int(time.time()) - 60))}"))
    assert live.call(live.good())[0] == 200

    reply = live.forged(f"Bearer {text}")
    assert problem(reply) == expired
    assert traces([text], reply[2].decode()) == []
    assert problem(live.forged(f"Bearer {text}", method="POST", path="/v1/queries"))["code"] == "not-signed-in"
    assert live.call(live.good())[0] == 200


def test_keys_are_had_from_the_issuer_alone(live):
    """Wherever a header says that they are: the forger's own server is never asked."""
    expired = problem(live.forged(f"Bearer {live.issuer.sign(**claims(exp=int(time.time()) - 60))}"))
    for name in ("jku", "x5u"):
        for kid in ("rsa", "mine"):
            text = own_key(live.issuer, header={name: f"{live.forger.address}/keys", "kid": kid})
            assert problem(live.forged(f"Bearer {text}")) == expired, (name, kid)
    theirs = live.forger.sign(**claims())
    assert problem(live.forged(f"Bearer {theirs}")) == expired

    assert live.forger.asked == 0
    assert live.issuer.asked >= 1


def test_two_headers_are_none(live):
    """Two readers could take two different ones: also where both are good."""
    forged = f"Bearer {live.issuer.by_hand({'alg': 'none', 'kid': 'rsa'}, **claims())}"
    good = live.good()
    expired = problem(live.forged(f"Bearer {live.issuer.sign(**claims(exp=int(time.time()) - 60))}"))

    for both in ((good, forged), (forged, good), (good, good)):
        assert problem(live.forged(*both)) == expired
    assert problem(live.forged(f"{good}, {forged}")) == expired


def test_a_token_in_the_address_signs_nobody_in(live):
    """Addresses are written down on the way; nobody is known by one."""
    good = live.good().partition(" ")[2]
    live.sent.append(good)

    assert live.call(path=f"/v1/me?access_token={good}")[0] == 401


def test_a_trace_would_be_found():
    """The search of the log can fail."""
    text = ".".join(("eyJhbGciOiJub25l" * 2, "c2VjcmV0LWNsYWltcw" * 3, "signature-of-it-all"))

    assert traces([text], "a line without any") == []
    assert traces([text], f"a line with {text.split('.')[1][:20]}") != []
    assert traces([], f"signed in as {MALLORY}") == [MALLORY]
