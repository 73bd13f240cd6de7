"""The process that makes empty files ahead: `python -I -S making_blanks.py TMP DEVICE INODE PREFIX COUNT PARENT`.

`blanks` is the daemon's side of it. It is run as a file and imports next to nothing, so that it begins at once.
"""

from __future__ import annotations

import os
import sys

_FLAGS = os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC  # never open for writing: that would keep a lease from it
_NICE = 19
"""On a core that nobody else wants, or not at all: the daemon makes itself what is not there in time."""


def blank_name(prefix: str, number: int) -> str:
    """In `.quire/tmp`, where files called so are known not to be complete."""
    return f"{prefix}.{number}.part"


def make(folder: str, identity: tuple[int, int], prefix: str, count: int, parent: int) -> None:
    """Make `count` files, of which `blank_name` says how they are called, in `folder`, if that has this identity.

    As soon as `parent` is not the parent any more, nobody wants them, and all are removed. Raises OSError.
    """
    tmp = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    seen = os.fstat(tmp)
    if (seen.st_dev, seen.st_ino) != identity:
        return
    for number in range(count):
        if os.getppid() != parent:
            for made in range(number):
                try:
                    os.unlink(blank_name(prefix, made), dir_fd=tmp)
                except FileNotFoundError:
                    continue
            return
        os.close(os.open(blank_name(prefix, number), _FLAGS, 0o600, dir_fd=tmp))


def main(folder: str, device: str, inode: str, prefix: str, count: str, parent: str) -> int:
    """The process; its exit code."""
    os.nice(_NICE)
    make(folder, (int(device), int(inode)), prefix, int(count), int(parent))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
