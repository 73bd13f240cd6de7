"""`tree` and `blobs`: all entries at a point in pages, and their bytes."""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from quire_daemon.core import Decision, Tool, World, no_paths
from quire_daemon.core.replies import BlobsReply, TreeReply
from quire_daemon.tools import blind_then
from quire_daemon.tools.history.difference import ENTRIES
from quire_daemon.tools.history.filters import common_part, path_filter, single_path
from quire_daemon.tools.history.renames import earlier_names
from quire_daemon.tools.history.sides import commit_entries
from quire_journal.history import (
    RECORD_LOST,
    CommitEntry,
    History,
    commit_of,
    gaps_at,
    gaps_json,
    gaps_of,
    in_git,
    parse_point,
    time_of,
    version_of,
    warning,
)
from quire_journal.model import FOLDER, LINK, Refusal, counted, paced, version_token
from quire_journal.storage.blobs import NotHeld
from quire_journal.views import Version, standing

PATHS: Final = 400
"""Maximum number of paths that one `tree` examines, so that no other call is delayed."""

MOST_NUMBERS: Final = 0xFFFF_FFFF

MOST_BLOBS: Final = 500

PART_BYTES: Final = 4 << 20
"""Maximum number of bytes in one reply of `blobs`."""

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class TreeParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `tree`."""

    at: str = ""  # a point; default: now
    path: str = ""  # a file, a folder or a glob
    cursor: int = 0  # `next` of the page before


class BlobsParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `blobs`."""

    sha256: list[str]
    offset: int = 0  # byte offset in the first blob


# ── tree ─────────────────────────────────────────────────────────────────────


def decide_tree(params: TreeParams, world: World) -> Decision:
    """Return a page of entries in the order of the journal's path list (`TreeReply`). To see the same state on all
    pages, ask each with the first page's `at`.
    """
    if not 0 <= params.cursor < MOST_NUMBERS:
        raise Refusal("schema_invalid", "cursor: it must be `next` of an earlier reply.", argument="cursor")
    history = world.history
    if commit := commit_of(params.at):
        return _tree_of_commit(commit, params, world)
    at = int(parse_point(params.at, history, "at")) if params.at else int(history.head())
    gaps = gaps_at(history, at)
    entries: list[dict[str, Any]] = []
    last = params.cursor
    for looked, (number, path) in enumerate(_paths(params, history)):
        if looked == PATHS:
            break
        last = number
        version = standing(history.version_at(path, at))
        if version is not None and version.entry == FOLDER and history.holds_files(path, at):
            continue  # shown by its files
        if version is not None and gaps and gaps_of(history, path, at):
            entries.append(_entry_lost(path, version))
        elif version is not None:
            entries.append(entry_json(path, version, history))
    else:
        last = 0
    first_scan = history.first_scan()
    many = counted(len(entries), "entry", "entries")
    so = "files that only these tell of are missing here, and of others nobody knows what they were"
    lost: dict[str, Any] = {"gaps": gaps_json(gaps)} if gaps else {}
    blind = blind_then(params.at, history)
    warnings = [*([warning(gaps, so)] if gaps else ()), *([blind] if blind else ())]
    if warnings:
        lost["warnings"] = warnings
    return Decision(
        {
            "ok": True,
            "message": f"{many}; `next` leads on." if last else f"{many}.",
            "at": f"seq:{at}",
            "time": time_of(at, history),
            "entries": entries,
            "next": last or None,
            "complete": first_scan is not None and first_scan <= at and not gaps,
            **lost,
        }
    )


def _paths(params: TreeParams, history: History) -> Iterator[tuple[int, str]]:
    if not params.path:
        yield from history.path_list(after=params.cursor)
        return
    fits, part = path_filter(params.path, history), common_part(params.path, history)
    numbers = history.path_numbers(f"tree {params.path}", fits, part)
    for number in numbers[bisect_right(numbers, params.cursor) :]:
        path = history.path(number)
        if path is not None:
            yield number, path


def _tree_of_commit(commit: str, params: TreeParams, world: World) -> Decision:
    """Return a page of the files of a commit, with versions that have the same bytes. A path that a file got later
    leads to its name in the commit. Raises as `side_of`.
    """
    entries = commit_entries(commit, world)
    fits = path_filter(params.path, world.history) if params.path else None
    paths = [path for path in sorted(entries) if fits is None or path == params.path or fits(path)]
    if not paths and (then := _name_in(entries, params.path, world.history)):
        told = [_of_commit(then, entries[then], world.history) | {"renamed_to": params.path}]
        return Decision(_page_of_commit(params.at, told, None))
    some = paths[params.cursor : params.cursor + PATHS]
    told = [_of_commit(path, entries[path], world.history) for path in paced(some)]
    left = len(paths) - params.cursor - len(some)
    return Decision(_page_of_commit(params.at, told, params.cursor + len(some) if left else None))


