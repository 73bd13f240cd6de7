"""After a stop that was not clean: every write that the log promised is finished, confirmed, or told as overtaken.

For each batch that is not known to be on disk, judged by bytes, never by trust (`notes` of the write path in
`workspace`):

* the path holds the new bytes: confirmed;
* the path still holds the base, in the very inode that the write was planned on: rolled forward, the journal has
  the new bytes;
* the path holds the new bytes, or nothing where that was the promise, but a save that the write was not planned on
  came out of the swap: that is put back;
* anything else: the write happened and somebody wrote after it, or somebody wrote before it could happen. What
  is there stays, and becomes an outside version on top (the scan at start notes it).

Running it twice is the same as running it once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Final

from quire_daemon.displaced import Withheld, note_displaced, note_theirs, nothing_is_withheld
from quire_daemon.handlers.base import FileNow, Make, Move, Put, Remove, Write, names
from quire_daemon.logfile import Log
from quire_daemon.preparing import on_disk
from quire_daemon.recorder import Recorder
from quire_daemon.workspace import HeldOpen, Kept, Lost, NotRegular, TooLarge, Unread, Vanished, Workspace
from quire_journal.events import (
    FOLDER,
    LINK,
    REGULAR,
    CaptureFailed,
    Event,
    FileDeleted,
    FileMoved,
    FileWritten,
    ModeChanged,
    OutsideWritten,
    WritesAbandoned,
    WritesSettled,
)
from quire_journal.history import History
from quire_journal.ids import blob_id, disk_path, journal_path
from quire_journal.records import Record
from quire_journal.refusals import Refused
from quire_journal.text import Text

OVERTAKEN: Final = "overtaken"
"""Why a single write was taken back by a start: of others of its batch that says nothing."""


def recover(
    recorder: Recorder, workspace: Workspace, log: Log, limit: int, withheld: Withheld = nothing_is_withheld
) -> int:
    """Settle every unsettled write; how many were rolled forward. Files over `limit` bytes are left as they are."""
    left = workspace.leftovers(limit)
    torn = {kept.seq for kept in left if kept.in_place}
    with recorder.history() as history:
        taken_back = [one for batch in history.unsettled() if (one := _rest_taken_back(batch, history)) is not None]
    for one in taken_back:
        recorder.note(one)
    recorder.commit()
    with recorder.history() as history:
        batches = history.unsettled()
        records = [record for batch in batches for record in history.batch(batch)]
    in_journal = _keep(recorder, workspace, log, left, withheld)
    promised = {record.seq for record in records}
    for kept in left:
        if kept.seq in promised and not kept.in_place:
            with _unless_closed(log, kept.seq):
                _put_back(recorder, workspace, kept, limit, withheld)
    workspace.discard(in_journal)
    read = {kept.name for kept in left}
    _keep_unread(recorder, workspace, log, [one for one in workspace.unread() if one.name not in read], limit)
    for record in records:
        _finish_folders_above(recorder, workspace, record.event())
    rolled, changed = 0, list[str]()
    for record in records:  # one after the other: a file may go to where another goes from
        writes: Sequence[Write] = ()
        with _unless_closed(log, record.seq), recorder.history() as history:
            writes = _planned(record, recorder, history, workspace, limit, torn, withheld)
        if not writes:
            continue
        # None after one that could not be made.
        done = all(roll_forward(workspace, recorder, write, withheld) for write in writes)
        rolled += done
        changed += [path for write in writes for path in names(write)]
        log.info("recovered", seq=record.seq, path=writes[-1].path, rolled_forward=done)
    for record in records:
        _finish_folder(workspace, record.event())
    write_down(workspace, changed)
    if records:
        recorder.note(WritesSettled(max(r.seq for r in records)))
    recorder.commit()
    return rolled


@contextlib.contextmanager
def _unless_closed(log: Log, seq: int) -> Iterator[None]:
    """What the block looks at may be closed to us by now: then nothing is done about it, and the scan tells of it.

    A daemon that did not start for that would keep everybody from all other files.
    """
    try:
        yield
    except (Refused, OSError) as error:
        log.warning("not_recovered", seq=seq, why=str(error))


def _rest_taken_back(batch: int, history: History) -> WritesAbandoned | None:
    """What is left to say of a batch that was taken back, when only a part of that was said. On disk all of it was."""
    events = (r.event() for r in history.records(after=batch) if r.kind == WritesAbandoned.kind)
    said = [event for event in events if isinstance(event, WritesAbandoned) and event.why != OVERTAKEN]
    if not said:
        return None
    whole, stand = {record.seq for record in history.batch(batch)}, history.batch_writes(batch)
    why = next((one.why for one in said if whole.intersection(one.seqs)), "")
    return WritesAbandoned(tuple(stand), why) if why and stand else None


def _finish_folder(workspace: Workspace, event: Event | None) -> None:
    """A folder that was made, but did not get its mode."""
    if not isinstance(event, FileWritten) or event.entry != FOLDER:
        return
    path = disk_path(event.path)
    with contextlib.suppress(OSError, Refused, Vanished, NotRegular):
        if workspace.look(path).kind == "folder":
            workspace.finish_folder(path, event.mode)


def _finish_folders_above(recorder: Recorder, workspace: Workspace, event: Event | None) -> None:
    """Folders that were made for what was promised, and did not get their mode. One that is known is somebody's."""
    if not isinstance(event, FileWritten | FileMoved):
        return
    path = disk_path(event.to if isinstance(event, FileMoved) else event.path)
    folders = [path[:at] for at, character in enumerate(path) if character == "/"]
    with recorder.history() as history:
        heads = [history.file(journal_path(folder)) for folder in folders]
    for folder, head in zip(folders, heads, strict=True):
        if head is None or head.gone:
            with contextlib.suppress(OSError, Refused, Vanished, NotRegular):
                workspace.finish_made(folder)


