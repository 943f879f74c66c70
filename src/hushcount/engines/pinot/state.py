"""The state of a table: which segments it is made of, as its controller and its servers agree, and so its version.

The version is a digest of the names and checksums (CRC) of all segments, and of the schema. The same rows pushed again
give the same version. Of two states that have the same segments, one may have been replaced and put back meanwhile:
the times of pushing tell them apart, and are in no version.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from hushcount.engines.pinot.address import Address, Machine
from hushcount.engines.pinot.complete import check_loaded, check_online, check_table, unreachable
from hushcount.engines.pinot.schema import PinotColumn, read_schema
from hushcount.engines.pinot.web import Web
from hushcount.errors import HushcountError, StoreFailed, StoreTimeout

_TIMES = ("segment.creation.time", "segment.push.time", "segment.refresh.time")


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One segment: its name, the checksum of what it holds, its number of rows, and when it was made and pushed."""

    name: str
    crc: str
    docs: int
    times: tuple[str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
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


class Observer:
    """Reads the state of one table. Any number of threads may."""

    def __init__(self, web: Web, address: Address) -> None:
        self._web, self._address = web, address
        self._servers: dict[str, Machine] = {}
        self._nodes: str | None = None

    def read(self) -> State:
        """The state now.

        Raises:
            StoreIncomplete: machines do not agree on it, or a segment is not where it should be.
            StoreFailed: the controller cannot be asked.
        """
        try:
            return self._read()
        except HushcountError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError):
            # Not what any version says that is known: nothing can be concluded from it.
            pass
        raise unreachable("the controller tells of the table in words that are not known")

    def _read(self) -> State:
        table = quote(self._address.table)
        parts = ("", "/schema", "/idealstate", "/externalview")
        config, schema, ideal, external = self._told(*(f"/tables/{table}{part}" for part in parts))
        check_table(config)
        columns = read_schema(schema)
        where = check_online(*((told or {}).get("OFFLINE") for told in (ideal, external)))
        segments = self._segments(sorted(where))
        crc = {segment.name: segment.crc for segment in segments}
        check_loaded(where, crc, self._loaded(sorted({server for servers in where.values() for server in servers})))
        return State(segments=segments, columns=columns)

    def _told(self, *paths: str) -> list[dict[str, Any]]:
        return self._web.get_all([(self._address.controller, path) for path in paths])

    def _loaded(self, servers: list[str]) -> dict[str, dict[str, str]]:
        """For each server the checksums of what it has loaded."""
        table, tls = quote(self._address.table), self._address.controller.tls
        new = [server for server in servers if server not in self._servers]
        try:
            for server, told in zip(new, self._told(*(f"/instances/{quote(server)}" for server in new)), strict=True):
                host = str(told["hostName"]).removeprefix("Server_")
                self._servers[server] = Machine(role="a server", host=host, port=int(told["adminPort"]), tls=tls)
            path = f"/tables/{table}_OFFLINE/segments/crc"
            found = self._web.get_all([(self._servers[server], path) for server in servers])
        except (StoreFailed, StoreTimeout):
            raise unreachable("a server that should have segments does not tell what it has loaded") from None
        return dict(zip(servers, found, strict=True))

    def _segments(self, names: list[str]) -> tuple[Segment, ...]:
        """All segments as the controller has them: in one answer, or, where nobody may ask for that, one by one."""
        if self._nodes is None:
            self._nodes = self._find_nodes()
        if self._nodes:
            nodes: list[dict[str, Any]] = self._web.get(self._address.controller, self._nodes)
            told: dict[str, dict[str, Any]] = {node["id"]: node["simpleFields"] for node in nodes}
        else:
            table = quote(self._address.table)
            each = self._told(*(f"/segments/{table}/{quote(name, safe='')}/metadata" for name in names))
            told = dict(zip(names, each, strict=True))
        return tuple(_segment(name, told[name]) for name in sorted(told))

    def _find_nodes(self) -> str:
        """Where the controller tells of all segments at once; empty if it does not, or not to us."""
        try:
            [told] = self._told("/cluster/info")
            nodes = f"/{told['clusterName']}/PROPERTYSTORE/SEGMENTS/{self._address.table}_OFFLINE"
            path = f"/zk/getChildren?path={quote(nodes, safe='')}"
            return path if self._web.get(self._address.controller, path) else ""
        except (StoreFailed, LookupError, TypeError):
            return ""


def _segment(name: str, told: dict[str, Any]) -> Segment:
    times = tuple(told.get(time) for time in _TIMES)
    return Segment(name=name, crc=str(told["segment.crc"]), docs=int(told["segment.total.docs"]), times=times)
