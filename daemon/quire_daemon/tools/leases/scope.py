"""Scope of a lease: its files and lines, and when two scopes overlap.

A lease on a path does not follow renames; a folder covers everything in it; a glob is a pattern as in `.gitignore`. Two
globs, or a glob and a folder, overlap unless their literal prefixes differ, as files may be created at any time.

Lines belong to the version in which they were claimed, and are mapped to later versions. Lines inserted between them by
the holder or an outside program join the lease; lines inserted directly next to them do not.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from quire_daemon.config import globs
from quire_journal.history import History
from quire_journal.model import REGULAR, LineRange, merge_ranges
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import Splice, Text, changes, diff
from quire_journal.views import Lease, Version

FILE: Final = "file"
FOLDER: Final = "folder"
GLOB: Final = "glob"

MOST_STEPS: Final = 100
"""Maximum number of versions through which lines are mapped one by one; more are mapped in one less exact step."""

MOST_BYTES: Final = 16 << 20
"""Maximum total size in bytes of the versions through which lines are mapped one by one."""


# ── paths ────────────────────────────────────────────────────────────────────


def covers(lease: Lease, path: str) -> bool:
    """True if the lease covers the file `path` or some of its lines."""
    if lease.form == GLOB:
        return globs.matches(lease.path)(path) is not None
    return path == lease.path or (lease.form == FOLDER and _within(path, lease.path))


def meet(a: Lease, b: Lease) -> bool:
    """True if both leases may cover the same file; lines are ignored. Two globs, or a glob and a folder, are compared
    only by their literal prefixes, so the result may be True although no path can match both.
    """
    if a.form == FILE:
        return covers(b, a.path)
    if b.form == FILE:
        return covers(a, b.path)
    if a.form == b.form == FOLDER:
        return _within(a.path, b.path) or _within(b.path, a.path)
    before, after = _beginning(a), _beginning(b)
    return before.startswith(after) or after.startswith(before)


def _within(path: str, folder: str) -> bool:
    return folder == "." or path == folder or path.startswith(f"{folder}/")


def _beginning(lease: Lease) -> str:
    if lease.form != GLOB:
        return "" if lease.path == "." else f"{lease.path}/"
    glob = lease.path.removeprefix("/")
    anchored = "/" in lease.path.rstrip("/")
    return re.split(r"[*?\[\\]", glob, maxsplit=1)[0] if anchored else ""


# ── lines ────────────────────────────────────────────────────────────────────


def lines_at(lease: Lease, head: Version | None, history: History) -> LineRange | None:
    """Return the leased lines in the version `head`; None for the whole file, and if the lines cannot be mapped to that
    version.
    """
    if lease.lines is None or head is None:
        return None
    if head.seq == lease.version:
        return lease.lines
    first = history.version(lease.path, lease.version)
    versions = list(history.versions(lease.path, after=lease.version, upto=head.seq))
    if first is None or not all(map(_has_lines, (first, *versions))):
        return None
    if len(versions) > MOST_STEPS or sum(version.size for version in versions) > MOST_BYTES:
        versions = versions[-1:]
    lines = lease.lines
    try:
        before = history.text_of(first.blob)
        for version in versions:
            if version.blob != before.blob:
                after = history.text_of(version.blob)
                lines = carried(lines, diff(before, after))
                before = after
    except NotHeld:
        return None
    return lines


def _has_lines(version: Version) -> bool:
    return version.entry == REGULAR and not version.gone and not version.uncaptured


def carried(lines: LineRange, splices: Iterable[Splice]) -> LineRange:
    """Return the range to which `splices` move the lines. A splice across an end of the range extends the range; a
    splice next to it does not.
    """
    start, stop = lines
    first, last = start, stop
    for s in splices:
        if s.stop <= start:
            first += s.shift
            last += s.shift
        elif s.start < stop:
            first -= max(0, start - s.start)
            last += s.shift + max(0, s.stop - stop)
    return first, max(first, last)


def apart(a: LineRange | None, b: LineRange | None) -> bool:
    """True if two line ranges have no common line. None is the whole file; an empty range has no common line with
    another range.
    """
    if a is None or b is None:
        return False
    return a[1] <= b[0] or b[1] <= a[0] or a[0] == a[1] or b[0] == b[1]


def disturbs(before: Text, after: Text, lines: LineRange) -> bool:
    """True if the change from `before` to `after` alters the lines or inserts between them. A change that could equally
    be expressed outside of `lines`, because lines are equal, counts as outside.
    """
    splices = changes(before, after)
    for i, s in enumerate(splices):
        low = splices[i - 1].stop if i else 0
        high = splices[i + 1].start if i + 1 < len(splices) else len(before)
        if _hits(s, lines) and not _slides_out(before, s, lines, low, high):
            return True
    return False


def _hits(s: Splice, lines: LineRange) -> bool:
    return (s.start < lines[1] and lines[0] < s.stop) or lines[0] < s.start == s.stop < lines[1]


def _slides_out(before: Text, s: Splice, lines: LineRange, low: int, high: int) -> bool:
    """True if a pure insertion or removal can be expressed as an equal change outside of `lines`."""
    if s.lines and s.start < s.stop:
        return False
    new = list(zip(s.lines, s.breaks or (b"\n",) * len(s.lines), strict=True))
    old = list(zip(before.lines[low:high], before.breaks[low:high], strict=True))
    moving = new or old[s.start - low : s.stop - low]
    return _slides(moving, old[: s.start - low][::-1], s.stop - lines[0], backwards=True) or _slides(
        moving, old[s.stop - low :], lines[1] - s.start, backwards=False
    )


def _slides(moving: Sequence[object], over: Sequence[object], far: int, backwards: bool) -> bool:
    run = deque(moving)
    for line in over[:far]:
        if run[-1 if backwards else 0] != line:
            return False
        run.rotate(1 if backwards else -1)
    return far <= len(over)


def free_lines(count: int, taken: Iterable[LineRange]) -> list[LineRange]:
    """Return the ranges of a file of `count` lines that are not in `taken`."""
    free: list[LineRange] = []
    at = 0
    for start, stop in merge_ranges(taken):
        if at < start:
            free.append((at, start))
        at = stop
    if at < count:
        free.append((at, count))
    return free
