"""`contributions`: who made the difference between two states of the tree, in lines, and which lines are whose.

A line that only the later state has counts for who wrote it. A line that only the earlier state has counts for who
removed it, unless as many lines replace it, or a line of its remover does. The earlier state of a renamed file is the
one under its earlier name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final, NamedTuple

import msgspec

from quire_daemon.core import Decision, NeedsCommits, Tool, World, no_paths
from quire_daemon.core.replies import ContributionsReply
from quire_daemon.tools.history.by_writer import (
    IsStart,
    is_mover,
    starts_at,
    steps_since,
    without_own,
    writing_since,
)
from quire_daemon.tools.history.difference import known_text
from quire_daemon.tools.history.origins import commit_json
from quire_daemon.tools.history.renames import TreeChange, end_of, made_by
from quire_daemon.tools.history.sides import ComparedTrees, TreeSide, side_of
from quire_daemon.tools.history.writers import is_own
from quire_journal.history import (
    UNDOING,
    CommitAnswers,
    CommitFile,
    CommitLine,
    History,
    LineOrigin,
    at_commit,
    blame,
    commit_of,
    is_by_git,
    origins_in_git,
    rfc3339,
)
from quire_journal.model import OUTSIDE, JournalDamaged, Record, counted, version_token
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import Text, diff
from quire_journal.views import Version, standing

MOST_FILES: Final = 200
"""Maximum number of files of one call."""

MOST_WRITERS: Final = 8
"""Maximum number of writers of a file whose lines are counted."""

NOTHING: Final = "nothing"
"""The point before everything: all lines count."""


class ContributionsParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `contributions`."""

    from_: str = msgspec.field(name="from")  # a point, or `nothing`
    to: str = ""  # a point; default: now
    paths: list[str] = []  # default: all that differ
    lines: bool = False  # tell each run of lines

    def __post_init__(self) -> None:
        if len(self.paths) > MOST_FILES:
            raise ValueError(f"`paths`: at most {MOST_FILES}")


def decide(params: ContributionsParams, world: World) -> Decision:
    """Return the files that differ, each with its writers (`ContributionsReply`)."""
    start = TreeSide("", 0, {}) if params.from_ == NOTHING else side_of(params.from_, "from", world)
    end = side_of(params.to, "to", world)
    trees = ComparedTrees(start, end, world)
    named = params.paths or sorted(trees.paths())
    known = trees.changes(path for path in named if world.history.path_id(path) is not None)
    files, more = list[dict[str, Any]](), 0
    unanswered: list[CommitFile] | None = [] if params.lines else None
    for path, change in _by_name(named, known).items():
        if (told := _file_json(path, change, end, trees.texts, unanswered, world)) is None:
            continue
        if len(files) == MOST_FILES:
            more += 1
        else:
            files.append(told)
    if unanswered and not world.commits_awaited:
        raise NeedsCommits(unanswered)
    message = f"{counted(len(files) + more, 'file')} with work of somebody."
    return Decision({"ok": True, "message": message, "files": files, "more": more})


def _by_name(named: Iterable[str], known: Sequence[TreeChange]) -> dict[str, TreeChange | None]:
    """Return path → change, or None for a path that the journal never saw. A renamed file is listed under its later
    name; if only the earlier name is asked for, as removed.
    """
    changes, found = {one.path: one for one in known}, dict[str, TreeChange | None]()
    left = {one.old_path: one for one in known if one.old_path not in changes}
    for path in named:
        to = left.get(path)
        found[path] = changes.get(path) if to is None else TreeChange(path, path, to.old, None)
    return {path: one for path, one in found.items() if path not in left or left[path].path not in found}


def _file_json(
    path: str,
    change: TreeChange | None,
    end: TreeSide,
    texts: Mapping[bytes, Text],
    unanswered: list[CommitFile] | None,
    world: World,
) -> dict[str, Any] | None:
    """Return the entry of one file in the reply; None if the file does not differ. `unanswered` collects questions to
    git about its lines; None: the entry has no lines.
    """
    if change is None or world.history.file(path) is None:
        return {"path": path, "status": "unknown", "held": False, "writers": []}
    old_path, old, new = change.old_path, change.old, change.new
    made = _made(change, end, world.history)
    held = standing(new) is None or (new is not None and not new.uncaptured and bool(new.blob))
    if not change.differs and held:
        return None
    status = "added" if standing(old) is None else "removed" if standing(new) is None else "changed"
    told = {"path": path, "status": status, "held": held, "writers": list[dict[str, Any]]()}
    if old_path != path:
        told["moved_from"] = old_path
    if made.version is None:
        return told
    if standing(new) is None and standing(made.version) is not None:
        return told  # it is there under another name
    shares, runs = _shares(change, made.path, made.version, texts, unanswered, world)
    told["writers"] = [
        {
            "writer": world.history.writer_json(one.writer),
            "you": is_own(one.writer, world.who, world.history),
            "lines": one.lines,
            "version": version_token(one.newest.seq),
            "evidence": one.newest.evidence or None,
        }
        for one in shares
    ]
    if unanswered is not None:
        told["runs"] = [_run_json(*run, world) for run in runs]
    return told


