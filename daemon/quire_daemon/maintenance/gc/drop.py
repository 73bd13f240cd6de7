"""The drops of a collection: they ride on commits that edits wait for anyway, and go by themselves when nobody edits.

What costs time is not the rows but the pages that they stand on: each blob that goes changes three, far apart, and a
commit writes and syncs them all (measured: 6 ms for a commit of one record, 12 with eight blobs dropped, 18 with 32, 24
with 128). A commit of its own would keep edits waiting for all of it, and for the sync. So a few blobs go along with
what is committed for edits, with every fourth commit at most: whoever waited for one that took longer does not wait for
another. How many is told by how long commits take with and without them (`Portion`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

import msgspec

from quire_daemon.commit import Recorder
from quire_daemon.maintenance.gc.mark import Chunk, NewerNeeds
from quire_journal.model import BytesGone
from quire_journal.storage import Store

ALONE_S: Final = 0.5
"""After so long without a commit for others a portion goes by itself. Not sooner: where the disk or the machine is
slow, four clients that edit without a rest leave a tenth of a second between two commits."""

QUIET_S: Final = 2.0
"""After so long a large one does."""

EVERY: Final = 4
"""Of the commits for others, so many at least to one that is laden."""

LARGE: Final = 8
"""Chunks that go in one commit when nobody waits, and the most that ride."""

MOST_READY: Final = 128
"""Chunks that are held ready."""


class Portion(msgspec.Struct):
    """How many chunks ride on one commit, between one and `LARGE`."""

    chunks: int = 1
    empty_s: float = 0.0  # what a commit takes without, a running mean
    laden_s: float = 0.0  # and with so many

    WEIGHT: ClassVar[float] = 0.125
    LEAST_EXTRA_S: ClassVar[float] = 0.002
    MOST_EXTRA_S: ClassVar[float] = 0.005

    def committed(self, took_s: float, laden: bool) -> None:
        """A commit for edits took so long."""
        if not laden:
            self.empty_s = self._mean(self.empty_s, took_s)
            return
        self.laden_s = self._mean(self.laden_s, took_s)
        extra_s = self.laden_s - self.empty_s
        if extra_s > self.MOST_EXTRA_S and self.chunks > 1:
            self.chunks, self.laden_s = self.chunks - 1, 0.0
        elif extra_s < self.LEAST_EXTRA_S and self.chunks < LARGE:
            self.chunks, self.laden_s = self.chunks + 1, 0.0

    def _mean(self, mean_s: float, took_s: float) -> float:
        return mean_s + (took_s - mean_s) * self.WEIGHT if mean_s else took_s


class DropQueue:
    """What a collection drops, chunk by chunk in their order. For the thread of the loop, but for `room`."""

    def __init__(
        self,
        recorder: Recorder,
        store: Store,
        needed: NewerNeeds,
        batch: int,
        others_s: float,
        step: Callable[[str], None],
    ) -> None:
        """`batch`: of the record that says by which policy. `others_s`: when others' records were committed last."""
        self.dropped = 0  # blobs
        self.portion = Portion()
        self.wrong: Exception | None = None  # why nothing more goes
        self._recorder, self._store, self._needed, self._batch, self._step = recorder, store, needed, batch, step
        self._ready: deque[Chunk] = deque()
        self._boarded: list[Chunk] = []
        self._gone = 0  # blobs that are on their way
        self._others_s = others_s
        self._for_others = False  # do others need the commit that is made?
        self._empty = EVERY  # commits of those since one that was laden

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

    def due(self, now_s: float) -> bool:
        """Has nobody committed for so long that a portion should go by itself?"""
        return bool(self._ready) and now_s - self._others_s >= ALONE_S

    def board(self, now_s: float, alone: bool = False) -> tuple[BytesGone, int] | None:
        """What goes with the commit that comes next, and the batch that it belongs to. None: nothing.

        `alone`: nobody waits for that commit.
        """
        self._for_others = not alone and self._recorder.waiting > 0
        self._empty += self._for_others
        laden = bool(self._ready) and (alone or (self._for_others and self._empty >= EVERY))
        if not laden or self.look_again or self.wrong is not None:
            return None
        try:
            return self._load(now_s, alone)
        except Exception as wrong:  # noqa: BLE001  it ends the collection (`wrong`), and not what others wait for
            self.wrong = wrong
            return None

    def _load(self, now_s: float, alone: bool) -> tuple[BytesGone, int] | None:
        """The chunks that board, without what is needed. Raises `JournalDamaged`, or whatever else a journal can."""
        most = (LARGE if now_s - self._others_s >= QUIET_S else 1) if alone else self.portion.chunks
        gone: list[bytes] = []
        paths: dict[str, None] = {}
        with self._store.reading() as r:
            self._needed.look(r, self._recorder.noted)
            if self.look_again:
                return None
            while self._ready and len(self._boarded) < most:
                chunk = self._ready.popleft()
                self._boarded.append(chunk)
                gone += self._needed.rest(r, chunk)
                paths.update(dict.fromkeys(chunk.paths))
        self._gone = len(gone)
        if self._for_others:
            self._empty = 0
        return (BytesGone(tuple(gone), "dropped", tuple(paths)), self._batch) if gone else None

    def committed(self, now_s: float, took_s: float) -> None:
        """The commit after `board` was made."""
        went, self._gone, self._boarded = self._gone, 0, []
        self.dropped += went
        if self._for_others:
            self._others_s = now_s
            self.portion.committed(took_s, bool(went))
        if went:
            self._step("gc_dropped")

    def failed(self) -> None:
        """The commit after `board` was not made: what was to go is there."""
        self._ready.extendleft(reversed(self._boarded))
        self._gone, self._boarded = 0, []