def roll_forward(
    workspace: Workspace, recorder: Recorder, step: Write, withheld: Withheld = nothing_is_withheld
) -> bool:
    """Perform a promised write; False when something stands in the way, which the scan will journal."""
    try:
        staged = workspace.stage(on_disk(step))
        result = workspace.perform(staged)
    except (Refused, HeldOpen):
        return False
    if isinstance(result, Lost):
        noted = []
        for kept in result.kept:
            with contextlib.suppress(OSError, Refused):  # a secret that has no place now: the next start finds it
                note_theirs(recorder, workspace, step.path, kept, "swap", withheld)
                noted.append(kept)
        recorder.commit()
        workspace.discard(noted)
        return False
    return True


def write_down(workspace: Workspace, paths: Sequence[str]) -> None:
    """Wait, as far as that can be, until the file system has written these names down.

    A power cut soon after this start would find the records of the writes too old to ask for them (`forgotten`).
    """
    for path in {path.rpartition("/")[0]: path for path in paths}.values():
        with contextlib.suppress(OSError):
            workspace.sync_folder(disk_path(path))


def _planned(
    record: Record,
    recorder: Recorder,
    history: History,
    workspace: Workspace,
    limit: int,
    torn: set[int],
    withheld: Withheld,
) -> Sequence[Write]:
    """What is left of the write that `record` promised, when the path still holds the base that it was planned on.

    `torn` are writes into the file itself (hard links) that the end of the process cut off: what is there is a
    mixture of old and new, so the path holds nothing of anybody's, and the new bytes go in.
    """
    event = record.event()
    if isinstance(event, FileWritten) and record.seq in torn:
        return _at_most(_finish_torn(record, event, recorder, history, workspace, limit, withheld))
    if isinstance(event, FileWritten) and event.entry != REGULAR:
        return _at_most(_make(record, event, history, workspace))
    if isinstance(event, FileWritten | ModeChanged):
        return _at_most(_put(record, event, history, workspace, limit))
    if isinstance(event, FileDeleted):
        over = base_there(event.path, event.base, event.inode, history, workspace, limit)
        return (Remove(record.seq, event.path, over),) if over is not None and over.kind == "file" else ()
    if isinstance(event, FileMoved):
        return _move(record, event, history, workspace, limit)
    return ()


def _at_most(write: Write | None) -> Sequence[Write]:
    return () if write is None else (write,)


