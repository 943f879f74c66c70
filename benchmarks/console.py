"""The console at the server: how long each page takes to be made, how heavy it is, and what 50 questions do to that.

`python -m benchmarks.console`: pages are asked for over one connection, from a real server on a made-up log, each many
times; first while nothing else happens, then while 50 new questions run.
"""

from __future__ import annotations

import http.client
import json
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.console.owners.conftest import overseen
from tests.console.owners.looks import PAGES as OWNERS
from tests.console.site import Site

TIMES, QUESTIONS = 40, 50
# The goals of the design: milliseconds at the server, and bytes in all.
SLOWEST, HEAVIEST = 50, 120_000
ANALYSTS = {
    "data": "/console/data",
    "ask": "/console/ask?data=reading&k=5",
    "names": "/console/ask?data=reading&question=names",
    "rehearsal": "/console/ask?data=reading&k=5&rehearse=1",
    "answer": "/console/answers/{}?a=0&b=1&sum=2&sum=3",
    "receipt": "/console/answers/{}/receipt",
    "history": "/console/history",
    "budget": "/console/budget",
    "tokens": "/console/tokens",
}
# It replays the whole log, which is its purpose; the goal is for what only shows something.
REPLAYS = "owner: verified"
FILES = ("console.css", "console.js", "mark.svg")


def main() -> None:
    """Print the table; a page that is slower or heavier than the design allows is marked, and ends it with an error."""
    with tempfile.TemporaryDirectory() as folder, overseen(Path(folder)) as site:
        token, olga = site.person()[1], site.token("olga", scopes=("manage", "ask"))
        release = _asked(site, token, 0)["release"]["id"]
        for number in range(1, 6):
            _asked(site, token, number)
        pages = {name: (token, path.format(release)) for name, path in ANALYSTS.items()}
        pages |= {f"owner: {name}": (olga, path) for name, path in OWNERS.items()}
        quiet = {page: _measured(site, by, path) for page, (by, path) in pages.items()}
        busy = _while_asking(site, token, pages)
        fixed = sum(len(_got(site, token, f"/console/static/{one}")[1]) for one in FILES)
    print(f"style, script and mark {fixed:,} bytes; {QUESTIONS} questions while busy")
    print(f"{'page':20}{'first':>8}{'ms':>8}{'p95':>8}{'busy ms':>10}{'p95':>8}{'kB in all':>12}")
    over = []
    for page, (first, middle, late, size) in quiet.items():
        found = (middle > SLOWEST and page != REPLAYS) * ["slow"] + (size + fixed > HEAVIEST) * ["heavy"]
        over += [f"{page} is {one}" for one in found]
        times = f"{first:8.1f}{middle:8.1f}{late:8.1f}{busy[page][0]:10.1f}{busy[page][1]:8.1f}"
        print(f"{page:20}{times}{(size + fixed) / 1000:12.1f}  {' '.join(found)}".rstrip())
    print(f"{REPLAYS} replays the log: it has no goal but its weight")
    if over:
        raise SystemExit("; ".join(over))


def _asked(site: Site, token: str, number: int) -> Any:  # noqa: ANN401  JSON
    said = {"mode": "release", "dataset": "reading", "question": "top", "item": "article", "k": 10 + number}
    body = json.dumps({**said, "rho": "0.01"}).encode()
    headers = {"Idempotency-Key": f"bench-{number}", "Content-Type": "application/json"}
    return json.loads(_got(site, token, "/v1/queries", body=body, **headers)[1])


def _got(site: Site, token: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(urlsplit(site.url).netloc, timeout=60)
    connection.request("GET" if body is None else "POST", path, body, {"Authorization": f"Bearer {token}", **headers})
    reply = connection.getresponse()
    found = reply.status, reply.read()
    connection.close()
    return found


def _measured(site: Site, token: str, page: str, times: int = TIMES) -> tuple[float, float, float, int]:
    """The first time, median and 95th percentile in milliseconds, and the size."""
    found, size = [], 0
    for _ in range(times + 3):
        began = time.perf_counter()
        status, body = _got(site, token, page)
        found.append((time.perf_counter() - began) * 1000)
        if status != 200:
            raise SystemExit(f"{page}: {status}")
        size = len(body)
    warm = sorted(found[3:])
    return found[0], statistics.median(warm), warm[int(len(warm) * 0.95)], size


def _while_asking(site: Site, token: str, pages: dict[str, tuple[str, str]]) -> dict[str, tuple[float, float]]:
    """Median and 95th percentile while 50 questions run, of which none was asked before."""
    asking = [threading.Thread(target=_asked, args=(site, token, 100 + number)) for number in range(QUESTIONS)]
    for one in asking:
        one.start()
    found: dict[str, list[float]] = {page: [] for page in pages}
    while any(one.is_alive() for one in asking):
        for page, (by, path) in pages.items():
            began = time.perf_counter()
            _got(site, by, path)
            found[page].append((time.perf_counter() - began) * 1000)
    for one in asking:
        one.join()
    return {page: (statistics.median(times), sorted(times)[int(len(times) * 0.95)]) for page, times in found.items()}


if __name__ == "__main__":
    main()
