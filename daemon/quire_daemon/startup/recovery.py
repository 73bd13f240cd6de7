"""Recovery after an unclean stop: completes, confirms or withdraws each write whose outcome is unknown.

The action follows from the state in which the crash left a write (`commit.LIFE`). The log tells of a batch that was
decided or rolled back in part. Any other write is judged by its path on disk:

- the new bytes: the write is confirmed
- the base, in the same inode: the write is performed with the journal's bytes
- the new bytes (or nothing, for a removal), but the write displaced another program's save: the save is put back
- a later change is in the log: the write was on disk, and nothing is done
- anything else: another program wrote; its bytes stay, and the scan at start records them

A write that cannot be performed is withdrawn. If its path cannot be read, its outcome stays open for a later start.
Recovery is idempotent.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence, Set
from itertools import chain, takewhile
from typing import Final

from quire_daemon.commit import LIFE, AtStart, WriteState
from quire_daemon.core import Clear, FileNow, Make, Move, Put, Remove, Write, names
from quire_daemon.engine import IN_PART, Withheld, meant_for, note_displaced, note_theirs
from quire_daemon.ops import Log
from quire_daemon.startup.recovery_context import RecoveryContext, as_read
from quire_daemon.workspace import TMP, DisplacedBytes, FileVanished, NotRegular, UnreadFile, Workspace
from quire_journal.history import History
from quire_journal.model import (
    DISPLACED,
    FOLDER,
    LINK,
    REGULAR,
    SECRET,
    CaptureFailed,
    Event,
    FileDeleted,
    FileMoved,
    FileWritten,
    ModeChanged,
    OutsideWritten,
    Record,
    Refusal,
    WritesAbandoned,
    WritesSettled,
    above,
    blob_id,
    disk_path,
    journal_path,
    paths_of,
)
from quire_journal.views import OUTSIDE_TYPE, TOOL_WRITES, standing

OVERTAKEN: Final = "overtaken"
"""Reason for withdrawing one write: another program changed the file first."""

NOT_MADE: Final = "not_made"

OF_ONE: Final = (OVERTAKEN, NOT_MADE, IN_PART)
"""Reasons for withdrawing one write of a batch."""


def recover(start: RecoveryContext) -> int:
    """Complete, confirm or withdraw every write without a recorded outcome; return the number completed."""
    recorder, workspace, log = start.recorder, start.workspace, start.log
    left = workspace.leftovers(start.limit)
    records = _withdraw(start)
    in_journal = _keep(start, left)
    promised = {record.seq for record in records}
    for kept in left:
        if kept.seq in promised:
            with _unless_closed(log, kept.seq):
                _put_back(start, kept)
    workspace.discard(in_journal)
    read = {kept.name for kept in left}
    _keep_unread(start, [one for one in workspace.unread() if one.name not in read])
    for record in records:
        _finish_folders_above(start, record.event())
    emptied = {(record.batch, path) for record in records for path in _taken_from(record.event())}
    rolled, changed, doubtful = 0, list[str](), set[int]()
    for record in records:  # in order: one file may move to the path from which another moves
        writes: Sequence[Write] = ()
        with recorder.history() as history:
            state = WriteState.LANDED if _was_seen_since(record, history) else WriteState.LOGGED
        made = -1
        with _unless_closed(log, record.seq):
            if LIFE[state].at_start is AtStart.FINISH:
                _make_room(start, record, emptied)
                with recorder.history() as history:
                    writes = _planned(start, record, history)  # none if the disk shows that the write landed
            made = sum(1 for _ in takewhile(start.perform, writes))  # stop at the first failure
        if made < 0:
            doubtful.add(record.batch)
        if not writes:
            continue
        if not made:
            recorder.note(WritesAbandoned((record.seq,), NOT_MADE))
        rolled += made == len(writes)
        changed += [path for write in writes for path in names(write)]
        log.info("recovered", seq=record.seq, path=writes[-1].path, rolled_forward=made == len(writes))
    for record in records:
        _finish_folder(workspace, record.event())
    start.write_down(changed)
    settled = takewhile(lambda record: record.batch not in doubtful, records)
    if through := max((record.seq for record in settled), default=0):
        recorder.note(WritesSettled(through))
    recorder.commit()
    return rolled


def _withdraw(start: RecoveryContext) -> list[Record]:
    with start.recorder.history() as history:
        batches = {batch: _state_of(batch, history) for batch in history.unsettled()}
        withdrawn = [
            WritesAbandoned(tuple(history.batch_writes(batch)), why)
            for batch, (state, why) in batches.items()
            if LIFE[state].at_start is AtStart.WITHDRAW
        ]
    for one in withdrawn:
        start.recorder.note(one)
    start.recorder.commit()
    with start.recorder.history() as history:
        return [record for batch in history.unsettled() for record in _standing(batch, history)]


def _state_of(batch: int, history: History) -> tuple[WriteState, str]:
    """Return the state that the log alone shows for a batch without a recorded outcome, and the reason to withdraw the
    batch ("": none).

    If the log has any record of a rollback of the batch, that was complete on disk. An undo without its last record
    (`record_chunks`) has written no file.
    """
    stand = history.batch_writes(batch)
    if stand and (why := _rolled_back(batch, history)):
        return WriteState.ABANDONED, why
    last = history.event(max(stand, default=0))
    if getattr(last, "by", "") == "undo" and history.undoing(batch) is None:
        return WriteState.DECIDED, "not_begun"
    return WriteState.LOGGED, ""


def _standing(batch: int, history: History) -> Iterator[Record]:
    stands = {*history.batch_writes(batch)}
    return (one for one in history.batch(batch) if one.seq in stands or not isinstance(one.event(), TOOL_WRITES))


def _was_seen_since(record: Record, history: History) -> bool:
    """True if the log has a later change of the record's paths, which proves that the write was on disk."""
    event = record.event()
    if not isinstance(event, TOOL_WRITES):
        return False
    later = chain.from_iterable(history.versions(path, after=record.seq) for path in paths_of(event))
    return any(version.type == OUTSIDE_TYPE or version.batch != record.batch for version in later)


