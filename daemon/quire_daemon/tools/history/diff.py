"""`diff`: the difference between two points."""

from __future__ import annotations

import base64
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from quire_daemon.core import Decision, Tool, World, no_paths
from quire_daemon.core.replies import DiffReply
from quire_daemon.tools.history.before_journal import before_it
from quire_daemon.tools.history.by_writer import (
    FileDifference,
    MadeDifference,
    in_one_patch,
    is_other,
    made_difference,
    own_part,
    part_alone,
    versioned_paths,
    writers_between,
)
from quire_daemon.tools.history.difference import Room, difference
from quire_daemon.tools.history.filters import VERSION_KINDS, Filter, named_burst, named_paths, path_filter, single_path
from quire_daemon.tools.history.renames import TreeChange
from quire_daemon.tools.history.short_names import spelled_out
from quire_daemon.tools.history.sides import ComparedTrees, TreeSide, side_of
from quire_daemon.tools.history.writers import Ownership, nobody
from quire_journal.export import CONTEXT, PatchStyle
from quire_journal.history import (
    History,
    commit_of,
    gaps_after,
    gaps_at,
    gaps_json,
    require_known,
    require_not_lost,
    warning,
)
from quire_journal.history.renames import LaterNames
from quire_journal.model import FOLDER, Refusal, counted, paced, parse_version_token
from quire_journal.text import Text
from quire_journal.views import LostStretch, standing

MAX_FILES: Final = 500
"""Maximum number of files in one reply of `diff`."""

MOST_CONTEXT: Final = 1_000_000
"""Maximum number of context lines; no file has more."""

MOST_LEFT: Final = 20_000
"""Maximum number of differing files that are kept for the next page; with more, each page compares anew."""

SCAN_RECORDS: Final = 20_000
"""Maximum number of records that `diff` scans for changed files; for more it compares the versions of all files."""


class DiffParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `diff`. If two versions of one file are compared without paths, only that file is."""

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


class WholeDifference(NamedTuple):
    """All files that differ, kept after one page for the next page of the same request."""

    about: object  # everything that decides which files differ
    found: Sequence[FileDifference]
    texts: Mapping[bytes, Text]
    unknown: int


def decide_diff(params: DiffParams, world: World) -> Decision:
    """Return the files that differ, within `MAX_FILES` and the reply's size (`DiffReply`)."""
    history = world.history
    params = spelled_out(params, history)
    _require_sound(params, history)
    sides = side_of(params.from_, "from", world), side_of(params.to, "to", world)
    trees = ComparedTrees(*sides, world)
    compared = _compared(params, sides, trees, world)
    found: Sequence[FileDifference] = compared.found
    others: Mapping[str, list[str]] = {}
    left_out: Sequence[str] = ()
    if params.whose:
        found, others, left_out = _by_writer(params, found, sides, trees, history)
    rest = found[bisect_right(found, params.cursor, key=lambda one: one.path) :]
    files = _files_json(params, rest[:MAX_FILES], others, sides[1], trees, world)
    is_cut = len(rest) > MAX_FILES
    many = counted(len(files), "file differs", "files differ")
    reply: dict[str, Any] = {
        "ok": True,
        "message": f"{many}; `next` leads on." if is_cut else f"{many}.",
        "from": sides[0].point,
        "to": sides[1].point,
        "files": files,
        **joined_patches(files),
    }
    if left_out and not params.cursor:
        reply["left_out"] = [{"path": path} for path in left_out]
    gaps = _gaps(sides[0].seq, sides[1].seq, history)
    if gaps:
        reply["gaps"] = gaps_json(gaps)
    if warnings := _warnings(sides, trees.unknown, gaps, found, history):
        reply["warnings"] = warnings
    if is_cut:
        reply["next"] = files[-1]["path"]
    if is_cut or any("truncated" in f for f in files):
        reply["truncated"] = True
    return Decision(reply, left=compared if is_cut and len(compared.found) <= MOST_LEFT else None)


