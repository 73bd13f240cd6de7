"""One writer's part of the difference of a file between two points. The changes of the writer and of others are told
apart by lines (`own_changes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any

import msgspec

from quire_daemon.tools.history import ComparedTrees, TreeChange, TreeSide, known_text, made_by, name_then
from quire_daemon.tools.history.by_writer.own_changes import (
    FileSteps,
    IsStart,
    starts_at,
    steps_since,
    without_own,
)
from quire_daemon.tools.history.by_writer.patch_alone import AloneState, FileState, alone
from quire_journal.history import History, at_commit, blame, commit_of, is_lost
from quire_journal.model import JournalDamaged, Record
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import Text
from quire_journal.views import Version, standing


class FileDifference(msgspec.Struct, frozen=True):
    """A file that differs between two points; `old_path` is its path at the first point."""

    path: str
    old_path: str
    old: Version | None
    new: Version | None
    anew: bool = False  # as of `TreeChange`
    told: Mapping[str, Any] = {}  # further fields of the reply

    @property
    def compared(self) -> TreeChange:
        return TreeChange(self.path, self.old_path, self.old, self.new, self.anew)

    @property
    def whole(self) -> bool:
        """True if the change is marked `inseparable`: one writer's part of it cannot be told."""
        return "inseparable" in self.told


def is_other(one: FileDifference | None, other: FileDifference | None) -> bool:
    """True if two parts of a change differ."""
    if one is None or other is None:
        return one is not other
    sides = [(part.old_path, part.path, part.told, *map(_state, (part.old, part.new))) for part in (one, other)]
    return sides[0] != sides[1]


def _state(version: Version | None) -> tuple[object, ...]:
    there = standing(version)
    return () if there is None else (there.entry, there.mode, there.blob)


def in_one_patch(kept: Sequence[tuple[FileDifference, FileDifference]]) -> Iterator[FileDifference]:
    """Yield the parts of changes in a form that fits into one patch; `kept` has pairs (change, part of it).

    A rename from or to a path that another part has is given as the changes at both paths. Of two parts with one path,
    the part of the file that left the path is left out.
    """
    olds = {one.old_path: one.old for one, _ in kept if not one.anew}
    taken = {part.path for one, part in kept if part.path == one.path}
    left = {part.old_path for _, part in kept if part.old_path != part.path and not part.whole}
    for one, part in kept:
        if part.path != one.path and part.path in taken:
            yield msgspec.structs.replace(one, new=one.old, told={"inseparable": True})
            continue
        if part.anew or part.path in left or part.old_path in taken - {part.path}:
            if part.old_path not in taken:
                yield msgspec.structs.replace(part, path=part.old_path, new=None, told={})
            part = msgspec.structs.replace(part, old_path=part.path, old=olds.get(part.path))
        yield part


class MadeDifference(msgspec.Struct, frozen=True):
    """A file that differs between two points, and the version that made its later state."""

    change: FileDifference
    path: str  # path of the file in that version
    last: Version | None  # that version; a removal for a removed file
    start: TreeSide  # the earlier state
    begins: IsStart  # test for the version of the earlier state
    steps: FileSteps | None  # the versions since; None if too many
    names: Set[str]  # paths that the file had between the two states

    @property
    def is_renamed(self) -> bool:
        return self.change.anew or len(self.names) > 1


def made_difference(change: FileDifference, start: TreeSide, end: int, history: History) -> MadeDifference:
    """Return the change with the version that made the state after record `end`, and the versions since `start`."""
    path, last = made_by(change.compared, end, history)
    begins = _begins(change, start)
    steps = steps_since(path, last, begins, history) if last is not None else None
    names = dict.fromkeys((change.path, change.old_path, path, *(name for name, _ in (steps[1] if steps else ()))))
    return MadeDifference(change, path, last, start, begins, steps, names.keys())


def _begins(change: FileDifference, start: TreeSide) -> IsStart:
    if change.anew:
        return lambda _, version: version.gone and bool(version.moved_to)
    if start.entries is None:
        return lambda _, version: version.seq <= start.seq
    return starts_at(change.old_path, change.old)


