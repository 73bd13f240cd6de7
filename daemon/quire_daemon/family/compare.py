"""Compares files of this checkout with those that other checkouts changed. Runs on a worker thread, one run at a time.

Both files are read from disk. A file without the hash in its checkout's note is skipped, because a newer note will
follow.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from quire_daemon.family.bell import BELL
from quire_daemon.family.note import ChangedFile, HeldLease, Note, decoded
from quire_daemon.family.preview import Preview, preview
from quire_daemon.watch.git import MOST_TEXT_BYTES, MergeBases, conflicts
from quire_daemon.workspace import Beneath, can_openat2
from quire_journal.model import disk_path
from quire_journal.text import BINARY_PROBE
from quire_journal.workspaces import Member, members, note_bytes

MOST_MEMBERS: Final = 200


class Elsewhere(msgspec.Struct, frozen=True):
    """A file that another checkout changed, compared with the local file."""

    state: Path
    root: Path
    branch: str
    file: ChangedFile
    mine: str  # sha256 of the file here; "" if it is empty or missing, "unread" if it cannot be read
    preview: Preview | None  # None: not comparable

    @property
    def checkout(self) -> str:
        return self.root.name


class Neighbour(msgspec.Struct):
    """Another checkout of the family, and the list of changed files last read from it."""

    member: Member
    note: Note
    stamp: tuple[int, int]  # size and time of the note


class KnownElsewhere(msgspec.Struct, frozen=True):
    """Result of a comparison: files changed in other checkouts, their leases, and the sockets of their daemons."""

    files: Mapping[str, tuple[Elsewhere, ...]]
    leases: Mapping[Path, tuple[HeldLease, ...]]  # by root
    bells: tuple[Path, ...]


class Comparer:
    """Compares this checkout with the others of its family; keeps notes and results between runs."""

    def __init__(self, root: Path, state: Path, family: str, bases: MergeBases) -> None:
        self._root, self._state, self._family, self._bases = root, state, family, bases
        self._neighbours: dict[Path, Neighbour] = {}
        self._known: dict[tuple[Path, str], Elsewhere] = {}
        self.head = ""  # commit of HEAD here

    def run(self, touched: Iterable[str], rung: Iterable[Path], look_around: bool) -> KnownElsewhere:
        """Compare the files `touched` here, and all changed files of the checkouts `rung` (state folders; of all
        checkouts if HEAD here has moved), with their other versions. `look_around`: first find new and removed
        checkouts.
        """
        changed = self._look_around() if look_around else set()
        for state in rung:
            if state not in self._neighbours and not look_around:
                changed |= self._look_around()
            if state in self._neighbours and self._read(self._neighbours[state]):
                changed.add(state)
        head = self._bases.head()
        if head != self.head:
            self.head, changed = head, set(self._neighbours)
        paths = set(touched)
        for state, neighbour in self._neighbours.items():
            files = {file.path: file for file in neighbour.note.files}
            for path in files if state in changed else paths & files.keys():
                self._compare(neighbour, files[path])
            for known in [key for key in self._known if key[0] == state and key[1] not in files]:
                del self._known[known]
        return self._result()

    def _look_around(self) -> set[Path]:
        found: dict[Path, Member] = {}
        for member in members(self._family):
            if member.place.state != self._state and len(found) < MOST_MEMBERS:
                found[member.place.state] = member
        gone = self._neighbours.keys() - found.keys()
        self._neighbours = {state: one for state, one in self._neighbours.items() if state not in gone}
        self._known = {key: one for key, one in self._known.items() if key[0] not in gone}
        changed = set()
        for state, member in found.items():
            neighbour = self._neighbours.setdefault(state, Neighbour(member, Note(self._family), (0, 0)))
            if self._read(neighbour):
                changed.add(state)
        return changed

    def _read(self, neighbour: Neighbour) -> bool:
        said, stamp = note_bytes(neighbour.member.place.state)
        if stamp == neighbour.stamp:
            return False
        note = decoded(said)
        if note is None or note.family != self._family:
            note = Note(self._family)
        neighbour.note, neighbour.stamp = note, stamp
        return True

    def _compare(self, neighbour: Neighbour, file: ChangedFile) -> None:
        place = neighbour.member.place
        self._known.pop((place.state, file.path), None)
        mine, theirs = _bytes_at(self._root, file.path), _bytes_at(place.root, file.path)
        if theirs is None or _sha256(theirs) != file.sha256:
            return
        base = self._bases.between(self.head, neighbour.note.head)
        was = self._bases.text(base, file.path) if base else None
        if theirs in (was, mine):
            return
        found = _preview(was, mine, theirs) if was is not None and mine is not None else None
        sha256 = _sha256(mine) if mine is not None else "unread"
        one = Elsewhere(place.state, place.root, neighbour.note.branch, file, sha256, found)
        self._known[place.state, file.path] = one

    def _result(self) -> KnownElsewhere:
        files: dict[str, list[Elsewhere]] = {}
        for (_, path), one in self._known.items():
            files.setdefault(path, []).append(one)
        places = [one.member.place for one in self._neighbours.values()]
        leases = {one.member.place.root: tuple(one.note.leases) for one in self._neighbours.values() if one.note.leases}
        bells = tuple(place.socket.with_suffix(BELL) for place in places)
        return KnownElsewhere({path: tuple(found) for path, found in files.items()}, leases, bells)


def _preview(was: bytes, mine: bytes, theirs: bytes) -> Preview | None:
    if any(b"\0" in data[:BINARY_PROBE] for data in (was, mine, theirs)):
        return None
    try:
        return preview(was, mine, theirs, conflicts)
    except (OSError, TimeoutError):  # of git
        return None


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest() if data else ""


def _bytes_at(root: Path, path: str) -> bytes | None:
    try:
        top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fd = Beneath(top, can_openat2(top)).open(disk_path(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return b"" if error.errno in (errno.ENOENT, errno.ENOTDIR) else None
    finally:
        os.close(top)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_TEXT_BYTES:
            return None
        with open(fd, "rb", closefd=False) as file:
            data = file.read(MOST_TEXT_BYTES + 1)
        return data if len(data) <= MOST_TEXT_BYTES else None
    except OSError:
        return None
    finally:
        os.close(fd)
