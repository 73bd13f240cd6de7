"""Agent Trace records (https://agent-trace.dev, version 0.1), one a line: the lines of each step, and their authors as
in blame.

A contributor is `ai` if an agent named itself, `human` if a person's terminal called, and `unknown` for outside writes.
Ranges count lines after the step, with the sha256 of their content. The version has two numbers, as in the schema, not
three as in the specification's text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from quire_journal import VERSION
from quire_journal.export.git_patch import is_plain
from quire_journal.export.line_authors import line_authors
from quire_journal.export.mail_patches import content
from quire_journal.export.source import Source
from quire_journal.export.steps import PathChange, Step, steps
from quire_journal.history import rfc3339
from quire_journal.model import SETUP, version_token, writer_name
from quire_journal.views import Version

SPECIFICATION = "0.1"
_encode = msgspec.json.Encoder().encode


def export(source: Source, by: str) -> Iterator[bytes]:
    """Yield a record of Agent Trace as a line of JSON for each step; b"" for a step without lines (a deletion, a binary
    file). `by` is a key of `BY`.
    """
    for step in steps(source, by):
        record = None if step is None or step.last <= source.stretch.after else _record(step, source)
        yield b"" if record is None else _encode(record) + b"\n"


def _record(step: Step, source: Source) -> dict[str, Any] | None:
    files = [file for change in step.changes if (file := _file(change, source)) is not None]
    if not files:
        return None
    return {
        "version": SPECIFICATION,
        "id": _id(f"{source.workspace_id} {step.first} {step.last}"),
        "timestamp": rfc3339(step.at_ns),
        "tool": {"name": "quire", "version": VERSION},
        "files": files,
        "metadata": {
            "quire": {
                "workspace": source.workspace_id,
                "records": [step.first, step.last],
                "batches": list(step.batches),
                "hints": list(step.hints),
                **({"evidence": list(step.evidence)} if step.evidence else {}),
            }
        },
    }


def _file(change: PathChange, source: Source) -> dict[str, Any] | None:
    new = content(change.path, change.after, source)
    if new is None or change.after is None or not is_plain(new.data):
        return None
    lines = new.data.splitlines(keepends=True)
    by_author: dict[int, tuple[Version, list[dict[str, Any]]]] = {}
    for start, stop, version in line_authors(change, source):
        content_hash = "sha256:" + hashlib.sha256(b"".join(lines[start:stop])).hexdigest()
        found = {"start_line": start + 1, "end_line": stop, "content_hash": content_hash}
        by_author.setdefault(version.seq, (version, []))[1].append(found)
    if not by_author:
        return None
    conversations = [
        {"contributor": contributor(version, source), "ranges": ranges, **_related(version, source)}
        for version, ranges in by_author.values()
    ]
    return {"path": change.path, "conversations": conversations}


def contributor(version: Version, source: Source) -> dict[str, str]:
    who = source.writer(version.writer)
    if who is None or who.agent == SETUP:
        return {"type": "unknown"}
    if not who.agent:
        return {"type": "human"}
    return {"type": "ai", "model_id": who.model[:250]} if who.model else {"type": "ai"}


def _related(version: Version, source: Source) -> dict[str, Any]:
    who = source.writer(version.writer)
    place = f"quire:{source.workspace_id}"
    found = [{"type": "version", "url": f"{place}/{version_token(version.seq)}"}]
    if who is not None:
        found.append({"type": "writer", "url": f"{place}/{writer_name(version.writer)}"})
    return {"related": found}


def _id(name: str) -> str:
    digits = bytearray(hashlib.sha256(name.encode()).digest()[:16])
    digits[6] = digits[6] & 0x0F | 0x80
    digits[8] = digits[8] & 0x3F | 0x80
    text = digits.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