def _page_of_commit(at: str, told: list[dict[str, Any]], following: int | None) -> dict[str, Any]:
    many = counted(len(told), "entry", "entries")
    message = f"{many}." if following is None else f"{many}; `next` leads on."
    page = {"ok": True, "message": message, "at": at, "time": None, "entries": told}
    return {**page, "next": following, "complete": True}


def _name_in(entries: Mapping[str, CommitEntry], path: str, history: History) -> str:
    """Return the newest earlier name of the file at `path` that is among the files of a commit; "" if there is none."""
    single = single_path(path, history)
    earlier = () if single is None else earlier_names(single, history)
    return next((name for name in earlier if name in entries), "")


def _of_commit(path: str, entry: CommitEntry, history: History) -> dict[str, Any]:
    version = version_of(path, entry, history)
    if version is None:
        there = in_git(entry, b"", "in_git")
        return {**entry_json(path, there, history), "version": None}
    return entry_json(path, version, history) | ({"mode": f"0{entry.mode[3:]}"} if version.entry != LINK else {})


def entry_json(path: str, version: Version, history: History) -> dict[str, Any]:
    told: dict[str, Any] = {
        "path": path,
        "kind": ENTRIES.get(version.entry, "file"),
        "version": version_token(version.seq),
        "sha256": version.blob.hex() if version.blob else None,
        "sizeBytes": version.size,
        "mode": f"{version.mode:04o}",
    }
    lost = version.uncaptured
    if not lost and version.entry != FOLDER and not history.holds(version.blob):
        lost = "not_held"
    if lost:
        told["uncaptured"] = lost
    elif version.entry == LINK:
        told["target"] = history.bytes_of(version.blob).decode("utf-8", "backslashreplace")
    return told


def _entry_lost(path: str, known: Version) -> dict[str, Any]:
    told = {"path": path, "kind": ENTRIES.get(known.entry, "file"), "version": None, "sha256": None}
    return told | {"sizeBytes": 0, "mode": f"{known.mode:04o}", "uncaptured": RECORD_LOST}


# ── blobs ────────────────────────────────────────────────────────────────────


def decide_blobs(params: BlobsParams, world: World) -> Decision:
    """Return as many blobs as fit (`BlobsReply`), at least a part of the first blob, from `offset` on."""
    wrong = next((one for one in params.sha256 if not _SHA256.fullmatch(one)), None)
    if wrong is not None or not params.sha256 or len(params.sha256) > MOST_BLOBS or params.offset < 0:
        message = f"sha256: must be 1 to {MOST_BLOBS} addresses of 64 hexadecimal digits, and offset not negative."
        raise Refusal("schema_invalid", message, argument="sha256")
    told: list[dict[str, Any]] = []
    room = PART_BYTES
    for sha256 in params.sha256:
        one = _blob(bytes.fromhex(sha256), params.offset if not told else 0, room, bool(told), world.history)
        if one is None:
            break
        told.append({"sha256": sha256, **one})
        room -= len(one.get("content_base64", ""))
        if room <= 0 or "next_offset" in one:
            break
    return Decision({"ok": True, "message": f"{len(told)} of {len(params.sha256)}.", "blobs": told})


def _blob(blob: bytes, offset: int, room: int, whole: bool, history: History) -> dict[str, Any] | None:
    try:
        data = history.bytes_of(blob)
    except NotHeld:
        return {"uncaptured": "not_held", "sizeBytes": 0, "offset": 0}
    if whole and len(data) > room:
        return None
    part = data[offset : offset + room]
    told = {
        "content_base64": base64.b64encode(part).decode("ascii"),
        "sizeBytes": len(data),
        "offset": offset,
    }
    return {**told, "next_offset": offset + len(part)} if offset + len(part) < len(data) else told


TREE_TOOL: Final[Tool[TreeParams]] = Tool(
    "tree", TreeParams, no_paths, decide_tree, catch_up=True, of_tree=True, long=True, asks=("path",), reply=TreeReply
)
BLOBS_TOOL: Final[Tool[BlobsParams]] = Tool("blobs", BlobsParams, no_paths, decide_blobs, reply=BlobsReply)
