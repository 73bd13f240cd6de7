"""Formats the timeline: a row for each story (turn, git operation, series of saves, or burst)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any, Final

from rich.cells import cell_len

from quire_client.cli import NO_PROMPT, SAVED, story_facts, story_title, when
from quire_client.ui.rows import ADDED, DIM, REMOVED, WARN, Row, Span, row
from quire_client.ui.visible import fitted, visible
from quire_client.ui.writers import Marks

TIMELINE: Final = "timeline"
"""Name of this page."""

MOST_NAME: Final = 16
WIDE: Final = 110
MOST_NAMES: Final = 3
Story = Mapping[str, Any]


def story_key(story: Story) -> Hashable:
    """Return a key of a story that stays the same while the story grows."""
    return (story["form"], story["first"])


def timeline_rows(
    stories: Sequence[Story], marks: Marks, now: datetime, width: int, zone: tzinfo | None = None
) -> list[Row]:
    """Return a screen row for each story, for `width` columns."""
    for story in reversed(stories):  # the writer of the oldest story gets the first letter
        marks.meet(story.get("writer"))
    seen = [marks.of_story(story) for story in stories]
    times = [visible(when(story["ended_at"], now, zone)) for story in stories]
    most = MOST_NAME * (2 if width >= WIDE else 1)
    name_width = min(max((cell_len(mark.name) for mark in seen), default=0), most)
    time_width = max((len(time) for time in times), default=0)
    rows = []
    for story, mark, time in zip(stories, seen, times, strict=True):
        counts = [*line_counts(story["files"])] if len(story["files"]) == story["files_count"] else []
        taken = sum(len(span.text) for span in counts)
        room = width - 2 - name_width - 2 - time_width - 2 - taken - (1 if taken else 0)
        rows.append(
            row(
                Span(f"{mark.letter} {fitted(mark.name, name_width)}", mark.style),
                Span(f"  {time.rjust(time_width)}  ", DIM),
                *_said(story, max(room, 10)),
                *([Span(" "), *counts] if counts else []),
                key=story_key(story),
            )
        )
    return rows


def line_counts(files: Sequence[Mapping[str, Any]]) -> Iterator[Span]:
    if not files or any("added" not in file for file in files):
        return
    added, removed = (sum(file[name] for file in files) for name in ("added", "removed"))
    yield Span(f"+{added}", ADDED)
    yield Span(f" -{removed}", REMOVED)


def title_of(story: Story) -> str:
    """Return a story's title: the agent's prompt, the git command, or the changed files."""
    return _own_title(story) or _names(story)


def facts_of(story: Story) -> str:
    """Return the facts of a story for its row: number of files that its title does not name, and failures."""
    said = [visible(fact) for fact in story_facts(story) if fact]
    count = story["files_count"]
    if count and count == len(story["files"]):
        if not _own_title(story) and count <= MOST_NAMES:
            del said[0]
        elif count == 1:
            said[0] = _file_name(story["files"][0])
    if _own_title(story) and said:
        said[0] = said[0].partition(" in ")[0] if said[0][:1].isdigit() else said[0]
    return ", ".join(said)


def _own_title(story: Story) -> str:
    said = visible(" ".join(story_title(story).split()))
    return "" if said in (SAVED, NO_PROMPT) else said


def _names(story: Story) -> str:
    names = [_file_name(file) for file in story["files"][:MOST_NAMES]]
    more = story["files_count"] - len(names)
    return ", ".join(names) + (" …" if more and names else "")


def _said(story: Story, room: int) -> Iterator[Span]:
    title, facts = title_of(story), facts_of(story)
    odd = WARN if story.get("refused_count") or story.get("failed") else DIM
    if not title or not facts:
        yield Span(fitted(title or facts, room), "" if title else odd)
        return
    width = min(cell_len(facts), max(room // 2, room - cell_len(title) - 2))
    yield Span(fitted(title, room - width - 2) + "  ")
    yield Span(fitted(facts, width), odd)


def _file_name(file: Mapping[str, Any]) -> str:
    path = visible(file["path"])
    return f"{visible(file['moved_from'])} → {path}" if file.get("moved_from") else path