def _move(record: Record, event: FileMoved, history: History, workspace: Workspace, limit: int) -> Sequence[Write]:
    """A rename; one that changed the bytes or the mode too was a new file first, then the end of the old one.

    One from where nothing was any more brought a file back, under another name than it had at its end.
    """
    base = history.version(event.path, event.base)
    if base is not None and base.gone:
        return _at_most(_bring_back(record, event, history, workspace))
    over = base_there(event.path, event.base, event.inode, history, workspace, limit)
    if over is None or over.kind != "file" or over.text is None:
        return ()
    free = workspace.look(disk_path(event.to)).kind == "missing"
    if over.text.blob == event.blob and (base is None or base.mode == event.mode):
        return (Move(record.seq, event.path, event.to, over),) if free else ()
    remove = Remove(record.seq, event.path, over)
    if free:
        try:
            data = history.bytes_of(event.blob)
        except KeyError:
            return ()
        return Put(record.seq, event.to, data, event.mode, FileNow(event.to, "missing")), remove
    try:
        made = blob_id(workspace.read(disk_path(event.to), limit).data) == event.blob
    except (Vanished, NotRegular, TooLarge, HeldOpen):
        return ()
    return (remove,) if made else ()


def _bring_back(record: Record, event: FileMoved, history: History, workspace: Workspace) -> Put | None:
    if workspace.look(disk_path(event.to)).kind != "missing":
        return None
    try:
        data = history.bytes_of(event.blob)
    except KeyError:
        return None
    return Put(record.seq, event.to, data, event.mode, FileNow(event.to, "missing"))


def _make(record: Record, event: FileWritten, history: History, workspace: Workspace) -> Make | None:
    if workspace.look(disk_path(event.path)).kind != "missing":
        return None
    try:
        target = history.bytes_of(event.blob) if event.entry == LINK else b""
    except KeyError:
        return None
    return Make(record.seq, event.path, event.entry, target, event.mode, FileNow(event.path, "missing"))


def _put(
    record: Record, event: FileWritten | ModeChanged, history: History, workspace: Workspace, limit: int
) -> Put | None:
    inode = event.inode if isinstance(event, FileWritten) else 0
    over = base_there(event.path, event.base, inode, history, workspace, limit)
    if over is None:
        return None
    try:
        data = history.bytes_of(event.blob)
    except KeyError:
        return None  # a secret: its bytes were never kept, so the promise ends with the process
    if over.text is not None and over.text.data == data and over.mode == event.mode:
        return None
    return Put(record.seq, event.path, data, event.mode, over)


def base_there(path: str, base: int, inode: int, history: History, workspace: Workspace, limit: int) -> FileNow | None:
    """What stands at `path` if that is the base (or nothing, where the base was nothing), else None."""
    look = workspace.look(disk_path(path))
    version = history.version(path, base) if base else None
    if look.kind == "missing":
        return FileNow(path, "missing") if version is None or version.gone else None
    if look.kind != "file" or look.signature is None or version is None or version.gone:
        return None
    if inode and look.signature.ino != inode:
        return None  # equal bytes in another inode: somebody put them there after us
    try:
        image = workspace.read(disk_path(path), limit, unfinished_ok=True)
    except (Vanished, NotRegular, TooLarge, HeldOpen):
        return None
    if blob_id(image.data) != version.blob:
        return None
    s = image.signature
    return FileNow(path, "file", Text.of(image.data), version, s.mode & 0o7777, s.ino, len(image.data), links=s.nlink)


def _finish_torn(
    record: Record,
    event: FileWritten,
    recorder: Recorder,
    history: History,
    workspace: Workspace,
    limit: int,
    withheld: Withheld,
) -> Put | None:
    """The rest of a write into the file itself, when what is there is a mixture of ours and of the base.

    Anything else was written by somebody after us and stays. What is replaced goes into the journal all the same.
    """
    try:
        image = workspace.read(disk_path(event.path), limit)
        base = history.version(event.path, event.base)
        new, old = history.bytes_of(event.blob), history.bytes_of(base.blob) if base is not None else b""
    except (Vanished, NotRegular, TooLarge, HeldOpen, KeyError):
        return None
    data, s = image.data, image.signature
    if (event.inode and s.ino != event.inode) or not is_mixture(data, old, new):
        return None
    note_displaced(recorder, workspace, event.path, data, "swap", withheld(disk_path(event.path), data))
    over = FileNow(event.path, "file", Text.of(data), None, s.mode & 0o7777, s.ino, len(data), links=s.nlink)
    return Put(record.seq, event.path, new, event.mode, over)


