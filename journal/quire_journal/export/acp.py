"""Diffs in the shape of the Agent Client Protocol, version 2 (draft of July 2026): one `diff` content a line and step.

    {"type": "diff", "changes": [{"operation": "modify", "path": "/…", "fileType": "text"}], "patch": {…}, "_meta": {…}}

`changes` has every path that the step changed, absolute, with its operation (`add`, `delete`, `modify`, `move`);
`patch` is a git patch of those that git can hold. Whose it is, and which records, stands under `_meta`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from quire_journal.export import wording
from quire_journal.export.line_authors import brought_authors
from quire_journal.export.mail_patches import file_patches
from quire_journal.export.source import Source
from quire_journal.export.steps import PathChange, Step, steps
from quire_journal.history import rfc3339
from quire_journal.model import FOLDER, LINK, disk_path, writer_name
from quire_journal.text import Text
from quire_journal.views import Version

_encode = msgspec.json.Encoder().encode


def export(source: Source, by: str) -> Iterator[bytes]:
    """The diffs."""
    for step in steps(source, by):
        diff = None if step is None or step.last <= source.stretch.after else _diff(step, source)
        yield b"" if diff is None else _encode(diff) + b"\n"


def _diff(step: Step, source: Source) -> dict[str, Any] | None:
    moves = wording.moved(step)
    moved_away = set(moves.values())
    changes = [
        _change(change, moves.get(change.path, ""), source)
        for change in step.changes
        if change.path not in moved_away and (change.before is not None or change.after is not None)
    ]
    if not changes:
        return None
    diff: dict[str, Any] = {"type": "diff", "changes": changes}
    patch = b"".join(file_patches(step, source)).decode("utf-8", "replace")
    if patch:
        diff["patch"] = {"format": "git_patch", "text": patch}
    diff["_meta"] = {
        "quire": {
            "at": rfc3339(step.at_ns),
            "records": [step.first, step.last],
            "label": step.label,
            "writers": _named(step.writers, source),
            "lines_by": _named(brought_authors(step, source), source),
            "uncaptured": [{"path": path, "why": why} for path, why in wording.left_out(step, source)],
        }
    }
    return diff


def _named(writers: Iterable[int], source: Source) -> list[dict[str, str]]:
    return [{"id": writer_name(one), "name": wording.name_of(source, one)} for one in writers]


def _change(change: PathChange, moved_from: str, source: Source) -> dict[str, Any]:
    shown = {"path": _absolute(change.path, source), "fileType": _file_type(change.after or change.before, source)}
    if moved_from:
        return {"operation": "move", "oldPath": _absolute(moved_from, source), **shown}
    operation = "delete" if change.after is None else "add" if change.before is None else "modify"
    return {"operation": operation, **shown}


def _absolute(path: str, source: Source) -> str:
    """The path on disk; one that is not UTF-8 is shown as it is in the journal."""
    disk = disk_path(path)
    return f"{source.root}/{path if disk != path and not disk.isprintable() else disk}"


def _file_type(version: Version | None, source: Source) -> str:
    if version is None:
        return "binary"
    if version.entry == FOLDER:
        return "directory"
    if version.entry == LINK:
        return "symlink"
    if source.missing(version):
        return "binary"
    text = Text.of(source.bytes_of(version.blob))
    return "binary" if text.binary else "text"
