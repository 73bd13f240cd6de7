"""Refusals because of changes by other writers: reason, writer, time, and the current lines.

Lines shown in a refusal count as read, so that the caller can repeat its call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from quire_daemon.core import Decision, FileNow, World
from quire_daemon.tools import (
    CONFLICTING,
    MOST_ENTRIES,
    NONE,
    TOUCHING,
    CallerLines,
    changes_told,
    news,
    rest,
    shown_as,
)
from quire_daemon.tools.edit.basis import Basis, both_hashes, current_version
from quire_daemon.tools.edit.diff_preview import lines_around, localised_diff
from quire_daemon.tools.edit.rebase import RebaseConflict
from quire_journal.history import to_the_second
from quire_journal.model import (
    EditRefused,
    Event,
    Ranges,
    ReadServed,
    Refusal,
    capitalised,
    merge_ranges,
    ranges_of,
    version_token,
    without,
)
from quire_journal.text import LineHashes, Splice, Text, apply, carry_ranges, changed_ranges, diff, line_id, shown
from quire_journal.views import Version

MOST_LINES: Final = 40
"""Maximum number of lines shown in a refusal."""

MOST_LIKE: Final = 2
"""Maximum number of lines with the ID of a stale reference that are shown for it."""

MOST_ANCHORS: Final = 5
"""Maximum number of missing anchors in the message."""

MOST_OF_ANCHOR: Final = 40
"""Maximum number of characters of an anchor in the message."""


class Stale(msgspec.Struct, frozen=True):
    """What a refusal because of changes by other writers tells."""

    tool: str
    code: str
    basis: Basis
    now: FileNow
    needs: Ranges | None  # lines of the base that the call needs, and insertion gaps; None: all
    conflict: RebaseConflict | None = None
    more: dict[str, Any] | None = None  # further fields of the tool
    missing: Sequence[str] = ()  # anchors of the call that match no current line
    touches: str = ""  # relation of later changes to these lines; "": compute it


def refuse_stale(stale: Stale, world: World, dry_run: bool) -> Decision:
    """Return the refusal, with two records: of the refusal, and of the lines that the refusal shows the caller."""
    basis, now = stale.basis, stale.now
    others = basis.others or tuple(world.history.versions(now.path, after=basis.version.seq if basis.version else 0))
    lines = _lines(basis, now, stale.needs)
    told = changes_told(world.history, now.path, others, lines)
    overall = diff(basis.text, basis.now)
    touches = stale.touches or basis.touched(stale.needs)
    rows, ranges = _lines_now(basis, overall, stale.needs)
    preview, _, cut = localised_diff(basis.text, basis.now, overall, MOST_LINES)
    details: dict[str, Any] = {
        "path": now.path,
        "reason": "changed",
        **_versions(basis, now),
        **(both_hashes(basis.stated_sha256, basis.now.blob.hex()) if basis.stated_sha256 else {}),
        "changes": told,
        **rest("more_changes", others),
        "touches": touches,
        "changed": changed_ranges(overall),
        "lines": rows,
        "diff": preview,
        **({"diff_truncated": True} if cut else {}),
        **({"missing": list(stale.missing)} if stale.missing else {}),
        **(stale.more or {}),
        **news(world, now.path, lines),
    }
    if stale.conflict is not None:
        details["conflict"] = _three_ways(stale.conflict)
    message = _sentence(basis, now, others, overall, touches)
    if stale.missing:
        more = len(stale.missing) - MOST_ANCHORS
        named = ", ".join(repr(anchor[:MOST_OF_ANCHOR]) for anchor in stale.missing[:MOST_ANCHORS])
        message += f" No line has the hash {named} now." if more <= 0 else f" No line has {named} and {more} more now."
    refused = Refusal(stale.code, message, "re-read_file", **details)
    return _decided(refused, EditRefused(stale.tool, now.path, stale.code, touches), basis, now, ranges, dry_run)


def refuse_mismatch(
    refused: Refusal,
    basis: Basis,
    now: FileNow,
    world: World,
    dry_run: bool,
    conflict: RebaseConflict | None = None,
    about: Ranges | None = None,
) -> Decision:
    """Return the refusal for named lines that differ from those that the caller was shown; raises `Refusal` for lines
    beyond the file. The message shows, with fresh anchors, the lines at these numbers, the old lines where they are
    now, and lines with the same hash. `about`: all lines of the call, if known.
    """
    named = [line - 1 for line in refused.details["mismatched_lines"]]
    if beyond := [line + 1 for line in named if line >= max(len(basis.text), len(basis.now))]:
        message = f"There is no line {beyond[0]}; {now.path} has {len(basis.now)}."
        details = {"path": now.path, "lines_beyond": beyond, "line_count": len(basis.now), **current_version(now)}
        raise Refusal("line_out_of_range", message, "re-read_file", **details)
    needs = ranges_of(line for line in named if line < len(basis.text))
    hashes = LineHashes.of(basis.now)
    marked = {min(line, len(basis.now) - 1) for line in named} if len(basis.now) else set()
    marked |= {line for a, b in basis.carried(needs) for line in range(a, b)}
    marked |= _like(basis.now, refused.details.get("mismatched", ()))
    lines, ranges = lines_around(basis.now, [(line, line + 1) for line in sorted(marked)], MOST_LINES)
    refused.message += " The lines as they are now:\n" + "\n".join(
        f"{'>>>' if line in marked else '   '} {hashes.reference(line)}" for line in lines
    )
    lines_of_call = _lines(basis, now, needs if about is None else about)
    refused.details |= {
        "lines": [hashes.reference(line) for line in lines],
        **_versions(basis, now),
        "changes": changes_told(world.history, now.path, basis.others, lines_of_call),
        **rest("more_changes", basis.others),
        **({} if conflict is None else {"conflict": _three_ways(conflict)}),
        **news(world, now.path, lines_of_call),
    }
    return _decided(refused, EditRefused("hashline_edit", now.path, refused.code, ""), basis, now, ranges, dry_run)


def _like(text: Text, references: Sequence[str]) -> set[int]:
    wanted = [(int(number), name) for number, _, name in (r.partition("#") for r in references[:MOST_LINES])]
    found: dict[str, list[int]] = {name: [] for _, name in wanted}
    for line, content in enumerate(text.lines if found else ()):
        if (name := line_id(content)) in found:
            found[name].append(line)
    near = (sorted(found[name], key=lambda line: abs(line + 1 - number))[:MOST_LIKE] for number, name in wanted)
    return {line for lines in near for line in lines}


def refuse_unseen(
    tool: str, code: str, basis: Basis, now: FileNow, lines: Sequence[int], about: Ranges, world: World, dry_run: bool
) -> Decision:
    """Return the refusal for named lines (from 0, of the base) that another writer may have written and the caller was
    not shown. `about`: all lines of the call.
    """
    needs = ranges_of(lines)
    rows, ranges = _lines_now(basis, diff(basis.text, basis.now) if basis.behind else (), needs)
    first = version_token(basis.since)
    message = (
        f"{_named(needs)} of {now.path} {'was' if len(lines) == 1 else 'were'} never shown to you under that number, "
        f"and others changed the file after {first}, which you know. See `lines`, and call again if these are the "
        "ones that you mean."
    )
    details: dict[str, Any] = {
        "path": now.path,
        "reason": "unseen",
        **_versions(basis, now),
        "lines": rows,
        **news(world, now.path, _lines(basis, now, about)),
    }
    refused = Refusal(code, message, "check_lines", **details)
    return _decided(refused, EditRefused(tool, now.path, code, "unseen"), basis, now, ranges, dry_run)


def _decided(
    refused: Refusal, event: EditRefused, basis: Basis, now: FileNow, ranges: Ranges, dry_run: bool
) -> Decision:
    reply = refused.reply()
    events: list[Event] = [event]
    if dry_run:
        reply |= {"dry_run": True, "valid": False}
        events.clear()  # the lines count as shown even in a dry run
    head = shown_as(now)
    if head is not None:
        seen, moved = merge_ranges([*basis.still_shown, *ranges]), without(basis.still_moved, ranges)
        events.append(ReadServed(now.path, head.seq, seen, True, moved))
    return Decision(reply, events)


def _lines(basis: Basis, now: FileNow, needs: Ranges | None) -> CallerLines:
    return CallerLines(needs, basis.version or now.version)


def _versions(basis: Basis, now: FileNow) -> dict[str, str]:
    base = {"base": version_token(basis.version.seq)} if basis.version else {}
    return {**base, **current_version(now), "sha256": basis.now.blob.hex()}


def _named(ranges: Ranges) -> str:
    said = ", ".join(_span({"start": start + 1, "end": stop}) for start, stop in ranges[:MOST_ENTRIES])
    said += ", …" if len(ranges) > MOST_ENTRIES else ""
    return capitalised(said)


def _lines_now(basis: Basis, overall: Sequence[Splice], needs: Ranges | None) -> tuple[list[str], Ranges]:
    beside = [(a, b) if a < b else (max(a - 1, 0), min(b + 1, len(basis.text))) for a, b in needs or ()]
    needed, _ = lines_around(basis.now, carry_ranges(overall, merge_ranges(beside)), MOST_LINES)
    changed = [(r["start"] - 1, max(r["end"], r["start"])) for r in changed_ranges(overall)]
    wanted = [line for line in lines_around(basis.now, changed, MOST_LINES)[0] if line not in {*needed}]
    shown_now = sorted([*needed, *wanted[: MOST_LINES - len(needed)]])
    hashes = LineHashes.of(basis.now)
    return [hashes.row(line) for line in shown_now], ranges_of(shown_now)


def _sentence(basis: Basis, now: FileNow, others: Sequence[Version], overall: Sequence[Splice], touches: str) -> str:
    base = f"since {version_token(basis.version.seq)}" if basis.version else "since you read it"
    last = others[-1] if others else None
    by = "" if last is None else f", last by {basis.history.named(last.writer)} at {to_the_second(last.at_ns)}"
    where = ", ".join(_span(r) for r in changed_ranges(overall)[:MOST_ENTRIES])
    meaning = {
        NONE: "away from the lines of this call",
        TOUCHING: "right beside the lines of this call",
        CONFLICTING: "and with them lines of this call",
    }[touches]
    lines = f" ({where or 'no lines'}, {meaning})" if overall else ""
    return f"{now.path} was changed {base}{by}{lines}."


def _span(changed: dict[str, int]) -> str:
    start, end = changed["start"], changed["end"]
    if end < start:
        return f"lines removed before line {start}"
    return f"line {start}" if start == end else f"lines {start}-{end}"


def _three_ways(conflict: RebaseConflict) -> dict[str, list[str]]:
    mine, theirs, before = conflict.mine, conflict.theirs, conflict.base
    start, stop = min(mine.start, theirs.start), max(mine.stop, theirs.stop)
    region = Text(False, before.lines[start:stop], before.breaks[start:stop])
    return {
        "base": _as_shown(region.lines),
        "theirs": _as_shown(apply(region, [_moved(theirs, start)]).lines),
        "yours": _as_shown(apply(region, [_moved(mine, start)]).lines),
    }


def _moved(s: Splice, by: int) -> Splice:
    return Splice(s.start - by, s.stop - by, s.lines)


def _as_shown(lines: Iterable[bytes]) -> list[str]:
    return [shown(line) for line in lines]
