"""After an end of the machine: writes that were answered, and that the file system had not written down.

A write syncs the new bytes before they get their name. The exchange of names itself, a new name, a removal are for the
file system to write down, which it does in its time: ext4 within 5 seconds, XFS and btrfs within 30. Only `durability
= "strict"` waits for it before it answers. So a power cut can leave a path as it was before a write that was answered,
and that the log calls settled, for it was on disk as everybody saw it.

That the file system went back, and nobody else did it, is told by what stands there:

* the very file that a write replaced or removed (its inode and its bytes), not changed since the record of the write;
* or nothing, as before the write that made the path, in a folder that was not changed since that was made;
* or a folder, not changed since, which the write found empty and removed.

Such a path gets its newest version, whose bytes the journal has; a file whose bytes it does not have is moved again, as
it was, but never removed. Anything else is somebody's doing, stays, and becomes an outside version when the tree is
compared. Which start asks is told by `verdict.JournalVerdict.machine_ran`.

A disk that was put back to how it was once (a snapshot) looks like that, too, and its last writes come back. Tried and
taken back: to take it for one where older writes, which had surely been written down, went back as well. A disk below
the checkout that is not mounted yet says the same of its files, and then no edit that was answered came back.

All of that compares what the clock said. After it was set back, records have the time of the last one before that, or
one that is still to come: of such a write nothing is known, and what stands stays.
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
"""Before the end of the log: what is older has been written down by any file system."""

LONGEST_NS: Final = 30_000_000_000
"""For which a batch is written at most, its files one after the other: each changes the folder that it comes into."""

_OF_STARTS: Final = frozenset(
    event.kind for event in (WritesSettled, WritesAbandoned, BytesDisplaced, BytesGone, JournalSalvaged)
)
"""What `recovery` and a salvage note, too: hours after the last write, if the machine was off for so long."""


class _Promise(NamedTuple):
    """What a write found at a path when it was decided."""

    at_ns: int
    done_ns: int  # it was made by then, as far as is known
    base: int  # seq of the version; 0: nothing was there
    inode: int  # of the file; 0: not known


def bring_back(start: RecoveryContext) -> int:
    """Perform again what the file system forgot; how many paths that were."""
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
    """`step` without bytes that the journal has: all files of two minutes together may be more than any memory."""
    if not isinstance(step, Put | Remove):
        return step
    over = step.over
    if over.text is not None and over.version is not None and history.holds(over.version.blob):
        over = replace(over, text=None)
    return replace(step, over=over) if isinstance(step, Remove) else replace(step, over=over, data=b"")


def _whole(step: Write, history: History) -> Write:
    """The step of which `step` is what `_lighter` left."""
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
    """Nothing goes before what takes its place is there, but for a file where a folder is to be, and the other way."""
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
    """Perform it; where a folder is, when that has gone."""
    if step.over.kind != "folder":
        return start.perform(step)
    return start.make_room(step.path, step.seq) and start.perform(replace(step, over=FileNow(step.path, "missing")))


def _latest(history: History, now_ns: int) -> dict[str, list[_Promise]]:
    """What the writes of the last moments found, by path."""
    promises: dict[str, list[_Promise]] = {}
    since_ns: int | None = None
    settled: list[tuple[int, int]] = []  # up to which seq, and when
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
            continue  # the clock was set back, and the time of the record is not that of the write
        at_ns = next((at_ns for through, at_ns in reversed(settled) if through >= record.seq), record.at_ns)
        for path, promise in _promises(record, min(at_ns, record.at_ns + LONGEST_NS)):
            promises.setdefault(path, []).append(promise)
    return promises


def _may_be_of_a_start(record: Record) -> bool:
    """Could it have been noted by this start, before it asks, or by one that did not get so far?"""
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
    """What makes `path` its newest version again; None where it is that, or somebody else has been there."""
    head = history.file(path)
    over = None if head is None else _as_before(start, path, promises, history)
    if head is None or over is None:
        return None
    if head.gone:
        return _leave(start, path, head, over, history)
    if over.kind == "link":
        return None  # no write ever comes to where one is
    data = b"" if head.entry not in (REGULAR, LINK) else history.bytes_held(head.blob)
    if data is None:
        return None  # a secret, or too large: the bytes were never kept
    if head.entry != REGULAR:
        there = over.kind == "file" or (over.kind == "folder" and head.entry == FOLDER)
        return None if there else Make(head.seq, path, head.entry, data, head.mode, over)
    if over.text is not None and over.text.data == data and over.mode == head.mode:
        return None
    return Put(head.seq, path, data, head.mode, over)


def _leave(start: RecoveryContext, path: str, head: Version, over: FileNow, history: History) -> Remove | Move | None:
    """What takes the file away from `path` again. Never the only copy of bytes that the journal does not hold."""
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
    """What is at `path`, if that is what one of the writes found, and was not changed since."""
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
    """When a name came or went last in the folder of `path`; where that is gone, too, in the one that it was in."""
    while path:
        path = os.path.dirname(path)
        signature = workspace.look(path or ".").signature
        if signature is not None and signature.kind == "folder":
            return max(signature.mtime_ns, signature.ctime_ns)
    return 0