def _taken_from(event: Event | None) -> Iterator[str]:
    if isinstance(event, FileDeleted | FileMoved):
        yield event.path
        yield from above(event.path)


def _make_room(start: RecoveryContext, record: Record, emptied: Set[tuple[int, str]]) -> None:
    event = record.event()
    if not isinstance(event, FileWritten | FileMoved) or event.entry == FOLDER:
        return
    path = event.to if isinstance(event, FileMoved) else event.path
    if (record.batch, path) in emptied and start.workspace.look(disk_path(path)).kind == "folder":
        start.make_room(path, record.seq)


@contextlib.contextmanager
def _unless_closed(log: Log, seq: int) -> Iterator[None]:
    try:
        yield
    except (Refusal, OSError) as error:
        log.warning("not_recovered", seq=seq, why=str(error))


def _rolled_back(batch: int, history: History) -> str:
    events = (r.event() for r in history.records(after=batch) if r.kind == WritesAbandoned.kind)
    said = [event for event in events if isinstance(event, WritesAbandoned) and event.why not in OF_ONE]
    whole = {record.seq for record in history.batch(batch)} if said else set()
    return next((one.why for one in said if whole.intersection(one.seqs)), "")


def _finish_folder(workspace: Workspace, event: Event | None) -> None:
    if not isinstance(event, FileWritten) or event.entry != FOLDER:
        return
    path = disk_path(event.path)
    with contextlib.suppress(OSError, Refusal, FileVanished, NotRegular):
        if workspace.look(path).kind == "folder":
            workspace.finish_folder(path, event.mode)


def _finish_folders_above(start: RecoveryContext, event: Event | None) -> None:
    if not isinstance(event, FileWritten | FileMoved):
        return
    path = disk_path(event.to if isinstance(event, FileMoved) else event.path)
    folders = [*above(path)]
    with start.recorder.history() as history:
        heads = [standing(history.file(journal_path(folder))) for folder in folders]
    for folder, head in zip(folders, heads, strict=True):
        if head is None:
            with contextlib.suppress(OSError, Refusal, FileVanished, NotRegular):
                start.workspace.finish_made(folder)


