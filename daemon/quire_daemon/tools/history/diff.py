"""`diff`: the difference between two points."""

from __future__ import annotations

import base64
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from quire_daemon.core import Decision, Tool, World, no_paths
from quire_daemon.core.replies import DiffReply
from quire_daemon.tools.history.before_journal import before_it
from quire_daemon.tools.history.by_writer import (
    AloneState,
    FileState,
    IsStart,
    alone,
    starts_at,
    steps_since,
    without_own,
)
from quire_daemon.tools.history.difference import (
    Room,
    difference,
    known_text,
)
from quire_daemon.tools.history.filters import (
    VERSION_KINDS,
    Filter,
    named_burst,
    named_paths,
    path_filter,
    single_path,
)
from quire_daemon.tools.history.log import writer_type
from quire_daemon.tools.history.renames import TreeChange, made_by, name_then
from quire_daemon.tools.history.short_names import spelled_out
from quire_daemon.tools.history.sides import ComparedTrees, TreeSide, side_of
from quire_daemon.tools.history.writers import ME, Ownership, nobody
from quire_journal.export import CONTEXT, PatchStyle
from quire_journal.history import (
    UNDOING,
    History,
    at_commit,
    commit_of,
    gaps_after,
    gaps_at,
    gaps_json,
    is_by_git,
    is_lost,
    require_known,
    require_not_lost,
    warning,
)
from quire_journal.history.renames import LaterNames
from quire_journal.model import (
    CAPTURED,
    DURING,
    FOLDER,
    MARK,
    FileDeleted,
    OutsideDeleted,
    Record,
    Refusal,
    counted,
    paced,
    parse_version_token,
    paths_of,
)
from quire_journal.text import Text
from quire_journal.views import Version, standing

MAX_FILES: Final = 500
"""Maximum number of files in one reply of `diff`."""

MOST_CONTEXT: Final = 1_000_000
"""Maximum number of context lines; no file has more."""

SCAN_RECORDS: Final = 20_000
"""Maximum number of records that `diff` scans for changed files; for more it compares the versions of all files."""


class DiffParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `diff`. Two versions of one file without paths compare that file."""

    from_: str = msgspec.field(name="from")  # a point
    to: str = ""  # a point; default: now
    path: str = ""
    paths: list[str] = []  # files, folders, globs
    context: int = CONTEXT  # unchanged lines around a change
    ignore_space: bool = False  # ignore differences in white space
    writer: str = ""  # only files that this writer changed
    agent_session: str = ""
    turn: str = ""
    burst: int = 0  # only changes of this burst
    alone: Literal["", "apart", "needed"] = ""  # `from` with only its changes, without or with the lines they depend on
    probable: bool = False  # with `alone`: also changes that are only probably the writer's
    below: str = ""  # prefix of the paths in the patch: the workspace's folder in its repository
    cursor: str = ""  # `next` of the page before

    @property
    def whose(self) -> bool:
        """True if only one writer's changes are requested."""
        return bool(self.writer or self.agent_session or self.turn or self.burst)


