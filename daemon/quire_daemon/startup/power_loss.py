"""Recovery after a crash of the machine: repeats confirmed writes that the file system lost.

A write syncs the new bytes before renaming them into place. The file system stores the rename or removal later (ext4
within 5 seconds, XFS and btrfs within 30), unless `durability = "strict"` syncs it. So a power cut can revert a path.
The file system, and no program, reverted a path that holds:

- the very file that the write replaced or removed (same inode and bytes), unchanged since
- nothing, as before the write that created the path, in a folder unchanged since
- a folder, unchanged since, that the write found empty and removed

Such a path gets its newest version again, if the journal has the bytes. A file whose bytes the journal lacks is moved
again, but never removed. `verdict.JournalVerdict.machine_ran` says which starts need this. A restored disk snapshot
looks the same. If the clock was set back, the path stays as it is.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Final, NamedTuple

from msgspec.structs import replace

from quire_daemon.core import FileNow, Make, Move, Put, Remove, Write, names
from quire_daemon.startup.recovery_context import RecoveryContext
from quire_daemon.workspace import Workspace
from quire_journal.history import History
from quire_journal.model import (
    DISPLACED,
    FOLDER,
    LINK,
    REGULAR,
    BytesDisplaced,
    BytesGone,
    FileDeleted,
    FileMoved,
    FileWritten,
    JournalSalvaged,
    ModeChanged,
    OutsideWritten,
    Record,
    Refusal,
    WritesAbandoned,
    WritesSettled,
    above,
    disk_path,
)
from quire_journal.text import Text
from quire_journal.views import Version, standing

UNWRITTEN_NS: Final = 120_000_000_000
"""Nanoseconds before the newest record in which a lost write can be. All older changes are on disk."""

LONGEST_NS: Final = 30_000_000_000
_OF_STARTS: Final = frozenset(
    event.kind for event in (WritesSettled, WritesAbandoned, BytesDisplaced, BytesGone, JournalSalvaged)
)
"""Kinds of events that a recovery records, perhaps late."""


class _Promise(NamedTuple):
    at_ns: int
    done_ns: int  # known to be performed by then
    base: int  # seq of the version; 0: the path was missing
    inode: int  # of the file; 0: unknown


def bring_back(start: RecoveryContext) -> int:
    """Repeat the writes that a power cut lost; return the number of paths restored."""
    recorder = start.recorder
    with recorder.history() as history:
        promises = _latest(history, recorder.clock.now_ns())
        found = (_step(start, path, promises[path], history) for path in sorted(promises))
        steps = [_lighter(step, history) for step in found if step is not None]
    done = 0
    for light in _in_order(steps):
        with recorder.history() as history:
            step = _whole(light, history)
        there = _perform(start, step)
        done += there
        start.log.info("brought_back", seq=step.seq, path=step.path, done=there)
    start.write_down([path for step in steps for path in names(step)])
    return done


def _lighter(step: Write, history: History) -> Write:
    if not isinstance(step, Put | Remove):
        return step
    over = step.over
    if over.text is not None and over.version is not None and history.holds(over.version.blob):
        over = replace(over, text=None)
    return replace(step, over=over) if isinstance(step, Remove) else replace(step, over=over, data=b"")


def _whole(step: Write, history: History) -> Write:
    if not isinstance(step, Put | Remove):
        return step
    over = step.over
    if over.kind == "file" and over.text is None and over.version is not None:
        over = replace(over, text=Text.of(history.bytes_of(over.version.blob)))
    if isinstance(step, Remove):
        return replace(step, over=over)
    head = history.version(step.path, step.seq)
    assert head is not None
    return replace(step, over=over, data=history.bytes_of(head.blob))


def _in_order(steps: Sequence[Write]) -> list[Write]:
    """Return the steps in an order that works: replacements before removals, except where a file takes the place of a
    folder or the reverse.
    """
    inhabited = {folder for step in steps for path in names(step) for folder in above(path)}
    cleared = {step.path for step in steps if step.over.kind == "folder"}

    def rank(step: Write) -> tuple[int, bool]:
        goes = isinstance(step, Remove)
        if step.path in cleared:
            return 2, goes
        if step.path in inhabited:
            return 0, goes
        in_the_way = any(folder in cleared for folder in above(step.path))
        return 1 if in_the_way or not goes else 3, goes

    return sorted(steps, key=rank)


def _perform(start: RecoveryContext, step: Write) -> bool:
    if step.over.kind != "folder":
        return start.perform(step)
    return start.make_room(step.path, step.seq) and start.perform(replace(step, over=FileNow(step.path, "missing")))


def _latest(history: History, now_ns: int) -> dict[str, list[_Promise]]:
    promises: dict[str, list[_Promise]] = {}
    since_ns: int | None = None
    settled: list[tuple[int, int]] = []  # (settled up to this seq, when)
    for record, before in pairwise(chain(history.records(reverse=True), (None,))):
        assert record is not None
        if since_ns is None and not _may_be_of_a_start(record):
            since_ns = record.at_ns - UNWRITTEN_NS
        if since_ns is not None and record.at_ns < since_ns:
            break
        event = record.event() if record.kind == WritesSettled.kind else None
        if isinstance(event, WritesSettled):
            settled.append((event.through, record.at_ns))
        if record.at_ns > now_ns or (before is not None and before.at_ns == record.at_ns):
            continue  # the clock was set back: the record's time is not that of the write
        at_ns = next((at_ns for through, at_ns in reversed(settled) if through >= record.seq), record.at_ns)
        for path, promise in _promises(record, min(at_ns, record.at_ns + LONGEST_NS)):
            promises.setdefault(path, []).append(promise)
    return promises


def _may_be_of_a_start(record: Record) -> bool:
    if record.kind == OutsideWritten.kind:
        event = record.event()
        return isinstance(event, OutsideWritten) and event.evidence == DISPLACED
    return record.kind in _OF_STARTS


def _promises(record: Record, done_ns: int) -> Iterator[tuple[str, _Promise]]:
    event = record.event()
    if isinstance(event, FileWritten | FileDeleted | FileMoved):
        yield event.path, _Promise(record.at_ns, done_ns, event.base, event.inode)
    elif isinstance(event, ModeChanged):
        yield event.path, _Promise(record.at_ns, done_ns, event.base, 0)
    if isinstance(event, FileMoved):
        yield event.to, _Promise(record.at_ns, done_ns, 0, 0)


def _step(start: RecoveryContext, path: str, promises: list[_Promise], history: History) -> Write | None:
    """Return the write that restores the newest version of `path`; None if not needed, or if another program changed
    it.
    """
    head = history.file(path)
    over = None if head is None else _as_before(start, path, promises, history)
    if head is None or over is None:
        return None
    if head.gone:
        return _leave(start, path, head, over, history)
    if over.kind == "link":
        return None  # no write is made where a link is
    data = b"" if head.entry not in (REGULAR, LINK) else history.bytes_held(head.blob)
    if data is None:
        return None  # a secret, or too large: never captured
    if head.entry != REGULAR:
        there = over.kind == "file" or (over.kind == "folder" and head.entry == FOLDER)
        return None if there else Make(head.seq, path, head.entry, data, head.mode, over)
    if over.text is not None and over.text.data == data and over.mode == head.mode:
        return None
    return Put(head.seq, path, data, head.mode, over)


def _leave(start: RecoveryContext, path: str, head: Version, over: FileNow, history: History) -> Remove | Move | None:
    if over.kind == "link" and over.version is not None and history.holds(over.version.blob):
        return Remove(head.seq, path, over)
    if over.kind != "file" or over.text is None:
        return None
    if history.holds(over.text.blob):
        return Remove(head.seq, path, over)
    there = standing(history.file(head.moved_to)) if head.moved_to else None
    if there is None or there.blob != over.text.blob:
        return None
    with contextlib.suppress(Refusal):
        if start.is_free(head.moved_to):
            return Move(head.seq, path, head.moved_to, over)
    return None


def _as_before(start: RecoveryContext, path: str, promises: list[_Promise], history: History) -> FileNow | None:
    """Return the state of `path` on disk if it is still that before one of the writes `promises`; else None."""
    with contextlib.suppress(Refusal):
        look = start.workspace.look(disk_path(path))
        if look.kind == "missing":
            changed_ns = _folder_changed_ns(disk_path(path), start.workspace)
            was_nothing = any(p.done_ns > changed_ns and _nothing(path, p.base, history) for p in promises)
            return FileNow(path, "missing") if was_nothing else None
        if look.signature is None:
            return None
        if look.kind == "folder":
            changed_ns = max(look.signature.mtime_ns, look.signature.ctime_ns)
            was_made = any(changed_ns < p.at_ns and _nothing(path, p.base, history) for p in promises)
            return FileNow(path, "folder") if was_made else None
        if look.kind not in ("file", "link"):
            return None
        there_is = start.base_there if look.kind == "file" else start.link_there
        for promise in promises:
            if promise.inode in (0, look.signature.ino) and look.signature.ctime_ns < promise.at_ns:
                there = there_is(path, promise.base, promise.inode, history)
                if there is not None:
                    return there
    return None


def _nothing(path: str, base: int, history: History) -> bool:
    return not base or standing(history.version(path, base)) is None


def _folder_changed_ns(path: str, workspace: Workspace) -> int:
    while path:
        path = os.path.dirname(path)
        signature = workspace.look(path or ".").signature
        if signature is not None and signature.kind == "folder":
            return max(signature.mtime_ns, signature.ctime_ns)
    return 0
