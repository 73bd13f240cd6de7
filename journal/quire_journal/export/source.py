"""Export source: a range of the log, with its versions, bytes and writers, without abandoned writes. Read in many short
snapshots and copied, so that a long export blocks no page of the database and no writer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from quire_journal.history import History, LineOrigin, LineTrails, missing
from quire_journal.model import (
    LINK,
    REGULAR,
    Event,
    JournalDamaged,
    Record,
    WriterIntroduced,
    blob_id,
    path_after,
    paths_of,
    read_record,
)
from quire_journal.storage import Store, blobs, u64
from quire_journal.storage.blobs import BlobCache, index as blob_index
from quire_journal.views import BELONGING, Version, standing

_CHUNK: Final = 250

_CACHE_BYTES: Final = 24 * 1024 * 1024


class Row(msgspec.Struct, frozen=True):
    """Record, with the paths and versions that it made, except abandoned versions; a move makes two."""

    stored: bytes  # as stored in the log
    record: Record
    event: Event | None  # None: of an unknown kind
    versions: tuple[tuple[str, Version], ...]


class Stretch(msgspec.Struct, frozen=True):
    """Exported range of the log: records with after < seq <= upto."""

    after: int
    upto: int


class Source:
    """Access of an export to a journal. For one thread at a time."""

    def __init__(
        self, store: Store, stretch: Stretch, workspace_id: str = "", root: str = "", with_prompts: bool = False
    ) -> None:
        self._store = store
        self.with_prompts = with_prompts  # include prompts and command lines
        self.stretch = stretch
        self.workspace_id = workspace_id
        self.root = root  # the workspace's folder, for formats with absolute paths
        self.at = stretch.after  # the newest record yielded, as progress
        self._cache = BlobCache(_CACHE_BYTES)
        self._trails = LineTrails()
        self._writers: dict[int, WriterIntroduced | None] = {}

    def rows(self) -> Iterator[Row]:
        while self.at < self.stretch.upto:
            with self._store.reading() as r:
                history = History(r)
                found = islice(r.scan("records", u64(self.at + 1), u64(self.stretch.upto + 1)), _CHUNK)
                rows = [_row(key, stored, history) for key, stored in found]
            if not rows:
                return
            for row in rows:
                self.at = row.record.seq
                yield row

    def tree(self) -> dict[str, Version]:
        """Return every existing path before the range, with its version."""
        found: dict[str, Version] = {}
        if self.stretch.after:
            with self._store.reading() as r:
                history = History(r)
                for path, _ in history.paths():
                    version = standing(history.version_at(path, self.stretch.after))
                    if version is not None:
                        found[path] = version
        return found

    def writer(self, number: int) -> WriterIntroduced | None:
        if number not in self._writers:
            with self._store.reading() as r:
                self._writers[number] = History(r).writer(number)
        return self._writers[number]

    def origins(self, path: str, version: Version) -> Sequence[LineOrigin] | None:
        """Return the origin of each line, valid until the next call; None if unknown. Query the versions of a path in
        order.
        """
        with self._store.reading() as r:
            return self._trails.origins(History(r), path, version, self.bytes_of)

    def checkpoints(self) -> list[tuple[int, str]]:
        """Return (cursor, name) of the checkpoints in the range, by cursor."""
        with self._store.reading() as r:
            named = History(r).checkpoints()
        return [(one.cursor, one.name) for one in named if self.stretch.after < one.cursor <= self.stretch.upto]

    def bursts(self) -> dict[int, tuple[int, str]]:
        """Return batch → (number, label) of its burst; of nested bursts the outermost."""
        found: dict[int, tuple[int, str]] = {}
        with self._store.reading() as r:
            history = History(r)
            for burst in history.bursts():  # newest first, so that the outermost overwrites the others
                for batch, evidence in history.burst_evidence(burst.number):
                    if evidence in BELONGING and self.stretch.after < batch <= self.stretch.upto:
                        found[batch] = burst.number, burst.label
        return found

    def missing(self, version: Version) -> str:
        """Return why the bytes of a version are missing, as a phrase; "" if held, and for folders and deletions."""
        if version.gone or version.entry not in (REGULAR, LINK):
            return ""
        with self._store.reading() as r:
            return "" if version.blob and blobs.holds(r, version.blob) else missing(History(r), version).told

    def not_held(self, blob: bytes) -> str:
        """Return why the journal does not hold these bytes, as a code; "" if it does."""
        with self._store.reading() as r:
            if blobs.holds(r, blob):
                return ""
            gone = History(r).gone(blob)
        return gone.why if gone is not None else "not_captured"

    def number_of(self, blob: bytes) -> int | None:
        with self._store.reading() as r:
            return blob_index.find(r, blob)

    def bytes_of(self, blob: bytes) -> bytes:
        """Return the verified bytes. Raises `blobs.NotHeld` or `JournalDamaged`."""
        with self._store.reading() as r:
            number = blobs.number_of(r, blob)
            data = blobs.unpack(r, number, self._cache)
        if blob_id(data) != blob:
            raise JournalDamaged(f"blob {number} does not have the bytes with sha256 {blob.hex()}; run `quire verify`")
        return data


def named_blob(event: Event | None) -> tuple[bytes, str]:
    """Return the blob that an event names (b"" for none), and the path of its version."""
    blob: bytes = getattr(event, "blob", b"")
    return blob, path_after(event) or ""


def _row(key: bytes, stored: bytes, history: History) -> Row:
    record = read_record(int.from_bytes(key, "big"), stored)
    event = record.event()
    made = ((path, history.version_by(path, record, event)) for path in dict.fromkeys(paths_of(event)))
    versions = tuple((path, version) for path, version in made if version is not None and not version.displaced)
    return Row(stored, record, event, versions)
