"""A private cluster of Apache Pinot for tests and benchmarks: on loopback, in processes of its own, ended by their ids.

ZooKeeper, a controller, a broker and two servers, the second of them in a Java of its own, so that it can be killed.
The programs come from Maven Central, once, into a folder outside of the tree: HUSHCOUNT_PINOT, or the user's cache.
Java 17 or newer and Maven must be there (Debian: the packages `openjdk-17-jre-headless` and `maven`).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import IN_CI, RUNNING
from tests.pinot_tls import CA_FILE, make_certificate, secured
from tests.spark import find_java

HERE = Path(__file__).resolve().parent / "pinot_cluster"
MISSING = "no Java 17 or no Maven: install the packages 'openjdk-17-jre-headless' and 'maven' to run these tests"
_MAIN = "org.apache.pinot.tools.admin.PinotAdministrator"
_SPARE = ("-XX:+UseSerialGC", "-XX:-UsePerfData", "-XX:+ExitOnOutOfMemoryError")
# Tests are over before Java's second compiler pays.
_QUICK = "-XX:TieredStopAtLevel=1"
# A server that was killed is forgotten after ten seconds, not thirty: so long do the tests wait for it.
_FORGETTING = "-Dzk.session.timeout=10000"
# Starting takes half a minute, on a busy machine some.
_PATIENCE = 240.0
# So many groups of a segment a server counts before it gives up. One test has more.
GROUPS = 20_000


def find_programs() -> Path | None:
    """The folder of Pinot's programs, fetched if need be; None if there is nothing to run or to fetch them with."""
    said = os.environ.get("HUSHCOUNT_PINOT")
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(said) if said else caches / "hushcount" / "pinot-0.11.0"
    if find_java() is None:
        return None
    if not (folder / ".done").exists():
        if shutil.which("mvn") is None:
            return None
        _fetch(folder)
    return folder


