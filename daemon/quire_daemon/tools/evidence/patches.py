"""Results of a patch as agents' own tools apply it.

Tools with Codex's envelope put a hunk at the first matching position after the previous hunk, and end each file with a
line break. A unified diff is placed as by Quire's own tool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from quire_daemon.dialects.patch import FilePatch, plan_file
from quire_daemon.tools.evidence.accounts import same
from quire_daemon.tools.evidence.effort import Effort
from quire_journal.model import Refusal
from quire_journal.text import Text, apply

PLANNING: Final = 10

_AS_ASCII: Final = str.maketrans(
    dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("‘’‚‛", "'")
    | dict.fromkeys("“”„‟", '"')
    | dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " ")
)
"""Characters that Codex treats as equal to an ASCII character if a hunk does not match exactly."""


def patched(
    file: FilePatch, path: str, before: bytes | None, bytes_at: Callable[[str], Iterator[bytes]], effort: Effort
) -> Iterator[bytes | None]:
    """Yield the possible bytes at `path` after the patch of one file; None for no file. `bytes_at` yields the bytes of
    a file that is moved to `path`. Raises `EffortSpentError`.
    """
    if file.to and same(file.to, path):
        for moving in bytes_at(file.path.removeprefix("./")):
            yield from moved(file, moving, effort)
    elif file.kind == "delete" or file.to:
        if before is not None:
            yield None
    elif file.kind == "add":
        yield file.content
    elif before is not None:
        yield from _updated(file, before, effort)


def moved(file: FilePatch, before: bytes, effort: Effort) -> Iterator[bytes]:
    """Return the possible bytes of a file that the patch moves and perhaps changes."""
    return _updated(file, before, effort) if file.hunks else iter((before,))


def _updated(file: FilePatch, before: bytes, effort: Effort) -> Iterator[bytes]:
    lines, total = sum(len(hunk.lines) for hunk in file.hunks), before.count(b"\n")
    if not file.unified:
        effort.spend(len(before), 3 * lines)
        made = _as_codex(file, before, effort)
    else:
        effort.spend(2 * len(before), PLANNING * lines + total)
        text = Text.of(before)
        try:
            plan = plan_file(file, text, known=False)
            made = apply(text, plan.splices, plan.final_break).data
        except Refusal:
            return
    if made is not None:
        yield made


def _as_codex(file: FilePatch, before: bytes, effort: Effort) -> bytes | None:
    rows = before.split(b"\n")
    if not rows[-1]:
        rows.pop()
    seek = _Seek(rows, effort)
    at = 0
    places: list[tuple[int, int, list[bytes]]] = []
    for hunk in file.hunks:
        for header in hunk.headers:
            found = seek.first([header.encode("utf-8", "surrogatepass")], at, at_end=False)
            if found is None:
                return None
            at = found + 1
        old, new = [line.text for line in hunk.old], [line.text for line in hunk.new]
        if not old:
            places.append((len(rows), 0, new))
            continue
        found = seek.first(old, at, hunk.at_end)
        if found is None and not old[-1]:
            old = old[:-1]
            new = new[:-1] if new and not new[-1] else new
            found = seek.first(old, at, hunk.at_end)
        if found is None:
            return None
        places.append((found, len(old), new))
        at = found + len(old)
    made: list[bytes] = []
    done = 0
    for start, count, new in sorted(places, key=lambda place: place[0]):
        if start < done:
            return None
        made += (*rows[done:start], *new)
        done = start + count
    made += rows[done:]
    return b"\n".join([*made, b""]) if made else b""


class _Seek:
    """Search for lines in a file: exact, then without trailing blanks, then without leading and trailing blanks, then
    as ASCII.
    """

    def __init__(self, rows: list[bytes], effort: Effort) -> None:
        self._effort = effort
        self._rows: list[list[bytes]] = [rows]

    def first(self, wanted: Sequence[bytes], start: int, at_end: bool) -> int | None:
        """Return the index of the first match from line `start` on; None if there is none. With `at_end` the end of the
        file is tried first.
        """
        rows = self._rows[0]
        last = len(rows) - len(wanted)
        if last < 0:
            return None
        for number, trimmed in enumerate(_TRIMS):
            known = self._trimmed(number)
            meant = [trimmed(line) for line in wanted]
            for at in (last, start) if at_end and last > start else (start,):
                found = self._place(known, meant, at, last)
                if found is not None:
                    return found
        return None

    def _trimmed(self, number: int) -> list[bytes]:
        while len(self._rows) <= number:
            self._effort.spend(0, len(self._rows[0]))
            self._rows.append([*map(_TRIMS[len(self._rows)], self._rows[0])])
        return self._rows[number]

    def _place(self, rows: list[bytes], wanted: list[bytes], start: int, last: int) -> int | None:
        at = start
        while at <= last:
            try:
                found = rows.index(wanted[0], at, last + 1)
            except ValueError:
                found = last + 1
            self._effort.spend(0, (found - at + len(wanted)) // 8 + 2)
            if found <= last and rows[found : found + len(wanted)] == wanted:
                return found
            at = found + 1
        return None


def _as_ascii(row: bytes) -> bytes:
    return row.strip() if row.isascii() else row.decode("utf-8", "replace").strip().translate(_AS_ASCII).encode()


_TRIMS: Final[tuple[Callable[[bytes], bytes], ...]] = (bytes, bytes.rstrip, bytes.strip, _as_ascii)
