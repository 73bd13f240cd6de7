"""Blame: which version wrote each line of a file, position by position, by replay.

The versions of the file are gone through from the oldest to the one that is asked about. A list has the version that
wrote each line; where two neighbours differ, the new lines are the later one's. A version is one splice or a few, so
the unchanged beginning and end are skipped as bytes and only what is between them is compared line by line (as
`diff` does).

What counts:

* A line is its bytes and its break: who turns LF into CRLF wrote the line. Whether the last line has a break, and
  a byte order mark, are properties of the file: who appends behind an unfinished line did not write that one.
* A rename goes on under the earlier name. The bytes that a move changed are that move's.
* A file that was gone, or no file, begins anew with the version that made it again.
* Undo, redo, rollback and restore are records like others: lines that they bring back are theirs. `show` of such a
  version leads further.
* Beyond a version whose bytes are not in the journal nothing is known: what was there already is attributed to the
  first version after it, and a `Gap` says so. Bytes that were never the head are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

import msgspec

from quire_journal.history.gaps import RECORD_LOST, gaps_before, lost_version
from quire_journal.history.history import History
from quire_journal.history.missing_bytes import missing
from quire_journal.model import REGULAR, JournalDamaged
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import BOM, Text, blocks, breaks_between, common_bytes
from quire_journal.views import Version

MOST_BYTES: Final = 512 << 20
"""Bytes of versions that one blame goes through (a second or two); what is older counts as not held."""


class Gap(msgspec.Struct, frozen=True):
    """Where the past of a file ends before it began.

    `why`: why the bytes of version `seq` are not there ("too_large", "secret", "unreadable", "not_held"),
    "record_lost": record `seq` is lost, which may have made a version, or "too_long": there are too many versions to go
    through all of them.
    """

    seq: int
    why: str
    after: int  # the version that whatever was there before is attributed to


class Blame(msgspec.Struct, frozen=True):
    """Who wrote a version of a file."""

    version: Version
    text: Text
    origins: Sequence[Version]  # of each line of `text`
    names: tuple[str, ...]  # that the file had in the versions looked at, oldest first
    gap: Gap | None = None


def blame(history: History, path: str, version: Version, most_bytes: int = MOST_BYTES) -> Blame:
    """Who wrote each line of `version` of `path`, which was a file then.

    Raises `blobs.NotHeld` when its bytes are not in the journal, `log.JournalDamaged`.
    """
    if version.uncaptured:
        raise NotHeld(version.blob)
    text = history.text_of(version.blob)
    past, names, gap = _past(history, path, version.seq, most_bytes)
    told = [v for i, v in enumerate(past) if not i or v.blob != past[i - 1].blob]
    origins, last = _replay(zip(told, history.bytes_in_turn(v.blob for v in told), strict=True))
    if last != text.data:  # the one version of which the address was looked at
        raise JournalDamaged(f"the versions of {path} do not lead to version {version.seq}; run `quire verify`")
    return Blame(version, text, origins, names, gap)


def _past(history: History, path: str, seq: int, most_bytes: int) -> tuple[list[Version], tuple[str, ...], Gap | None]:
    """(the versions up to `seq`, oldest first; the names of the file; why there are no earlier ones)."""
    found: list[Version] = []
    names: dict[str, None] = {}
    gap, size = None, 0
    for name, version in chain(backwards(history, path, seq), (("", None),)):
        lost = gaps_before(history, found[-1], version) if found and history.lost() else ()
        if lost:
            gap = Gap(lost_version(lost, found[-1].base).seq or lost[-1].last, RECORD_LOST, found[-1].seq)
            break
        if version is None or version.gone or version.entry != REGULAR:
            break
        size += version.size
        why = _missing(history, version) or ("too_long" if found and size > most_bytes else "")
        if why:
            gap = Gap(version.seq, why, found[-1].seq)
            break
        found.append(version)
        names[name] = None
    return found[::-1], tuple(names)[::-1], gap


def backwards(history: History, path: str, seq: int) -> Iterator[tuple[str, Version]]:
    """The versions of a file up to `seq` under each of its names, newest first."""
    while path:
        came_from = ""
        for version in history.versions(path, upto=seq, reverse=True):
            yield path, version
            if version.moved_from:
                came_from, seq = version.moved_from, version.seq - 1
                break
        path = came_from


def _missing(history: History, version: Version) -> str:
    """Why the bytes of a version cannot be had; "" when they can."""
    return "" if not version.uncaptured and history.holds(version.blob) else missing(history, version).why


def _replay(versions: Iterable[tuple[Version, bytes]]) -> tuple[list[Version], bytes]:
    """(the version that wrote each line of the last one, its bytes)."""
    origins: list[Version] = []
    data = before = b""
    at = line = 0  # where a line of `before` begins, and its number: lines are counted from there
    for version, data in versions:
        body = data[len(BOM) :] if data.startswith(BOM) else data
        old, new = _ended(before, body), _ended(body, before)
        head, tail = common_bytes(old, new)
        if at > len(before):  # behind a break that the bytes do not have
            at = line = 0
        line += breaks_between(old, at, head) if at <= head else -breaks_between(old, head, at)
        at = head
        gone = old[head : len(old) - tail].splitlines(keepends=True)
        come = new[head : len(new) - tail].splitlines(keepends=True)
        for i, j, k, m in reversed(blocks(gone, come)):
            origins[line + i : line + j] = [version] * (m - k)
        before = body
    return origins, data


def _ended(body: bytes, other: bytes) -> bytes:
    """The lines of a file, each with a break: a last one without gets that of the line above, else one of `other`."""
    if not body or body.endswith((b"\n", b"\r")):
        return body
    return body + (_last_break(body) or _last_break(other) or b"\n")


def _last_break(data: bytes) -> bytes:
    """The last line break; b"" when there is none."""
    at = max(data.rfind(b"\n"), data.rfind(b"\r"))
    return b"\r\n" if data[at - 1 : at + 1] == b"\r\n" else data[at : at + 1]