def _require_sound(params: DiffParams, history: History) -> None:
    if not 0 <= params.context <= MOST_CONTEXT:
        message = f"context: it must be a number of lines from 0 to {MOST_CONTEXT:,}, not {params.context}."
        raise Refusal("schema_invalid", message, argument="context")
    if said := nobody(params.writer, history):
        raise Refusal("not_found", said, "who", argument="writer")
    if params.alone and (not params.whose or commit_of(params.to)):
        message = "alone: name `writer`, `agent_session`, `turn` or `burst`, and a point of the journal as `to`."
        raise Refusal("schema_invalid", message, argument="alone")


def _files_json(
    params: DiffParams,
    changes: Sequence[FileDifference],
    others: Mapping[str, list[str]],
    end: TreeSide,
    trees: ComparedTrees,
    world: World,
) -> list[dict[str, Any]]:
    history, room = world.history, Room(world.settings.limits.reply_bytes)
    style = PatchStyle(params.context, params.ignore_space, below=params.below)
    is_past = end.entries is None and end.seq < history.head()
    later = LaterNames(history) if is_past and not params.alone else None
    files: list[dict[str, Any]] = []
    for one in changes:
        told = difference(one.old_path, one.old, one.path, one.new, history, room, style=style, texts=trees.texts)
        if others.get(one.path):
            told["others"] = others[one.path]
        if later is not None and standing(one.new) and (now := later.now(one.path, end.seq)) != one.path:
            told["moved_to"] = now
        files.append({**told, **one.told})
    return files


def _gaps(start: int, end: int, history: History) -> list[LostStretch]:
    low, high = sorted((start, end))
    return sorted({*gaps_at(history, start), *gaps_at(history, end), *gaps_after(history, low, high)})


def _warnings(
    sides: tuple[TreeSide, TreeSide],
    unknown: int,
    gaps: Sequence[LostStretch],
    found: Sequence[FileDifference],
    history: History,
) -> list[dict[str, Any]]:
    """Return warnings of a comparison with the differences `found`. `unknown`: number of a commit's files that the
    journal never knew.
    """
    warnings: list[dict[str, Any]] = []
    if unknown:
        message = f"Of the commit the journal knows {counted(unknown, 'file')} not: ignored, a secret, or gone before."
        warnings.append({"type": "not_captured", "message": message})
    in_journal = all(side.entries is None for side in sides)
    early = before_it(min(side.seq for side in sides), history) if in_journal else ""
    if early and any(one.old is None or one.new is None for one in found):
        message = f"{early} Files that were there all the time are shown as if they were new."
        warnings.append({"type": "before_the_journal", "message": message})
    if gaps:
        warnings.append(warning(gaps, "files that only these tell of are not shown"))
    return warnings


def _compared(
    params: DiffParams, sides: tuple[TreeSide, TreeSide], trees: ComparedTrees, world: World
) -> WholeDifference:
    points = world.history.head(), params.from_, params.to, sides
    about = (*points, params.path, params.paths, params.whose, bool(params.alone))
    if isinstance(world.left, WholeDifference) and world.left.about == about:
        trees.texts.update(world.left.texts)
        trees.unknown = world.left.unknown
        return world.left
    found = _changes(params, sides, trees, world.history)
    return WholeDifference(about, found, {**trees.texts}, trees.unknown)


def _changes(
    params: DiffParams, sides: tuple[TreeSide, TreeSide], trees: ComparedTrees, history: History
) -> list[FileDifference]:
    start, end = (side.seq for side in sides)
    if all(side.entries is None for side in sides):
        paths: Collection[str] = _changed_paths(params, start, end, history)
    else:
        paths = sorted(_chosen(params, trees.paths(), history))
    # The two ends of a guessed rename may be of two writers.
    found = trees.changes(paced(paths), guessed=not params.alone, follow=params.whose)
    return [FileDifference(*one) for one in found if one.differs and not _is_told_by_files(one, start, end, history)]