def own_part(
    made: MadeDifference, own: Callable[[Record], bool | None], trees: ComparedTrees, history: History
) -> FileDifference | None:
    """Return the part of a change made by the writer of records for which `own` is true, or None; the whole change if
    its parts cannot be separated. Texts that no version has are added to `trees.texts`.
    """
    change, last = made.change, made.last
    if last is None or last.uncaptured or is_lost(change.old):
        return change
    side = without_own(made.steps, own, history)
    if side is None:
        return change
    if side.text is None or (not side.text.data and standing(change.old) is None):  # a restored file: no author
        return None if standing(last) is None else msgspec.structs.replace(change, old_path=change.path, old=None)
    blob = side.text.blob
    if not last.gone and (side.path, side.mode, blob) == (change.path, last.mode, last.blob):
        return None
    trees.texts[blob] = side.text
    old = msgspec.structs.replace(last, seq=0, gone=False, blob=blob, size=len(side.text.data), mode=side.mode)
    return msgspec.structs.replace(change, old_path=side.path, old=old)


def part_alone(
    made: MadeDifference,
    own: Callable[[Record], bool | None],
    trees: ComparedTrees,
    history: History,
    *,
    needed: bool,
) -> FileDifference | None:
    """Return the difference that only the changes of the writer of records for which `own` is true make to the first
    point; None if there is none. If the changes cannot be separated, it is empty and marked `inseparable`.

    `needed`: lines of others that the writer's lines rest on (`patch_alone`) are included.
    """
    change, path, last = made.change, made.path, made.last
    old = standing(change.old)

    def text_at(version: Version | None) -> Text | None:
        text = known_text(version, history, trees.texts)
        return None if text is None or text.binary else text

    def onto(
        state: FileState, name: str, version: Version, steps: FileSteps | None, committed: FileState | None = None
    ) -> AloneState | None:
        text = text_at(version)
        side = None if text is None else without_own(steps, own, history, removed=True)
        if side is None:
            return None
        now = FileState(None if version.gone else text, name, version.mode)
        return alone(side, now, state, begun=side.begun, needed=needed, committed=committed)

    found = None
    if last is not None and (text_at(change.old) is not None):
        state = FileState(None if old is None else text_at(old), change.old_path, old.mode if old is not None else 0)
        found = onto(state, path, last, made.steps)
        seq = at_commit(commit_of(made.start.point), history) if made.start.entries is not None else None
        came = None
        if seq is not None and found is not None and not found.begun:
            came = name_then(path, last, seq, history)
        if came is not None and not came[1].gone and came[1].seq < last.seq:
            # A part was committed: compare the rest, and later changes.
            left, since = onto(state, *came, steps_since(*came, made.begins, history)), came[1].seq
            if left is not None and not left.resting:
                later = steps_since(path, last, lambda _, version: version.seq <= since, history)
                found = onto(left.file, path, last, later, state)
    if found is None or last is None:
        return msgspec.structs.replace(change, new=change.old, told={"inseparable": True})
    told: dict[str, Any] = {}
    if found.resting:
        told["resting"] = [{"start": one.start, "end": one.end} for one in found.resting]
    if found.lacking:
        told["left_out"] = _by_whom(path, last, found.lacking, history)
    if found.replaced:
        told["replaced"] = _by_whom(path, last, found.replaced, history)
    file = found.file
    new = None
    if file.text is not None:
        blob = file.text.blob
        trees.texts[blob] = file.text
        new = msgspec.structs.replace(last, seq=0, gone=False, blob=blob, size=len(file.text.data), mode=file.mode)
    part = FileDifference(file.path or change.path, change.old_path, change.old, new, change.anew, told)
    as_there = old is new or (old and new and (old.blob, old.mode, change.old_path) == (new.blob, new.mode, file.path))
    return part if told or not as_there else None


def _by_whom(path: str, version: Version, lines: Sequence[int], history: History) -> list[dict[str, Any]]:
    """Return these lines, from 1, as ranges of one writer each; without writers if the journal lacks bytes of an older
    version.
    """
    try:
        origins = blame(history, path, version).origins
        writers = [origins[line - 1].version for line in lines]
        whose = [{"writer": history.writer_json(one.writer, one.type)} for one in writers]
    except (NotHeld, JournalDamaged):
        whose = [{} for _ in lines]
    found: list[dict[str, Any]] = []
    for line, told in zip(lines, whose, strict=True):
        if found and found[-1] == {"start": found[-1]["start"], "end": line - 1, **told}:
            found[-1]["end"] = line
        else:
            found.append({"start": line, "end": line, **told})
    return found


def has_part(made: MadeDifference, key: bytes, history: History) -> bool:
    """True if the change has lines that this caller added or removed, or if this is unknown."""
    if made.last is None:
        return True

    def is_theirs(record: Record) -> bool:
        return history.caller_of(history.author(record)) == key

    side = without_own(made.steps, is_theirs, history)
    return side is None or any(line.before != line.after for line in side.lines)
