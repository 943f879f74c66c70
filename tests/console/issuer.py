"""A tiny OpenID provider on loopback that signs everybody in as zoe: where people go, and where codes are spent."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey

SECRET = "shared with the issuer"  # noqa: S105  of this file alone


class CodeIssuer:
    """An issuer that a test can change while it runs; `claims` are put into its word."""

    def __init__(self):
        self.key, self.claims, self.codes, self.spent = ECKey.generate_key("P-256"), {}, {}, []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                parts = urlsplit(self.path)
                if parts.path == "/authorize":
                    self.send_response(302)
                    self.send_header("Location", outer.code_for(parse_qs(parts.query)))
                    self.end_headers()
                    return
                self.reply(outer.about() if "well-known" in parts.path else outer.keys())

            def do_POST(self):
                sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self.reply(outer.word(parse_qs(sent), self.headers["Authorization"]))

            def reply(self, form):
                self.send_response(200 if form else 400)
                self.end_headers()
                self.wfile.write(json.dumps(form).encode())

            def log_message(self, *_):
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # Another site than 127.0.0.1, to a browser.
        self.address = f"http://localhost:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def about(self):
        """Where everything is."""
        places = {"jwks_uri": "keys", "authorization_endpoint": "authorize", "token_endpoint": "token"}
        return {"issuer": self.address} | {name: f"{self.address}/{path}" for name, path in places.items()}

    def keys(self):
        """The published key."""
        return {"keys": [{**self.key.as_dict(private=False), "kid": "k"}]}

    def code_for(self, asked):
        """Where a browser is led back to, with a code and with more than anybody asked for."""
        code = f"code-{len(self.codes)}"
        self.codes[code] = {name: values[0] for name, values in asked.items()}
        told = {"code": code, "state": asked["state"][0], "iss": self.address, "authuser": "0"}
        return f"{asked['redirect_uri'][0]}?{urlencode(told)}"

    def word(self, sent, authorization):
        """The word on a code, once, to who knows the secret and the verifier."""
        code = sent["code"][0]
        asked, basic = self.codes.pop(code, None), base64.b64decode(authorization.partition(" ")[2]).decode()
        if asked is None or basic != f"hushcount:{SECRET.replace(' ', '%20')}":
            return {}
        challenge = base64.urlsafe_b64encode(hashlib.sha256(sent["code_verifier"][0].encode()).digest()).decode()
        if challenge.rstrip("=") != asked["code_challenge"] or sent["redirect_uri"][0] != asked["redirect_uri"]:
            return {}
        now = int(time.time())
        body = {"iss": self.address, "aud": "hushcount", "sub": "zoe", "iat": now, "exp": now + 300}
        body |= {"nonce": asked["nonce"], "groups": ["reporting"], **self.claims}
        return {"id_token": jwt.encode({"alg": "ES256", "kid": "k"}, body, self.key, algorithms=["ES256"])}

    def close(self):
        """Stop."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
