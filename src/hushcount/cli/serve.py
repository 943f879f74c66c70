"""The verb `serve`: questions over HTTP, about one file for one person, or as a configuration says."""

from __future__ import annotations

import atexit
import gc
import json
import os
import shlex
import signal
import sys
import tempfile
from pathlib import Path
from socket import IPPROTO_TCP, TCP_NODELAY
from typing import TYPE_CHECKING, Any

import click

from hushcount.cli.failures import told

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

    import uvicorn
    from fastapi import FastAPI

    from hushcount.api.edge import Observer
    from hushcount.api.metrics import Metrics
    from hushcount.api.work import Worker
    from hushcount.app.serving.jobs.running import Telling
    from hushcount.app.serving.service import Service
    from hushcount.app.serving.setup.config import AlertsTo, Config, Listen

# How workers, which are processes of their own, learn what they serve.
_SAID = "HUSHCOUNT_SERVE"
_SHARED = "PROMETHEUS_MULTIPROC_DIR"
_FAILED = 3
# Beyond what running questions get, to close everything.
_CLOSING = 5
_PATIENCE = 10
_SWITCH = 0.0002
# How often, and after how many seconds each, it is looked whether there is something to open a browser for.
_TRIES, _BETWEEN = 100, 0.2


@click.command()
@click.argument("file", metavar="[FILE]", required=False)
@click.option("--config", "config", metavar="TOML", help="Serve what this file says, to whoever may sign in.")
@click.option("--user", metavar="COLUMN", help="With FILE: the column that says who a row belongs to; else it asks.")
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="Listen here instead; 0 takes a free one.")
@click.option("--init", "init", metavar="NAME", help="With --config: print a one-time invitation to own it, for NAME.")
@click.option("--check", is_flag=True, help="Say what it would do, and start nothing.")
@click.option("--ledger", metavar="PLACE", help="With FILE: where spending is kept.")
@click.option("--browser/--no-browser", default=None, help="Open a browser; with FILE it does, where there is one.")
def serve(**given: Any) -> None:  # noqa: ANN401  click hands over all options by name
    """Answer questions over HTTP: about FILE for yourself, or as --config says for others."""
    with told():
        said = {name: given[name] for name in ("file", "config", "user", "port", "ledger")}
        config = _config(said, os.environ)
        if given["check"]:
            _check(config)
            return
        if given["init"]:
            _invite(config, given["init"])
            return
    sys.exit(_serve(config, said, browser=_wants_browser(config, given["browser"])))


def worker() -> FastAPI:
    """The application of one worker; uvicorn calls it in each process."""
    # Nearly all that importing makes is kept: looking for what is not takes a tenth of the start.
    gc.disable()
    from hushcount.api.logs import set_up

    # A thread that computes lets others go on after a small part of what Python usually gives it: a request goes
    # through several threads and speaks to the ledger in several sentences, and would wait that long after each of them
    # while questions run.
    sys.setswitchinterval(_SWITCH)
    config = _config(json.loads(os.environ[_SAID]), os.environ)
    set_up(config.observe.logs)
    metrics = _metrics() if os.environ.get(_SHARED) else None
    opening = _begun(config, None if metrics is None else metrics.telling)
    from hushcount.api.app import opening_app
    from hushcount.api.edge import together
    from hushcount.console.pages import routers

    observe = together(None if metrics is None else metrics.observe, _tracing(config.observe.otlp))
    app = opening_app(config, opening, observe=observe, opened=_hear, pages=routers())
    gc.freeze()
    gc.enable()
    # In the end Python must be able to let go of everything: DuckDB's binding says of what is left that it leaks.
    atexit.register(gc.unfreeze)
    return app


def _metrics() -> Metrics:
    """The counters of this process."""
    from hushcount.api.metrics import make_metrics

    return make_metrics()


def _begun(config: Config, telling: Telling | None) -> Callable[[], Service]:
    """Begin to open the service: data is read by threads of its store's own, while this one goes on importing.

    Returns:
        what waits for the service that was begun; called again, if its ledger was away, it opens one anew.
    """
    from concurrent.futures import ThreadPoolExecutor

    # All that opening and answering have in common is imported before there are two who import.
    import hushcount.app.serving.opening  # noqa: F401

    with_one = ThreadPoolExecutor(1, thread_name_prefix="opening")
    begun = [with_one.submit(_opened, config, telling)]
    with_one.shutdown(wait=False)
    return lambda: begun.pop().result() if begun else _opened(config, telling)