def decide_diff(params: DiffParams, world: World) -> Decision:
    """Return the files that differ, within `MAX_FILES` and the reply's size. The reply is a `DiffReply`."""
    history = world.history
    if not 0 <= params.context <= MOST_CONTEXT:
        message = f"context: it must be a number of lines from 0 to {MOST_CONTEXT:,}, not {params.context}."
        raise Refusal("schema_invalid", message, argument="context")
    params = spelled_out(params, history)
    if said := nobody(params.writer, history):
        raise Refusal("not_found", said, "who", argument="writer")
    if params.alone and (not params.whose or commit_of(params.to)):
        message = "alone: name `writer`, `agent_session`, `turn` or `burst`, and a point of the journal as `to`."
        raise Refusal("schema_invalid", message, argument="alone")
    before, after = side_of(params.from_, "from", world), side_of(params.to, "to", world)
    start, end = before.seq, after.seq
    room, style = (
        Room(world.settings.limits.reply_bytes),
        PatchStyle(params.context, params.ignore_space, below=params.below),
    )
    files: list[dict[str, Any]] = []
    following = ""
    trees = ComparedTrees(before, after, world)
    found, others, left_out = _changes(params, (before, after), trees, history)
    later = LaterNames(history) if after.entries is None and end < history.head() and not params.alone else None
    for change in found[bisect_right(found, params.cursor, key=lambda one: one.path) :]:
        if len(files) == MAX_FILES:
            following = files[-1]["path"]
            break
        entry = difference(
            change.old_path, change.old, change.path, change.new, history, room, style=style, texts=trees.texts
        )
        more: dict[str, Any] = {"others": others[change.path]} if others.get(change.path) else {}
        if later is not None and standing(change.new) and (now := later.now(change.path, end)) != change.path:
            more["moved_to"] = now
        files.append({**entry, **more, **change.told})
    unseen = any(
        change.old is None or change.new is None for change in found
    )  # some file had no version at one of the points
    many = counted(len(files), "file differs", "files differ")
    reply: dict[str, Any] = {
        "ok": True,
        "message": f"{many}; `next` leads on." if following else f"{many}.",
        "from": before.point,
        "to": after.point,
        "files": files,
        **joined_patches(files),
    }
    if left_out and not params.cursor:
        reply["left_out"] = [{"path": path} for path in left_out]
    if trees.unknown:
        message = (
            f"Of the commit the journal knows {counted(trees.unknown, 'file')} not: ignored, a secret, or gone before."
        )
        reply["warnings"] = [{"type": "not_captured", "message": message}]
    unknown = "" if before.entries is not None or after.entries is not None else before_it(min(start, end), history)
    if unknown and unseen:
        message = f"{unknown} Files that were there all the time are shown as if they were new."
        reply["warnings"] = [*reply.get("warnings", ()), {"type": "before_the_journal", "message": message}]
    gaps = {*gaps_at(history, start), *gaps_at(history, end), *gaps_after(history, min(start, end), max(start, end))}
    if gaps:
        reply["gaps"] = gaps_json(sorted(gaps))
        so = "files that only these tell of are not shown"
        reply["warnings"] = [*reply.get("warnings", ()), warning(sorted(gaps), so)]
    if following:
        reply["next"] = following
    if following or any("truncated" in f for f in files):
        reply["truncated"] = True
    return Decision(reply)


class _Change(msgspec.Struct, frozen=True):
    """A file that differs between two points; `old_path` is its path at the first point."""

    path: str
    old_path: str
    old: Version | None
    new: Version | None
    anew: bool = False  # as of `TreeChange`
    told: Mapping[str, Any] = {}  # more for the reply

    @property
    def compared(self) -> TreeChange:
        return TreeChange(self.path, self.old_path, self.old, self.new, self.anew)

    @property
    def whole(self) -> bool:
        """True if one writer's part of the change cannot be separated."""
        return "inseparable" in self.told


def _changes(
    params: DiffParams, sides: tuple[TreeSide, TreeSide], trees: ComparedTrees, history: History
) -> tuple[list[_Change], Mapping[str, list[str]], list[str]]:
    """Return the changes, path → the names of other writers, and the files with changes that are left out as they are
    only probably the writer's.
    """
    start, end = (side.seq for side in sides)
    if all(side.entries is None for side in sides):
        paths: Collection[str] = _changed_paths(params, start, end, history)
    else:
        paths = sorted(_chosen(params, trees.paths(), history))
    alone = bool(params.alone)  # then the two ends of a guess may be of two writers
    found = trees.changes(paced(paths), guessed=not alone, follow=params.whose)
    changes = [_Change(*one) for one in found if one.differs and not _is_told_by_files(one, start, end, history)]
    if not params.whose:
        return changes, {}, []
    least = Ownership.PROVED if params.alone and not params.probable else Ownership.PROBABLE
    whose = _whose(params, history)
    touched = _touched(params.writer, whose, start, end, history)
    doubtful = {*touched.probable}
    own = touched.proved | doubtful if least == Ownership.PROBABLE else touched.proved
    names = {one.path: _names(one, sides[0], end, history) for one in changes}
    meant = [one for one in changes if (touched.proved | doubtful | touched.brought) & names[one.path].keys()]
    others = {one.path: touched.names(one, names[one.path], sides[0], end, least, history) for one in meant}
    if start > end:  # a reverse range has no writers
        return meant, others, []

    admitting = {claim: whose.admitting(claim) for claim in (Ownership.PROBABLE, Ownership.PROVED)}

    def part(one: _Change, claim: Ownership) -> _Change | None:
        asked = one, sides[0], end, admitting[claim], trees, history
        if not params.alone:
            return _own_part(*asked)
        made = _alone(*asked, needed=params.alone == "needed")  # an inseparable file counts if it has no other writer
        return one if made is not None and made.whole and not others[one.path] else made

    def shown(one: _Change, made: _Change | None) -> _Change | None:
        is_own = bool(own & names[one.path].keys())
        return made if made is not None and (is_own or not (made is one or made.whole)) else None

    parts: list[tuple[_Change, _Change]] = []
    left_out: list[str] = []
    for one in meant:
        made = shown(one, part(one, least))
        if doubtful & names[one.path].keys():
            other = part(one, Ownership.PROVED if least == Ownership.PROBABLE else Ownership.PROBABLE)
            differs = _is_other(made, other)
            if differs and least == Ownership.PROVED:
                left_out.append(one.path)
            elif differs and made is not None:
                made = msgspec.structs.replace(made, told={**made.told, "probable": True})
        if made is not None:
            parts.append((one, made))
    by_path = _in_one_patch(parts) if params.alone else (made for _, made in parts)
    return sorted(by_path, key=lambda one: one.path), others, left_out


