"""A tiny OpenID provider on loopback: publishes keys, signs JWTs, counts how often it is asked."""

from __future__ import annotations

import base64
import hmac
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from tests.unit.app.serving.stand_in import START


class TinyIssuer:
    """An issuer that a test can change while it runs."""

    def __init__(self):
        self.keys = {"rsa": RSAKey.generate_key(2048), "ec": ECKey.generate_key("P-256")}
        self.published = ["rsa", "ec"]
        self.asked, self.status, self.says = 0, 200, None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                content, status = outer.answer(self.path)
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", f"{outer.address}/elsewhere")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def answer(self, path):
        """What is at a path, and the status."""
        if path.endswith("openid-configuration"):
            return json.dumps({"issuer": self.says or self.address, "jwks_uri": f"{self.address}/keys"}).encode(), 200
        if path == "/keys":
            self.asked += 1
            if self.status != 200:
                return b"", self.status
        keys = [{**self.keys[name].as_dict(private=False), "kid": name} for name in self.published]
        return json.dumps({"keys": keys}).encode(), 200

    def sign(self, *, key="rsa", header=None, signer=None, **claims):
        """A JWT; without changes it is good."""
        now = int(START.timestamp())
        body = {"iss": self.address, "aud": "hushcount", "sub": "zoe", "exp": now + 300, "iat": now, **claims}
        body = {name: value for name, value in body.items() if value is not None}
        algorithm = {"rsa": "RS256", "ec": "ES256"}.get(key, "RS256")
        head = {"alg": algorithm, "kid": key, **(header or {})}
        head = {name: value for name, value in head.items() if value is not None}
        return jwt.encode(head, body, signer or self.keys[key], algorithms=[head["alg"]])

    def by_hand(self, head, key=None, **claims):
        """A JWT with any header, which no library would make: unsigned, or with HMAC under a key."""
        body = self.sign(**claims).split(".")[1]
        text = f"{_letters(json.dumps(head).encode())}.{body}"
        return f"{text}.{'' if key is None else _letters(hmac.digest(key, text.encode(), 'sha256'))}"

    def confused(self):
        """A JWT under HS256 with the published key as the shared secret."""
        return self.by_hand({"alg": "HS256", "kid": "rsa"}, self.keys["rsa"].as_pem(private=False))

    def close(self):
        """Stop."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def _letters(content):
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
