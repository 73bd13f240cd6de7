"""Formats one story (a turn, git operation, series of saves, or burst) as rows: prompt, files, refusals and calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, tzinfo
from textwrap import wrap
from typing import Any, Final

from rich.cells import cell_len

from quire_client.cli import call_end, when
from quire_client.ui.rows import BOLD, DIM, NAME, WARN, Row, Span, row
from quire_client.ui.timeline_page import facts_of, line_counts, title_of
from quire_client.ui.visible import fitted, visible
from quire_client.ui.writers import Marks
from quire_journal.model import MARK

MOST_PROMPT: Final = 8
FILE: Final = "file"
CALL: Final = "call"

_SIGNS: Final = {"added": "A", "removed": "D", "changed": "M", "moved": "R", "mode": "M"}

Story = Mapping[str, Any]


def story_rows(story: Story, marks: Marks, now: datetime, width: int, zone: tzinfo | None = None) -> list[Row]:
    """Return the screen's rows for a story; its files and calls can be selected."""
    mark = marks.of_story(story)
    span = " to ".join(dict.fromkeys(when(story[name], now, zone) for name in ("at", "ended_at")))
    rows = [row(Span(line, BOLD)) for line in _prompt(story, width)]
    facts = facts_of(story)
    rows.append(
        row(
            Span(f"{mark.letter} {mark.name}", mark.style),
            Span(f"  {visible(span)}  ", DIM),
            Span(facts, WARN if story.get("refused_count") or story.get("failed") else DIM),
        )
    )
    for name in ("parent", "agent_session"):
        if session := (story.get("writer") or {}).get(name):
            rows.append(row(Span(f"  session {visible(session)}", DIM)))
            break
    if story["files"]:
        rows += [row(), row(Span("Files", BOLD)), *_files(story, width)]
        more = story["files_count"] - len(story["files"])
        if more > 0:
            where = f", in {visible(', '.join(story['folders']))}" if story.get("folders") else ""
            rows.append(row(Span(f"  … and {more} more{where}", DIM)))
    elif story["files_count"]:
        rows += [row(), row(Span("No file of it is listed.", DIM))]
    else:
        rows += [row(), row(Span("No file is changed by it.", DIM))]
    rows += [*_refused(story)]
    if story.get("calls"):
        rows += [row(), row(Span("Calls", BOLD)), *_calls(story, now, zone, width)]
    return rows


def _prompt(story: Story, width: int) -> Iterator[str]:
    lines = [
        part
        for line in str(story.get("prompt") or "").splitlines()
        for part in wrap(visible(line), max(width - 2, 20)) or [""]
    ]
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        yield title_of(story)
        return
    yield from lines[:MOST_PROMPT]
    if len(lines) > MOST_PROMPT:
        yield f"… and {len(lines) - MOST_PROMPT} more lines"


def _files(story: Story, width: int) -> Iterator[Row]:
    names = [_name(file) for file in story["files"]]
    widest = min(max(map(cell_len, names)), max(width - 24, 20))
    for number, (file, name) in enumerate(zip(story["files"], names, strict=True)):
        counts = [*line_counts([file])] or [Span("binary" if file.get("binary") else _status(file), DIM)]
        symbols = visible(", ".join(file.get("symbols") or ()))
        yield row(
            Span(f"  {_SIGNS.get(file['status'], 'M')} "),
            Span(fitted(name, widest), NAME),
            "  ",
            *counts,
            f"  {MARK}" if file.get("probable") else "",
            Span(f"  {symbols}" if symbols else "", DIM),
            key=(FILE, number),
        )


def _name(file: Mapping[str, Any]) -> str:
    path = visible(file["path"])
    return f"{visible(file['moved_from'])} → {path}" if file.get("moved_from") else path


def _status(file: Mapping[str, Any]) -> str:
    return "not counted" if file["status"] in ("changed", "added", "removed") else str(file["status"])


def _refused(story: Story) -> Iterator[Row]:
    listed = story.get("refused") or ()
    for one in listed:
        yield row(Span(f"  ! refused: {visible(one['path'])} ({visible(one['code'])})", WARN))
    if (more := story.get("refused_count", 0) - len(listed)) > 0:
        yield row(Span(f"  ! and {more} more refused", WARN))


def _calls(story: Story, now: datetime, zone: tzinfo | None, width: int) -> Iterator[Row]:
    for number, call in enumerate(story["calls"]):
        said = f"$ {visible(call['command'])}" if call.get("command") else visible(call["label"])
        paths = visible(", ".join(call.get("paths") or ()))
        told = f"{said}  {paths}" if paths and not call.get("command") else said
        told += f"  ({call_end(call)})" if "end" in call else ""
        yield row(
            Span(f"  {visible(when(call['at'], now, zone)):>8}  ", DIM),
            fitted(told, max(min(cell_len(told), width - 14), 10)),
            key=(CALL, number),
        )
    if (more := story.get("calls_count", 0) - len(story["calls"])) > 0:
        yield row(Span(f"  … and {more} more, which wrote nothing or are older", DIM))
