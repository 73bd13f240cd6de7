"""Mark phase of garbage collection: finds the blobs to drop in one state of the journal. Changes nothing.

Versions are judged path by path (`quire_journal.maintenance.retention`); a blob is kept if any version keeps it. A scan
of the blobs, newest first, then adds the bases of kept blobs, which are stored as differences. Contents of a withdrawn
write are found by the record that withdrew it. Other blobs that no record names are not dropped.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from quire_journal.history import History, rfc3339
from quire_journal.maintenance import Pins, Policy, RetentionVerdict, judge
from quire_journal.model import CheckpointNamed, Event, FileMoved, FileWritten, WritesAbandoned, version_token
from quire_journal.shipment import position
from quire_journal.storage import ReadTransaction, Store, blobs, last_number, u64
from quire_journal.storage.blobs import index as blob_index
from quire_journal.views import Shown, files, path_id, path_of
from quire_journal.views.indexes import of_kind

UNNAMED, DROP, KEEP, BASE, TAKEN = range(5)
"""Marks of a blob: named by no version, to drop, kept, needed to decode a kept blob, already being dropped."""

READ_LATELY_NS: Final = 24 * 3600 * 10**9
"""Nanoseconds after a caller's read during which the version read is kept."""

_ROWS: Final = 100
_NO_RULE, _SUPERSEDED = "dropped: no rule", "dropped: superseded outside"
_MADE_FROM, _SAME_BYTES = "others are made from it", "same bytes"

_CHUNK_BLOBS: Final = 4
_CHUNK_PATHS: Final = 4

_decode_shown: Final = msgspec.msgpack.Decoder(Shown).decode

Breathe = Callable[[], None]
"""Function called between slices of work: lets other threads run, or raises to stop."""


class Chunk(NamedTuple):
    """A few blobs to delete together, and the paths of their versions."""

    blobs: tuple[bytes, ...]
    paths: tuple[str, ...]


class ListedBlob(msgspec.Struct, frozen=True):
    """A blob in a dry run's listing: one version with this content, and whether and why the blob is kept."""

    path: str
    judged: RetentionVerdict
    keep: bool
    reason: str

    def json(self) -> dict[str, Any]:
        version = self.judged.version
        return {
            "path": self.path,
            "version": version_token(version.seq),
            "at": rfc3339(version.at_ns),
            "sha256": version.blob.hex(),
            "size": version.size,
            "keep": self.keep,
            "reason": self.reason if self.keep else f"dropped: {self.reason}",
        }


class Totals(msgspec.Struct):
    kept: int = 0
    kept_bytes: int = 0
    bases: int = 0  # bases of kept blobs
    dropped: int = 0
    dropped_bytes: int = 0
    reasons: Counter[str] = msgspec.field(default_factory=Counter)  # of versions


def pins_of(history: History, r: ReadTransaction) -> Pins:
    """Return the versions that are kept whatever the policy says, such as those of incomplete writes, leases and
    checkpoints.
    """
    versions: dict[tuple[str, int], str] = {}
    for batch in history.unsettled():
        for record in history.batch(batch):
            _pin(versions, record.event(), record.seq, "unsettled write")
    for lease in history.leases():
        if lease.version:
            versions[lease.path, lease.version] = "a lease on lines of it"
    for key, _ in r.scan("edit_checkpoints"):
        path = path_of(r, int.from_bytes(key, "big"))
        open_one = history.edit_checkpoint(path) if path is not None else None
        if path is not None and open_one is not None and open_one.state == "saved":
            versions[path, open_one.version] = "open checkpoint of an edit"
    cursors = [(named.cursor, f"checkpoint {named.name}") for named in history.checkpoints()]
    since = [(burst.number, f"open burst {burst.number}") for burst in history.open_bursts()]
    return Pins(cursors, since, versions)


def read_lately(store: Store, now_ns: int, breathe: Breathe) -> Iterator[tuple[str, int]]:
    """Yield (path, version) of reads in the last `READ_LATELY_NS`."""
    after = b""
    while True:
        with store.reading() as r:
            rows = list(islice(r.scan("reads", after), _ROWS))
            shown = [(path_of(r, int.from_bytes(key[8:], "big")), _decode_shown(value)) for key, value in rows]
        for path, one in shown:
            if path is not None and now_ns - one.at_ns <= READ_LATELY_NS:
                yield path, one.version
        if len(rows) < _ROWS:
            return
        after = rows[-1][0] + b"\0"
        breathe()