def _planned(start: RecoveryContext, record: Record, history: History) -> Sequence[Write]:
    event = record.event()
    if isinstance(event, FileWritten) and event.entry != REGULAR:
        return _at_most(_make(start, record.seq, event, history))
    if isinstance(event, FileWritten | ModeChanged):
        return _at_most(_put(start, record.seq, event, history))
    if isinstance(event, FileDeleted) and _is_of_folder(event, history):
        there = start.workspace.look(disk_path(event.path)).kind == "folder"
        return (Clear(record.seq, event.path, FileNow(event.path, "folder")),) if there else ()
    if isinstance(event, FileDeleted):
        at = event.path, event.base, event.inode
        over = start.base_there(*at, history) or start.link_there(*at, history)
        return (Remove(record.seq, event.path, over),) if over is not None and over.kind != "missing" else ()
    if isinstance(event, FileMoved):
        return _move(start, record.seq, event, history)
    return ()


def _is_of_folder(event: FileDeleted, history: History) -> bool:
    base = history.version(event.path, event.base) if event.base else None
    return base is not None and base.entry == FOLDER


def _at_most(write: Write | None) -> Sequence[Write]:
    return () if write is None else (write,)


def _move(start: RecoveryContext, seq: int, event: FileMoved, history: History) -> Sequence[Write]:
    """Return the writes that complete a rename: a move, or a new file and a removal if content or mode changed."""
    base = history.version(event.path, event.base)
    if base is not None and base.gone:
        return _at_most(_new(start, seq, event, history))
    over = start.base_there(event.path, event.base, event.inode, history)
    if over is None or over.kind != "file" or over.text is None:
        return ()
    as_it_was = event.blob in (b"", over.text.blob)  # moved with unknown bytes: a secret
    if as_it_was and (base is None or base.mode == event.mode):
        return (Move(seq, event.path, event.to, over),) if start.is_free(event.to) else ()
    remove = Remove(seq, event.path, over)
    if start.is_free(event.to):
        made = _new(start, seq, event, history)
        return () if made is None else (made, remove)
    there = start.read(event.to)
    return (remove,) if there is not None and blob_id(there.data) == event.blob else ()


def _new(start: RecoveryContext, seq: int, event: FileMoved, history: History) -> Put | None:
    data = history.bytes_held(event.blob) if start.is_free(event.to) else None
    return None if data is None else Put(seq, event.to, data, event.mode, FileNow(event.to, "missing"))


def _make(start: RecoveryContext, seq: int, event: FileWritten, history: History) -> Make | None:
    if not start.is_free(event.path):
        return None
    target = history.bytes_held(event.blob) if event.entry == LINK else b""
    if target is None:
        return None
    return Make(seq, event.path, event.entry, target, event.mode, FileNow(event.path, "missing"))


def _put(start: RecoveryContext, seq: int, event: FileWritten | ModeChanged, history: History) -> Put | None:
    inode = event.inode if isinstance(event, FileWritten) else 0
    over = start.base_there(event.path, event.base, inode, history)
    data = None if over is None else history.bytes_held(event.blob)
    if over is None or data is None:  # a secret, never captured: the write cannot be completed
        return None
    if over.text is not None and over.text.data == data and over.mode == event.mode:
        return None
    return Put(seq, event.path, data, event.mode, over)


def _keep(start: RecoveryContext, left: Sequence[DisplacedBytes]) -> Sequence[DisplacedBytes]:
    """Journal the bytes of leftover temporary files that the journal lacks, or keep them in `.quire/displaced`; return
    the files that may be deleted.
    """
    done, recorder = [], start.recorder
    with recorder.history() as history:
        for kept in left:
            blob = blob_id(kept.data)
            with _unless_closed(start.log, kept.seq):
                if not history.holds(blob) and not _to_be_without(kept.seq, blob, history):
                    path = meant_for(recorder, kept.name)
                    why = start.withheld(disk_path(path), kept.data) or (SECRET if kept.withheld else "")
                    note_displaced(recorder, start.workspace, path, kept.data, "swap", why)
                done.append(kept)
    recorder.commit()
    return done


def _keep_unread(start: RecoveryContext, left: Sequence[UnreadFile]) -> None:
    """Delete unread temporary files whose bytes are known or unwanted; move large ones to `.quire/displaced`."""
    noted, recorder, workspace = [], start.recorder, start.workspace
    for one in left:
        large = one.size > start.limit
        with _unless_closed(start.log, one.seq):
            with recorder.history() as history:
                unwanted = _was_to_be_lost(one.seq, one.ino, history) or (large and _is_known(one, workspace, history))
            if unwanted and not one.written:
                workspace.remove(one.name)
            elif large:
                kept = DisplacedBytes(one.name, "", b"", one.seq, large=one.size)
                note_theirs(recorder, workspace, meant_for(recorder, one.name), kept, "swap", start.withheld)
                noted.append(kept)
    recorder.commit()
    workspace.discard(noted)