def _by_writer(
    params: DiffParams,
    changes: Sequence[FileDifference],
    sides: tuple[TreeSide, TreeSide],
    trees: ComparedTrees,
    history: History,
) -> tuple[list[FileDifference], Mapping[str, list[str]], list[str]]:
    """Return (one writer's parts of the changes, at least those of this page; path → names of other writers; on the
    first page, paths left out because their changes are only probably the writer's).
    """
    start, end = (side.seq for side in sides)
    least = Ownership.PROVED if params.alone and not params.probable else Ownership.PROBABLE
    whose = _whose(params, history)
    writers = writers_between(params.writer, whose, start, end, history)
    doubtful = {*writers.probable}
    own = writers.proved | doubtful if least == Ownership.PROBABLE else writers.proved
    theirs = writers.proved | doubtful | writers.brought
    others: dict[str, list[str]] = {}
    left_out: list[str] = []
    admitting = {claim: whose.admitting(claim) for claim in (Ownership.PROBABLE, Ownership.PROVED)}

    def part(one: MadeDifference, claim: Ownership) -> FileDifference | None:
        if not params.alone:
            return own_part(one, admitting[claim], trees, history)
        found = part_alone(one, admitting[claim], trees, history, needed=params.alone == "needed")
        # An inseparable file counts if it has no other writer.
        return one.change if found is not None and found.whole and not others[one.change.path] else found

    def shown(one: MadeDifference) -> FileDifference | None:
        others[one.change.path] = writers.names(one, least, history)
        if start > end:  # a reverse range has no writers
            return one.change
        found = part(one, least)
        if found is not None and (found is one.change or found.whole) and own.isdisjoint(one.names):
            found = None
        if doubtful.isdisjoint(one.names):
            return found
        other = part(one, Ownership.PROVED if least == Ownership.PROBABLE else Ownership.PROBABLE)
        differs = is_other(found, other)
        if differs and least == Ownership.PROVED:
            left_out.append(one.change.path)
        elif differs and found is not None:
            return msgspec.structs.replace(found, told={**found.told, "probable": True})
        return found

    wanted = (change for change in changes if params.alone or change.path > params.cursor)
    made = (made_difference(change, sides[0], end, history) for change in wanted)
    rest = (one for one in made if not theirs.isdisjoint(one.names))
    renamed: list[MadeDifference] = []
    if params.alone:  # a part of a renamed file may be told under the name of another file
        every = [*rest]
        renamed, rest = [one for one in every if one.is_renamed], (one for one in every if not one.is_renamed)
    parts = [(one.change, found) for one in renamed if (found := shown(one)) is not None]
    named = {name for kept in parts for one in kept for name in (one.path, one.old_path)}
    many = 0  # parts after the cursor
    for one in rest:
        is_next = one.change.path > params.cursor and many <= MAX_FILES
        if many > MAX_FILES and not params.alone:
            break
        is_asked = one.change.path in named or not (params.cursor or doubtful.isdisjoint(one.names))
        if (is_next or is_asked) and (found := shown(one)) is not None:
            parts.append((one.change, found))
            many += one.change.path > params.cursor
    by_path = in_one_patch(parts) if params.alone and start <= end else (found for _, found in parts)
    return sorted(by_path, key=lambda one: one.path), others, left_out


def _is_told_by_files(change: TreeChange, start: int, end: int, history: History) -> bool:
    """True for a folder with files in it at each of the two points at which it exists: the entries of these files
    suffice.
    """
    ends = [(there, seq) for one, seq in ((change.old, start), (change.new, end)) if (there := standing(one))]
    return all(there.entry == FOLDER and history.holds_files(change.path, seq) for there, seq in ends)


def _whose(params: DiffParams, history: History) -> Filter:
    burst = named_burst(params.burst, history) if params.burst else 0
    return Filter(history, VERSION_KINDS, params.writer, "", params.agent_session, params.turn, burst=burst)


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
    sides = [versioned_paths(history.record(seq)) if seq is not None else set() for seq in seqs]
    both = sides[0] & sides[1]
    return both.pop() if len(both) == 1 else None


def _between(start: int, end: int, history: History) -> set[str]:
    low, high = sorted((start, end))
    if high - low > SCAN_RECORDS:
        return {*history.changed_after(low)}
    return {path for record in history.records(after=low, upto=high) for path in versioned_paths(record)}


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
