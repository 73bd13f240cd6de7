"""Mounts below the checkout: Quire keeps to one file system, and looks at the tree anew when a mount comes or goes.

What is mounted below the checkout is not captured (`confine`), and what it hides is not taken for deleted.
The kernel says when its table of mounts has changed; only a change below the checkout counts.
"""

from __future__ import annotations

import os
import re
import select
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

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
    """Whether another set of mounts stands below the checkout than at the last question. For the loop's thread."""

    def __init__(self, root: str = "", table: Table | None = None) -> None:
        """Without a `table` nothing is ever mounted."""
        self._root, self._table = os.path.realpath(root or "/"), table
        self._known: Mapping[str, str] | None = None

    @classmethod
    def below(cls, root: Path) -> Mounts:
        """Those below a checkout; none where the kernel does not tell: a scan finds what came there, and no sooner."""
        try:
            return cls(os.fspath(root), KernelTable())
        except OSError:
            return cls()

    def close(self) -> None:
        """Give back what asks the kernel. No change is noticed from now on."""
        table, self._table = self._table, None
        if table is not None:
            table.close()

    def take_news(self) -> bool:
        """Has a mount come or gone since the last question? The first one begins, and is answered with no."""
        table = self._table
        if table is None or (not table.changed() and self._known is not None):
            return False
        before, self._known = self._known, mounted_below(self._root, table.read())
        return before is not None and before != self._known


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