def _is_known(one: UnreadFile, workspace: Workspace, history: History) -> bool:
    event = history.event(one.seq)
    if not isinstance(event, FileWritten | FileDeleted | FileMoved):
        return False
    base = history.version(event.path, event.base) if event.base else None
    sizes = {base.size if base is not None else -1, -1 if isinstance(event, FileDeleted) else event.size}
    if one.size not in sizes:
        return False
    blob = workspace.address(one.name)
    return history.holds(blob) or _to_be_without(one.seq, blob, history)


def _to_be_without(seq: int, blob: bytes, history: History) -> bool:
    """True if the journal must not have these bytes, which the write `seq` wrote or displaced."""
    event = history.event(seq)
    if isinstance(event, FileWritten) and event.uncaptured and event.blob == blob:
        return True
    path, base = getattr(event, "path", None), getattr(event, "base", 0)
    over = history.version(path, base) if isinstance(path, str) and base else None
    return history.purged(blob) or (over is not None and over.blob == blob and bool(over.uncaptured))


def _was_to_be_lost(seq: int, inode: int, history: History) -> bool:
    event = history.event(seq)
    if not isinstance(event, FileWritten | FileDeleted | FileMoved) or not event.base or event.inode != inode:
        return False
    base = history.version(event.path, event.base)
    return base is not None and bool(base.uncaptured)


def _put_back(start: RecoveryContext, kept: DisplacedBytes) -> None:
    """Restore another program's save that a write displaced just before the daemon died, and withdraw that write."""
    recorder = start.recorder
    if _put_back_removed(start, kept):
        return
    with recorder.history() as history:
        step = _save_to_put_back(start, kept, history)
    if step is None or _is_base(kept, step[0], start.workspace):
        return
    event, over = step
    recorder.note(WritesAbandoned((kept.seq,), OVERTAKEN))
    seq = recorder.note(_seen(event.path, kept.data, over.mode, event.base, start.withheld))
    recorder.commit()
    start.perform(Put(seq, event.path, kept.data, over.mode, over))


def _seen(path: str, data: bytes, mode: int, base: int, withheld: Withheld) -> OutsideWritten | CaptureFailed:
    if why := withheld(disk_path(path), data):
        return CaptureFailed(path, why, len(data), blob_id(data), mode, DISPLACED)
    return OutsideWritten(path, blob_id(data), len(data), mode, DISPLACED, base)


def _put_back_removed(start: RecoveryContext, kept: DisplacedBytes) -> bool:
    recorder = start.recorder
    with recorder.history() as history:
        event = history.event(kept.seq)
        if not isinstance(event, FileDeleted | FileMoved):
            return False
        base = history.version(event.path, event.base) if event.base else None
    if event.base and base is None:
        return False
    blob = blob_id(kept.data)
    ours = {base.blob if base is not None else b"", event.blob if isinstance(event, FileMoved) else b""}
    signature = start.workspace.look(f"{TMP}/{kept.name}").signature
    if blob in ours or signature is None or (event.inode and signature.ino == event.inode):
        return False
    if not start.is_free(event.path):
        return False
    mode = signature.mode & 0o7777
    seq = recorder.note(_seen(event.path, kept.data, mode, 0, start.withheld))
    recorder.commit()
    return start.perform(Put(seq, event.path, kept.data, mode, FileNow(event.path, "missing")))


def _save_to_put_back(
    start: RecoveryContext, kept: DisplacedBytes, history: History
) -> tuple[FileWritten, FileNow] | None:
    event = history.event(kept.seq)
    if not isinstance(event, FileWritten):
        return None
    base = history.version(event.path, event.base) if event.base else None
    if event.base and base is None:
        return None
    blob = blob_id(kept.data)
    if blob == event.blob or (base is not None and blob == base.blob):
        return None  # not swapped yet, or the base of a swap
    image = start.read(event.path)
    if image is None or blob_id(image.data) != event.blob:
        return None  # the path has newer bytes
    return event, as_read(event.path, image)


def _is_base(kept: DisplacedBytes, event: FileWritten, workspace: Workspace) -> bool:
    signature = workspace.look(f"{TMP}/{kept.name}").signature
    return signature is None or not event.inode or signature.ino == event.inode
