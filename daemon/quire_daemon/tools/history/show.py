"""`show` and `diff`: what a version holds, and how two points differ. Read-only."""

from __future__ import annotations

import base64
from bisect import bisect_right
from typing import Any, Final

import msgspec

from quire_daemon.core import Decision, Tool, World, no_paths
from quire_daemon.tools import fitting
from quire_daemon.tools.history.before_journal import before_it
from quire_daemon.tools.history.diff import ENTRIES, Room, before, difference, same
from quire_daemon.tools.history.filters import VERSION_KINDS, known_path, named_paths, path_filter, single_path
from quire_daemon.tools.history.log import record_json
from quire_journal.history import (
    History,
    gaps_after,
    gaps_at,
    gaps_json,
    missing,
    parse_point,
    require_known,
    require_not_lost,
    version_then,
    warning,
)
from quire_journal.model import (
    FOLDER,
    Record,
    Refusal,
    counted,
    parse_version_token,
    path_after,
    paths_of,
    version_token,
)
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import shown
from quire_journal.views import Version

MAX_FILES: Final = 500
"""Files in one reply of `diff`."""

SCAN_RECORDS: Final = 20_000
"""Records that a `diff` looks at to learn which files differ; beyond that, the heads tell."""


class ShowParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `show`."""

    version: str  # a version or `seq:N`; with `path` any point
    path: str = ""
    start_line: int = 1  # of `content`, for files that do not fit into one reply


class DiffParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `diff`. Two versions of one file and no paths compare that file."""

    from_: str = msgspec.field(name="from")  # a point
    to: str = ""  # a point; now
    path: str = ""
    paths: list[str] = []  # files, folders, globs
    cursor: str = ""  # `next` of the page before


# ── show ─────────────────────────────────────────────────────────────────────


def decide_show(params: ShowParams, world: World) -> Decision:
    """The reply: `record`, and for a record that made a version its `content` and its `diff` against the one before.

    A binary version has `content_base64` instead. `truncated` and `next_line` as in `read_file`.
    """
    history = world.history
    record, version, path = _found(params, history)
    reply: dict[str, Any] = {
        "ok": True,
        "message": f"{version_token(record.seq) if version else f'seq:{record.seq}'} is a {record.kind}.",
        "record": record_json(record, history),
    }
    if version is not None and path is not None:
        reply["message"] = f"{version_token(version.seq)} of {path}."
        reply |= _version_json(path, version, history)
        reply |= _content(version, params.start_line, world)
        reply |= _against_base(path, version, world)
    return Decision(reply)


def _found(params: ShowParams, history: History) -> tuple[Record, Version | None, str | None]:
    """(record, the version it made, its path). Raises `Refusal`."""
    seq = int(parse_point(params.version, history, "version"))
    if params.path:
        asked = known_path(params.path, history)
        version = history.version(asked, seq)
        if version is None:
            require_known(history, asked, seq, params.version)
            version = history.version_at(asked, seq)
        record = history.record(version.seq) if version is not None else None
        if record is None:
            raise Refusal("not_found", f"{params.path!r} had no version at {params.version}.", "log", path=params.path)
        return record, version, asked
    require_not_lost(history, seq, params.version)
    record = history.record(seq)
    if record is None:
        raise Refusal("not_found", f"There is no record {params.version}.", "log")
    path = path_after(record.event())
    version = history.version(path, seq) if path is not None and record.kind in VERSION_KINDS else None
    return record, version, path


def _version_json(path: str, version: Version, history: History) -> dict[str, Any]:
    return {
        "path": path,
        "version": version_token(version.seq),
        "sha256": version.blob.hex() if version.blob else None,
        "sizeBytes": version.size,
        "mode": f"{version.mode:04o}",
        "entry": ENTRIES[version.entry],
        "gone": version.gone,
        "moved_from": version.moved_from or None,
        "moved_to": version.moved_to or None,
        "writer": history.writer_json(version.writer, version.type),
    }