def _is_other(one: _Change | None, other: _Change | None) -> bool:
    """True if two parts of a change are not the same."""
    if one is None or other is None:
        return one is not other
    sides = [(part.old_path, part.path, part.told, *map(_state, (part.old, part.new))) for part in (one, other)]
    return sides[0] != sides[1]


def _state(version: Version | None) -> tuple[object, ...]:
    there = standing(version)
    return () if there is None else (there.entry, there.mode, there.blob)


def _in_one_patch(kept: Sequence[tuple[_Change, _Change]]) -> Iterator[_Change]:
    """Yield the parts of changes as they can stand in one patch. A rename from or to a name that another part has is
    told as the changes at both names; of two parts with one name, the one of the file that left the name is left out.
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


def _names(change: _Change, start: TreeSide, end: int, history: History) -> dict[str, None]:
    """Return the names that a file had between the two states."""
    path, last = made_by(change.compared, end, history)
    steps = steps_since(path, last, _begins(change, start), history) if last is not None else None
    return dict.fromkeys((change.path, change.old_path, path, *(name for name, _ in (steps[1] if steps else ()))))


def _begins(change: _Change, start: TreeSide) -> IsStart:
    """Return the test for the version of a file in the earlier state."""
    if change.anew:
        return lambda _, version: version.gone and bool(version.moved_to)
    if start.entries is None:
        return lambda _, version: version.seq <= start.seq
    return starts_at(change.old_path, change.old)


def _is_told_by_files(change: TreeChange, start: int, end: int, history: History) -> bool:
    """True for a folder that contained files at each of the two points at which it existed, so that their entries
    suffice.
    """
    ends = [(there, seq) for one, seq in ((change.old, start), (change.new, end)) if (there := standing(one))]
    return all(there.entry == FOLDER and history.holds_files(change.path, seq) for there, seq in ends)


def _own_part(
    change: _Change,
    start: TreeSide,
    end: int,
    own: Callable[[Record], bool | None],
    trees: ComparedTrees,
    history: History,
) -> _Change | None:
    """Return the part of a change made by the writer of `own` records, or None; the whole change if its parts cannot be
    separated.
    """
    path, last = made_by(change.compared, end, history) if end else (change.path, None)
    if last is None or last.uncaptured or is_lost(change.old):
        return change
    side = without_own(path, last, _begins(change, start), own, history)
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


def _alone(
    change: _Change,
    start: TreeSide,
    end: int,
    own: Callable[[Record], bool | None],
    trees: ComparedTrees,
    history: History,
    *,
    needed: bool,
) -> _Change | None:
    """Return the difference from the first point to that point with only the changes of the writer of `own` records, or
    None. A change that cannot be separated has no difference, and is marked as such.
    """
    path, last = made_by(change.compared, end, history)
    old = standing(change.old)

    def text_at(version: Version | None) -> Text | None:
        text = known_text(version, history, trees.texts)
        return None if text is None or text.binary else text

    def onto(
        state: FileState, name: str, version: Version, is_start: IsStart, committed: FileState | None = None
    ) -> AloneState | None:
        text = text_at(version)
        side = None if text is None else without_own(name, version, is_start, own, history, removed=True)
        if side is None:
            return None
        now = FileState(None if version.gone else text, name, version.mode)
        return alone(side, now, state, begun=side.begun, needed=needed, committed=committed)

    found, begins = None, _begins(change, start)
    if last is not None and (text_at(change.old) is not None):
        state = FileState(None if old is None else text_at(old), change.old_path, old.mode if old is not None else 0)
        found = onto(state, path, last, begins)
        seq = at_commit(commit_of(start.point), history) if start.entries is not None else None
        came = None
        if seq is not None and found is not None and not found.begun:
            came = name_then(path, last, seq, history)
        if came is not None and not came[1].gone and came[1].seq < last.seq:
            # A part was committed: compare the rest, and later changes.
            left, since = onto(state, *came, begins), came[1].seq
            if left is not None and not left.resting:
                found = onto(left.file, path, last, lambda _, version: version.seq <= since, state)
    if found is None or last is None:
        return msgspec.structs.replace(change, new=change.old, told={"inseparable": True})
    told = {"resting": [{"start": one.start, "end": one.end} for one in found.resting]} if found.resting else {}
    file = found.file
    new = None
    if file.text is not None:
        blob = file.text.blob
        trees.texts[blob] = file.text
        new = msgspec.structs.replace(last, seq=0, gone=False, blob=blob, size=len(file.text.data), mode=file.mode)
    made = _Change(file.path or change.path, change.old_path, change.old, new, change.anew, told)
    as_there = old is new or (old and new and (old.blob, old.mode, change.old_path) == (new.blob, new.mode, file.path))
    return made if told or not as_there else None


def _whose(params: DiffParams, history: History) -> Filter:
    burst = named_burst(params.burst, history) if params.burst else 0
    return Filter(history, VERSION_KINDS, params.writer, "", params.agent_session, params.turn, burst=burst)


_REMOVALS: Final = frozenset({FileDeleted.kind, OutsideDeleted.kind})


class _Touched(NamedTuple):
    """What changed the files between two points, by path."""

    proved: set[str]  # paths that the writer changed
    probable: dict[str, dict[str, None]]  # path → name of the writer of changes that are only probably its own
    brought: set[str]  # paths in which undo or git may have restored its older changes
    others: dict[str, dict[str, bool]]  # path → name of another writer → whether that is proved
    movers: dict[str, dict[bytes, str]]  # path → caller of an undo, or who removed it for a time → its name

    def names(
        self, change: _Change, paths: Iterable[str], start: TreeSide, end: int, least: Ownership, history: History
    ) -> list[str]:
        """The names of the other writers of a file, which had these paths. Whoever only took back or restored wrote
        nothing.
        """
        found, movers = dict[str, bool](), dict[bytes, str]()
        for path in paths:
            if least == Ownership.PROVED:
                found = dict.fromkeys(self.probable.get(path, ()), False) | found
            for name, proved in self.others.get(path, {}).items():
                found[name] = proved or found.get(name, False)
            movers |= self.movers.get(path, {})
        for key, name in movers.items():
            if name not in found and _has_part(key, change, start, end, history):
                found[name] = True
        return [name if proved else f"{MARK}{name}" for name, proved in found.items()]


def _touched(writer: str, whose: Filter, start: int, end: int, history: History) -> _Touched:
    claiming = whose.claiming()
    touched = _Touched(set(), {}, set(), {}, {})
    low, high = sorted((start, end))
    for record in paced(history.records(after=low, upto=high)):
        paths = _paths_of(record)
        if not paths:
            continue
        claim = claiming(record)
        if claim >= Ownership.PROBABLE:
            for path in paths:
                if claim == Ownership.PROVED:
                    touched.proved.add(path)
                else:
                    name = writer if writer == ME else _name_of(record, history)
                    touched.probable.setdefault(path, {})[name] = None
            continue
        event = record.event()
        by_git, by_undo = is_by_git(getattr(event, "hint", "")), writer_type(record) == UNDOING
        if by_git or by_undo:
            touched.brought.update(paths)
        if by_git or getattr(event, "evidence", "") == CAPTURED:
            continue  # neither git nor the first capture is an author
        name, attribution = _name_of(record, history), history.attribution(record)
        proved = attribution is None or attribution.evidence != DURING
        for path in paths:
            if by_undo or record.kind in _REMOVALS:
                touched.movers.setdefault(path, {})[history.caller_of(history.author(record))] = name
            else:
                named = touched.others.setdefault(path, {})
                named[name] = proved or named.get(name, False)
    return touched


def _has_part(key: bytes, change: _Change, start: TreeSide, end: int, history: History) -> bool:
    """True if lines of this caller are in the change, or their removal."""
    path, last = made_by(change.compared, end, history) if end else (change.path, None)
    if last is None:
        return True

    def is_theirs(record: Record) -> bool:
        return history.caller_of(history.author(record)) == key

    side = without_own(path, last, _begins(change, start), is_theirs, history)
    return side is None or any(line.before != line.after for line in side.lines)


def _name_of(record: Record, history: History) -> str:
    who = history.writer(history.author(record))
    return who.agent or "user" if who is not None else "outside"


def joined_patches(files: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the patches of all files joined, as `patch`, or as `patch_base64` if one is not UTF-8."""
    if not any("patch_base64" in file for file in files):
        return {"patch": "".join(file.get("patch", "") for file in files)}
    parts = [base64.b64decode(file.get("patch_base64", "")) or file.get("patch", "").encode() for file in files]
    return {"patch_base64": base64.b64encode(b"".join(parts)).decode("ascii")}


