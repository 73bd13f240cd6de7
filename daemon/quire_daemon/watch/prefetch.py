"""Reading ahead: new files of a first capture are read, hashed and packed beside the loop, which notes them.

Theory of operation. The loop hands out paths of which the journal knows nothing, in chunks, and gets back what stands
there, ready to be stored. What it gets back is as old as the reading of its chunk, so it holds only for a path that
nothing has named meanwhile: `forget` takes a path back, and the loop looks at that one itself. Of a path that is still
out, the loop asks the journal once more (`Observer.note_ahead`); a file that changed since it was read, and of which
nobody has told yet, will be told of by the watcher, as one that changes right after it was looked at.

Memory has a bound: so many chunks are out, so many files wait to be noted, and a chunk has so many bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol

import msgspec

from quire_daemon.workers import StartJob
from quire_daemon.workspace import Signature
from quire_journal.storage.blobs import Frame

CHUNK: Final = 64
"""Files that are read before they are handed over."""

CHUNK_BYTES: Final = 8 << 20
"""Of a chunk's files, as the crawl saw them; a larger file is a chunk of its own."""

MOST_OUT: Final = 3
"""Chunks that are being read: two while another is handed over."""

ENOUGH: Final = 1024
"""Files that are worth a transaction: a commit writes every page that a random key falls on, however few there are."""

MOST_READY: Final = 4096
"""With so many files read and not noted yet, no further chunk is handed out."""


class ReadAhead(msgspec.Struct, frozen=True):
    """A file, read as one whole while nobody had it open for writing."""

    path: str  # as on disk
    signature: Signature
    settled: bool  # as in `workspace.Image`
    frame: Frame
    taken_ns: int  # wall clock before it was read


class PrefetchReader(Protocol):
    """Who reads (`prefetch_client`)."""

    def begin(self, files: int) -> None:
        """So many are going to be read."""

    def read(self, paths: Sequence[str]) -> list[ReadAhead | None]:
        """On a worker thread: what stands at these paths; None where the loop has to look itself."""

    def end(self) -> None:
        """Nothing more is going to be read. Idempotent."""


class Prefetcher:
    """Files that are to be read, that are being read, and what was read of them. All in the loop but the reading."""

    def __init__(self, reading: PrefetchReader, start_job: StartJob, missed: Callable[[str], None]) -> None:
        """`missed` is told, in the loop, of a path that nothing was read of."""
        self._reading, self._start_job, self._missed = reading, start_job, missed
        self._left: deque[tuple[str, int]] = deque()
        self._out: set[str] = set()  # handed in, not given back by `take` or `forget`
        self._ready: deque[ReadAhead] = deque()
        self._chunks = 0  # that are being read

    @property
    def ready(self) -> bool:
        """Is there enough to take, or the last of it?"""
        return len(self._ready) >= ENOUGH or (self.over and bool(self._ready))

    @property
    def over(self) -> bool:
        """Has everything been read?"""
        return not self._left and not self._chunks

    def begin(self, files: Mapping[str, int]) -> None:
        """Read these: path → bytes that it had."""
        new = [(path, size) for path, size in files.items() if path not in self._out]
        self._reading.begin(len(new))
        self._out.update(path for path, _ in new)
        self._left.extend(new)
        self._hand_out()

    def forget(self, path: str) -> None:
        """What is read of `path` does not count: something has named it."""
        self._out.discard(path)

    def take(self, most: int) -> list[ReadAhead]:
        """At most so many of the files that have been read, in order."""
        taken: list[ReadAhead] = []
        while self._ready and len(taken) < most:
            one = self._ready.popleft()
            if one.path in self._out:
                self._out.discard(one.path)
                taken.append(one)
        self._hand_out()
        return taken

    def _hand_out(self) -> None:
        while self._left and self._chunks < MOST_OUT and len(self._ready) < MOST_READY:
            chunk: list[str] = []
            size = 0
            while self._left and len(chunk) < CHUNK and (not chunk or size + self._left[0][1] <= CHUNK_BYTES):
                path, more = self._left.popleft()
                chunk.append(path)
                size += more
            self._chunks += 1
            self._start_job(partial(self._work, chunk), "read_ahead")
        if self.over:
            self._reading.end()

    def stop(self) -> None:
        """The daemon ends."""
        self._reading.end()

    def _work(self, chunk: list[str]) -> Callable[[], None]:
        """On a worker thread: read them; what the loop does with that."""
        try:
            found = self._reading.read(chunk)
        except Exception:  # noqa: BLE001  whatever it is, the loop meets it too, and tells of it
            found = [None] * len(chunk)
        return lambda: self._arrived(chunk, found)

    def _arrived(self, chunk: list[str], found: list[ReadAhead | None]) -> None:
        self._chunks -= 1
        self._ready.extend(one for one in found if one is not None)
        for path, one in zip(chunk, found, strict=True):
            if one is None and path in self._out:
                self._out.discard(path)
                self._missed(path)
        self._hand_out()
