"""The journal as the loop uses it: what is committed, what will ride on the next commit, and texts at hand.

Two kinds of events go in. Those that something waits for (a write, an outside version before an edit) are
noted and then committed, synced. Those that nobody waits for (a read, a refusal, "these writes are on disk")
are noted and ride on the next commit, or on the flush when the loop has nothing to do; a crash may forget the
last second of them. Both get their seqs when they are noted, so the order in the log is the order of decisions.
A read that shows its writer what it was shown a moment ago is not noted again (`LastReads`), and a caller that is
refused over and over fills the log no faster than `Refusals` allows.
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

MOST_BYTES: Final = 80 << 20  # of memory, as `weight` has it


def weight(text: Text) -> int:
    """About how many bytes of memory a text takes that is edited and shown: of a file of short lines ten times its own.

    Each line is an object, and so are its hash and what a read shows of it. Measured, by what the process takes more:
    100 lines of 16 bytes 21 kB, 2,000 lines of 45 bytes 530 kB, five lines of 20 bytes 1 to 5 kB.
    """
    return 3 * len(text.data) + 120 * len(text) + 4096


MOST_FAILED: Final = 1000  # commits that failed, of which it is known why


class _Asking:
    """The block of a `History` that is not within another. A class: a generator takes twice as long."""

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
    """Notes events, commits them, and answers from what is committed."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self.journal = journal
        self.clock = clock
        self.texts: Recent[Text] = Recent(MOST_BYTES, weight)
        self.seen = SeenFiles(journal.store)
        self._pending: list[NewRecord] = []
        self._bytes: list[tuple[Bytes, str | None]] = []
        self._seen: dict[str, SeenStat | None] = {}  # becomes true with the commit
        self._names = PathNames()
        self._recent: dict[tuple[bytes, str], Shown] = {}  # reads that are noted, not committed
        self._last_reads = LastReads()
        self._refusals = Refusals()
        self._numbers = WriterNumbers(journal.store)
        self._forgotten = 0  # how often bytes have gone, in this run
        self.purges = 0  # of this run: the numbers of writers stand for others since
        self._asking: nullcontext[History] | None = None  # for who asks within the block that is open
        self._asking_at = 0  # how many commits there had been when it began
        self._commits = 0
        self.committed_s = float("-inf")  # when something was committed last, by the clock that only goes on
        self._failed: OrderedDict[int, Exception] = OrderedDict()  # the last commits that did, by their numbers
        self._full_disk = FullDisk(clock)

    # ── noting ──

    @property
    def next_seq(self) -> Seq:
        """The seq that the next noted event will get."""
        return Seq(self.journal.head + 1 + len(self._pending))

    @property
    def noted(self) -> Sequence[Event]:
        """The noted events that are not committed."""
        return [entry.event for entry in self._pending]

    @property
    def waiting(self) -> int:
        """How many noted events are not committed."""
        return len(self._pending)

    def note(self, event: Event, writer: WriterId = OUTSIDE, batch: int = 0, op: bytes = b"") -> Seq:
        """Put `event` behind the last one. `batch` 0 makes it a batch of its own."""
        seq = self.next_seq
        self._pending.append(NewRecord(event, writer, self.clock.now_ns(), BatchId(batch or seq), op))
        if isinstance(event, ReadServed):
            shown = Shown(event.version, event.shown, self.clock.now_ns(), moved=event.moved)
            self._recent[self._caller_of(writer), event.path] = shown
            self._last_reads.keep(event, writer, batch or seq, self.clock.mono_s())
        return seq

    def told(self, event: Event, writer: WriterId) -> bool:
        """Is this a read that the log tells of already, for `writer` has just read the same?"""
        return isinstance(event, ReadServed) and self._last_reads.told(event, writer, self.clock.mono_s())

    def takes_refusal(self, writer: WriterId) -> bool:
        """Is a refusal of `writer` to be noted? Asked once for each."""
        return self._refusals.take(self._caller_of(writer), self.clock.mono_s())

    def note_blob(self, data: Bytes, path: str | None) -> None:
        """These bytes are named by a noted event; they go into the same commit."""
        self._bytes.append((data, path))

    def note_seen(self, path: str, seen: SeenStat | None) -> None:
        """With the next commit the journal knows what stands at `path`."""
        self._seen[path] = seen

    def writer(self, who: WriterIntroduced) -> WriterId:
        """The number of this writer (`who.id` does not matter). A new one has to be introduced before it is named."""
        return self._numbers.number(who)

    def stranger(self, writer: WriterId) -> WriterIntroduced | None:
        """Who `writer` is, as long as it is not introduced. To be kept by whoever may have to introduce it later."""
        return self._numbers.stranger(writer)

    def introduce(self, writer: WriterId) -> None:
        """Note who `writer` is, unless the journal knows: a caller that only asks questions leaves no record."""
        stranger = self._numbers.introduce(writer)
        if stranger is not None:
            self.note(stranger)

    def _caller_of(self, writer: WriterId) -> bytes:
        return self._numbers.key_of(writer, self._pending)

    # ── committing ──

    def commit(self, gone: BytesGone | None = None, batch: int = 0) -> None:
        """Everything noted, in one synced transaction; the bytes that `gone` names go with it, under `batch`.

        Nothing that stays is made from those (see `blobs.drop`) or named by what is noted (`noted`). Raises
        `StoreFailure` when the store could not: everything noted is dropped then, and the disk will be looked at again
        (what was to be seen is not).
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
            self._last_reads.forget()  # their paths have left the hash index, which a read lets them join again
        del recent  # the reads view holds them now
        self.seen.tell(seen)

    def drop(self) -> None:
        """Nothing of what is noted will be in the log: it takes no more."""
        entries, self._pending = self._pending, []
        self._bytes, self._seen, self._recent = [], {}, {}
        self._never_told(entries)

    def _never_told(self, entries: Sequence[NewRecord]) -> None:
        self._last_reads.forget()
        self._numbers.never_told(entries)

    def takes_nothing(self) -> str:
        """Why the journal takes no records at the moment, and since when; "" where it does."""
        return self._full_disk.told()

    def purge(self, change: PurgeTransaction, writer: WriterId) -> None:
        """Make `change`, under one batch of `writer`: the bytes go, and records that told them are replaced.

        It was found in the journal as it is: nothing is noted, and the writer is introduced. Raises as `commit` does.
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
        """The number of the commit that will tell of what is noted now, whoever makes it."""
        return self._commits + 1

    def failure(self, commit: int) -> Exception | None:
        """Why the commit of this number, of late, took nothing of what was noted; None: it did, or is to come."""
        return self._failed.get(commit)

    # ── asking ──

    def history(self) -> AbstractContextManager[History]:
        """Questions to what is committed, and to the reads that are noted. For the loop's thread.

        One within another is the same one, as long as nothing is committed: a call about a thousand files asks
        thousands of times, and a transaction of its own for each took a tenth of the time of such an undo.
        """
        if self._asking is not None and self._asking_at == self._commits:
            return self._asking
        return _Asking(self)

    @contextmanager
    def history_apart(self, seen: Callable[[ReadTransaction], ReadTransaction]) -> Iterator[History]:
        """The same, of one state of the journal that others' commits leave as it is. `seen`: how it is read.

        On any thread, as long as the loop waits for it meanwhile.
        """
        forgotten = self._forgotten
        with self.journal.store.reading() as reading:
            snapshot = seen(reading)

            def text_of(blob: bytes) -> Text:
                text = self.texts.find(blob)
                if text is None:
                    text = Text.of(blobs.get(snapshot, blob), BlobId(blob))
                    if self._forgotten == forgotten:  # else it may be of bytes that have gone since
                        self.texts.keep(text.blob, text)
                return text

            yield History(snapshot, text_of, self._recent, self._names)

    def know_names(self, names: PathNames) -> None:
        """`names` were read by another thread, so that the first question about many paths need not read them."""
        if len(names) > len(self._names):
            self._names = names

    def versions(self) -> int:
        """How many versions the journal holds."""
        with self.journal.store.reading() as reading:
            return reading.count("versions")


def _size(data: Bytes) -> int:
    return data.size if isinstance(data, Frame) else len(data if isinstance(data, bytes) else data.data)
