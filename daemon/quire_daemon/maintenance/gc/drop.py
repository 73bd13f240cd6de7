"""Drop phase of garbage collection: separate commits, made while nobody edits, otherwise ten times a second.

The cost is pages: each dropped blob changes three distant pages, which a commit writes and syncs.
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
"""Seconds without other commits that count as a pause."""

BUSY_S: Final = 0.1
"""Seconds between two drop commits without a pause."""

AT_ONCE: Final = 16
"""Chunks in one commit."""

MOST_READY: Final = 128
"""Maximum number of chunks held ready."""


class DropQueue:
    """The queue of chunks to drop. For the loop's thread, except `room`."""

    def __init__(
        self, recorder: Recorder, store: Store, needed: NewerNeeds, batch: int, step: Callable[[str], None]
    ) -> None:
        self.dropped = 0  # blobs
        self._recorder, self._store, self._needed, self._batch, self._step = recorder, store, needed, batch, step
        self._ready: deque[Chunk] = deque()

    @property
    def room(self) -> int:
        """Number of further chunks that fit."""
        return MOST_READY - len(self._ready)

    @property
    def look_again(self) -> str:
        """Why the marks are obsolete."""
        return self._needed.look_again

    def take(self, chunks: Sequence[Chunk]) -> bool:
        """Add chunks; False if nothing is left to drop."""
        self._ready.extend(chunks)
        return bool(self._ready)

    def drop(self) -> None:
        """Drop the next chunks, except needed blobs; commits all noted events. Raises as `commit` (nothing was
        dropped), and `JournalDamaged`.
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
