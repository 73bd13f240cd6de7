"""The drops of a collection: each is a commit of its own, made when nobody edits.

What costs time is not the rows but the pages that they stand on: each blob that goes changes three, far apart, and a
commit writes and syncs them all (measured: 6 ms for a commit of one record, 12 with eight blobs dropped, 18 with 32, 24
with 128). So some go when others have committed nothing for a moment, and where they never rest, once a second.
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
"""Others rest when they have committed nothing for so long. Where the disk or the machine is slow, four clients that
edit without a rest leave a tenth of a second between two commits."""

BUSY_S: Final = 1.0
"""Between two commits of drops where others do not rest."""

AT_ONCE: Final = 4
"""Chunks that go with one commit."""

MOST_READY: Final = 128
"""Chunks that are held ready."""


class DropQueue:
    """What a collection drops, chunk by chunk in their order. For the thread of the loop, but for `room`."""

    def __init__(
        self, recorder: Recorder, store: Store, needed: NewerNeeds, batch: int, step: Callable[[str], None]
    ) -> None:
        """`batch`: of the record that says by which policy."""
        self.dropped = 0  # blobs
        self._recorder, self._store, self._needed, self._batch, self._step = recorder, store, needed, batch, step
        self._ready: deque[Chunk] = deque()

    @property
    def room(self) -> int:
        """How many more chunks can be held."""
        return MOST_READY - len(self._ready)

    @property
    def look_again(self) -> str:
        """Why the marks do not count any more."""
        return self._needed.look_again

    def take(self, chunks: Sequence[Chunk]) -> bool:
        """Hold these ready, too; False when there is nothing left to drop."""
        self._ready.extend(chunks)
        return bool(self._ready)

    def drop(self) -> None:
        """Drop the next ones, but for what is needed; all that is noted is committed.

        Raises as `commit` (nothing went then), and `JournalDamaged`.
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
