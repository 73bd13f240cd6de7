"""`uncommitted`: whose changes of these files a commit lacks, in lines, and whether the journal holds the files.

A line counts if the file has it and the commit does not, for who wrote it; or, where nothing replaces it, the reverse,
for who removed it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import Any, Final, NamedTuple

import msgspec

from quire_daemon.core import Decision, Tool, World, no_paths
from quire_daemon.core.replies import UncommittedReply
from quire_daemon.tools.history.diff import known_text, same
from quire_daemon.tools.history.own_changes import FileStep, steps_since, without_own
from quire_daemon.tools.history.sides import ComparedTrees, TreeSide, side_of
from quire_journal.history import is_by_git
from quire_journal.model import OUTSIDE, counted
from quire_journal.text import Text, diff
from quire_journal.views import Version, standing

MOST_FILES: Final = 200
"""Most files of one call."""

MOST_WRITERS: Final = 8
"""Most writers of a file whose lines are counted."""


class UncommittedParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `uncommitted`."""

    paths: list[str]
    commit: str = ""  # its id; "": there is none, and all lines count

    def __post_init__(self) -> None:
        if len(self.paths) > MOST_FILES:
            raise ValueError(f"`paths`: at most {MOST_FILES}")


def decide(params: UncommittedParams, world: World) -> Decision:
    """The reply (`UncommittedReply`): the files that differ, each with its writers."""
    start = side_of(f"commit:{params.commit}", "commit", world) if params.commit else TreeSide("", 0, {})
    trees = ComparedTrees(start, side_of("", "to", world), world)
    known = [path for path in params.paths if world.history.path_id(path) is not None]
    pairs = trees.pairs(known)
    files = [_file_json(path, pairs.get(path), trees.texts, world) for path in params.paths]
    told = [file for file in files if file["status"] != "same"]
    return Decision({"ok": True, "message": f"{counted(len(told), 'file')} with uncommitted work.", "files": told})


_Pair = tuple[Version | None, Version | None]


def _file_json(path: str, pair: _Pair | None, texts: Mapping[bytes, Text], world: World) -> dict[str, Any]:
    last = world.history.file(path)
    if pair is None or last is None:
        return {"path": path, "status": "unknown", "held": False, "writers": []}
    old, new = pair
    there = standing(last)
    held = there is None or (not there.uncaptured and bool(there.blob))
    if same(old, new) and held:
        return {"path": path, "status": "same", "held": held, "writers": []}
    status = "added" if standing(old) is None else "removed" if standing(new) is None else "changed"
    writers = [
        {"writer": world.history.writer_json(one.writer), "you": one.key == world.who.key, "lines": one.lines}
        for one in _shares(path, old, last, texts, world)
    ]
    return {"path": path, "status": status, "held": held, "writers": writers}


class _Share(NamedTuple):
    """A caller's part in the changes of a file."""

    key: bytes
    writer: int  # the newest of this caller's writers
    lines: int | None  # None: they cannot be counted


def _shares(path: str, old: Version | None, last: Version, texts: Mapping[bytes, Text], world: World) -> list[_Share]:
    history, then = world.history, old.blob if old is not None else b""
    found = steps_since(path, last, lambda version: bool(then) and version.blob == then, history)
    if found is None:
        return []
    by_caller = _by_caller(found[1], world)
    a, b = known_text(old, history, texts), known_text(last, history, texts)
    if a is None or b is None or a.binary or b.binary:
        return [_Share(key, max(one.writer for one in own), None) for key, own in by_caller.items()]
    added, removed = _changed_lines(a, b)
    shares: list[_Share] = []
    for key, own in [*by_caller.items()][-MOST_WRITERS:]:
        lines = _lines_of({one.seq for one in own}, path, last, then, (added, removed), world)
        if lines != 0:
            shares.append(_Share(key, max(one.writer for one in own), lines))
    return shares


def _by_caller(steps: Sequence[FileStep], world: World) -> dict[bytes, list[Version]]:
    """The versions that somebody made, by caller; git's own are nobody's work."""
    found: dict[bytes, list[Version]] = {}
    for _, version in steps:
        if version.writer == OUTSIDE and is_by_git(str(getattr(world.history.event(version.seq), "hint", ""))):
            continue
        found.setdefault(world.history.caller_of(version.writer), []).append(version)
    return found


def _changed_lines(a: Text, b: Text) -> tuple[Counter[bytes], Counter[bytes]]:
    """(lines that only `b` has, lines that only `a` has, and that nothing replaces)."""
    added, removed = Counter[bytes](), Counter[bytes]()
    for splice in diff(a, b):
        added.update(splice.lines)
        removed.update(() if splice.lines else a.lines[splice.start : splice.stop])
    return added, removed


def _lines_of(
    seqs: Set[int],
    path: str,
    last: Version,
    then: bytes,
    changed: tuple[Counter[bytes], Counter[bytes]],
    world: World,
) -> int | None:
    def is_start(version: Version) -> bool:
        return bool(then) and version.blob == then

    side = without_own(path, last, is_start, lambda record: record.seq in seqs, world.history)
    if side is None:
        return None
    added = Counter(line.content for line in side.lines if line.own and line.after)
    removed = Counter(line.content for line in side.lines if line.before and not line.after)
    return max((added & changed[0]).total(), (removed & changed[1]).total())


UNCOMMITTED_TOOL: Final[Tool[UncommittedParams]] = Tool(
    "uncommitted", UncommittedParams, no_paths, decide, catch_up=True, long=True, reply=UncommittedReply
)
