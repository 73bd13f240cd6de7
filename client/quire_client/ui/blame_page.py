"""Formats a blame as rows: each line with its writer's letter and colour."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any, Final

from rich.cells import cell_len

from quire_client.cli import when
from quire_client.ui.rows import DIM, Row, Span, row
from quire_client.ui.visible import code, fitted, visible
from quire_client.ui.writers import Marks

MOST_NAME: Final = 18


def blame_rows(reply: Mapping[str, Any], marks: Marks, now: datetime, zone: tzinfo | None = None) -> list[Row]:
    """Return a screen row for each line; its key is (line number, version), or (line number, None) if no record wrote
    the line.
    """
    lines = list(reply.get("lines") or ())
    for line in lines:
        marks.meet(line.get("writer"))
    seen = [marks.of_record(line) for line in lines]
    times = ["" if line.get("commit") else visible(when(line.get("at", ""), now, zone)) for line in lines]
    names = min(max((cell_len(mark.name) for mark in seen), default=0), MOST_NAME)
    versions = max((len(str(line.get("version", ""))) for line in lines), default=0)
    wide = max(map(len, times), default=0)
    digits = len(str(lines[-1]["line"])) if lines else 1
    rows, before = [], None
    for line, mark, time in zip(lines, seen, times, strict=True):
        version = visible(line.get("version") or "")
        told = (mark, version)
        head = f"{fitted(mark.name, names)} {version:<{versions}} {time:>{wide}}"
        wrote = line.get("version") if not line.get("commit") and line.get("evidence") != "captured" else None
        rows.append(
            row(
                Span(f"{mark.letter} ", mark.style),
                Span(head if told != before else " " * cell_len(head), mark.style),
                Span(f" {line['line']:>{digits}} ", DIM),
                code(str(line.get("text", "")).rstrip("\n")),
                key=(line["line"], wrote),
            )
        )
        before = told
    return rows or [row(Span("The file is empty.", DIM))]
