"""JSONL: the log as JSON, an event a line, with every blob that it names, for `quire import`. A blob precedes the first
event that names it; a blob similar to the version before is the stretch between their common ends. Prompts and command
lines are included only `with_prompts`.
"""

from __future__ import annotations

from collections.abc import Iterator

from quire_journal import VERSION
from quire_journal.export.jsonl_schema import (
    FORMAT,
    BlobLine,
    EndLine,
    Header,
    MissingLine,
    event_line,
    withheld,
    written,
)
from quire_journal.export.source import Source, named_blob
from quire_journal.model import GENESIS
from quire_journal.text import same_end, same_start


def export(source: Source, by: str) -> Iterator[bytes]:
    """Yield all lines. `by` is ignored."""
    yield from _lines(source, _Bytes(source))


def events(source: Source, by: str) -> Iterator[bytes]:
    """Yield the lines of the events, without blobs."""
    yield from _lines(source, None)


def _lines(source: Source, bytes_: _Bytes | None) -> Iterator[bytes]:
    stretch = source.stretch
    yield written(Header(FORMAT, VERSION, source.workspace_id, stretch.after, stretch.upto))
    count, last = 0, GENESIS.hex()
    for row in source.rows():
        blob, path = named_blob(row.event)
        if bytes_ is not None and blob:
            yield from bytes_.lines(blob, path)
        line = event_line(row.stored, row.record, row.event if source.with_prompts else withheld(row.event))
        count, last = count + 1, line.hash
        yield written(line)
    yield written(EndLine(count, last))


class _Bytes:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._told = bytearray()  # one bit per blob number, as a long history has millions
        self._newest: dict[str, bytes] = {}  # path → its newest blob in the export

    def lines(self, blob: bytes, path: str) -> Iterator[bytes]:
        number = self._source.number_of(blob)
        if number is None:
            yield written(MissingLine(blob.hex(), self._source.not_held(blob)))
            return
        if not self._marked(number):
            yield written(self._line(blob, path))
        self._newest[path] = blob

    def _line(self, blob: bytes, path: str) -> BlobLine:
        data = self._source.bytes_of(blob)
        base = self._newest.get(path)
        if base is None or self._source.number_of(base) is None:
            return BlobLine(blob.hex(), len(data), path, data)
        before = self._source.bytes_of(base)
        head = same_start(before, data)
        tail = same_end(before, data, head)
        if head + tail < 64:
            return BlobLine(blob.hex(), len(data), path, data)
        return BlobLine(blob.hex(), len(data), path, data[head : len(data) - tail], base.hex(), head, tail)

    def _marked(self, number: int) -> bool:
        at, bit = number >> 3, 1 << (number & 7)
        if at >= len(self._told):
            self._told.extend(bytes(at + 1024 - len(self._told)))
        was = bool(self._told[at] & bit)
        self._told[at] |= bit
        return was
