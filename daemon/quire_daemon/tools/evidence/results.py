"""Results: the bytes that follow from what an agent says of a call, and the bytes before.

`results` gives them in each way that agents are known to write them: a tool keeps the line ends of the file, say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from quire_daemon.core import Cell, Content, Hunks, Patch, Payload, Removal, Replace, Replacement
from quire_daemon.dialects.patch import FilePatch, parse_patch, plan_file
from quire_journal.model import Refusal
from quire_journal.text import BOM, Text, apply


def about(payload: Payload, path: str) -> bool:
    """Is the payload about the file at `path`, relative to the workspace? Agents name files as they like."""
    if isinstance(payload, Patch):
        return any(_same(name, path) for file in _files(payload) for name in file.paths)
    return _same(payload.path, path)


def results(payload: Payload, path: str, before: bytes | None, found: bytes | None) -> Iterator[bytes | None]:
    """The bytes that the payload makes of `before` at `path`, in each way it may be written; None: no file.

    `found` is what was found afterwards: what no account can foretell (the id of a new cell) is taken from there.
    """
    match payload:
        case Content(text=text):
            yield from _written(text, before)
        case Replace(edits=edits):
            yield from _replaced(edits, before)
        case Patch():
            yield from _patched(payload, path, before)
        case Cell():
            if before is not None and found is not None and _fits_cell(payload, before, found):
                yield found
        case Hunks():
            yield from _hunked(payload, before)
        case Removal():
            if before is not None:
                yield None


def _same(name: str, path: str) -> bool:
    """Does an absolute or relative name mean this file of the workspace?"""
    name = name.removeprefix("./")
    return name == path or (name.endswith(f"/{path}") and name.startswith("/"))


# ── whole contents and replacements ──────────────────────────────────────────


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _written(text: str, before: bytes | None) -> Iterator[bytes]:
    """The content as it was sent, and in the line ends and with the byte order mark of the file before."""
    data = _encoded(text)
    yield data
    for marked in (data, BOM + data) if before is not None and before.startswith(BOM) else (data,):
        if marked is not data:
            yield marked
        if before is not None and b"\r\n" in before and b"\r\n" not in marked:
            yield marked.replace(b"\n", b"\r\n")


def _replaced(edits: Sequence[Replacement], before: bytes | None) -> Iterator[bytes]:
    """The text with the replacements made: on its bytes, and on its lines without CR."""
    if before is None or not before:
        if len(edits) == 1 and not edits[0].old:
            yield _encoded(edits[0].new)
        return
    yield from _made(edits, before)
    if b"\r\n" in before:
        for made in _made(edits, before.replace(b"\r\n", b"\n")):
            yield made.replace(b"\n", b"\r\n")


def _made(edits: Sequence[Replacement], before: bytes) -> Iterator[bytes]:
    """The replacements in order. What is replaced by nothing may take its line break along."""
    for with_break in (False, True):
        text, taken = before, False
        for edit in edits:
            old, new = _encoded(edit.old), _encoded(edit.new)
            if with_break and not new and not old.endswith(b"\n") and old + b"\n" in text:
                old, taken = old + b"\n", True
            if not old or old not in text:
                break
            text = text.replace(old, new) if edit.all else text.replace(old, new, 1)
        else:
            if taken or not with_break:
                yield text


# ── patches ──────────────────────────────────────────────────────────────────


def _files(payload: Patch) -> Sequence[FilePatch]:
    """The files of a patch; none where it cannot be read."""
    try:
        return parse_patch(payload.text)
    except Refusal:
        return ()


def _patched(payload: Patch, path: str, before: bytes | None) -> Iterator[bytes | None]:
    for file in _files(payload):
        if not _same(file.path, path):
            continue
        if file.kind == "delete" or file.to:
            yield None
        elif file.kind == "add":
            yield file.content
        elif before is not None:
            yield from _updated(file, before)


def moved(payload: Payload, path: str, to: str, before: bytes) -> Iterator[bytes]:
    """The bytes of a file that a patch moves from one path to another."""
    for file in _files(payload) if isinstance(payload, Patch) else ():
        if file.to and _same(file.path, path) and _same(file.to, to):
            yield from _updated(file, before) if file.hunks else (before,)


def _updated(file: FilePatch, before: bytes) -> Iterator[bytes]:
    """The file with the hunks in it: each where Codex puts it, and where Quire's own tool does."""
    made = _as_codex(file, before)
    if made is not None:
        yield made
    text = Text.of(before)
    try:
        plan = plan_file(file, text, known=False)
        made = apply(text, plan.splices, plan.final_break).data
    except Refusal:
        return
    yield made


