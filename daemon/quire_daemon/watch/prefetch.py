"""Prefetch: new files of a first capture are read, hashed and compressed outside the loop, which records them.

A result is valid only if no event has named the path meanwhile (`forget`). For other paths the loop asks the journal
again (`Observer.note_ahead`), and the watcher reports later changes. Memory is bounded.
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

CHUNK_BYTES: Final = 8 << 20
"""Maximum bytes of a chunk, as crawled; a larger file is its own chunk."""

MOST_OUT: Final = 3
"""Maximum number of chunks being read: two while another one is handed over."""

ENOUGH: Final = 1024
"""Fewest files of one transaction: even few random keys change many pages."""

MOST_READY: Final = 4096
"""Number of unrecorded files from which on no chunk is read."""


class ReadAhead(msgspec.Struct, frozen=True):
    """A file, read consistently while no program had it open for writing."""

    path: str  # as on disk; empty in messages, which hold no bytes that are not UTF-8
    signature: Signature
    settled: bool  # as in `workspace.Image`
    frame: Frame
    taken_ns: int  # wall clock before it was read


class PrefetchReader(Protocol):
    """Interface to a reader of files (`prefetch_client`)."""

    def begin(self, files: int) -> None:
        """Prepare for reading `files` files."""

    def read(self, paths: Sequence[str]) -> list[ReadAhead | None]:
        """Read these paths on a worker thread; None for a file that the main loop must look at itself."""

    def end(self) -> None:
        """Release the reader's resources. Idempotent."""


class Prefetcher:
    def __init__(self, reading: PrefetchReader, start_job: StartJob, missed: Callable[[str], None]) -> None:
        self._reading, self._start_job, self._missed = reading, start_job, missed
        self._left: deque[tuple[str, int]] = deque()
        self._out: set[str] = set()  # begun, not taken or forgotten yet
        self._ready: deque[ReadAhead] = deque()
        self._chunks = 0  # being read

    @property
    def ready(self) -> bool:
        """True if enough files were read for a batch, or all were."""
        return bool(self._ready) and (len(self._ready) >= ENOUGH or self.over)

    @property
    def over(self) -> bool:
        return not self._left and not self._chunks

    def begin(self, files: Mapping[str, int]) -> None:
        """Read these files: path → size in bytes."""
        new = [(path, size) for path, size in files.items() if path not in self._out]
        self._reading.begin(len(new))
        self._out.update(path for path, _ in new)
        self._left.extend(new)
        self._hand_out()

    def forget(self, path: str) -> None:
        """Discard the result for `path`, because an event says that the file changed."""
        self._out.discard(path)

    def take(self, most: int) -> list[ReadAhead]:
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
        self._reading.end()

    def _work(self, chunk: list[str]) -> Callable[[], None]:
        try:
            found = self._reading.read(chunk)
        except Exception:  # noqa: BLE001  the loop looks at these paths, meets the same error and reports it
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