class _Made(NamedTuple):
    """The version that made the later state, and the file's path in it."""

    path: str
    version: Version | None


def _made(change: TreeChange, end: TreeSide, history: History) -> _Made:
    """Return the version that made the later state. For a commit's file that only git has, or that the commit lacks:
    the version that the file had when HEAD came to the commit.
    """
    if standing(change.new) is not None and not _is_in_git(change.new):
        return _Made(change.path, change.new)
    if end.entries is None:
        return _Made(*made_by(change, end.seq, history))
    head = int(history.head())
    made = _Made(*end_of(change.path, int(at_commit(commit_of(end.point), history) or head), history))
    if standing(change.new) is None and standing(made.version) is not None:  # HEAD was noticed before the removal
        return _Made(*end_of(change.path, head, history))
    return made


def _is_in_git(version: Version | None) -> bool:
    """True for a file of a commit that is no version of the journal."""
    return version is not None and not version.seq


def _run_json(first: int, stop: int, origin: LineOrigin, world: World) -> dict[str, Any]:
    version = origin.version
    told: dict[str, Any] = {
        "start": first + 1,
        "end": stop,
        "writer": world.history.writer_json(version.writer, version.type),
        "version": version_token(version.seq),
        "at": rfc3339(version.at_ns),
        "evidence": version.evidence or None,
    }
    return told if origin.commit is None else {**told, "commit": commit_json(origin.commit)}


class _Share(NamedTuple):
    """A caller's part in the changes of a file."""

    writer: int  # the newest of this caller's writers
    newest: Version  # of this caller's versions
    lines: int | None  # None: they cannot be counted

    @classmethod
    def of(cls, own: Sequence[Version], lines: int | None) -> _Share:
        return cls(max(one.writer for one in own), max(own, key=lambda one: one.seq), lines)


_Run = tuple[int, int, LineOrigin]
"""(first line from 0, line after the last, their origin)."""


def _shares(
    change: TreeChange,
    path: str,
    made: Version,
    texts: Mapping[bytes, Text],
    unanswered: list[CommitFile] | None,
    world: World,
) -> tuple[list[_Share], list[_Run]]:
    """Return (parts of the callers, new lines as runs of one origin) of a file whose later state version `made` made,
    at `path`.
    """
    history, is_start = world.history, starts_at(change.old_path, change.old)
    in_git = change.new if _is_in_git(change.new) else None
    found = writing_since(path, made, is_start, history)
    by_caller = {} if found is None else _by_caller(found, world)
    a, b = known_text(change.old, history, texts), known_text(in_git or made, history, texts)
    is_text = a is not None and b is not None and not (a.binary or b.binary)
    if in_git is not None and not is_text:
        return [], []  # nobody is known to have made these bytes
    is_whole = standing(change.old) is None or standing(change.new) is None
    if found is None or a is None or b is None or not is_text or (is_whole and not (a.lines or b.lines)):
        wrote = {key: own for key, own in by_caller.items() if any(one.type != UNDOING for one in own)} or by_caller
        return [_Share.of(own, None) for own in wrote.values()], []
    new, gone = _changed_lines(a, b)
    origins, left = _origins(path, made, in_git, b, history, world.commits if unanswered is not None else None)
    if unanswered is not None and any(origins[n].pending for n in new if n < len(origins)):
        unanswered += left
    runs = [*_runs(origins, new)]
    written = Counter[bytes]()
    if in_git is None:
        added = Counter(b.lines[number] for number in new)
    else:  # `made` may have other lines
        added = Counter()
        for first, stop, origin in runs:
            for key, own in _by_caller([origin.version], world).items():
                by_caller.setdefault(key, []).extend(own)
                written[key] += stop - first
    shares: list[_Share] = []
    for key, own in [*by_caller.items()][-MOST_WRITERS:]:
        removed = _removed(gone, {n for n in new if n < len(origins) and _caller(origins[n], world) == key}, a)
        lines = _lines_of(key, path, made, is_start, (added, removed), world)
        lines = lines if in_git is None else max(lines or 0, written[key])
        renamed = change.path != change.old_path and any(one.moved_from and not is_mover(one, history) for one in own)
        if lines != 0 or renamed:
            shares.append(_Share.of(own, lines))
    return shares, runs


