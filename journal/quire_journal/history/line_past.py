"""Line past: the versions that lead to a version of a file, each with hints at the origin of its lines (`Clues`). They
go back over renames and times without a file, until bytes are missing in the journal or a record is lost.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from quire_journal.history.authorship import BY_COMMAND, UNDOING, is_author, is_by_git, is_met
from quire_journal.history.gaps import RECORD_LOST, gaps_before, lost_version
from quire_journal.history.git_moves import GitMoves
from quire_journal.history.history import History
from quire_journal.history.line_replay import Clues
from quire_journal.history.missing_bytes import missing
from quire_journal.history.renames import FoundRenames
from quire_journal.model import CAPTURED, REGULAR
from quire_journal.views import OUTSIDE_TYPE, Version


class Gap(msgspec.Struct, frozen=True):
    """Place where the known past of a file ends early.

    `why`: the bytes of version `seq` are missing ("too_large", "secret", "unreadable", "not_held", …); "record_lost":
    record `seq`, perhaps a version, is lost; "too_long": too many bytes of versions.
    """

    seq: int
    why: str
    after: int  # the version that older lines are attributed to


class PastStep(msgspec.Struct, frozen=True):
    path: str
    version: Version
    clues: Clues


class FilePast(msgspec.Struct, frozen=True):
    """Successive versions of a file with different bytes, or without a file, oldest first."""

    steps: Sequence[PastStep]
    names: tuple[str, ...]  # paths of the file, oldest first
    gap: Gap | None


def file_past(history: History, git: GitMoves, path: str, seq: int, most_bytes: int) -> FilePast:
    """Return the past of `path` up to record `seq`; beyond `most_bytes` of versions it ends with a `Gap`."""
    found: list[tuple[str, Version]] = []
    names: dict[str, None] = {}
    gap, there, size = None, True, 0
    for name, version in chain(backwards(history, path, seq), (("", None),)):
        after = found[-1][1] if found else None
        lost = gaps_before(history, after, version) if after is not None and history.lost() else ()
        if lost and after is not None:
            gap = Gap(lost_version(lost, after.base).seq or lost[-1].last, RECORD_LOST, after.seq)
            break
        if version is None:
            break
        if is_file(version):
            size += version.size
            why = _missing(history, version) or ("too_long" if after is not None and size > most_bytes else "")
            if why and after is not None:
                gap = Gap(version.seq, why, after.seq)
                break
            if there:
                names[name] = None
        there = there and is_file(version)
        found.append((name, version))
    steps = [step for n, step in enumerate(found) if n + 1 == len(found) or _blob(step[1]) != _blob(found[n + 1][1])]
    # A gap before a time without a file belongs to another file.
    return FilePast(_with_clues(history, git, steps[::-1]), tuple(names)[::-1], gap if there else None)


def is_file(version: Version) -> bool:
    return not version.gone and version.entry == REGULAR


def is_held(history: History, version: Version) -> bool:
    return not version.uncaptured and history.holds(version.blob)


def backwards(history: History, path: str, seq: int) -> Iterator[tuple[str, Version]]:
    """Yield (path, version) of a file up to `seq`, newest first, across recorded and found renames."""
    renames = history.once(FoundRenames)
    while path:
        came_from = ""
        for version in history.versions(path, upto=seq, reverse=True):
            yield path, version
            one = None if version.gone else renames.of(path, version)
            if version.moved_from:
                came_from, seq = version.moved_from, version.seq - 1
            elif one is not None:
                came_from, seq = one.old, one.before
            if came_from:
                break
        path = came_from


def _missing(history: History, version: Version) -> str:
    return "" if is_held(history, version) else missing(history, version).why


def _blob(version: Version) -> bytes:
    return version.blob if is_file(version) else b""


# ── clues of a version ───────────────────────────────────────────────


def _with_clues(history: History, git: GitMoves, found: Sequence[tuple[str, Version]]) -> list[PastStep]:
    versions = [version for _, version in found]
    copied = _copied(history, versions)
    return [
        PastStep(path, version, _clues(history, git, version, versions, copied.get(version.seq)))
        for path, version in found
    ]


def _clues(
    history: History, git: GitMoves, version: Version, versions: Sequence[Version], copied: tuple[str, Version] | None
) -> Clues:
    if version.type == UNDOING:
        undoing = history.undoing(version.batch)
        at = 0 if undoing is None or not undoing.at else bisect_right(versions, undoing.at, key=_seq)
        made_from = (versions[at - 1].seq,) if at else ()
        undone = () if undoing is None else frozenset(undoing.undone)
        return Clues(puts_back=True, made_from=made_from, not_from=undone, copied=copied)
    hint = git.hint(version)
    if is_author(version, hint):
        return Clues(author=copied is None or version.evidence not in BY_COMMAND, copied=copied)
    by_git, met = is_by_git(hint), is_file(version) and is_met(version, hint)
    sources = git.made_from(version, versions) if by_git else ()
    return Clues(met=met, puts_back=by_git, made_from=sources, copied=copied)


def _copied(history: History, versions: Sequence[Version]) -> dict[int, tuple[str, Version]]:
    own = {version.seq for version in versions}
    sought: dict[bytes, list[Version]] = {}
    there = False
    for version in versions:
        if is_file(version) and version.blob and _may_be_copied(version, there):
            sought.setdefault(version.blob, []).append(version)
        there = is_file(version)
    found: dict[int, tuple[str, Version]] = {}
    for path, other in history.with_bytes(sought, versions[-1].seq) if sought else ():
        for version in sought[other.blob]:
            if other.seq < version.seq and other.seq not in own and is_held(history, other):
                found.setdefault(version.seq, (path, other))
    return found


def _may_be_copied(version: Version, there: bool) -> bool:
    if version.type == OUTSIDE_TYPE and not version.unproved:
        return version.evidence in BY_COMMAND and not there
    return version.evidence != CAPTURED and not is_author(version)


def _seq(version: Version) -> int:
    return version.seq
