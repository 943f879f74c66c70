"""A stream that feeds tables of Pinot while they are asked: Kafka, from the same programs, in the same folder.

Rows are sent in the oldest form of its protocol, which is thirty lines and needs no further package.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tests.pinot import Cluster, free_ports

_NO_KEY = -1
_FOLDER = re.compile(r"(/tmp/kafka-0x[0-9a-fp.-]+)/meta.properties")
_KAFKA = "org.apache.pinot.plugin.stream"


@dataclass(frozen=True, kw_only=True)
class Stream:
    """A running Kafka; topics come to be when they are first asked for."""

    cluster: Cluster
    port: int

    def feed(self, table: str, kinds: Mapping[str, str], rows: Sequence[Mapping[str, object]]) -> None:
        """A REALTIME table that reads a topic of its own name, and rows in it; a column `at` has their time."""
        self.cluster.make_schema(table, kinds, at="at")
        words = {
            "streamType": "kafka",
            "stream.kafka.topic.name": table,
            "stream.kafka.broker.list": f"127.0.0.1:{self.port}",
            "stream.kafka.consumer.type": "lowlevel",
            "stream.kafka.consumer.factory.class.name": f"{_KAFKA}.kafka20.KafkaConsumerFactory",
            "stream.kafka.decoder.class.name": f"{_KAFKA}.kafka.KafkaJSONMessageDecoder",
            "stream.kafka.consumer.prop.auto.offset.reset": "smallest",
        }
        self.cluster.make_table(
            table,
            None,
            tableType="REALTIME",
            segmentsConfig={
                "schemaName": table,
                "timeColumnName": "at",
                "replication": "1",
                "replicasPerPartition": "1",
            },
            tableIndexConfig={"loadMode": "MMAP", "streamConfigs": words},
        )
        self.send(table, rows)

    def send(self, topic: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Rows into the first part of a topic."""
        held = b"".join(map(_message, rows))
        parts = struct.pack(">iii", 1, 0, len(held)) + held
        asked = struct.pack(">hhi", 0, 0, 1) + _text("tests") + struct.pack(">hii", 1, 10_000, 1) + _text(topic) + parts
        with socket.create_connection(("127.0.0.1", self.port), 30) as connection:
            connection.sendall(struct.pack(">i", len(asked)) + asked)
            told = connection.recv(4096)
        # At the end stand the code of an error and the place of the first row.
        [code] = struct.unpack(">h", told[-10:-8])
        if code:
            raise ConnectionError(f"Kafka answered {code}")


def _message(row: Mapping[str, object]) -> bytes:
    value = json.dumps(row).encode()
    body = struct.pack(">bbii", 0, 0, _NO_KEY, len(value)) + value
    return struct.pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body


def _text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


@contextmanager
def running_stream(cluster: Cluster) -> Iterator[Stream]:
    """Kafka beside a cluster, ended afterwards."""
    [port] = free_ports(1)
    words = ("StartKafka", "-zkAddress", f"127.0.0.1:{cluster.ports['zk']}/kafka{port}", "-port", str(port))
    cluster.daemons["kafka"] = started = cluster.run("kafka", *words, heap="256m")
    try:
        cluster.wait(lambda: socket.create_connection(("127.0.0.1", port), 1).close())
        yield Stream(cluster=cluster, port=port)
    finally:
        cluster.daemons.pop("kafka").kill()
        # It takes a folder of its own choice, and says which.
        told = started.log.read_text(encoding="utf-8", errors="replace")
        for folder in set(_FOLDER.findall(told)):
            shutil.rmtree(folder, ignore_errors=True)
