"""Writes exported events as a Parquet table: one row per event, frequent fields as columns, the whole event as JSON."""

from __future__ import annotations

import json
from typing import Any, BinaryIO, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from quire_journal.export import EventLine, decode_line
from quire_journal.history import parse_rfc3339

ROWS: Final = 20_000
_TEXTS: Final = ("path", "to", "by", "evidence", "hint", "why", "uncaptured", "name", "code", "tool", "dialect")
_NUMBERS: Final = ("base", "size", "mode", "entry", "version")
_CLAIMED: Final = ("agent", "agent_session", "turn", "tool_call", "model")

SCHEMA: Final = pa.schema(
    [
        ("seq", pa.int64()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("kind", pa.string()),
        ("batch", pa.int64()),
        ("writer", pa.int64()),
        *((name, pa.string()) for name in _CLAIMED),
        *((name, pa.string()) for name in _TEXTS),
        ("sha256", pa.string()),
        *((name, pa.int64()) for name in _NUMBERS),
        ("hash", pa.string()),
        ("event", pa.string()),
    ]
)


class Table:
    """Converter of an export in the format `events` (JSON lines), fed in pieces of any length, into a Parquet file."""

    def __init__(self, file: BinaryIO) -> None:
        self._writer = pq.ParquetWriter(file, SCHEMA, compression="zstd")
        self._rest = b""
        self._rows: list[dict[str, Any]] = []
        self._who: dict[int, dict[str, Any]] = {}

    def take(self, piece: bytes) -> None:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            decoded = decode_line(line)
            if isinstance(decoded, EventLine):
                self._rows.append(self._row(decoded))
        if len(self._rows) >= ROWS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=SCHEMA))
            self._rows = []

    def _row(self, line: EventLine) -> dict[str, Any]:
        event = line.event
        if event.get("kind") == "writer_introduced":
            self._who[event["id"]] = {name: event[name] for name in _CLAIMED}
        texts = {name: value for name in _TEXTS if isinstance(value := event.get(name), str)}
        numbers = {name: value for name in _NUMBERS if isinstance(value := event.get(name), int)}
        return {
            "seq": line.seq,
            "at": (parse_rfc3339(line.at) or 0) // 1000,
            "kind": event.get("kind"),
            "batch": line.batch,
            "writer": line.writer,
            **self._who.get(line.writer, {}),
            **texts,
            **numbers,
            "sha256": event.get("blob") or None,
            "hash": line.hash,
            "event": json.dumps(msgspec.to_builtins(event), ensure_ascii=False),
        }
