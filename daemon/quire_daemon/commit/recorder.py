"""Recorder: the main loop's access to the journal.

Events that must be safe before something else happens (a write, an outside version before an edit) are committed and
synced at once. Others (a read, a refusal, completed writes) wait for the next commit or an idle moment; a crash may
lose the last second of them. An event gets its number when it is added.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

from quire_daemon.clock import Clock
from quire_daemon.commit.disk_space import FullDisk
from quire_daemon.commit.repeats import LastReads, Refusals
from quire_daemon.commit.writer_ids import WriterNumbers
from quire_daemon.core import SeenStat
from quire_daemon.workspace import SeenFiles
from quire_journal.history import History, PathNames
from quire_journal.journal import Bytes, Journal, NewRecord
from quire_journal.maintenance import PurgeTransaction
from quire_journal.model import OUTSIDE, BatchId, BlobId, BytesGone, Event, ReadServed, Seq, WriterId, WriterIntroduced
from quire_journal.storage import ReadTransaction, Recent, StoreFailure, blobs
from quire_journal.storage.blobs import Frame
from quire_journal.text import Text
from quire_journal.views import Shown

MOST_BYTES: Final = 80 << 20  # of memory, by `weight`


def weight(text: Text) -> int:
    """Return about how many bytes of memory a cached text takes, by measurement."""
    return 3 * len(text.data) + 120 * len(text) + 4096


MOST_FAILED: Final = 1000  # recent failed commits with their errors


class _Asking:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __enter__(self) -> History:
        recorder = self._recorder
        self._reading = recorder.journal.store.reading()
        self._snapshot = self._reading.__enter__()
        self._outer = recorder._asking, recorder._asking_at
        history = History(self._snapshot, self._text_of, recorder._recent, recorder._names)
        recorder._asking, recorder._asking_at = nullcontext(history), recorder._commits
        return history

    def __exit__(self, *raised: Any) -> None:
        self._recorder._asking, self._recorder._asking_at = self._outer
        self._reading.__exit__(*raised)

    def _text_of(self, blob: bytes) -> Text:
        texts = self._recorder.texts
        text = texts.find(blob)
        if text is None:
            text = Text.of(blobs.get(self._snapshot, blob), BlobId(blob))
            texts.keep(text.blob, text)
        return text


class Recorder:
    def __init__(self, journal: Journal, clock: Clock) -> None:
        self.journal = journal
        self.clock = clock
        self.texts: Recent[Text] = Recent(MOST_BYTES, weight)
        self.seen = SeenFiles(journal.store)
        self._pending: list[NewRecord] = []
        self._bytes: list[tuple[Bytes, str | None]] = []
        self._seen: dict[str, SeenStat | None] = {}  # applied with the commit
        self._names = PathNames()
        self._recent: dict[tuple[bytes, str], Shown] = {}  # reads that wait for the next commit
        self._last_reads = LastReads()
        self._refusals = Refusals()
        self._numbers = WriterNumbers(journal.store)
        self._forgotten = 0  # how often bytes were removed in this run
        self.purges = 0  # in this run; a purge gives writer numbers another meaning
        self._asking: nullcontext[History] | None = None  # shared by nested queries
        self._asking_at = 0  # number of commits when it began
        self._commits = 0
        self.committed_s = float("-inf")  # monotonic time of the last commit
        self._failed: OrderedDict[int, Exception] = OrderedDict()  # recent failed commits, by number
        self._full_disk = FullDisk(clock)

    # ── noting ──

    @property
    def next_seq(self) -> Seq:
        return Seq(self.journal.head + 1 + len(self._pending))

    @property
    def noted(self) -> Sequence[Event]:
        return [entry.event for entry in self._pending]

    @property
    def waiting(self) -> int:
        return len(self._pending)

    def note(self, event: Event, writer: WriterId = OUTSIDE, batch: int = 0, op: bytes = b"") -> Seq:
        """Add `event` to the next commit and return its number. `batch` 0: a batch of its own; `op`: the request's
        operation id.
        """
        seq = self.next_seq
        self._pending.append(NewRecord(event, writer, self.clock.now_ns(), BatchId(batch or seq), op))
        if isinstance(event, ReadServed):
            shown = Shown(event.version, event.shown, self.clock.now_ns(), moved=event.moved)
            self._recent[self._caller_of(writer), event.path] = shown
            self._last_reads.keep(event, writer, batch or seq, self.clock.mono_s())
        return seq

    def told(self, event: Event, writer: WriterId) -> bool:
        """Return True if `event` repeats the last read by `writer` of the path, recorded within a minute, and so needs
        no record.
        """
        return isinstance(event, ReadServed) and self._last_reads.told(event, writer, self.clock.mono_s())

    def takes_refusal(self, writer: WriterId) -> bool:
        """Return True if a refusal of `writer` should be recorded; the rate is limited. Call it once per refusal."""
        return self._refusals.take(self._caller_of(writer), self.clock.mono_s())

    def note_blob(self, data: Bytes, path: str | None) -> None:
        self._bytes.append((data, path))

    def note_seen(self, path: str, seen: SeenStat | None) -> None:
        """Set the entry of `path` in the stat cache with the next commit; None removes it."""
        self._seen[path] = seen

    def writer(self, who: WriterIntroduced) -> WriterId:
        """Return the number of a writer, a new one if unknown. Call `introduce` before a record names it."""
        return self._numbers.number(who)

    def stranger(self, writer: WriterId) -> WriterIntroduced | None:
        """Return the identity of `writer` if the journal does not know this number yet, else None."""
        return self._numbers.stranger(writer)

    def introduce(self, writer: WriterId) -> None:
        """Add the identity of `writer` to the next commit, unless the journal has it."""
        stranger = self._numbers.introduce(writer)
        if stranger is not None:
            self.note(stranger)

    def _caller_of(self, writer: WriterId) -> bytes:
        return self._numbers.key_of(writer, self._pending)

    # ── committing ──

    def commit(self, gone: BytesGone | None = None, batch: int = 0) -> None:
        """Commit all waiting events in one synced transaction, and delete the blobs listed in `gone`. The event `gone`
        is recorded in the batch `batch`.

        No kept version and no waiting event may need these blobs. Raises `StoreFailure`; the waiting events are then
        dropped, and files compared with the journal again.
        """
        if gone is not None:
            self.note(gone, batch=batch)
        dropped = gone.blobs if gone is not None else ()
        entries, self._pending = self._pending, []
        bytes_, self._bytes = self._bytes, []
        seen, self._seen = self._seen, {}
        recent, self._recent = self._recent, {}
        for blob in dropped:
            self.texts.forget(blob)
        if entries or bytes_:
            self._commits += 1
            try:
                self.journal.append(entries, bytes_, self.texts.find, dropped)
            except BaseException as error:
                self._failed[self._commits] = error if isinstance(error, Exception) else StoreFailure(str(error))
                if len(self._failed) > MOST_FAILED:
                    self._failed.popitem(last=False)
                self._full_disk.failed(error, sum(_size(data) for data, _ in bytes_))
                self._never_told(entries)
                raise
            self._full_disk.taken(sum(_size(data) for data, _ in bytes_) if self._full_disk.full else 0)
            self.committed_s = self.clock.mono_s()
        if dropped:
            self._forgotten += 1
            self._last_reads.forget()  # their paths left the hash index; a read adds them again
        del recent  # the reads view holds them now
        self.seen.tell(seen)

    def drop(self) -> None:
        entries, self._pending = self._pending, []
        self._bytes, self._seen, self._recent = [], {}, {}
        self._never_told(entries)

    def _never_told(self, entries: Sequence[NewRecord]) -> None:
        self._last_reads.forget()
        self._numbers.never_told(entries)

    def takes_nothing(self) -> str:
        """Return a sentence that says since when a full disk keeps the journal from taking records; "" if the journal
        takes them.
        """
        return self._full_disk.told()

    def purge(self, change: PurgeTransaction, writer: WriterId) -> None:
        """Commit a purge as one batch of `writer`. No event may be waiting, and the journal must know `writer`. Raises
        `StoreFailure`.
        """
        batch = self.next_seq
        for event in change.events:
            self.note(event, writer, batch=batch)
        entries, self._pending = self._pending, []
        self._last_reads.forget()
        for blob in change.dropped:
            self.texts.forget(blob)
        self._commits += 1
        try:
            self.journal.append(entries, dropped=change.dropped, instead=change.rows)
        except BaseException as error:
            self._full_disk.failed(error, 0)
            raise
        self._full_disk.taken(0)
        self._names.begun_outside.clear()
        self._numbers.forget()
        self._forgotten += 1
        self.purges += 1

    @property
    def next_commit(self) -> int:
        """Number of the commit that will hold the waiting events."""
        return self._commits + 1

    def failure(self, commit: int) -> Exception | None:
        """Return the error of a recent commit, by number; None if it succeeded or is to come."""
        return self._failed.get(commit)

    # ── asking ──

    def history(self) -> AbstractContextManager[History]:
        """Context manager, for the main loop: a `History` (queries of the log) of committed events and waiting reads.
        Nested uses share a read transaction until a commit.
        """
        if self._asking is not None and self._asking_at == self._commits:
            return self._asking
        return _Asking(self)

    @contextmanager
    def history_apart(self, wrap: Callable[[ReadTransaction], ReadTransaction]) -> Iterator[History]:
        """Context manager, for any thread: a `History` (queries of the log) of a fixed snapshot. `wrap` may wrap the
        read transaction, to pause it.
        """
        forgotten = self._forgotten
        with self.journal.store.reading() as reading:
            snapshot = wrap(reading)

            def text_of(blob: bytes) -> Text:
                text = self.texts.find(blob)
                if text is None:
                    text = Text.of(blobs.get(snapshot, blob), BlobId(blob))
                    if self._forgotten == forgotten:  # else it may be of bytes removed since
                        self.texts.keep(text.blob, text)
                return text

            yield History(snapshot, text_of, self._recent, self._names)

    def know_names(self, names: PathNames) -> None:
        if len(names) > len(self._names):
            self._names = names

    def versions(self) -> int:
        with self.journal.store.reading() as reading:
            return reading.count("versions")


def _size(data: Bytes) -> int:
    return data.size if isinstance(data, Frame) else len(data if isinstance(data, bytes) else data.data)