def _as_codex(file: FilePatch, before: bytes) -> bytes | None:
    """The file as Codex patches it: a hunk goes to the first place behind the one before; the last line gets a break.

    Lines match as they are, else without blanks at their ends, else without blanks around them.
    """
    rows = before.split(b"\n")
    if rows and not rows[-1]:
        rows.pop()
    at = 0
    places: list[tuple[int, int, list[bytes]]] = []
    for hunk in file.hunks:
        for header in hunk.headers:
            found = _seek(rows, [_encoded(header)], at, at_end=False)
            if found is None:
                return None
            at = found + 1
        old, new = [line.text for line in hunk.old], [line.text for line in hunk.new]
        if not old:
            places.append((len(rows), 0, new))
            continue
        found = _seek(rows, old, at, hunk.at_end)
        if found is None and not old[-1]:
            old = old[:-1]
            new = new[:-1] if new and not new[-1] else new
            found = _seek(rows, old, at, hunk.at_end)
        if found is None:
            return None
        places.append((found, len(old), new))
        at = found + len(old)
    for start, count, new in sorted(places, key=lambda place: place[0], reverse=True):
        rows[start : start + count] = new
    return b"\n".join([*rows, b""]) if rows else b""


def _seek(rows: Sequence[bytes], wanted: Sequence[bytes], start: int, at_end: bool) -> int | None:
    """The first place of these lines from `start` on; `at_end`: at the end of the file, if they stand there."""
    last = len(rows) - len(wanted)
    first = last if at_end and last >= 0 else start
    for trimmed in (bytes, bytes.rstrip, bytes.strip):
        meant = [trimmed(line) for line in wanted]
        for at in range(first, last + 1):
            if all(trimmed(rows[at + n]) == line for n, line in enumerate(meant)):
                return at
    return None


# ── hunks ────────────────────────────────────────────────────────────────────


def _hunked(payload: Hunks, before: bytes | None) -> Iterator[bytes]:
    """The text before with the hunks in it, where both fit what stood there."""
    if before is None or payload.before is None or not payload.hunks:
        return
    flat = before.replace(b"\r\n", b"\n")
    if _encoded(payload.before).replace(b"\r\n", b"\n") not in (flat, flat.removeprefix(BOM)):
        return
    rows = flat.split(b"\n")
    made: list[bytes] = []
    at = 0
    for hunk in payload.hunks:
        start = max(hunk.start - 1, 0)
        if start < at:
            return
        made += rows[at:start]
        at = start
        for line in hunk.lines:
            mark, said = line[:1], _encoded(line[1:])
            if mark == "\\":
                continue
            if mark == "+":
                made.append(said)
            elif at < len(rows) and rows[at] == said:
                made += [said] if mark == " " else []
                at += 1
            else:
                return
    text = b"\n".join([*made, *rows[at:]])
    for one in dict.fromkeys((text, text.removesuffix(b"\n"), text + b"\n")):
        yield one.replace(b"\n", b"\r\n") if b"\r\n" in before else one


# ── notebooks ────────────────────────────────────────────────────────────────

_BY_NUMBER: Final = re.compile(r"cell-(\d{1,6})")


def _fits_cell(payload: Cell, before: bytes, found: bytes) -> bool:
    """Are the notebooks before and after alike but for this change of one cell, and the outputs that it clears?"""
    old, new = _notebook(before), _notebook(found)
    if old is None or new is None or {**old, "cells": ()} != {**new, "cells": ()}:
        return False
    was, now = old["cells"], new["cells"]
    at = _cell_at(payload.cell, was)
    if payload.mode == "insert":
        at = 0 if at is None and not payload.cell else -1 if at is None else at + 1
        return at >= 0 and len(now) == len(was) + 1 and was == [*now[:at], *now[at + 1 :]] and _holds(payload, now[at])
    if at is None:
        return False
    if payload.mode == "delete":
        return bool(now == [*was[:at], *was[at + 1 :]])
    if len(now) != len(was) or was[:at] != now[:at] or was[at + 1 :] != now[at + 1 :]:
        return False
    return _holds(payload, now[at]) and was[at].get("id") == now[at].get("id")


def _holds(payload: Cell, cell: Any) -> bool:
    source = cell.get("source")
    text = "".join(map(str, source)) if isinstance(source, list) else source
    return text == payload.source and payload.type in ("", cell.get("cell_type"))


def _cell_at(named: str, cells: Sequence[Any]) -> int | None:
    """The place of a cell that is named by its id, or by its number."""
    found = next((at for at, cell in enumerate(cells) if named and cell.get("id") == named), None)
    number = _BY_NUMBER.fullmatch(named)
    if found is None and number is not None and int(number[1]) < len(cells):
        return int(number[1])
    return found


def _notebook(data: bytes) -> dict[str, Any] | None:
    """A notebook whose cells are objects; None for anything else."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    cells = found.get("cells") if isinstance(found, dict) else None
    return found if isinstance(cells, list) and all(isinstance(cell, dict) for cell in cells) else None
