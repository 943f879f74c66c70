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

    def read(self) -> State:
        """The state now.

        Raises:
            StoreIncomplete: machines do not agree on it, or a segment is not where it should be.
            StoreFailed: the controller cannot be asked.
        """
        table = quote(self._address.table)
        try:
            check_table(self._told(f"/tables/{table}"))
            columns = read_schema(self._told(f"/tables/{table}/schema"))
            ideal = check_online(
                self._told(f"/tables/{table}/idealstate").get("OFFLINE"),
                self._told(f"/tables/{table}/externalview").get("OFFLINE"),
            )
            crc = self._told(f"/segments/{table}/crc")
            servers = sorted({server for where in ideal.values() for server in where})
            check_loaded(ideal, crc, {server: self._loaded(server) for server in servers})
            segments = tuple(self._segment(name, crc[name]) for name in sorted(ideal))
        except HushcountError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError):
            # Not what any version says that is known: nothing can be concluded from it.
            raise unreachable("the controller tells of the table in words that are not known") from None
        return State(segments=segments, columns=columns)

    def _told(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = self._web.get(self._address.controller, path)
        return found

    def _loaded(self, server: str) -> dict[str, str]:
        """The checksums of what a server has loaded."""
        try:
            if server not in self._servers:
                told = self._told(f"/instances/{quote(server)}")
                host = str(told["hostName"]).removeprefix("Server_")
                self._servers[server] = Machine(
                    role="a server", host=host, port=int(told["adminPort"]), tls=self._address.controller.tls
                )
            path = f"/tables/{quote(self._address.table)}_OFFLINE/segments/crc"
            found: dict[str, str] = self._web.get(self._servers[server], path)
        except (StoreFailed, StoreTimeout):
            raise unreachable("a server that should have segments does not tell what it has loaded") from None
        return found

    def _segment(self, name: str, crc: str) -> Segment:
        told = self._told(f"/segments/{quote(self._address.table)}/{quote(name, safe='')}/metadata")
        if told["segment.crc"] != crc:
            raise unreachable("a segment is being replaced")
        times = tuple(told.get(time) for time in _TIMES)
        return Segment(name=name, crc=crc, docs=int(told["segment.total.docs"]), times=times)