def _pin(versions: dict[tuple[str, int], str], event: object, seq: int, reason: str) -> None:
    for name in ("path", "to"):
        path = getattr(event, name, None)
        for version in (seq, getattr(event, "base", 0)):
            if isinstance(path, str) and version:
                versions[path, version] = reason


class Marks:
    def __init__(self, store: Store, policy: Policy, now_ns: int, ships: str = "", to: str | None = None) -> None:
        """Fix the state of the journal to judge; newer blobs are kept. `ships` is the id of a journal that is copied to
        the remote store `to` (None: the last one): versions that have not been copied there are kept.
        """
        self._store, self._policy, self._now_ns = store, policy, now_ns
        with store.reading() as r:
            history = History(r)
            self.head = int(history.head())
            self.newest = last_number(r, "blobs")
            self._paths = r.count("paths")
            self._pins = pins_of(history, r)
            if ships:
                since = (*self._pins.since, (position(r, ships, to).seq, "unshipped"))
                self._pins = msgspec.structs.replace(self._pins, since=since)
        self._mark = bytearray(self.newest + 1)
        self._base = array("Q", bytes(8 * (self.newest + 1)))  # base of a blob to drop
        self._made_of = array("I", bytes(4 * (self.newest + 1)))  # number of dropped dependents of a blob
        self._lost: dict[int, list[files.Version]] = {}  # path → withdrawn writes
        self._owner: dict[int, int] = {}  # blob to drop → its path
        self._shared: dict[int, set[int]] = {}  # the same, for blobs of several paths
        # reasons of versions that are not kept, by blob: whether the blob is kept is known only after all verdicts
        self._going = {kind: array("I", bytes(4 * (self.newest + 1))) for kind in (_NO_RULE, _SUPERSEDED)}
        self.totals = Totals()

    # ── marking ──

    def make(self, breathe: Breathe) -> None:
        """Judge every version, and keep the blobs needed to decode kept ones."""
        lately = dict.fromkeys(read_lately(self._store, self._now_ns, breathe), "read lately")
        self._pins = msgspec.structs.replace(self._pins, versions={**lately, **self._pins.versions})
        self._find_lost(breathe)
        for number in range(1, self._paths + 1):
            for at, (judged, blob) in enumerate(self._judged(number, breathe)[1], 1):
                self._note(number, judged, blob)
                if at % _ROWS == 0:
                    breathe()
            breathe()
        self._keep_bases(breathe)

    def _find_lost(self, breathe: Breathe) -> None:
        wanted = [[of_kind(WritesAbandoned.kind)]]
        come = 0
        while come < self.head:
            with self._store.reading() as r:
                history = History(r)
                come, seqs = next(history.with_terms(wanted, come, self.head), (self.head, ()))
                for record in filter(None, map(history.record, seqs)):
                    event = record.event()
                    if isinstance(event, WritesAbandoned):
                        for seq, write in files.abandoned_writes(r, record, event):
                            self._note_lost(r, history, seq, write)
            breathe()

    def _note_lost(self, r: ReadTransaction, history: History, seq: int, write: files.ToolWrite) -> None:
        if not isinstance(write, FileWritten | FileMoved):
            return
        record, number = history.record(seq), path_id(r, write.to if isinstance(write, FileMoved) else write.path)
        if record is None or number is None or not blobs.holds(r, write.blob):
            return
        lost = files.Version(
            seq,
            record.at_ns,
            record.writer,
            record.batch,
            write.by,
            write.blob,
            write.size,
            write.mode,
            index=files.NEVER_HEAD,
        )
        self._lost.setdefault(number, []).append(lost)

    def _judged(self, number: int, breathe: Breathe) -> tuple[str, list[tuple[RetentionVerdict, int]]]:
        path = self._path(number)
        versions: list[files.Version] = []
        numbers: dict[bytes, int] = {}
        while path:
            with self._store.reading() as r:
                after = versions[-1].seq if versions else 0
                more = list(islice(files.versions(r, number, after, upto=self.head, displaced=True), _ROWS))
                for blob in {v.blob for v in more if v.blob} - numbers.keys():
                    at = blob_index.find(r, blob)
                    if at is not None:
                        numbers[blob] = at
            versions += more
            if len(more) < _ROWS:
                break
            breathe()
        lost = self._lost.get(number)
        if lost:
            with self._store.reading() as r:
                numbers |= {v.blob: blobs.number_of(r, v.blob) for v in lost if blobs.holds(r, v.blob)}
            versions = sorted([*versions, *lost], key=lambda version: version.seq)
        judged = judge(path, versions, self._policy, self._pins, self._now_ns, numbers.__contains__)
        return path, [(one, numbers[one.version.blob]) for one in judged if numbers[one.version.blob] <= self.newest]

    def _note(self, path: int, judged: RetentionVerdict, blob: int) -> None:
        kind = _kind(judged)
        if kind in self._going:
            self._going[kind][blob] += 1
        else:
            self.totals.reasons[kind] += 1
        if judged.keep:
            self._mark[blob] = KEEP
        elif self._mark[blob] == UNNAMED:
            self._mark[blob] = DROP
        if self._mark[blob] == DROP and self._owner.setdefault(blob, path) != path:
            self._shared.setdefault(blob, {self._owner[blob]}).add(path)

    def _keep_bases(self, breathe: Breathe) -> None:
        """Keep the blobs from which kept ones are decoded. One scan from the newest is enough, because a blob is a
        difference to an older one.
        """
        at, totals = self.newest + 1, self.totals
        while True:
            with self._store.reading() as r:
                rows = list(islice(r.scan("blobs", b"", u64(at), reverse=True), _ROWS))
            for key, value in rows:
                at = int.from_bytes(key, "big")
                stored = blobs.read_row(at, value)
                base, size = stored.base, len(value) + stored.rest
                self._count_going(at)
                if self._mark[at] == DROP:
                    totals.dropped += 1
                    totals.dropped_bytes += size
                    self._base[at] = base
                    self._made_of[base] += 1
                    continue
                totals.kept += 1
                totals.kept_bytes += size
                totals.bases += self._mark[at] == BASE
                if base and self._mark[base] in (UNNAMED, DROP):
                    self._mark[base] = BASE
                    self._owner.pop(base, None)
            breathe()
            if len(rows) < _ROWS:
                return

    def _count_going(self, blob: int) -> None:
        stays = {DROP: "", BASE: _MADE_FROM}.get(self._mark[blob], _SAME_BYTES)
        for kind, counts in self._going.items():
            if number := counts[blob]:
                self.totals.reasons[stays or kind] += number

    # ── what came of it ──

    def listing(self, skip: int, limit: int, only: str, breathe: Breathe) -> tuple[list[ListedBlob], int | None]:
        """Return `limit` entries after the first `skip`, and the next page's `skip` (None: last page). `only`: "kept"
        or "dropped" blobs; "": both.
        """
        found: list[ListedBlob] = []
        seen = 0
        for number in range(1, self._paths + 1):
            path, judgements = self._judged(number, breathe)
            for judged, blob in judgements:
                listed = self._listed(path, judged, blob)
                if only and listed.keep != (only == "kept"):
                    continue
                seen += 1
                if seen <= skip:
                    continue
                if len(found) == limit:
                    return found, skip + limit
                found.append(listed)
            breathe()
        return found, None

    def _listed(self, path: str, judged: RetentionVerdict, blob: int) -> ListedBlob:
        mark = self._mark[blob]
        if judged.keep or mark == DROP:
            return ListedBlob(path, judged, judged.keep, judged.reason)
        why = "others that are kept are made from it" if mark == BASE else "another version keeps these bytes"
        return ListedBlob(path, judged, True, why)

    def chunks(self, breathe: Breathe) -> Iterator[Chunk]:
        """Yield the blobs to drop, in `Chunk`s for one transaction each. A blob follows all that depend on it, so that
        after an interruption every remaining blob can be decoded.
        """
        gone: list[bytes] = []
        paths: dict[int, str] = {}
        left = self.totals.dropped
        while left:
            before = left
            for number in range(self._paths, 0, -1):  # dependents mostly came later, also as paths
                judgements = sorted(self._judged(number, breathe)[1], key=lambda one: -one[1])
                for at, (judged, blob) in enumerate(judgements, 1):
                    if at % _ROWS == 0:
                        breathe()
                    if self._mark[blob] != DROP or self._made_of[blob]:
                        continue
                    self._mark[blob] = TAKEN
                    self._made_of[self._base[blob]] -= 1
                    left -= 1
                    gone.append(judged.version.blob)
                    for owner in self._shared.get(blob, {number}):
                        paths.setdefault(owner, self._path(owner))
                    if len(gone) == _CHUNK_BLOBS or len(paths) >= _CHUNK_PATHS:
                        yield Chunk(tuple(gone), tuple(paths.values()))
                        gone, paths = [], {}
                breathe()
            if left == before:  # the rest has no bytes under its old names
                break
        if gone:
            yield Chunk(tuple(gone), tuple(paths.values()))

    def _path(self, number: int) -> str:
        with self._store.reading() as r:
            return path_of(r, number) or ""