def _content(version: Version, start_line: int, world: World) -> dict[str, Any]:
    """The bytes of a version as a reply shows them; nothing where they are not held."""
    if version.gone or version.entry == FOLDER:
        return {}
    try:
        text = world.history.text_of(version.blob)
    except NotHeld:
        lost = missing(world.history, version)
        return {"uncaptured": lost.why, "uncaptured_told": lost.told}
    limit = world.settings.limits.reply_bytes
    if text.binary:
        if len(text.data) > limit:
            return {"binary": True, "truncated": True}
        return {"binary": True, "content_base64": base64.b64encode(text.data).decode("ascii")}
    start = min(max(start_line - 1, 0), len(text))
    stop = start + fitting(text.lines[start:], limit)
    content = "".join(
        shown(line) + ("\n" if ending else "")
        for line, ending in zip(text.lines[start:stop], text.breaks[start:stop], strict=True)
    )
    found: dict[str, Any] = {"content": content, "lineCount": len(text), "newlineStyle": text.newline_style}
    if text.lossy:
        found["lossy"] = True
    if stop < len(text):
        found |= {"truncated": True, "next_line": stop + 1}
    return found


def _against_base(path: str, version: Version, world: World) -> dict[str, Any]:
    """How the version differs from the one that it was made from, or else from the one before it."""
    history = world.history
    base_path, base = path, history.version(path, version.base) if version.base else None
    if base is None:  # or its record is lost
        base_path, base = before(history, path, version)
    found = difference(base_path, base, path, version, history, Room(world.settings.limits.reply_bytes))
    found.pop("path", None)
    return {"against": version_token(base.seq) if base is not None and base.seq else None, "diff": found}


# ── diff ─────────────────────────────────────────────────────────────────────


def decide_diff(params: DiffParams, world: World) -> Decision:
    """The reply: `files` of `{path, status, from, to, hunks, patch}`, and `patch`, all of them in one.

    See `difference` for an entry; of a link the text is its target, an empty folder has none. `truncated: true` on a
    file whose patch does not fit, and on the reply where there is one, or where there are more files: `next` is the
    cursor of those.
    """
    history = world.history
    start = int(parse_point(params.from_, history, "from"))
    end = int(parse_point(params.to, history, "to")) if params.to else int(history.head())
    room = Room(world.settings.limits.reply_bytes)
    files: list[dict[str, Any]] = []
    following = last = ""
    unseen = False  # of a file there was no version yet
    paths = _changed_paths(params, start, end, history)
    for path in paths[bisect_right(paths, params.cursor) :]:
        then, now = version_then(history, path, start), version_then(history, path, end)
        if same(then, now):
            continue
        if len(files) == MAX_FILES:
            following = last
            break
        files.append(difference(path, then, path, now, history, room))
        unseen = unseen or then is None or now is None
        last = path
    many = counted(len(files), "file differs", "files differ")
    reply: dict[str, Any] = {
        "ok": True,
        "message": f"{many}; `next` leads on." if following else f"{many}.",
        "from": f"seq:{start}",
        "to": f"seq:{end}",
        "files": files,
        "patch": "".join(f.get("patch", "") for f in files),
    }
    unknown = before_it(min(start, end), history)
    if unknown and unseen:
        message = f"{unknown} Files that were there all the time are shown as if they were new."
        reply["warnings"] = [{"type": "before_the_journal", "message": message}]
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


def _changed_paths(params: DiffParams, start: int, end: int, history: History) -> list[str]:
    """The paths to compare, sorted."""
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


def _common_path(params: DiffParams, history: History) -> str | None:
    """The file of which both points are versions."""
    seqs = parse_version_token(params.from_), parse_version_token(params.to)
    sides = [_paths_of(history.record(seq)) if seq is not None else set() for seq in seqs]
    both = sides[0] & sides[1]
    return both.pop() if len(both) == 1 else None


def _paths_of(record: Record | None) -> set[str]:
    if record is None or record.kind not in VERSION_KINDS:
        return set()
    return {*paths_of(record.event())}


def _between(start: int, end: int, history: History) -> set[str]:
    """Every path that may differ: by the records in between, or, where they are too many, by what came last of each."""
    low, high = sorted((start, end))
    if high - low > SCAN_RECORDS:
        return {*history.changed_after(low)}
    return {path for record in history.records(after=low, upto=high) for path in _paths_of(record)}


SHOW_TOOL: Final[Tool[ShowParams]] = Tool("show", ShowParams, no_paths, decide_show, asks=("path",), long=True)
DIFF_TOOL: Final[Tool[DiffParams]] = Tool(
    "diff", DiffParams, no_paths, decide_diff, catch_up=True, of_tree=True, long=True, asks=("path", "paths")
)