def _origins(
    path: str, made: Version, in_git: Version | None, text: Text, history: History, answers: CommitAnswers | None
) -> tuple[Sequence[LineOrigin], Sequence[CommitFile]]:
    """Return (the origin of each line of `text`, questions that git has not answered). `text` is the later state; no
    origins if the journal lacks bytes of an older version.
    """
    try:
        if in_git is not None:
            return origins_in_git(history, path, made.seq, in_git, text.data), ()
        found = None if made.gone else blame(history, path, made, answers=answers)
    except (NotHeld, JournalDamaged):
        return (), ()
    return ((), ()) if found is None else (found.origins, found.unanswered)


def _runs(origins: Sequence[LineOrigin], new: Collection[int]) -> Iterator[_Run]:
    """Yield the new lines as runs of one origin, in order, without lines that no version has."""
    first: int | None = None
    for number in range(len(origins) + 1):
        known = number < len(origins) and number in new and not _is_in_git(origins[number].version)
        if first is not None and not (known and _source(origins[number]) == _source(origins[first])):
            yield first, number, origins[first]
            first = None
        if first is None and known:
            first = number


def _source(origin: LineOrigin) -> tuple[int, CommitLine | None]:
    return origin.version.seq, origin.commit


def _by_caller(versions: Sequence[Version], world: World) -> dict[bytes, list[Version]]:
    """Return the versions by caller, without those of git, which are nobody's work."""
    found: dict[bytes, list[Version]] = {}
    for version in versions:
        if not _is_gits(version.writer, version.seq, world):
            found.setdefault(world.history.caller_of(version.writer), []).append(version)
    return found


def _is_gits(writer: int, seq: int, world: World) -> bool:
    return writer == OUTSIDE and is_by_git(str(getattr(world.history.event(seq), "hint", "")))


def _caller(origin: LineOrigin, world: World) -> bytes:
    return world.history.caller_of(origin.version.writer)


class _Gone(NamedTuple):
    """Lines that only the earlier state has, and `by`, the numbers of the lines that replace them."""

    start: int
    stop: int
    by: range


def _changed_lines(a: Text, b: Text) -> tuple[set[int], list[_Gone]]:
    """Return (numbers of the lines that only `b` has, lines that only `a` has)."""
    added, gone, moved = set[int](), list[_Gone](), 0
    for splice in diff(a, b):
        start = splice.start + moved
        by = range(start, start + len(splice.lines))
        added.update(by)
        gone.append(_Gone(splice.start, splice.stop, by))
        moved += splice.shift
    return added, gone


def _removed(gone: Sequence[_Gone], own: Set[int], a: Text) -> Counter[bytes]:
    """Return the lines that only `a` has and that count as removed: fewer lines replace them, and none that is in
    `own`.
    """
    there = (one for one in gone if len(one.by) < one.stop - one.start and own.isdisjoint(one.by))
    return Counter(line for one in there for line in a.lines[one.start : one.stop])


def _lines_of(
    key: bytes,
    path: str,
    made: Version,
    is_start: IsStart,
    changed: tuple[Counter[bytes], Counter[bytes]],
    world: World,
) -> int | None:
    def is_own(record: Record) -> bool:
        writer = world.history.author(record)
        return world.history.caller_of(writer) == key and not _is_gits(writer, record.seq, world)

    side = without_own(steps_since(path, made, is_start, world.history), is_own, world.history)
    if side is None:
        return None
    added = Counter(line.content for line in side.lines if line.own and line.after)
    removed = Counter(line.content for line in side.lines if line.before and not line.after)
    return max((added & changed[0]).total(), (removed & changed[1]).total())


CONTRIBUTIONS_TOOL: Final[Tool[ContributionsParams]] = Tool(
    "contributions", ContributionsParams, no_paths, decide, catch_up=True, long=True, reply=ContributionsReply
)