def is_mixture(data: bytes, old: bytes, new: bytes) -> bool:
    """Could a write of `new` over `old`, or of `old` over that, have been cut off at `data`?

    A kill leaves a beginning, a power cut any of the pages. Where a file grows it was made so long first, with NULs.
    """
    size = len(data)
    if size not in (len(old), len(new)):
        return new.startswith(data)
    return all(byte in of for byte, *of in zip(data, old.ljust(size, b"\0"), new.ljust(size, b"\0"), strict=False))


def _keep(
    recorder: Recorder, workspace: Workspace, log: Log, left: Sequence[Kept], withheld: Withheld
) -> Sequence[Kept]:
    """Temporary files of the dead run: their bytes go into the journal if it lacks them, and may have them.

    The answer is without those that the journal must not have, and for which there is no other place now.
    """
    done = []
    with recorder.history() as history:
        for kept in left:
            blob = blob_id(kept.data)
            with _unless_closed(log, kept.seq):
                if not history.holds(blob) and not _to_be_without(kept.seq, blob, history):
                    path = recorder.path_of(kept.name)
                    why = withheld(disk_path(path), kept.data) or ("secret" if kept.withheld else "")
                    note_displaced(recorder, workspace, path, kept.data, "swap", why)
                done.append(kept)
    recorder.commit()
    return done


def _keep_unread(recorder: Recorder, workspace: Workspace, log: Log, left: Sequence[Unread], limit: int) -> None:
    """Temporary files that were not read: those whose bytes nobody lacks go, and large ones of others go aside.

    The log tells of these from now on. What is only closed to us stays, for its owner to see.
    """
    noted = []
    for one in left:
        with _unless_closed(log, one.seq):
            with recorder.history() as history:
                to_go = _was_to_be_lost(one.seq, one.ino, history) or (
                    one.size > limit and _is_known(one, workspace, history)
                )
            if to_go:
                workspace.remove(one.name)
            elif one.size > limit:
                kept = Kept(one.name, "", b"", one.seq, large=one.size)
                note_theirs(recorder, workspace, recorder.path_of(one.name), kept, "swap", nothing_is_withheld)
                noted.append(kept)
    recorder.commit()
    workspace.discard(noted)


def _is_known(one: Unread, workspace: Workspace, history: History) -> bool:
    """Are its bytes in the journal, or were they not to be? Only what has the size of ours, or of the base, is read."""
    record = history.record(one.seq)
    event = record.event() if record is not None else None
    if not isinstance(event, FileWritten | FileDeleted | FileMoved):
        return False
    base = history.version(event.path, event.base) if event.base else None
    sizes = {base.size if base is not None else -1, -1 if isinstance(event, FileDeleted) else event.size}
    if one.size not in sizes:
        return False
    blob = workspace.address(one.name)
    return history.holds(blob) or _to_be_without(one.seq, blob, history)


def _to_be_without(seq: int, blob: bytes, history: History) -> bool:
    """Is the journal not to hold these bytes, which the write `seq` displaced, or was to put there?

    They were purged, or never captured.
    """
    record = history.record(seq)
    event = record.event() if record is not None else None
    if isinstance(event, FileWritten) and event.uncaptured and event.blob == blob:
        return True
    path, base = getattr(event, "path", None), getattr(event, "base", 0)
    over = history.version(path, base) if isinstance(path, str) and base else None
    return history.purged(blob) or (over is not None and over.blob == blob and bool(over.uncaptured))


