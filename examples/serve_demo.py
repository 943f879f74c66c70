"""The service in a minute: an owner and two analysts on a made-up log, by the very `curl` lines that are printed.

    make serve-demo

Everything is in a temporary folder; the server listens to this machine only and is stopped at the end.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hushcount.app.sample import write_log

READERS = 20_000
CONFIG = """\
[server]
listen = "127.0.0.1:0"
graceful = "5s"

[keys]
noise = "noise-key"
tokens = "token-key"

[ledger]
address = "ledger.sqlite"

[stores.logs]
kind = "files"
place = "data"

[datasets.reading]
store = "logs"
table = "log.parquet"
person = "reader"
items = ["article", "search"]
"""
TOP = {"dataset": "reading", "question": "top", "item": "article", "k": 5}
COUNT = {"dataset": "reading", "question": "count", "item": "search"}
_LONGEST_START = 30.0


@dataclass(slots=True)
class Demo:
    """A folder with a configuration, where the service is, and everybody's token."""

    folder: Path
    url: str = ""
    tokens: dict[str, str] = field(default_factory=dict)

    def run(self, line: str, *, shown: str | None = None) -> str:
        """Print a command line, run it in the folder, and return what it printed."""
        print(f"\n  $ {shown or line}")
        environment = {**os.environ, **self.tokens, "URL": self.url, "PATH": f"{_programs()}:{os.environ['PATH']}"}
        done = subprocess.run(  # noqa: S602 (the lines are written below, and printed before they run)
            line, shell=True, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"That failed: {done.stderr or done.stdout}")
        return done.stdout

    def call(self, who: str, method: str, path: str, body: dict[str, Any] | None = None, *, key: str = "") -> Any:  # noqa: ANN401
        """Call the service with curl as somebody, and return the JSON of the reply."""
        words = ["curl", "-s"] + (["-X", method] if method != "GET" else [])
        line = f'{shlex.join(words)} "$URL{path}" -H "Authorization: Bearer ${who.upper()}"'
        if key:
            line += f" -H 'Idempotency-Key: {key}' -H 'Prefer: wait=30'"
        if body is not None:
            line += f" -H 'Content-Type: application/json' -d {shlex.quote(json.dumps(body))}"
        return json.loads(self.run(line))


def main() -> None:
    """All of it."""
    if shutil.which("curl") is None:
        sys.exit("This demo calls the service with curl, which is not here. Install it and try again.")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hushcount-demo-") as name:
        demo = Demo(Path(name))
        _prepare(demo)
        with _serving(demo):
            _let_in(demo)
            _look_before(demo)
            _pay(demo)
            _run_short(demo)
            _check(demo)
    say(f"The server is stopped and the folder is gone. That took {time.monotonic() - began:.0f} seconds.")


def say(text: str) -> None:
    """Print a paragraph."""
    print("\n" + textwrap.fill(text, 100))


def _programs() -> str:
    """Where the command `hushcount` of this Python is."""
    return str(Path(sys.executable).parent)


def _prepare(demo: Demo) -> None:
    say(f"A made-up log of what {READERS:,} readers read, two keys, and a configuration:")
    (demo.folder / "data").mkdir()
    write_log(demo.folder / "data" / "log.parquet", readers=READERS)
    (demo.folder / "hushcount.toml").write_text(CONFIG, encoding="utf-8")
    demo.run("(umask 077; head -c 32 /dev/urandom > noise-key; head -c 32 /dev/urandom > token-key)")
    print(textwrap.indent(demo.run("hushcount serve --config hushcount.toml --check"), "  "))
    say("Nobody owns a service by calling it first. Whoever runs it invites its owner; the invitation works once:")
    for person in ("olga", "ann", "bob"):
        _invite(demo, person)


def _invite(demo: Demo, person: str) -> None:
    """Print an invitation as the operator; it is kept for when the server runs."""
    said = demo.run(f"hushcount serve --config hushcount.toml --init {person}")
    print(textwrap.indent(said.splitlines()[0], "  "))
    words = shlex.split(next(line for line in said.splitlines() if "curl" in line))
    demo.tokens[f"INVITATION_{person.upper()}"] = json.loads(words[words.index("-d") + 1])["invitation"]


@contextmanager
def _serving(demo: Demo) -> Iterator[None]:
    """The server, until the block ends; it is stopped by its own number."""
    line = [f"{_programs()}/hushcount", "serve", "--config", "hushcount.toml"]
    print("\n  $ hushcount serve --config hushcount.toml &")
    with (demo.folder / "server.log").open("w", encoding="utf-8") as log:
        server = subprocess.Popen(line, cwd=demo.folder, stdout=subprocess.PIPE, stderr=log, text=True)  # noqa: S603
    try:
        first = server.stdout.readline() if server.stdout else ""
        demo.url = first.strip().rpartition(" ")[2]
        _await_ready(demo, server)
        print(f"  {first.strip()}")
        yield
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=60)


def _await_ready(demo: Demo, server: subprocess.Popen[str]) -> None:
    latest = time.monotonic() + _LONGEST_START
    while time.monotonic() < latest and server.poll() is None:
        words = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"{demo.url}/readyz"]
        if subprocess.run(words, capture_output=True, text=True, check=False).stdout == "200":  # noqa: S603
            return
        time.sleep(0.1)
    sys.exit(f"The server did not start:\n{(demo.folder / 'server.log').read_text(encoding='utf-8')}")