def _tracing(collector: str | None) -> Observer | None:
    """What sends traces, if that was asked for. What is left is sent when the process ends."""
    if collector is None:
        return None
    from hushcount.api.tracing import start_tracing

    return start_tracing(collector).observe


def _hear(worker: Worker) -> None:
    """Let whoever waits go as soon as the process is asked to end; uvicorn, which heard it first, does the rest."""
    before = signal.getsignal(signal.SIGTERM)

    def ending(number: int, frame: FrameType | None) -> None:
        worker.stopping = True
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGTERM, ending)


def _config(said: Mapping[str, Any], environment: Mapping[str, str]) -> Config:
    """What to serve: one file, or what a configuration says."""
    from dataclasses import replace

    from hushcount.app.serving.setup.config import Listen, single
    from hushcount.app.serving.setup.config_file import read_config
    from hushcount.errors import InvalidParameter
    from hushcount.library.surroundings import look_around

    if (said["file"] is None) == (said["config"] is None):
        hint = "Write: hushcount serve FILE, or: hushcount serve --config TOML"
        raise InvalidParameter("serve", "nothing" if said["file"] is None else "both", "one file or --config", hint)
    if said["config"] is not None:
        config = read_config(Path(said["config"]), environment)
        if said["port"] is None:
            return config
        listen = replace(config.server.listen, port=said["port"])
        return replace(config, server=replace(config.server, listen=listen))
    here = None if said["port"] is None else Listen(host="127.0.0.1", port=said["port"])
    return single(said["file"], places=look_around(ledger=said["ledger"]), person=said["user"] or "", listen=here)


def _check(config: Config) -> None:
    from hushcount.app.serving.setup.config import explain

    for sentence in explain(config):
        click.echo(sentence)
    click.echo("Nothing was started.")


def _invite(config: Config, person: str) -> None:
    """Print a one-time invitation; whoever calls first is never the owner by that alone."""
    from hushcount.app.serving.callers.invitations import invite
    from hushcount.errors import InvalidParameter

    if config.auth.local:
        raise InvalidParameter("init", "a service for one person", "with --config", "You own it already.")
    with _opened(config) as service:
        made = invite(service.setting, service.tokens_key, person=person, by=service.setting.analyst)
    url = config.server.public_url or f"http://{config.server.listen}"
    body = shlex.quote(json.dumps({"invitation": made.text.text}))
    click.echo(f"{person} is invited to own this service, until {made.expires:%Y-%m-%d %H:%M} UTC. It works once:")
    click.echo(f"  curl -X POST {url}/v1/invitations -H 'Content-Type: application/json' -d {body}")
    click.echo("The reply has their first token, which is shown that once. In a browser the same is:")
    click.echo(f"  {made.link(url)}")


def _opened(config: Config, telling: Telling | None = None) -> Service:
    """Open the service; a failure is told in a sentence, since it is the last that is seen of this process.

    What passes is not: whoever waits for it says so.
    """
    from hushcount.app.serving.opening import open_service
    from hushcount.errors import HushcountError

    try:
        return open_service(config, telling=telling)
    except HushcountError as error:
        if not getattr(error, "passes", False):
            click.echo(f"hushcount: {error}", err=True)
        raise


