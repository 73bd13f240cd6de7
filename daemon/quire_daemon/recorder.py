"""The journal as the loop uses it: what is committed, what will ride on the next commit, and texts at hand.

Two kinds of events go in. Those that something waits for (a write, an outside version before an edit) are
noted and then committed, synced. Those that nobody waits for (a read, a refusal, "these writes are on disk")
are noted and ride on the next commit, or on the flush when the loop has nothing to do; a crash may forget the
last second of them. Both get their seqs when they are noted, so the order in the log is the order of decisions.
A read that shows its writer what it was shown a moment ago is not noted again (`LastReads`), and a caller that is
refused over and over fills the log no faster than `Refusals` allows.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from quire_daemon.clock import Clock
from quire_daemon.reconcile import Seen
from quire_daemon.seen_files import SeenFiles
from quire_journal import blobs
from quire_journal.events import BytesGone, Event, ReadServed, WriterIntroduced
from quire_journal.frames import Frame
from quire_journal.history import History, Shown
from quire_journal.ids import OUTSIDE, BatchId, BlobId, Seq, WriterId
from quire_journal.journal import Bytes, Entry, Journal
from quire_journal.log import StoreFailed
from quire_journal.path_names import PathNames
from quire_journal.points import to_the_second
from quire_journal.purging import Change
from quire_journal.text import Text
from quire_journal.views import writers

TEXT_CACHE_BYTES = 80 << 20  # of memory, as `weight` has it
REPEAT_S = 60.0  # for so long a read that a writer repeats, of the same lines of the same version, is not noted again
MOST_READS = 10_000  # that are remembered for this
REFUSALS = 120  # of one caller that are noted however fast they come
REFUSALS_A_SECOND = 1.0  # and those that are noted besides
MOST_FAILED = 1000  # commits that failed, of which it is known why
FULL_S = 60.0  # after the last commit that found the disk full it has room again, if it takes anything
MOST_CALLERS = 10_000  # of which it is known how many there were


def weight(text: Text) -> int:
    """About how many bytes of memory a text takes that is edited and shown: of a file of short lines ten times its own.

    Each line is an object, and so are its hash and what a read shows of it. Measured, by what the process takes more:
    100 lines of 16 bytes 21 kB, 2,000 lines of 45 bytes 530 kB, five lines of 20 bytes 1 to 5 kB.
    """
    return 3 * len(text.data) + 120 * len(text) + 4096


class Texts:
    """The texts used last, by blob, within a bound of the memory that they take."""

    def __init__(self, limit_bytes: int = TEXT_CACHE_BYTES) -> None:
        self._texts: OrderedDict[bytes, Text] = OrderedDict()
        self._limit = limit_bytes
        self._held = 0

    def find(self, blob: bytes) -> Text | None:
        text = self._texts.get(blob)
        if text is not None:
            self._texts.move_to_end(blob)
        return text

    def forget(self, blob: bytes) -> None:
        """Hold this text no longer."""
        text = self._texts.pop(blob, None)
        self._held -= 0 if text is None else weight(text)

    def keep(self, text: Text) -> None:
        """Remember `text`; the one used longest ago goes. A text that is over the bound by itself is not kept."""
        size = weight(text)
        if size > self._limit or text.blob in self._texts:
            return
        self._texts[text.blob] = text
        self._held += size
        while self._held > self._limit:
            _, old = self._texts.popitem(last=False)
            self._held -= weight(old)


class LastReads:
    """What each writer read last of each path, and when: to say that again would only make the log longer."""

    def __init__(self) -> None:
        self._reads: dict[tuple[WriterId, str], tuple[ReadServed, float]] = {}

    def keep(self, read: ReadServed, writer: WriterId, batch: int, now_s: float) -> None:
        """It is being noted. What the reply to a write showed is no read: one that follows tells more of the caller."""
        self._reads.pop((writer, read.path), None)
        if len(self._reads) >= MOST_READS:
            self._reads.clear()
        if read.version < batch:
            self._reads[writer, read.path] = read, now_s

    def told(self, read: ReadServed, writer: WriterId, now_s: float) -> bool:
        """Is the same, of the same lines of the same version, in the log already, and young?"""
        last, at_s = self._reads.get((writer, read.path), (None, 0.0))
        return last == read and now_s - at_s < REPEAT_S

    def forget(self) -> None:
        """The log may tell none of them any more."""
        self._reads.clear()


class Refusals:
    """How many more refusals of each caller are noted: an agent that tries again and again would fill the disk."""

    def __init__(self) -> None:
        self._left: dict[bytes, tuple[float, float]] = {}  # caller → how many, and when that was so

    def take(self, caller: bytes, now_s: float) -> bool:
        """Is this one noted?"""
        if len(self._left) >= MOST_CALLERS:
            self._left.clear()
        left, at_s = self._left.get(caller, (float(REFUSALS), now_s))
        left = min(float(REFUSALS), left + (now_s - at_s) * REFUSALS_A_SECOND)
        self._left[caller] = (left - 1 if left >= 1 else left), now_s
        return left >= 1


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
        recorder._asking, recorder._asking_at = history, recorder._commits
        return history

    def __exit__(self, *raised: Any) -> None:
        self._recorder._asking, self._recorder._asking_at = self._outer
        self._reading.__exit__(*raised)

    def _text_of(self, blob: bytes) -> Text:
        texts = self._recorder.texts
        text = texts.find(blob)
        if text is None:
            text = Text.of(blobs.get(self._snapshot, blob), BlobId(blob))
            texts.keep(text)
        return text


class Recorder:
    """Notes events, commits them, and answers from what is committed."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self.journal = journal
        self.clock = clock
        self.texts = Texts()
        self.seen = SeenFiles(journal.store)
        self._pending: list[Entry] = []
        self._bytes: list[tuple[Bytes, str | None]] = []
        self._seen: dict[str, Seen | None] = {}  # becomes true with the commit
        self._names = PathNames()
        self._recent: dict[tuple[bytes, str], Shown] = {}  # reads that are noted, not committed
        self._last_reads = LastReads()
        self._refusals = Refusals()
        self._callers: dict[int, bytes] = {}  # writer → caller, of some
        self._next_writer = 0
        self.purges = 0  # of this run: the numbers of writers stand for others since
        self._strangers: WeakValueDictionary[WriterId, WriterIntroduced] = WeakValueDictionary()
        """Writers of this run that are not introduced, as long as somebody may name them (`stranger`)."""
        self._lately: deque[WriterIntroduced] = deque(maxlen=MOST_CALLERS)  # of those, whoever else holds them
        self._asking: History | None = None  # of the block that is open
        self._asking_at = 0  # how many commits there had been when it began
        self._commits = 0
        self._failed: OrderedDict[int, Exception] = OrderedDict()  # the last commits that did, by their numbers
        self._full_since_ns = 0  # of the first commit for which the disk had no room, since none had any
        self._full_bytes = 0  # of files, in the smallest of those that had any
        self._full_s = 0.0  # monotonic: when the last of them was
        self._full_takes = False  # were smaller ones made since?

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
        self._pending.append(Entry(event, writer, self.clock.now_ns(), BatchId(batch or seq), op))
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

    def note_seen(self, path: str, seen: Seen | None) -> None:
        """With the next commit the journal knows what stands at `path`."""
        self._seen[path] = seen

    def writer(self, who: WriterIntroduced) -> WriterId:
        """The number of this writer (`who.id` does not matter). A new one has to be introduced before it is named."""
        with self.journal.store.reading() as reading:
            known = writers.writer_id(reading, who)
            if not self._next_writer:
                self._next_writer = writers.next_writer_id(reading)
        if known is None:
            known = WriterId(self._next_writer)
            self._next_writer += 1
            self._meet(msgspec.structs.replace(who, id=known))
        if len(self._callers) >= MOST_CALLERS:
            self._callers.clear()
        self._callers[known] = _key_of(who)
        return known

    def _meet(self, stranger: WriterIntroduced) -> None:
        self._strangers[WriterId(stranger.id)] = stranger
        self._lately.append(stranger)

    def stranger(self, writer: WriterId) -> WriterIntroduced | None:
        """Who `writer` is, as long as it is not introduced. To be kept by whoever may have to introduce it later.

        Each process of an agent is a writer, and most of them only ask: nobody else remembers them for good.
        """
        return self._strangers.get(writer)

    def _caller_of(self, writer: WriterId) -> bytes:
        """The caller that a writer of this run is."""
        known = self._callers.get(writer)
        if known is None:
            noted = (e.event for e in self._pending if isinstance(e.event, WriterIntroduced) and e.event.id == writer)
            who = self._strangers.get(writer) or next(noted, None)
            with self.journal.store.reading() as reading:
                known = writers.caller_of(reading, writer) if who is None else _key_of(who)
        return known

    def introduce(self, writer: WriterId) -> None:
        """Note who `writer` is, unless the journal knows: a caller that only asks questions leaves no record."""
        stranger = self._strangers.pop(writer, None)
        if stranger is not None:
            self.note(stranger)

    # ── committing ──

    def commit(self, gone: BytesGone | None = None, batch: int = 0) -> None:
        """Everything noted, in one synced transaction; the bytes that `gone` names go with it, under `batch`.

        Nothing that stays is made from those (see `blobs.drop`) or named by what is noted (`noted`). Raises
        `StoreFailed` when the store could not: everything noted is dropped then, and the disk will be looked at again
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
                self._failed[self._commits] = error if isinstance(error, Exception) else StoreFailed(str(error))
                if len(self._failed) > MOST_FAILED:
                    self._failed.popitem(last=False)
                self._note_full(error, sum(_size(data) for data, _ in bytes_))
                self._never_told(entries)
                raise
            self._note_taken(sum(_size(data) for data, _ in bytes_) if self._full_since_ns else 0)
        if dropped:
            self._last_reads.forget()  # their paths have left the hash index, which a read lets them join again
        del recent  # the reads view holds them now
        self.seen.tell(seen)

    def _note_full(self, error: BaseException, size: int) -> None:
        """A commit with so many bytes of files failed."""
        if isinstance(error, StoreFailed) and error.disk_full:
            before = self._full_bytes if self._full_since_ns else 0
            self._full_bytes = min(size, before) if size and before else size or before
            self._full_since_ns = self._full_since_ns or self.clock.now_ns()
            self._full_s = self.clock.mono_s()

    def _note_taken(self, size: int) -> None:
        """One was made. Where files find no room, a few records may; what found none is tried again soon."""
        if not self._full_since_ns:
            return
        self._full_takes = True
        if size >= self._full_bytes or self.clock.mono_s() - self._full_s > FULL_S:
            self._full_since_ns, self._full_takes = 0, False

    def drop(self) -> None:
        """Nothing of what is noted will be in the log: it takes no more."""
        entries, self._pending = self._pending, []
        self._bytes, self._seen, self._recent = [], {}, {}
        self._never_told(entries)

    def _never_told(self, entries: Sequence[Entry]) -> None:
        self._last_reads.forget()
        # else a record would name a writer that the log never told of, and whose number another gets
        for entry in entries:
            if isinstance(entry.event, WriterIntroduced):
                self._meet(entry.event)

    def takes_nothing(self) -> str:
        """Why the journal takes no records at the moment, and since when; "" where it does."""
        if not self._full_since_ns:
            return ""
        since = to_the_second(self._full_since_ns)
        taken = "nothing but a few records" if self._full_takes else "nothing"
        return (
            f"the journal has taken {taken} since {since}, when its disk was full; what is there is recorded with room"
        )

    def purge(self, change: Change, writer: WriterId) -> None:
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
            self._note_full(error, 0)
            raise
        self._note_taken(0)
        self._names.begun_outside.clear()
        self._callers.clear()  # one whose name went is another one now
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
            return nullcontext(self._asking)
        return _Asking(self)

    def know_names(self, names: PathNames) -> None:
        """`names` were read by another thread, so that the first question about many paths need not read them."""
        if len(names) > len(self._names):
            self._names = names

    def path_of(self, name: str) -> str:
        """The path that the temporary file `name` was made for; its name begins with the seq of the record."""
        digits = name.partition(".")[0]
        with self.history() as history:
            event = history.event(int(digits)) if digits.isdecimal() else None
        return getattr(event, "path", "") or f".quire/tmp/{name}"

    def versions(self) -> int:
        """How many versions the journal holds."""
        with self.journal.store.reading() as reading:
            return reading.count("versions")


def _size(data: Bytes) -> int:
    return data.size if isinstance(data, Frame) else len(data if isinstance(data, bytes) else data.data)


def _key_of(who: WriterIntroduced) -> bytes:
    """The caller that this writer is."""
    return writers.caller_key(who.uid, who.agent, who.agent_session)