def _let_in(demo: Demo) -> None:
    say("Each invitation is exchanged for a first token, which is shown that once:")
    for person in ("olga", "ann", "bob"):
        body = f'{{"invitation": "\'$INVITATION_{person.upper()}\'"}}'
        reply = demo.run(f"curl -s \"$URL/v1/invitations\" -H 'Content-Type: application/json' -d '{body}'")
        demo.tokens[person.upper()] = json.loads(reply)["token"]
        print(f"  {person} has the token {demo.tokens[person.upper()][:14]}...")
    say("An invitation makes an owner. Olga stays one; the other two shall ask questions, and nothing else:")
    for person in ("ann", "bob"):
        demo.call("olga", "PUT", f"/v1/people/{person}", {"role": "analyst"})
    # A release and a half of noise; delta, which every question takes whole whatever its preset, for ten questions.
    limit = {"dataset": "reading", "analyst": "*", "rho": "0.15", "delta": "1e-5"}
    demo.call("olga", "PUT", "/v1/limits", limit)
    say("Each analyst may take one and a half standard releases a month out of the data's ten.")


def _look_before(demo: Demo) -> None:
    say("Ann asks what her question would cost. That reads no data and costs nothing:")
    price = demo.call("ann", "POST", "/v1/queries", TOP)
    say(
        f"'{price['question']}': at most {price['cost']['releases']:g} release, give or take "
        f"{price['expected']['give_or_take']:.0f} readers. {price['left']['sentence']} In place of 5 rows the store is "
        f"asked for {price['translation']['fetches']}."
    )
    say("She tries it out on a look-alike, made from the names of the columns alone:")
    tried = demo.call("ann", "POST", "/v1/queries", {**TOP, "mode": "rehearse"})
    _print_rows(tried["release"]["rows"][:2])


def _pay(demo: Demo) -> None:
    say("Now she pays. The price is held before data is read; what is not used is given back:")
    first = demo.call("ann", "POST", "/v1/queries", {**TOP, "mode": "release"}, key="ann-1")
    _print_rows(first["release"]["rows"])
    say(f"Of her 1.5 releases it took {first['cost']['releases']:.3g}; {first['left']['releases']:.3g} are left.")
    say("The same question once more, under a new key: the same answer, for nothing:")
    again = demo.call("ann", "POST", "/v1/queries", {**TOP, "mode": "release"}, key="ann-2")
    same = again["release"]["rows"] == first["release"]["rows"]
    say(f"{'The same rows' if same else 'OTHER ROWS'}, cost {again['cost']['releases']:g}.")
    say("Bob asks the same. He gets the same rows, which count on his own account; the data's pays nothing more:")
    other = demo.call("bob", "POST", "/v1/queries", {**TOP, "mode": "release"}, key="bob-1")
    same = other["release"]["rows"] == first["release"]["rows"]
    say(f"{'The same rows' if same else 'OTHER ROWS'}, and {other['cost']['releases']:.3g} of his 1.5 releases.")
    release = first["release"]["id"]
    say("As a spreadsheet reads it, at an address that stays:")
    header = '-H "Authorization: Bearer $ANN"'
    print(textwrap.indent(demo.run(f'curl -s "$URL/v1/releases/{release}.csv" {header}').strip(), "  "))


def _run_short(demo: Demo) -> None:
    say("Ann's next question does not fit any more. The refusal costs nothing, and helps:")
    asked = {**COUNT, "mode": "release"}
    refusal = demo.call("ann", "POST", "/v1/queries", asked, key="ann-3")
    print(textwrap.indent(f"{refusal['title']} ({refusal['code']}, {refusal['status']})", "  "))
    print(textwrap.indent(textwrap.fill(refusal["detail"], 96), "  "))
    for way in refusal.get("would_fit", [])[:1]:
        print(f"  It would fit with {json.dumps(way['change'])}.")
    print(f"  Or ask {', '.join(refusal['ask']['owners'])} for more: {refusal['ask']['with']}")
    wish = demo.call(
        "ann", "POST", "/v1/requests", {"dataset": "reading", "releases": "1", "why": "the searches for the board"}
    )
    say("Olga grants it. A grant ends with the window, and is on record with her sentence:")
    decision = {"grant": True, "sentence": "For the board, this once."}
    demo.call("olga", "POST", f"/v1/requests/{wish['id']}/decision", decision)
    done = demo.call("ann", "POST", "/v1/queries", asked, key="ann-4")
    _print_rows(done["release"]["rows"][:3])
    say(f"It took {done['cost']['releases']:.3g} releases, and {done['left']['releases']:.3g} are left.")


def _check(demo: Demo) -> None:
    say("Everything that happened is in a log in which each entry carries the hash of the one before. Olga checks it:")
    verdict = demo.call("olga", "POST", "/v1/log/verify", {})
    entries = demo.call("olga", "GET", "/v1/log?dataset=reading")["data"]
    last = entries[-1]
    say(
        f"{'The log is whole' if verdict['whole'] else 'THE LOG IS BROKEN'}: {len(verdict['heads'])} books, whose "
        f"heads she may keep elsewhere. The last of {len(entries)} entries about the readers is '{last['kind']}' by "
        f"{last['by']}, {last['hash'][:16]}..."
    )


def _print_rows(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        print(f"  {row['item']:<34}{row['count']:>8}   between {row['low']} and {row['high']}")


if __name__ == "__main__":
    main()
