"""Formats the changes that are not accepted yet as rows: file by file, hunk by hunk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from quire_client.ui.rows import ADDED, BOLD, DIM, HUNK, REMOVED, Row, Span, row
from quire_client.ui.targets import Ask
from quire_client.ui.visible import code, visible
from quire_client.ui.writers import Mark, Marks
from quire_journal.model import DURING

Reply = Mapping[str, Any]

SINCE_GIT: Final = {"since": "HEAD"}
_STYLES: Final = {"+": ADDED, "-": REMOVED}


def review_rows(reply: Reply, marks: Marks) -> list[Row]:
    """Return the screen's rows for a review; a row's key is (file number, hunk number, row number), counted from 0."""
    rows = [row(Span(visible(reply.get("message", "")), BOLD))]
    for one in reply["by"]:
        mark = _mark(one["writer"], marks)
        prompt = f'  "{visible(one["prompt"])[:60]}"' if one.get("prompt") else ""
        rows.append(row(Span(f"  {mark.letter} {mark.name}", mark.style), Span(f"  {one['lines']} lines{prompt}", DIM)))
    for number, file in enumerate(reply["files"]):
        old = f"{visible(file['moved_from'])} → " if file.get("moved_from") else ""
        rows += [row(), row(Span(f"{old}{visible(file['path'])}", BOLD), Span(f"  {file['status']}", DIM))]
        for at, hunk in enumerate(file["hunks"]):
            rows += [one._replace(key=(number, at, n)) for n, one in enumerate(_place(file, hunk, marks))]
    return rows


def _place(file: Reply, hunk: Reply, marks: Marks) -> Iterator[Row]:
    names = [_mark(writer, marks) for writer in hunk["writers"]]
    where = f"{hunk['start']}-{hunk['end']}" if hunk["end"] >= hunk["start"] else f"in front of {hunk['start']}"
    where = file["status"] if hunk["whole"] else where
    said = [Span(" rejected, waits for the end of the turn", DIM)] if hunk.get("rejected") else []
    yield row(
        Span(f"@@ {where} @@ ", HUNK), *(Span(f"{mark.letter} {mark.name} ", mark.style) for mark in names), *said
    )
    for line in hunk["rows"]:
        yield row(Span(f"{line[:1]}{code(line[1:])}", _STYLES.get(line[:1], "")))


def _mark(writer: Reply, marks: Marks) -> Mark:
    evidence = DURING if writer.get("probable") else None
    return marks.of_record({"writer": writer, "evidence": evidence, "unclaimed": writer.get("unclaimed")})


def accept_of(reply: Reply, key: Any, given: Mapping[str, Any]) -> Ask:
    """Return the call that accepts the hunk with this row key, or all shown changes if `key` is no tuple. `given`:
    further arguments of the call.
    """
    if not isinstance(key, tuple):
        return Ask("accept", {**given, "upto": reply["seq"]})
    return Ask("accept", _about(reply, key, given))


def reject_of(reply: Reply, key: Any, given: Mapping[str, Any]) -> Ask | None:
    """Return the call that rejects the hunk with this row key, with arguments `given`; None if `key` is no tuple."""
    return Ask("reject", _about(reply, key, given)) if isinstance(key, tuple) else None


def _about(reply: Reply, key: tuple[int, int, int], given: Mapping[str, Any]) -> dict[str, Any]:
    file, hunk = _chosen(reply, key)
    lines = {} if hunk["whole"] or file["status"] == "removed" else {"lines": _lines(hunk)}
    return {**given, "upto": reply["seq"], "path": file["path"], **lines}


def _chosen(reply: Reply, key: tuple[int, int, int]) -> tuple[Reply, Reply]:
    file = reply["files"][key[0]]
    return file, file["hunks"][key[1]]


def _lines(hunk: Reply) -> str:
    return f"{hunk['start']}-{max(hunk['end'], hunk['start'])}"