def _fetch(folder: Path) -> None:
    """All or nothing, so that two who fetch at once do not meet half a folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    half = Path(tempfile.mkdtemp(prefix="pinot-", dir=folder.parent))
    words = ("dependency:copy-dependencies", f"-DoutputDirectory={half}", "-DincludeScope=runtime")
    # In a folder of its own: Maven writes beside the file that it reads.
    shutil.copy(HERE / "pom.xml", half / "pom.xml")
    done = subprocess.run(  # noqa: S603 (our own words)
        [str(shutil.which("mvn")), "-B", "-q", "-f", str(half / "pom.xml"), *words],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        shutil.rmtree(half, ignore_errors=True)
        raise RuntimeError(f"Pinot could not be fetched: {done.stdout[-2000:]}")
    (half / ".done").touch()
    try:
        half.rename(folder)
    except OSError:
        # Somebody else was first.
        shutil.rmtree(half, ignore_errors=True)


def need_pinot() -> Path:
    """Fail a test that is not known to be one of Pinot; skip one where there is no Java or Maven, or in CI fail it."""
    if any(item.get_closest_marker("pinot") is None for item in RUNNING):
        pytest.fail("this test starts Pinot: put it into tests/integration/pinot or tests/conformance/engines/pinot")
    found = find_programs()
    if found is None:
        if IN_CI:
            pytest.fail(f"{MISSING} (CI is set, so this is a failure and not a skip)")
        pytest.skip(MISSING)
    return found


@dataclass(frozen=True, kw_only=True)
class Daemon:
    """A process and where it writes."""

    process: subprocess.Popen[bytes]
    log: Path

    def kill(self) -> None:
        """Gone without a word."""
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=_PATIENCE)


@dataclass(kw_only=True)
class Cluster:
    """A cluster that belongs to nobody else."""

    programs: Path
    folder: Path
    groups: int = GROUPS
    flags: tuple[str, ...] = (_QUICK,)
    ports: dict[str, int] = field(default_factory=dict)
    daemons: dict[str, Daemon] = field(default_factory=dict)

    @property
    def controller(self) -> str:
        """The controller's address."""
        return f"http://127.0.0.1:{self.ports['controller']}"

    def address(self, table: str, **more: object) -> str:
        """The address of a table, as the engine takes it; `broker` names another port."""
        port = more.pop("broker", self.ports["broker"])
        said = urllib.parse.urlencode({"controller": f"127.0.0.1:{self.ports['controller']}", **more})
        return f"pinot://127.0.0.1:{port}/{table}?{said}"

    def start(self) -> None:
        """Everything, until all of it says that it is well."""
        names = ("zk", "controller", "broker", "net1", "admin1", "net2", "admin2", "secure2")
        make_certificate(self.folder)
        self.ports = dict(zip(names, free_ports(len(names)), strict=True))
        zk = ("StartZookeeper", "-zkPort", str(self.ports["zk"]), "-dataDir", str(self.folder / "zk"))
        self.daemons["zk"] = self.run("zk", *zk, heap="128m")
        self.wait(lambda: socket.create_connection(("127.0.0.1", self.ports["zk"]), 1).close())
        written = [self._write("controller"), self._write("broker"), self._write("server1")]
        self.begin("pinot", *written, heap="1g")
        self.wait(lambda: get(f"{self.controller}/health"))
        self.start_second()
        self.wait(lambda: get(f"http://127.0.0.1:{self.ports['broker']}/health"))
        self.wait(lambda: get(f"http://127.0.0.1:{self.ports['admin1']}/health"))

    def start_second(self) -> None:
        """The second server, for the first time or again."""
        written = self._write("server2")
        self.daemons["server2"] = self.run("server2", "StartServer", "-configFileName", str(written), heap="512m")
        self.wait(lambda: get(f"http://127.0.0.1:{self.ports['admin2']}/health"))

    def begin(self, name: str, *written: Path, heap: str = "512m") -> None:
        """Machines with these configurations, all in one Java; they are awaited later."""
        manager = ("StartServiceManager", "-clusterName", "pinot", "-port", str(*free_ports(1)))
        reached = ("-zkAddress", f"127.0.0.1:{self.ports['zk']}", "-bootstrapConfigPaths", *map(str, written))
        self.daemons[name] = self.run(name, *manager, *reached, heap=heap)

    def write_broker(self, name: str, *, secure: bool = False, **settings: str) -> Path:
        """The configuration of one more broker, with settings of its own."""
        self.ports[name], spare = free_ports(2)
        # With TLS the plain port stays, and is another one.
        own = secured("pinot.broker", "pinot.broker.client", self.folder, self.ports[name]) if secure else {}
        port = spare if secure else self.ports[name]
        return self._write("broker", name, **{"pinot.broker.client.queryPort": str(port), **own, **settings})

    def write_controller(self, name: str, **settings: str) -> Path:
        """The configuration of one more controller, behind TLS alone, with settings of its own."""
        [self.ports[name]] = free_ports(1)
        own = secured("controller", "controller", self.folder, self.ports[name])
        written = self._write("controller", name, **{**own, **settings})
        text = written.read_text(encoding="utf-8")
        written.write_text(text.replace(f"controller.port={self.ports['controller']}\n", ""), encoding="utf-8")
        return written

    def wait_for_machine(self, name: str, *, secure: bool = False) -> None:
        """Until a broker or a controller says that it is well."""
        scheme, ca_file = ("https", self.folder / CA_FILE) if secure else ("http", None)
        self.wait(lambda: get(f"{scheme}://127.0.0.1:{self.ports[name]}/health", ca_file))

    def stop(self) -> None:
        """End everything, ZooKeeper last."""
        for name in reversed(self.daemons):
            self.daemons[name].kill()

    def run(self, name: str, *words: str, heap: str) -> Daemon:
        """One of Pinot's programs."""
        log = self.folder / f"{name}.log"
        command = [
            str(find_java()),
            f"-Xmx{heap}",
            *_SPARE,
            *self.flags,
            _FORGETTING,
            f"-Dlog4j2.configurationFile={HERE / 'log4j2.xml'}",
        ]
        with log.open("ab") as file:
            process = subprocess.Popen(  # noqa: S603 (our own words)
                [*command, "-cp", f"{self.programs}/*", _MAIN, *words],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return Daemon(process=process, log=log)

    def _write(self, role: str, name: str | None = None, **settings: str) -> Path:
        """The configuration of a role."""
        ports, folder = self.ports, self.folder
        own: dict[str, object] = {
            "pinot.cluster.name": "pinot",
            "pinot.zk.server": f"127.0.0.1:{ports['zk']}",
            "pinot.service.role": role.rstrip("12").upper(),
        }
        if role == "controller":
            own |= {
                "controller.helix.cluster.name": "pinot",
                "controller.zk.str": f"127.0.0.1:{ports['zk']}",
                "controller.host": "127.0.0.1",
                "controller.port": ports["controller"],
                "controller.data.dir": folder / "controller",
            }
        elif role == "broker":
            own |= {
                "pinot.broker.hostname": "127.0.0.1",
                "pinot.broker.client.queryPort": ports[name or "broker"],
                "pinot.broker.timeoutMs": 60000,
            }
        else:
            number = role[-1]
            own |= {
                "pinot.server.netty.host": "127.0.0.1",
                "pinot.server.netty.port": ports[f"net{number}"],
                "pinot.server.adminapi.port": ports[f"admin{number}"],
                "pinot.server.grpc.enable": "false",
                "pinot.server.instance.dataDir": folder / role / "index",
                "pinot.server.instance.segmentTarDir": folder / role / "tar",
                "pinot.server.query.executor.timeout": 60000,
                "pinot.server.query.executor.num.groups.limit": self.groups,
                "pinot.server.query.executor.max.init.group.holder.capacity": 1000,
            }
        if role == "server2":
            # At two ports, one of them behind TLS.
            api = "pinot.server.adminapi"
            own |= secured("pinot.server", api, folder, ports["secure2"])
            own |= {f"{api}.access.protocols": "http,https", f"{api}.access.protocols.http.port": ports["admin2"]}
        path = folder / f"{name or role}.conf"
        path.write_text("".join(f"{key}={value}\n" for key, value in (own | settings).items()), encoding="utf-8")
        return path

    def wait(self, ready: Callable[[], object]) -> None:
        """Until something no longer fails; fails itself if one of the programs has ended."""
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                ready()
            except (OSError, ValueError):
                for name, daemon in self.daemons.items():
                    if daemon.process.poll() is not None:
                        text = daemon.log.read_text(encoding="utf-8", errors="replace")
                        raise RuntimeError(f"{name} of Pinot ended: {text[-3000:]}") from None
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)
            else:
                return

    def make_schema(self, table: str, columns: Mapping[str, str | dict[str, Any]], *, at: str | None = None) -> None:
        """Columns by name with their type, or with more of their specification; `at` is one more, of times."""
        specs = [
            {"name": name, **(kind if isinstance(kind, dict) else {"dataType": kind})} for name, kind in columns.items()
        ]
        times = {"dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:MILLISECONDS"}
        moments = [] if at is None else [{"name": at, **times}]
        body = {"schemaName": table, "dimensionFieldSpecs": specs, "dateTimeFieldSpecs": moments}
        post(f"{self.controller}/schemas", body)

    def make_table(self, table: str, columns: Mapping[str, str | dict[str, Any]] | None, **config: object) -> None:
        """A table without segments, and its schema, unless that is there."""
        if columns is not None:
            self.make_schema(table, columns)
        post(
            f"{self.controller}/tables",
            {
                "tableName": table,
                "tableType": "OFFLINE",
                "tenants": {},
                "metadata": {},
                "segmentsConfig": {"schemaName": table, "replication": "1"},
                "tableIndexConfig": {"loadMode": "MMAP"},
                **config,
            },
        )

    def push(self, table: str, segment: str, rows: Sequence[Mapping[str, object]]) -> None:
        """A segment of these rows, in place of one of the same name; a value of None is missing."""
        lines = "".join(
            json.dumps({name: value for name, value in row.items() if value is not None}) + "\n" for row in rows
        )
        self.push_file(table, segment, lines.encode(), "json")

    def push_file(self, table: str, segment: str, data: bytes, kind: str) -> None:
        """A segment of what a file holds."""
        settings = {
            "inputFormat": kind,
            "segmentNameGenerator.type": "fixed",
            "segmentNameGenerator.configs.segment.name": segment,
        }
        words = {"tableNameWithType": f"{table}_OFFLINE", "batchConfigMapStr": json.dumps(settings)}
        head = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{segment}.{kind}"\r\n\r\n'.encode()
        post(
            f"{self.controller}/ingestFromFile?{urllib.parse.urlencode(words)}",
            head + data + b"\r\n--x--\r\n",
            kind="multipart/form-data; boundary=x",
        )

    def load(
        self,
        table: str,
        columns: Mapping[str, str | dict[str, Any]] | None,
        *parts: Sequence[Mapping[str, Any]],
        **config: object,
    ) -> str:
        """A table of one segment for each part, when all of it can be asked; its address."""
        self.make_table(table, columns, **config)
        for number, part in enumerate(parts):
            self.push(table, f"{table}_{number}", part)
        self.wait_for(table, sum(map(len, parts)))
        return self.address(table)

    def wait_for(self, table: str, docs: int) -> None:
        """Until the broker has heard of so many rows."""
        end = time.monotonic() + 60
        told: dict[str, Any] = {}
        while time.monotonic() < end:
            told = self.ask(f'SELECT COUNT(*) FROM "{table}"')  # noqa: S608 (our own)
            if not told["exceptions"] and told["totalDocs"] == docs:
                return
            time.sleep(0.05)
        raise TimeoutError(f"{table}: {told}")

    def ask(self, sql: str, *, broker: int | None = None, **options: object) -> dict[str, Any]:
        """What a broker answers, unchecked."""
        said = ";".join(f"{name}={value}" for name, value in options.items())
        port = broker or self.ports["broker"]
        found: dict[str, Any] = post(f"http://127.0.0.1:{port}/query/sql", {"sql": sql, "queryOptions": said})
        return found


