"""`show`: a record, and the content of a version."""

from __future__ import annotations

import base64
from typing import Any, Final

import msgspec

from quire_daemon.core import Decision, Tool, World, no_paths
from quire_daemon.core.replies import ShowReply
from quire_daemon.tools import fitting
from quire_daemon.tools.history.difference import ENTRIES, MANY, MOST_COMPARED, Room, before, difference, whole_or_lines
from quire_daemon.tools.history.filters import VERSION_KINDS, known_path
from quire_daemon.tools.history.log import record_json
from quire_daemon.tools.history.renames import file_at
from quire_journal.history import History, missing, parse_point, require_known, require_not_lost
from quire_journal.model import FOLDER, Record, Refusal, path_after, version_token
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import Text, shown
from quire_journal.views import Version


class ShowParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `show`."""

    version: str  # a version or `seq:N`; any point if `path` is given
    path: str = ""
    start_line: int = 1  # first line of `content`, for a file over several replies


def decide_show(params: ShowParams, world: World) -> Decision:
    """Return a record; for a version also its content and its difference from the version before (`ShowReply`)."""
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
    """Return (record, version that it made, path of that version); the last two are None for a record that made no
    version. Raises `Refusal` if there is no such record.
    """
    seq = int(parse_point(params.version, history, "version"))
    if params.path:
        asked = known_path(params.path, history)
        version = history.version(asked, seq)
        if version is None:
            require_known(history, asked, seq, params.version)
            asked, version = file_at(asked, seq, history)
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
    if version.gone or version.entry == FOLDER:
        return {}
    try:
        text = _text_of(version, world.history)
    except NotHeld:
        lost = missing(world.history, version)
        return {"uncaptured": lost.why, "uncaptured_told": lost.told}
    limit = world.settings.limits.reply_bytes
    if text.binary:
        if version.size > limit:
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
    elif version.size > MOST_COMPARED:
        found["truncated"] = True  # the rest is to be had as bytes (`blobs`)
    return found


def _text_of(version: Version, history: History) -> Text:
    if version.size <= MANY:
        return history.text_of(version.blob)
    return whole_or_lines(history.bytes_of(version.blob)[:MOST_COMPARED])


def _against_base(path: str, version: Version, world: World) -> dict[str, Any]:
    history = world.history
    base_path, base = path, history.version(path, version.base) if version.base else None
    if base is None:  # no base, or its record is lost
        base_path, base = before(history, path, version)
    found = difference(base_path, base, path, version, history, Room(world.settings.limits.reply_bytes))
    found.pop("path", None)
    return {"against": version_token(base.seq) if base is not None and base.seq else None, "diff": found}


SHOW_TOOL: Final[Tool[ShowParams]] = Tool(
    "show", ShowParams, no_paths, decide_show, asks=("path",), long=True, reply=ShowReply
)
