"""Mounts below the checkout: a disk that comes hides the files of its folder, and one that goes takes its own along.

Neither removes a file. So of a path at which nothing is any more it is asked here whether it was journaled on the
*side* that is looked at now: what is mounted at a folder above it, or the folder itself. The kernel says when its table
of mounts has changed, and that is asked before each look at a path. So each record stands on the side that the folder
had then. What came and went while no daemon ran is told by the file `mounts` of the state folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from quire_journal.ids import above
from quire_journal.places import at_once
from quire_journal.sentences import counted

Sides = list[tuple[int, str]]
"""(after which record, what was mounted there from then on; "": nothing), oldest first."""

MOST_SIDES: Final = 32
"""Of one folder that are remembered; what is older counts as the oldest of them."""

_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")
_BEHIND_OPTIONAL: Final = b" - "


class Table(Protocol):
    """The kernel's table of mounts."""

    def changed(self) -> bool:
        """Is it another one than at the last `read`? Cheap."""

    def read(self) -> bytes:
        """As `/proc/self/mountinfo` has it."""

    def close(self) -> None:
        """It is asked no more."""


class KernelTable:
    """That of this process. Raises OSError where there is none."""

    def __init__(self) -> None:
        self._fd = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLPRI)

    def changed(self) -> bool:
        return bool(self._poll.poll(0))

    def read(self) -> bytes:
        os.lseek(self._fd, 0, os.SEEK_SET)
        parts = []
        while part := os.read(self._fd, 1 << 16):
            parts.append(part)
        return b"".join(parts)

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._fd)


class Mounts:
    """What was mounted below the checkout, and when. For the loop's thread."""

    def __init__(self, root: str = "", table: Table | None = None, file: Path | None = None) -> None:
        """Without a `table` nothing is ever mounted. `file`: what the last daemon knew, and this one leaves."""
        self._root, self._table, self._file = os.path.realpath(root or "/"), table, file
        self._sides: dict[str, Sides] = {}  # mount point → its sides
        self._news = False
        self._begun = self._looked = False
        saved = None if file is None or table is None else _saved(file)
        if saved is not None:
            self._sides, self._begun = saved, True

    @classmethod
    def below(cls, root: Path, file: Path) -> Mounts:
        """Those below a checkout; none where the kernel does not tell: there a disk that goes looks like deletions."""
        try:
            return cls(os.fspath(root), KernelTable(), file)
        except OSError:
            return cls()

    def close(self) -> None:
        """Give back what asks the kernel. Nothing is noticed from now on."""
        table, self._table = self._table, None
        if table is not None:
            table.close()

    def look(self, newest: int) -> None:
        """Take note of what has come and gone by now, behind record `newest`."""
        table = self._table
        if table is None or (not table.changed() and self._looked):
            return
        now = mounted_below(self._root, table.read())
        if not self._looked:  # a salvage may have lost the end of the log since
            self._looked = True
            for sides in self._sides.values():
                sides[:] = [(min(after, newest), what) for after, what in sides]
        if not self._begun:  # nobody knows what was there before
            self._begun, self._sides = True, {folder: [(0, what)] for folder, what in now.items()}
            self._save()
            return
        before = {folder: sides[-1][1] for folder, sides in self._sides.items()}
        changed = {folder for folder in {*now, *before} if now.get(folder, "") != before.get(folder, "")}
        for folder in changed:
            sides = self._sides.setdefault(folder, [(0, "")])
            sides.append((newest, now.get(folder, "")))
            del sides[: max(len(sides) - MOST_SIDES, 0)]
        if changed:
            self._news = True
            self._save()

    def take_news(self) -> bool:
        """Has something come or gone since this was asked last?"""
        news, self._news = self._news, False
        return news

    def hiding(self, path: str, seq: int) -> str:
        """The folder above `path` that had another side at record `seq` than now; "": there is none."""
        for folder in above(path) if self._sides else ():
            sides = self._sides.get(folder)
            if sides is not None and _side_at(sides, seq) != sides[-1][1]:
                return folder
        return ""

    def mounted(self, folder: str) -> bool:
        """Is something mounted at it, as far as is known?"""
        return bool(self._sides.get(folder, [(0, "")])[-1][1])

    def changed(self, folder: str) -> bool:
        """Has something come or gone there? An empty one may have files that are hidden, and says nothing of itself."""
        return len(self._sides.get(folder, ())) > 1

    def told(self, folder: str, files: int) -> str:
        """What is said of so many files that are hidden by what came or went there."""
        which = counted(files, "file")
        if self.mounted(folder):
            return f"what is mounted at {folder} hides {which} of before: not taken for deleted until it is unmounted"
        until = "it is mounted again, something is made there, or the folder is removed"
        return f"{which} went with what was mounted at {folder}: not taken for deleted until {until}"

    def forget(self, folder: str) -> None:
        """Whatever was mounted there, somebody goes on without it: what is missing is gone."""
        if self._sides.pop(folder, None) is not None:
            self._save()

    def _save(self) -> None:
        """For the next start; one that finds nothing knows as much as the first."""
        if self._file is None:
            return
        with contextlib.suppress(OSError):
            new = self._file.with_suffix(".new")
            new.write_text(json.dumps(self._sides), "ascii")
            os.replace(new, self._file)


def mounted_below(root: str, table: bytes) -> Mapping[str, str]:
    """What is mounted below `root`: folder → what it is, by file system, source and the part of it that is shown.

    Of several at one folder the last is the one that is seen.
    """
    found: dict[str, str] = {}
    begins = os.fsencode(root.rstrip("/") + "/")
    for line in table.splitlines():
        fields, _, rest = line.partition(_BEHIND_OPTIONAL)
        words = fields.split(b" ")
        if len(words) > 4 and (point := _plain(words[4])).startswith(begins):
            kind, source = (*rest.split(b" "), b"", b"")[:2]
            found[os.fsdecode(point[len(begins) :])] = os.fsdecode(b" ".join((kind, _plain(source), _plain(words[3]))))
    return found


def _plain(word: bytes) -> bytes:
    return _ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), word)


def _side_at(sides: Sides, seq: int) -> str:
    """What was mounted there when record `seq` was written."""
    return next((what for after, what in reversed(sides) if seq > after), sides[0][1])


def _saved(file: Path) -> dict[str, Sides] | None:
    try:
        with open(file, encoding="ascii", opener=at_once) as opened:
            found = json.load(opened)
        return {str(folder): [(int(after), str(what)) for after, what in sides] for folder, sides in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return None
