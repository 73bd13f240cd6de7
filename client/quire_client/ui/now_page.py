"""Formats the page of present callers, their work, files with several writers, leases and problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, tzinfo
from typing import Any, Final, NamedTuple

from quire_client.cli import render, when
from quire_client.ui.rows import BOLD, DIM, NAME, PLAIN, WARN, Row, Span, row
from quire_client.ui.visible import fitted, visible
from quire_client.ui.writers import Marks

NOW: Final = "now"
"""Name of this page."""

NOW_ASKED: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("status", {}),
    ("who", {"hours": 2, "limit": 50}),
    ("claims", {}),
)
"""Tools, with arguments, whose replies the page of present callers shows."""


class NowReplies(NamedTuple):
    """The replies of the tools `status`, `who` and `claims`."""

    status: Mapping[str, Any]
    who: Mapping[str, Any]
    claims: Mapping[str, Any]


WRITES = "writes"
WRITER_KEY = "writer"
"""First item of the key of a writer's row; the second is the writer's name."""


def now_rows(seen: NowReplies, marks: Marks, now: datetime, width: int, zone: tzinfo | None = None) -> list[Row]:
    """Return the screen's rows for present callers, leases and problems; writers and their files can be selected."""
    writers = [one for one in seen.who.get("writers") or () if not one.get("you")]
    for writer in reversed(writers):
        marks.meet(writer)
    rows = [row(Span(f"! {line}", WARN)) for line in _unwell(seen.status)]
    rows += [row(Span(f"! {line}", WARN)) for line in _collisions(seen.who, marks)]
    rows += [*([row()] if rows else []), row(Span("Who works now", BOLD))]
    if not writers:
        rows.append(row(Span("  Nobody.", DIM)))
    for writer in writers:
        rows += _writer(writer, marks, now, zone, width)
    leases = [*(seen.claims.get("leases") or ()), *(seen.claims.get("waiting") or ())]
    if leases:
        rows += [row(), row(Span("Leases", BOLD)), *(_lease(one, marks) for one in leases)]
    return [*rows, row(), row(Span(visible(seen.status.get("message", "")), DIM))]


def present(who: Mapping[str, Any], marks: Marks) -> Iterator[Span]:
    """Yield the files with several writers, then the present agents, for the screen's first line, which is cut at its
    end.
    """
    writers = [one for one in who.get("writers") or () if one.get("agent") and one.get("present")]
    for writer in reversed(writers):
        marks.meet(writer)
    told = {mark.letter: mark for mark in (marks.of_record({"writer": writer}) for writer in writers)}
    for line in _collisions(who, marks, short=True):
        yield Span(f"  ! {line}", WARN)
    for mark in told.values():
        yield Span(f"  {mark.letter} {mark.name}", mark.style)


def _unwell(status: Mapping[str, Any]) -> Iterator[str]:
    if not status.get("ok"):
        yield visible(status.get("message") or "The daemon cannot be reached.")
        return
    coverage = status.get("coverage")
    if isinstance(coverage, Mapping) and coverage.get("state") != "full":
        reasons = "; ".join(map(str, coverage.get("reasons") or ()))
        yield visible(f"Not every change is seen ({coverage.get('state')}): {reasons}")
    for name in ("salvaged", "clock"):
        if status.get(name):
            yield visible(status[name])
    if status.get("checkout_read_only"):
        yield visible(f"The checkout can only be read: {status['checkout_read_only']}")
    capture = status.get("capture") or {}
    if not capture.get("finished", True):
        yield f"The capture is under way: {capture.get('done', 0)} of {capture.get('total') or '?'} files."
    if ((status.get("retention") or {}).get("reserve") or {}).get("given_back"):
        yield "The disk is full."


def _collisions(who: Mapping[str, Any], marks: Marks, short: bool = False) -> Iterator[str]:
    for one in who.get("collisions") or ():
        writers = [marks.of_record(each) for each in one.get("writers") or ()]
        if short:
            yield f"{visible(one.get('path', ''))}: {'+'.join(mark.letter for mark in writers)}"
        else:
            names = [f"{mark.letter} {mark.name}" for mark in writers]
            where = visible(render.meeting(one, names))
            yield f"{visible(one.get('path', ''))}: {' and '.join(names)}{where}"


def _writer(writer: Mapping[str, Any], marks: Marks, now: datetime, zone: tzinfo | None, width: int) -> Iterator[Row]:
    mark = marks.of_record({"writer": writer})
    there = "present" if writer.get("present") or writer.get("connections") else "gone"
    seen = visible(when(writer.get("last_seen") or "", now, zone))
    agent, session = writer.get("agent"), writer.get("parent") or writer.get("agent_session")
    named = f"{agent}/{session}" if agent and session else agent or "user"
    turn = f"  turn {visible(writer['turn'])[:24]}" if writer.get("turn") else ""
    yield row(
        Span(f"  {mark.letter} {fitted(mark.name, min(max(len(mark.name), 16), 32))}", mark.style),
        Span(f"  {there}, seen {seen}{turn}", DIM),
        key=(WRITER_KEY, named),
    )
    on = writer.get("on") or {}
    for file in on.get("writing") or ():
        yield row(
            Span("      writes ", DIM),
            Span(visible(file.get("path", "")), NAME),
            Span(f"  {visible(when(file.get('at', ''), now, zone))}", DIM),
            key=(WRITES, file.get("path", ""), named),
        )
    for lease in on.get("leases") or ():
        yield row(Span(f"      {visible(lease.get('kind', ''))} lease on {visible(lease.get('path', ''))}", PLAIN))
    for burst in on.get("bursts") or ():
        yield row(Span(f"      runs {fitted(visible(burst.get('label', '')), max(width - 12, 10)).rstrip()}", PLAIN))


def _lease(lease: Mapping[str, Any], marks: Marks) -> Row:
    mark = marks.of_record({"writer": {"uid": 0, **(lease.get("holder") or {})}})
    lines = lease.get("lines") or {}
    where = f":{lines['start']}-{lines['end']}" if isinstance(lines, Mapping) and "start" in lines else ""
    reason = f"  {visible(lease['reason'])}" if lease.get("reason") else ""
    waits = "" if lease.get("lease") else "waits for "
    return row(
        Span(f"  {mark.letter} {mark.name}", mark.style),
        Span(f"  {waits}{visible(lease.get('kind', ''))}  {visible(lease.get('path', ''))}{where}{reason}"),
    )