def get(address: str, ca_file: Path | None = None) -> Any:
    """What is there; JSON, or else a text."""
    return _exchanged(urllib.request.Request(address), ca_file)  # noqa: S310  our own cluster


def post(address: str, body: object, *, kind: str = "application/json") -> Any:
    """What is answered to a body."""
    data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return _exchanged(urllib.request.Request(address, data=data, headers={"Content-Type": kind}))  # noqa: S310  as above


def delete(address: str) -> Any:
    """What is answered when something is taken away."""
    return _exchanged(urllib.request.Request(address, method="DELETE"))  # noqa: S310  as above


def _exchanged(request: urllib.request.Request, ca_file: Path | None = None) -> Any:
    trusted = ssl.create_default_context(cafile=ca_file) if ca_file else None
    try:
        with urllib.request.urlopen(request, timeout=120, context=trusted) as answer:  # noqa: S310  our own cluster
            return _parsed(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            words = f"{request.full_url}: {error.code} {error.read()[:2000]!r}"
    raise ConnectionError(words)


def _parsed(told: bytes) -> Any:
    try:
        return json.loads(told)
    except ValueError:
        return told.decode()


def free_ports(number: int) -> list[int]:
    """So many ports that nobody uses now."""
    held = [socket.socket() for _ in range(number)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


@contextmanager
def running_cluster(programs: Path | None = None, **more: Any) -> Iterator[Cluster]:
    """A running cluster, ended and removed afterwards, whatever happens; `more` are further fields of it."""
    found = programs or find_programs()
    if found is None:
        raise FileNotFoundError(MISSING)
    folder = Path(tempfile.mkdtemp(prefix="hushcount-pinot-"))
    cluster = Cluster(programs=found, folder=folder, **more)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


def shared_cluster() -> Cluster:
    """The cluster of all tests of a run: started when first asked for, ended after the last test."""
    return _shared(need_pinot())


@cache
def _shared(programs: Path) -> Cluster:
    started = ExitStack()
    cluster = started.enter_context(running_cluster(programs))
    RUNNING[0].config.add_cleanup(started.close)
    return cluster
