"""The state of a table: which segments it is made of, as its controller and its servers agree, and so its version.

The version is a digest of the names and checksums (CRC) of all segments, and of the schema. The same rows pushed again
give the same version. Of two states that have the same segments, one may have been replaced and put back meanwhile:
the times of pushing tell them apart, and are in no version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from typing import Any
from urllib.parse import quote

from hushcount.engines.pinot.address import Address, Machine
from hushcount.engines.pinot.complete import check_loaded, check_online, check_table, unreachable
from hushcount.engines.pinot.schema import PinotColumn, read_schema
from hushcount.engines.pinot.web import Sent, Web, WebAnswer, WebRequest
from hushcount.errors import HushcountError, StoreFailed, StoreTimeout
from hushcount.model.frozen import frozen

_PARTS = ("", "/schema", "/idealstate", "/externalview")
_TIMES = ("segment.creation.time", "segment.push.time", "segment.refresh.time")


@frozen
class Segment:
    """One segment: its name, the checksum of what it holds, its number of rows, and when it was made and pushed."""

    name: str
    crc: str
    docs: int
    times: tuple[str | None, ...]


@frozen
class State:
    """A table as all machines agree on it, its segments in the order of their names."""

    segments: tuple[Segment, ...]
    columns: tuple[PinotColumn, ...]

    @property
    def docs(self) -> int:
        """How many rows the table has."""
        return sum(segment.docs for segment in self.segments)

    @property
    def version(self) -> str:
        """A digest that changes whenever rows or columns do."""
        crcs = [(segment.name, segment.crc) for segment in self.segments]
        columns = [(column.name, column.type_name, column.kind, column.missing) for column in self.columns]
        return f"pinot-{hashlib.sha256(json.dumps([crcs, columns]).encode()).hexdigest()}"


@frozen
class TableLook:
    """A look at the table that is under way: everybody who is known was asked, and nobody's answer was read.

    Attributes:
        asked: how many requests go to the controller; then comes one for each server.
        servers: the servers that were asked.
        sent: what was asked.
    """

    asked: int
    servers: Mapping[str, Machine]
    sent: Sent

    def close(self) -> None:
        """Nobody wants to know any more; after its end it does nothing."""
        self.sent.close()


class Observer:
    """Reads the state of one table. Any number of threads may.

    Who must be asked hardly ever changes: it is remembered, and all of them are asked at the same time. In which order
    they answer does not matter. A push changes the controller's list first and what servers have loaded a moment later:
    if they agree, and the list is the same afterwards, nothing else was loaded in between. One case escapes: a segment
    that is replaced twice, the second time by what it was, within the moment that loading takes.
    """

    def __init__(self, web: Web, address: Address) -> None:
        self._web, self._address = web, address
        self._servers: dict[str, Machine] = {}
        # Under which name ZooKeeper knows the cluster; empty where nobody may ask it.
        self._cluster: str | None = None

    def read(self) -> State:
        """The state now.

        Raises:
            StoreIncomplete: machines do not agree on it, or a segment is not where it should be.
            StoreFailed: the controller cannot be asked.
        """
        with closing(self.begin()) as look:
            return self.end(look)

    def begin(self) -> TableLook:
        """Ask everybody who is known."""
        if self._cluster is None:
            self._cluster = self._find_cluster()
        table, cluster, servers = quote(self._address.table), self._cluster, self._servers
        asked = [f"/tables/{table}{part}" for part in _PARTS]
        if cluster:
            asked.append(_node("getChildren", f"/{cluster}/PROPERTYSTORE/SEGMENTS/{self._address.table}_OFFLINE"))
        sent = self._web.send([*map(self._of_controller, asked), *map(self._of_server, servers.values())])
        return TableLook(asked=len(asked), servers=servers, sent=sent)

    def end(self, look: TableLook) -> State:
        """The state that they tell of; raises as `read`."""
        try:
            return self._read(look)
        except HushcountError:
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
            # Not what any version says that is known: nothing can be concluded from it.
            pass
        raise unreachable("the controller tells of the table in words that are not known")

    def _read(self, look: TableLook) -> State:
        answers = look.sent.answers()
        config, schema, ideal, external = [answer.told() for answer in answers[: len(_PARTS)]]
        check_table(config)
        columns = read_schema(schema)
        where = check_online(*((told or {}).get("OFFLINE") for told in (ideal, external)))
        nodes = [answer.said for answer in answers[len(_PARTS) : look.asked]]
        segments = self._segments(sorted(where), nodes[0] if nodes else None)
        loaded = dict(zip(look.servers, answers[look.asked :], strict=True))
        loaded |= self._new({server for held in where.values() for server in held} - loaded.keys())
        check_loaded(where, {segment.name: segment.crc for segment in segments}, self._kept(where, loaded))
        return State(segments=segments, columns=columns)

    def _of_controller(self, path: str) -> WebRequest:
        return WebRequest(machine=self._address.controller, path=path)

    def _of_server(self, machine: Machine) -> WebRequest:
        """The checksums of what it has loaded."""
        return WebRequest(machine=machine, path=f"/tables/{quote(self._address.table)}_OFFLINE/segments/crc")

    def _told(self, paths: Iterable[str]) -> list[dict[str, Any]]:
        return [answer.told() for answer in self._web.ask([self._of_controller(path) for path in paths])]

    def _new(self, names: set[str]) -> dict[str, WebAnswer]:
        """What servers say that were not known until now."""
        new = sorted(names)
        places = [f"/instances/{quote(server)}" for server in new]
        # The ports at which servers speak TLS are told by ZooKeeper alone.
        nodes = [_node("get", f"/{self._cluster}/CONFIGS/PARTICIPANT/{server}") for server in new if self._cluster]
        found = self._web.ask([*map(self._of_controller, places), *map(self._of_controller, nodes)])
        try:
            told = [answer.told() for answer in found[: len(new)]]
        except (StoreFailed, StoreTimeout):
            raise unreachable("the controller does not tell where the servers are") from None
        secure = [(answer.said or {}).get("simpleFields", {}).get("adminHttpsPort", 0) for answer in found[len(new) :]]
        ports = secure or [0] * len(new)
        machines = {server: self._machine(one, int(port)) for server, one, port in zip(new, told, ports, strict=True)}
        self._servers = {**self._servers, **machines}
        return dict(zip(machines, self._web.ask([*map(self._of_server, machines.values())]), strict=True))

    def _machine(self, told: dict[str, Any], secure: int) -> Machine:
        """A server: over TLS if it speaks it and the controller does, or if it speaks nothing else.

        What a broker is answered by servers goes over their network as it is set up; so does what they tell us.
        """
        host, plain = str(told["hostName"]).removeprefix("Server_"), int(told["adminPort"])
        tls = secure > 0 and (self._address.controller.tls or plain <= 0)
        return Machine(role="a server", host=host, port=secure if tls else plain, tls=tls)

    def _kept(self, where: Mapping[str, Collection[str]], loaded: dict[str, WebAnswer]) -> dict[str, dict[str, str]]:
        """For each server of the table what it has loaded. One that fails, or has left the table, is forgotten."""
        wanted = {server for held in where.values() for server in held}
        said = {server: loaded[server] for server in wanted}
        well = {server for server, answer in said.items() if answer.failure is None}
        self._servers = {server: machine for server, machine in self._servers.items() if server in well}
        if len(well) < len(wanted):
            raise unreachable("a server that should have segments does not tell what it has loaded")
        return {server: answer.said for server, answer in said.items()}

    def _segments(self, names: list[str], nodes: list[dict[str, Any]] | None) -> tuple[Segment, ...]:
        """All segments as the controller has them: in one answer, or, where nobody may ask for that, one by one."""
        told: dict[str, dict[str, Any]]
        if nodes:
            told = {node["id"]: node["simpleFields"] for node in nodes}
        else:
            self._cluster = ""
            table = quote(self._address.table)
            each = self._told(f"/segments/{table}/{quote(name, safe='')}/metadata" for name in names)
            told = dict(zip(names, each, strict=True))
        return tuple(_segment(name, told[name]) for name in sorted(told))

    def _find_cluster(self) -> str:
        """The name of the cluster, if the controller tells it; else empty."""
        try:
            [told] = self._told(["/cluster/info"])
            return str(told["clusterName"])
        except (StoreFailed, LookupError, TypeError):
            return ""


def _node(verb: str, path: str) -> str:
    return f"/zk/{verb}?path={quote(path, safe='')}"


def _segment(name: str, told: dict[str, Any]) -> Segment:
    times = tuple(told.get(time) for time in _TIMES)
    return Segment(name=name, crc=str(told["segment.crc"]), docs=int(told["segment.total.docs"]), times=times)