def _wants_browser(config: Config, said: bool | None) -> bool:  # noqa: FBT001  as click hands it over
    """Whether to open a browser: as it was said; else for the person who sits here, if they have windows."""
    if said is not None:
        return said
    windows = sys.platform in {"darwin", "win32"} or bool({"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ))
    return config.auth.local and windows and sys.stdout.isatty()


def _serve(config: Config, said: Mapping[str, Any], *, browser: bool) -> int:
    """Run until a signal; the exit code."""
    with told():
        _require_server(config)
        os.environ[_SAID] = json.dumps(dict(said))
        server = _server(config)
        socket = server.bind_socket()
        # Connections inherit it. Without it an answer's head waits until the other side has confirmed what came before.
        socket.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        url = _announce(config, socket.getsockname()[1])
        if browser:
            _open_browser(url)
    with tempfile.TemporaryDirectory(prefix="hushcount-metrics-") as shared:
        if config.observe.metrics is not None:
            os.environ[_SHARED] = shared
            with told():
                _serve_metrics(config, config.observe.metrics, shared)
        if config.alerts is not None:
            with told():
                _start_alerts(config, config.alerts)
        # uvicorn hears signals itself, and raises them once more when it has ended in good order.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        if config.server.workers == 1:
            # Workers are replaced one by one; the only one stays, instead of ending with whoever it answers.
            signal.signal(signal.SIGHUP, lambda *_: None)
        return _FAILED if _failed(server, socket) else 0


def _serve_metrics(config: Config, listen: Listen, shared: str) -> None:
    """Serve what the workers add up, and what this first process sees of the ledger."""
    from hushcount.api.metrics import serve_metrics
    from hushcount.app.serving.lookout import Lookout
    from hushcount.app.serving.opening import open_setting

    lookout = Lookout(lambda: open_setting(config))
    serve_metrics(listen, shared=shared, seen=lambda: lookout.seen)
    lookout.start()


def _start_alerts(config: Config, where: AlertsTo) -> None:
    """Let this first process tell what owners should know at once."""
    from hushcount.app.serving.alerts.alerts import Alerts
    from hushcount.app.serving.alerts.hooks import Hook
    from hushcount.app.serving.opening import open_setting
    from hushcount.app.serving.setup.keyfiles import read_password

    Alerts(lambda: open_setting(config), Hook(url=where.to, secret=read_password(where.secret_file))).start()


def _failed(server: uvicorn.Config, socket: Any) -> bool:  # noqa: ANN401  a socket
    from uvicorn import Server

    if server.workers > 1:
        from hushcount.api.workers import Workers

        all_workers = Workers(server, sockets=[socket])
        all_workers.run()
        return any(process.exitcode == _FAILED for process in all_workers.processes)
    one = Server(server)
    one.run([socket])
    # It may also have ended for what was wrong with a ledger that it had waited for.
    return not one.started or one.lifespan.should_exit


def _server(config: Config) -> uvicorn.Config:
    """How uvicorn runs: it believes no forwarded address, says nothing of itself, and logs no paths."""
    import uvicorn

    return uvicorn.Config(
        "hushcount.cli.serve:worker",
        factory=True,
        host=config.server.listen.host,
        port=config.server.listen.port,
        workers=config.server.workers,
        http="hushcount.api.draining:DrainingProtocol",
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_config=None,
        lifespan="on",
        timeout_graceful_shutdown=round(config.server.graceful.total_seconds()) + _CLOSING,
        # A new worker opens the ledger and meets the data before it answers. Not for long: as long as one is waited
        # for, no other that died is replaced.
        timeout_worker_healthcheck=_PATIENCE,
    )


def _require_server(config: Config) -> None:
    """Tell before anything starts that packages are missing."""
    from importlib.util import find_spec

    from hushcount.errors import MissingExtra

    for package in ("fastapi", "jinja2", "uvicorn"):
        if find_spec(package) is None:
            raise MissingExtra(package, "pip install 'hushcount[server]'")
    # Workers import it for themselves; where there is one worker this process is it.
    if config.observe.otlp is not None and find_spec("opentelemetry") and not find_spec("opentelemetry.sdk"):
        raise MissingExtra("opentelemetry-sdk", "pip install 'hushcount[otel]'")


def _announce(config: Config, port: int) -> str:
    """Print the address, one line to try it with, and where its pages are; the address."""
    listen = config.server.listen
    host = f"[{listen.host}]" if ":" in listen.host else listen.host
    url = config.server.public_url or f"http://{host}:{port}"
    click.echo(f"Serving at {url}")
    sign = "" if config.auth.local else " -H 'Authorization: Bearer TOKEN'"
    click.echo(f"Try:  curl{sign} {url}/v1/datasets")
    click.echo(f"Open: {url}/console")
    sys.stdout.flush()
    return url


def _open_browser(url: str) -> None:
    """Open the console as soon as the server answers, if there is a browser to open."""
    import threading
    import time
    import webbrowser
    from urllib.error import URLError
    from urllib.request import urlopen

    def opened() -> None:
        for _ in range(_TRIES):
            time.sleep(_BETWEEN)
            try:
                # Our own address, as it was printed.
                with urlopen(f"{url}/readyz", timeout=_PATIENCE):  # noqa: S310
                    webbrowser.open(f"{url}/console")
                    return
            except URLError:
                continue

    threading.Thread(target=opened, name="browser", daemon=True).start()
