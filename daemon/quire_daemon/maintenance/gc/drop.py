"""Drop phase of garbage collection: deletes blobs in separate commits, without pause while nobody edits, else ten times
a second. Each deleted blob changes three distant database pages, which a commit must sync.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

from quire_daemon.commit import Recorder
from quire_daemon.maintenance.gc.mark import Chunk, NewerNeeds
from quire_journal.model import BytesGone
from quire_journal.storage import Store

IDLE_S: Final = 0.5
"""Seconds without other commits after which nobody is considered to be editing."""

BUSY_S: Final = 0.1
"""Seconds between two drop commits while somebody edits."""

AT_ONCE: Final = 16
"""Maximum number of `Chunk`s (a few blobs each) deleted in one commit."""

MOST_READY: Final = 128
"""Maximum number of `Chunk`s (a few blobs each) in the queue."""


class DropQueue:
    """Queue of blobs to delete, in `Chunk`s. Only the main loop uses it, except for `room`."""

    def __init__(
        self, recorder: Recorder, store: Store, needed: NewerNeeds, batch: int, step: Callable[[str], None]
    ) -> None:
        self.dropped = 0  # blobs
        self._recorder, self._store, self._needed, self._batch, self._step = recorder, store, needed, batch, step
        self._ready: deque[Chunk] = deque()

    @property
    def room(self) -> int:
        """Number of `Chunk`s that can still be added."""
        return MOST_READY - len(self._ready)

    @property
    def look_again(self) -> str:
        """Reason why the mark phase must run again; "" if it need not."""
        return self._needed.look_again

    def take(self, chunks: Sequence[Chunk]) -> bool:
        """Add `chunks` to the queue. Returns True if the queue then has any."""
        self._ready.extend(chunks)
        return bool(self._ready)

    def drop(self) -> None:
        """Delete the next blobs, except those that newer records need, and commit all pending events. Raises
        `StoreFailure` if the commit fails; nothing is deleted then.
        """
        going = [*islice(self._ready, AT_ONCE)]
        with self._store.reading() as r:
            self._needed.look(r, self._recorder.noted)
            if self.look_again:
                return
            gone = tuple(blob for chunk in going for blob in self._needed.rest(r, chunk))
        if gone:
            paths = dict.fromkeys(path for chunk in going for path in chunk.paths)
            self._recorder.commit(BytesGone(gone, "dropped", tuple(paths)), self._batch)
            self.dropped += len(gone)
            self._step("gc_dropped")
        for _ in going:
            self._ready.popleft()