def _kind(judged: RetentionVerdict) -> str:
    if not judged.keep:
        return _SUPERSEDED if judged.reason.startswith("outside") else _NO_RULE
    word = judged.reason.partition(" ")[0]
    return {"one": "keep-last", "within": "keep-within", "no": "no rule in the policy", "a": "lease"}.get(word, word)


class NewerNeeds:
    """Blobs that must not be dropped, because records or blobs newer than the mark phase need them."""

    def __init__(self, marks: Marks) -> None:
        self._looked_to, self._newest, self._marked = marks.head, marks.newest, marks.head
        self._blobs: set[bytes] = set()
        self._numbers: set[int] = set()
        self.look_again = ""  # why the marks are obsolete

    def catch_up(self, store: Store, breathe: Breathe) -> None:
        """Read all records and blobs added since the mark phase began."""
        more = True
        while more:
            with store.reading() as r:
                more = self.look(r, most=_ROWS)
            breathe()

    def look(self, r: ReadTransaction, noted: Sequence[Event] = (), most: int | None = None) -> bool:
        """Read records and blobs added since the last call, and the uncommitted events `noted`. At most `most` of each
        are read (None: all); returns True if more may remain.
        """
        history = History(r)
        records = list(islice(history.records(after=self._looked_to), most))
        for record in records:
            self._looked_to = record.seq
            self._event(r, history, record.event())
        for event in noted:
            self._event(r, history, event)
        rows = list(islice(r.scan("blobs", u64(self._newest + 1)), most))
        for key, value in rows:
            self._newest = int.from_bytes(key, "big")
            self._with_bases(r, blobs.read_row(self._newest, value).base)
        return most in (len(records), len(rows))

    def _event(self, r: ReadTransaction, history: History, event: Event | None) -> None:
        if isinstance(event, CheckpointNamed) and event.cursor < self._marked:
            self.look_again = f"checkpoint {event.name!r} was named"
        self._take(r, getattr(event, "blob", b""))
        path = getattr(event, "path", None)
        for seq in (getattr(event, "version", 0), getattr(event, "base", 0)):
            version = history.version(path, seq) if isinstance(path, str) and isinstance(seq, int) and seq else None
            if version is not None:
                self._take(r, version.blob)

    def _take(self, r: ReadTransaction, blob: bytes) -> None:
        if blob and blob not in self._blobs and blobs.holds(r, blob):
            self._blobs.add(blob)
            self._with_bases(r, blobs.number_of(r, blob))

    def _with_bases(self, r: ReadTransaction, number: int) -> None:
        while number and number not in self._numbers:
            self._numbers.add(number)
            number = blobs.base_of(r, number)

    def rest(self, r: ReadTransaction, chunk: Chunk) -> tuple[bytes, ...]:
        """Return the blobs of `chunk` that are stored, and that no record or blob since the mark phase needs."""
        return tuple(
            blob for blob in chunk.blobs if blobs.holds(r, blob) and blobs.number_of(r, blob) not in self._numbers
        )
