"""A program that tries to lead others out of a folder: python attacker.py WHAT FOLDER OUTSIDE SEED [bind].

It swaps folders for links, names for hard links and links to files outside, and mounts folders and files of OUTSIDE.
It never goes through a link itself, so that whatever changes outside was changed by somebody else. It ends with its
standard input, and says on standard output how often it struck.
"""

from __future__ import annotations

import ctypes
import os
import random
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_EXCHANGE, _BIND, _DETACH = 2, 4096, 2
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW

FOLDERS, FILES, MOUNTS = 4, 4, 2
LINKED, SHARED = "linked", "shared"
"""Below OUTSIDE: what links and mounts lead to, and what gets names in the folder (hard links)."""


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def exchange(folder: int, one: str, other: str) -> None:
    """Two names of a folder trade places."""
    _check(_LIBC.renameat2(folder, os.fsencode(one), folder, os.fsencode(other), _EXCHANGE))


def bind(what: Path, at: Path) -> None:
    """`mount --bind WHAT AT`."""
    _check(_LIBC.mount(os.fsencode(what), os.fsencode(at), None, _BIND, None))


def unbind(at: Path) -> None:
    """`umount -l AT`, as often as something is mounted there."""
    while not _LIBC.umount2(os.fsencode(at), _DETACH):
        pass


def can_bind(top: Path) -> bool:
    """May this process mount anything?"""
    one, other = top / "bind1", top / "bind2"
    one.mkdir()
    other.mkdir()
    try:
        bind(one, other)
    except OSError:
        return False
    finally:
        unbind(other)
        one.rmdir()
        other.rmdir()
    return True


@contextmanager
def opened(name: str, above: int | None = None) -> Iterator[int]:
    """A folder, never through a link."""
    fd = os.open(name, _FOLDER, dir_fd=above)
    try:
        yield fd
    finally:
        os.close(fd)


class Attacker:
    """Strikes at random."""

    def __init__(self, folder: Path, outside: Path, chance: random.Random) -> None:
        self.folder, self.outside, self.chance = folder, outside, chance
        self.top = os.open(folder, _FOLDER)
        self.struck = 0

    def swap_top(self) -> None:
        """A folder and a link to a folder outside."""
        number = self.chance.randrange(FOLDERS)
        self._swap(self.top, f"d{number}", f"l{number}")

    def swap_deeper(self) -> None:
        with opened(self._real(), self.top) as folder:
            self._swap(folder, "e", "el")

    def _swap(self, folder: int, one: str, other: str) -> None:
        """There and back, most often within a call."""
        exchange(folder, one, other)
        self.struck += 1
        time.sleep(self.chance.random() / 1000)
        exchange(folder, one, other)

    def put(self) -> None:
        """A file comes to a name: a hard link to one outside, a link to one, or a new one."""
        with opened(self._real(), self.top) as folder:
            self._put(folder, f"f{self.chance.randrange(FILES)}")

    def put_deeper(self) -> None:
        with opened(self._real(), self.top) as above, opened(self.chance.choice(["e", "el"]), above) as folder:
            self._put(folder, f"f{self.chance.randrange(FILES)}")

    def put_temporary(self) -> None:
        """In place of a temporary file of Quire's."""
        if self.chance.random() < 0.9:
            return
        with opened(".quire", self.top) as above, opened("tmp", above) as folder:
            for name in os.listdir(folder)[:1]:
                self._put(folder, name, plain=False)

    def mount(self) -> None:
        """For a moment a folder of outside, or a file, is mounted."""
        number = self.chance.randrange(MOUNTS)
        at = self.folder / f"m{number}"
        what = self.outside / LINKED
        at, what = (at, what) if self.chance.random() < 0.5 else (at / "f0", what / "f0")
        bind(what, at)
        self.struck += 1
        time.sleep(self.chance.random() / 100)
        unbind(at)

    def swap_new(self) -> None:
        """A folder that has just been made here is taken for another, or for a link to one outside."""
        names = [name for name in os.listdir(self.top) if name.startswith(".out") or name == "out"]
        if not names or self.chance.random() > 0.2:
            return
        name = self.chance.choice(names)
        if self.chance.random() < 0.3:
            self._turn(self.top, name)
            return
        with opened(name, self.top) as folder:
            inner = [one for one in os.listdir(folder) if len(one) == 1]
            if inner:
                self._turn(folder, self.chance.choice(inner))

    def mount_new(self) -> None:
        names = [name for name in os.listdir(self.top) if name.startswith(".out")]
        if names and self.chance.random() < 0.1:
            at = self.folder / self.chance.choice(names) / "a"
            with opened(at.parent.name, self.top) as above, opened("a", above):
                bind(self.outside / LINKED, at)  # nobody else swaps links in meanwhile
                self.struck += 1
            time.sleep(self.chance.random() / 200)
            unbind(at)

    def swap_own(self) -> None:
        """The `.quire` of a workspace that has just been made, for a link, or a mount."""
        names = os.listdir(self.top)
        if not names or self.chance.random() > 0.01:
            return
        with opened(self.chance.choice(names), self.top) as root:
            self._turn(root, ".quire", make=True)

    def _turn(self, above: int, name: str, make: bool = False) -> None:
        aside = f"aside{self.chance.randrange(1 << 30)}"
        self.struck += 1
        with suppress(FileNotFoundError):
            os.rename(name, aside, src_dir_fd=above, dst_dir_fd=above)
        os.symlink(self.outside / LINKED, name, dir_fd=above)
        if self.chance.random() < 0.5 and not make:
            time.sleep(self.chance.random() / 2000)
            with suppress(OSError):
                os.unlink(name, dir_fd=above)
                os.rename(aside, name, src_dir_fd=above, dst_dir_fd=above)

    def _put(self, folder: int, name: str, plain: bool = True) -> None:
        beside = f".beside{os.getpid()}"
        with suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=folder)
        how = self.chance.randrange(3 if plain else 2)
        if how == 0:
            os.link(self.outside / SHARED / f"f{self.chance.randrange(FILES)}", beside, dst_dir_fd=folder)
        elif how == 1:
            os.symlink(self.outside / LINKED / "f0", beside, dir_fd=folder)
        else:
            fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=folder)
            os.write(fd, b"theirs %d\nline\n" % self.chance.randrange(1000))
            os.close(fd)
        os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        self.struck += 1

    def _real(self) -> str:
        return f"{self.chance.choice('dl')}{self.chance.randrange(FOLDERS)}"


def main() -> None:
    what, folder, outside, seed, *more = sys.argv[1:]
    attacker = Attacker(Path(folder), Path(outside), random.Random(int(seed)))
    ways: list[Callable[[], None]] = {
        "checkout": [
            attacker.swap_top,
            attacker.swap_deeper,
            attacker.put,
            attacker.put_deeper,
            attacker.put_temporary,
        ],
        "export": [attacker.swap_new],
        "import": [attacker.swap_own],
    }[what]
    if more:
        ways += {"checkout": [attacker.mount], "export": [attacker.mount_new], "import": []}[what]
    print("ready", flush=True)
    while not select.select([0], [], [], attacker.chance.random() / 2000)[0]:
        with suppress(OSError):
            attacker.chance.choice(ways)()
    print(attacker.struck, flush=True)


if __name__ == "__main__":
    main()
