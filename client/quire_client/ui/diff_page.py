"""Formats a diff as rows, hunk by hunk, with the new version's line numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quire_client.ui.rows import ADDED, BOLD, DIM, HUNK, REMOVED, WARN, Row, Span, row
from quire_client.ui.visible import code, visible
from quire_client.ui.writers import Marks


def files_of(reply: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the files of a reply of `diff`, of `show`, or of `log` with patches, each with its hunks."""
    if "files" in reply:
        return [*reply["files"]]
    if "records" in reply:
        return [{"path": one.get("path", "?"), **one["diff"]} for one in reversed(reply["records"]) if "diff" in one]
    told = reply.get("diff")
    return [{"path": reply.get("path", "?"), **told}] if told else []


def diff_rows(reply: Mapping[str, Any], marks: Marks) -> list[Row]:
    """Return the screen's rows for a diff; a row's key is (path, line number, row number)."""
    rows: list[Row] = []
    for file in files_of(reply):
        rows += [row()] if rows else []
        rows += [one._replace(key=(*_place(one), len(rows) + at)) for at, one in enumerate(_file(file, marks))]
    if not rows:
        rows.append(row(Span("Nothing differs: what was changed was changed back.", DIM)))
    if reply.get("truncated"):
        rows.append(row(Span("… and more, which `quire diff` prints.", WARN)))
    return rows


def next_hunk(rows: Sequence[Row], at: int, steps: int) -> int:
    """Return the row of the next (`steps` > 0) or previous hunk after row `at`, or `at` if there is none."""
    heads = [number for number, one in enumerate(rows) if one.spans and one.spans[0].style == HUNK]
    beyond = [number for number in heads if (number > at if steps > 0 else number < at)]
    return (beyond[0] if steps > 0 else beyond[-1]) if beyond else at


def _place(one: Row) -> tuple[Any, ...]:
    return one.key if isinstance(one.key, tuple) else ("", 0)


def _file(file: Mapping[str, Any], marks: Marks) -> Iterator[Row]:
    path = str(file["path"])
    old = f"{visible(file['moved_from'])} → " if file.get("moved_from") else ""
    status = str(file.get("status") or "changed")
    yield row(Span(f"{old}{visible(path)}", BOLD), Span(f"  {status}", DIM), key=(path, 1))
    if file.get("mode"):
        yield row(Span(f"mode {visible(' → '.join(map(str, file['mode'])))}", DIM), key=(path, 1))
    if file.get("others"):
        yield row(Span(f"also changed by {visible(', '.join(map(str, file['others'])))}", WARN), key=(path, 1))
    hunks = file.get("hunks") or ()
    if not hunks and not file.get("mode"):
        yield row(Span(_without_lines(file), DIM), key=(path, 1))
    for hunk in hunks:
        yield from _hunk(hunk, path)


def _without_lines(file: Mapping[str, Any]) -> str:
    if file.get("truncated"):
        return "too long to be shown; `quire diff` prints it"
    if file.get("binary"):
        return "binary"
    if file.get("binary") is False:
        return "its bytes are not in the journal"
    return "no line differs"


def _hunk(hunk: Mapping[str, Any], path: str) -> Iterator[Row]:
    old, new = f"-{hunk['old_start']},{hunk['old_lines']}", f"+{hunk['new_start']},{hunk['new_lines']}"
    heading = visible(hunk.get("heading") or "")
    number = max(hunk["new_start"], 1)
    yield row(Span(f"@@ {old} {new} @@ {heading}".rstrip(), HUNK), key=(path, number))
    digits = len(str(hunk["new_start"] + hunk["new_lines"]))
    for line in hunk["lines"]:
        sign, text = line[:1], code(line[1:])
        if sign == "-":
            yield row(Span(" " * digits + " ", DIM), Span(f"-{text}", REMOVED), key=(path, number))
        elif sign in ("+", " "):
            style = ADDED if sign == "+" else ""
            yield row(Span(f"{number:>{digits}} ", DIM), Span(f"{sign}{text}", style), key=(path, number))
            number += 1
        else:
            yield row(Span(" " * digits + f" {visible(line)}", DIM), key=(path, number))