def _changed_paths(params: DiffParams, start: int, end: int, history: History) -> list[str]:
    asked = named_paths(params.path, params.paths)
    if not asked:
        for seq, point in ((start, params.from_), (end, params.to)):
            if parse_version_token(point) is not None:
                require_not_lost(history, seq, point)
        one = _common_path(params, history)
        return [one] if one is not None else sorted(_between(start, end, history))
    found: set[str] = set()
    for given in asked:
        single = single_path(given, history)
        if single is not None:
            require_known(history, single, start, params.from_)
            require_known(history, single, end, params.to)
            found.add(single)
            continue
        fits = path_filter(given, history)
        there = {path for path in _between(start, end, history) if fits(path)}
        if not there and not any(fits(path) for path, _ in history.paths()):
            raise Refusal("not_found", f"The journal knows no file {given}.", "check_path", path=given)
        found |= there
    return sorted(found)


def _chosen(params: DiffParams, paths: set[str], history: History) -> set[str]:
    """Return the requested paths among `paths`; all if none is requested. Raises `Refusal` for a path that matches none
    of them.
    """
    asked = named_paths(params.path, params.paths)
    found: set[str] = set()
    for given in asked:
        single = single_path(given, history)
        fits = path_filter(given, history)
        chosen = {path for path in paths if path == (single or given) or fits(path)}
        if not chosen:
            raise Refusal("not_found", f"The journal knows no file {given}.", "check_path", path=given)
        found |= chosen
    return found if asked else paths


def _common_path(params: DiffParams, history: History) -> str | None:
    seqs = parse_version_token(params.from_), parse_version_token(params.to)
    sides = [_paths_of(history.record(seq)) if seq is not None else set() for seq in seqs]
    both = sides[0] & sides[1]
    return both.pop() if len(both) == 1 else None


def _paths_of(record: Record | None) -> set[str]:
    if record is None or record.kind not in VERSION_KINDS:
        return set()
    return {*paths_of(record.event())}


def _between(start: int, end: int, history: History) -> set[str]:
    low, high = sorted((start, end))
    if high - low > SCAN_RECORDS:
        return {*history.changed_after(low)}
    return {path for record in history.records(after=low, upto=high) for path in _paths_of(record)}


DIFF_TOOL: Final[Tool[DiffParams]] = Tool(
    "diff",
    DiffParams,
    no_paths,
    decide_diff,
    catch_up=True,
    of_tree=True,
    long=True,
    asks=("path", "paths"),
    reply=DiffReply,
)
