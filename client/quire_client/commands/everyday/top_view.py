"""The picture of `quire top`: replies of the daemon as lines that fit a terminal. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from quire_client.cli import render
from quire_client.commands.everyday import status
from quire_client.commands.history import log
from quire_client.commands.together import claim, who

HEALTH: Final = ("journal", "space", "reserve", "capture", "coverage", "protection")
"""Lines of `quire status` that are shown."""

FEWEST: Final = 3
"""Fewest lines of a section, if it has as many."""

INDENT: Final = "  "
"""Indentation below a title."""


class TopReplies(NamedTuple):
    """The replies of one update; without `status` the daemon was not reached, and `said` is the reason."""

    status: Mapping[str, Any]
    who: Mapping[str, Any]
    claims: Mapping[str, Any]
    log: Mapping[str, Any]
    said: str = ""


def lines(seen: TopReplies, height: int, width: int, colours: render.Palette) -> list[str]:
    """The picture, in at most `height` lines of `width` columns; 0: unlimited.

    Healthy and empty parts are left out if there is too little room.
    """
    head = [(_cut(line, width), colour) for line, colour in _head(seen)]
    leases = _entries(seen.claims, "leases")
    sections = {
        "Callers": _fitting(map(who.row, _entries(seen.who, "writers")), width, (3, 1, 2)),
        "Leases": _fitting(map(claim.row, [*leases, *_entries(seen.claims, "waiting")]), width, (5, 2, 0, 1)),
        "Files": _fitting(_files(_entries(seen.log, "records")), width, (0, 3, 1)),
        "Events": _fitting(map(log.row, _entries(seen.log, "records")), width, (0, 1, 3)),
    }
    gap = [""]
    if 0 < height < len(head) + sum(2 + min(max(len(rows), 1), FEWEST) for rows in sections.values()):
        head = [line for at, line in enumerate(head) if at == 0 or line[1]]
        sections, gap = {title: rows for title, rows in sections.items() if rows}, []
    told = [colours.paint(line, colour) if colour else line for line, colour in head][: height or None]
    left = height - len(told) if height else 0
    beside = len(gap) + 1
    for number, (title, rows) in enumerate(sections.items()):
        if height and left <= beside:
            break
        # Each gets a share of the rest, the last one all of it.
        share = max(FEWEST, (left - beside) // (len(sections) - number)) if height else len(rows)
        shown = _first(rows, min(share, left - beside) if height else share)
        told += [*gap, colours.paint(title, "bold"), *(_cut(INDENT + row.strip(), width) for row in shown)]
        left -= beside + len(shown)
    return told


def _entries(reply: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    return [entry for entry in reply.get(name) or () if isinstance(entry, Mapping)]


def _head(seen: TopReplies) -> Iterator[tuple[str, str]]:
    """(line, colour): workspace, daemon, time, and problems."""
    if not seen.status.get("ok"):
        said = seen.said or seen.status.get("message") or "The daemon cannot be reached."
        yield from ((render.one_line(said, 1000), "bold"), ("! Waiting for a daemon.", "yellow"))
        return
    where, at = render.one_line(seen.status.get("workspace", "?"), 4096), render.moment(seen.status.get("at", ""))
    yield f"{where}  pid {seen.status.get('pid', '?')}  {at}", "bold"
    plain, painted = (status.rows(seen.status, render.Palette(on, {})) for on in (False, True))
    name = ""
    shown: list[tuple[str, str]] = []
    colours: list[str] = []
    for row, other in zip(plain, painted, strict=True):
        name = row[0] or name  # a row without a name continues the previous one
        if name in HEALTH:
            shown.append(row)
            colours.append("" if row == other else "yellow")
    yield from zip(render.columns(shown), colours, strict=True)


def _files(records: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Recent files, newest first: version, number of changes, writer, time, path."""
    newest: dict[str, Mapping[str, Any]] = {}
    times: dict[str, int] = {}
    for record in records:
        path = record.get("path")
        if isinstance(path, str) and record.get("version"):
            newest.setdefault(path, record)
            times[path] = times.get(path, 0) + 1
    for path, record in newest.items():
        version, at = render.one_line(record["version"]), render.moment(record.get("at", ""))
        changes = render.counted(times[path], "change")
        yield (at, version, render.writer(record.get("writer")), changes, render.one_line(path, 4096))


def _fitting(rows: Iterable[Sequence[str]], width: int, needless: Sequence[int]) -> list[str]:
    """A table, without as many of the `needless` columns as the last column needs for half of `width`."""
    table = [*rows]
    shown = [*range(len(table[0]))] if table else []
    for column in needless:
        *before, last = (max(len(row[at]) for row in table) for at in shown) if shown else [0]
        if not width or width - len(INDENT) - sum(before) - 2 * len(before) >= min(last, width // 2):
            break
        shown.remove(column)
    return render.columns([row[at] for at in shown] for row in table)


def _first(rows: Sequence[str], most: int) -> list[str]:
    """The first rows, and the number of the others if there is room; a dash for none."""
    if len(rows) <= most or most == 1:
        return [*rows[:most]] or ["-"]
    return [*rows[: most - 1], f"… and {len(rows) - most + 1} more"]


def _cut(line: str, width: int) -> str:
    """As much of `line` as fits into `width` columns."""
    taken = kept = 0  # `kept`: number of characters that leave a column for the mark of a cut
    for at, character in enumerate(line):
        taken += 2 if unicodedata.east_asian_width(character) in "WF" else not unicodedata.combining(character)
        if width and taken > width:
            return line[:kept] + "…"
        if taken < width:
            kept = at + 1
    return line