def _was_to_be_lost(seq: int, inode: int, history: History) -> bool:
    """Is it the very file that the write `seq` replaced or removed, and that the journal was not to hold?

    Whoever asked for that was told that there is no undo (`allow_uncaptured`).
    """
    record = history.record(seq)
    event = record.event() if record is not None else None
    if not isinstance(event, FileWritten | FileDeleted | FileMoved) or not event.base or event.inode != inode:
        return False
    base = history.version(event.path, event.base)
    return base is not None and bool(base.uncaptured)


def _put_back(recorder: Recorder, workspace: Workspace, kept: Kept, limit: int, withheld: Withheld) -> None:
    """Somebody's save came out of a swap and the process died before it could put it back: do that now.

    Our bytes stand at the path, over a save that the write was never planned on; nobody was told that it had been
    applied. The record is taken back in the log, and the save goes to where it was. Where the write was to leave
    nothing at the path, the save goes there, too, as if it had come a moment later.
    """
    if _put_back_removed(recorder, workspace, kept, withheld):
        return
    with recorder.history() as history:
        step = _save_to_put_back(kept, history, workspace, limit)
    if step is None or _is_base(kept, step[0], workspace):
        return
    event, over = step
    recorder.note(WritesAbandoned((kept.seq,), OVERTAKEN))
    seq = recorder.note(_seen(event.path, kept.data, over.mode, event.base, withheld))
    recorder.commit()
    roll_forward(workspace, recorder, Put(seq, event.path, kept.data, over.mode, over), withheld)


def _seen(path: str, data: bytes, mode: int, base: int, withheld: Withheld) -> OutsideWritten | CaptureFailed:
    """The record of a save that is put back."""
    if why := withheld(disk_path(path), data):
        return CaptureFailed(path, why, len(data), blob_id(data), mode, "displaced")
    return OutsideWritten(path, blob_id(data), len(data), mode, "displaced", base)


def _put_back_removed(recorder: Recorder, workspace: Workspace, kept: Kept, withheld: Withheld) -> bool:
    """Put back a save that came out of a removal; False when `kept` is none, or something stands there again."""
    with recorder.history() as history:
        record = history.record(kept.seq)
        event = record.event() if record is not None else None
        if not isinstance(event, FileDeleted | FileMoved):
            return False
        base = history.version(event.path, event.base) if event.base else None
    blob = blob_id(kept.data)
    ours = {base.blob if base is not None else b"", event.blob if isinstance(event, FileMoved) else b""}
    signature = workspace.look(f".quire/tmp/{kept.name}").signature
    if blob in ours or signature is None or (event.inode and signature.ino == event.inode):
        return False
    if workspace.look(disk_path(event.path)).kind != "missing":
        return False
    mode = signature.mode & 0o7777
    seq = recorder.note(_seen(event.path, kept.data, mode, 0, withheld))
    recorder.commit()
    put = Put(seq, event.path, kept.data, mode, FileNow(event.path, "missing"))
    return roll_forward(workspace, recorder, put, withheld)


def _save_to_put_back(
    kept: Kept, history: History, workspace: Workspace, limit: int
) -> tuple[FileWritten, FileNow] | None:
    """The write that displaced `kept`, and our bytes as they stand at its path; None when that is not how it is."""
    record = history.record(kept.seq)
    event = record.event() if record is not None else None
    if not isinstance(event, FileWritten):
        return None
    base = history.version(event.path, event.base) if event.base else None
    blob = blob_id(kept.data)
    if blob == event.blob or (base is not None and blob == base.blob):
        return None  # the temporary file of a write that had not happened, or the base of one that had
    try:
        image = workspace.read(disk_path(event.path), limit)
    except (Vanished, NotRegular, TooLarge, HeldOpen):
        return None
    if blob_id(image.data) != event.blob:
        return None  # something newer stands there
    s = image.signature
    text = Text.of(image.data)
    return event, FileNow(event.path, "file", text, None, s.mode & 0o7777, s.ino, len(image.data), links=s.nlink)


def _is_base(kept: Kept, event: FileWritten, workspace: Workspace) -> bool:
    """Is that the very file that the write was planned on? Then the swap was right, and what differs came later.

    A late writer, or one through another name of the file, wrote into it after it had been replaced.
    """
    signature = workspace.look(f".quire/tmp/{kept.name}").signature
    return signature is None or not event.inode or signature.ino == event.inode
