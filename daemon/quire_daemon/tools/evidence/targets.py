"""Files that a word of a command line may name. Pure.

If the shell's folder is unknown, a name matches every file whose path ends with that name; text that only the shell can
expand matches anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from quire_daemon.tools.evidence.effects import Effect
from quire_daemon.tools.evidence.shell_commands import LISTED, OF_NAMES, TOP, joined
from quire_daemon.tools.evidence.shell_lexer import OPEN

FEWEST_SIGNS: Final = 3
"""Minimum number of letters and digits of a name outside its holes."""

_SIGN: Final = re.compile(r"\w")

_GLOB: Final = frozenset("*?[")


NAMED: Final = 4
"""Firmness of a claim: a word names the file."""

BELOW: Final = 3
"""Firmness of a claim: a word names a folder above the file, or a listing that includes it."""

OF_KIND: Final = 2
"""Firmness of a claim: the program writes files of this kind."""

ANY: Final = 1
"""Firmness of a claim: the program may write any file."""

Layout = Literal["never", "maybe", "only"]
"""Whether a program never changes layout, may change it, or changes nothing else."""


class Claim(NamedTuple):
    """How strongly a command line claims to have written a file; a greater claim is more likely."""

    firmness: int
    layout: Layout = "maybe"
    effect: Effect | None = None
    home: int = 0  # 1: the program is for this file's language; -1: for another one


class Write(NamedTuple):
    """A file or folder that a program writes, as a word of a command line names it."""

    path: str
    below: bool = False
    files: tuple[str, ...] = ()
    layout: Layout = "maybe"
    effect: Effect | None = None  # effect of the program on the file; None: unknown
    language: tuple[str, ...] = ()  # globs of the program's files; empty: any


class Target(NamedTuple):
    """Files that a command line may write."""

    parts: tuple[str, ...]  # names or globs at the end of a file's or folder's path
    anchored: bool  # `parts` is the whole path from the top of the checkout
    below: bool  # includes everything below
    files: tuple[str, ...] = ()  # globs that limit the files below
    outer: bool = False  # the path may begin above the top of the checkout
    layout: Layout = "maybe"
    effect: Effect | None = None
    language: tuple[str, ...] = ()

    @property
    def name(self) -> str | None:
        """Last component of the file's path; None if the target may be several files."""
        several = self.below or not self.parts or not _GLOB.isdisjoint(self.parts[-1])
        return None if several else self.parts[-1]

    def claim(self, path: str) -> Claim | None:
        """Return how strongly the target claims the file at `path`; None if it does not."""
        names = path.split("/")
        if self.files and not _fits_any(self.files, path):
            return None
        if self.parts and self._ends(names):
            return Claim(NAMED, self.layout, self.effect, self._home(path))
        if not self.below or not any(self._ends(names[:end]) for end in range(len(names))):
            return None
        firmness = BELOW if self.parts else OF_KIND if self.files else ANY
        return Claim(firmness, self.layout, self.effect, self._home(path))

    def _home(self, path: str) -> int:
        return 0 if not self.language else 1 if _fits_any(self.language, path) else -1

    def _ends(self, names: Sequence[str]) -> bool:
        if self.anchored or not self.parts or not names:
            return _fit(self.parts, names)
        if self.outer and any(_fit(self.parts[begin:], names) for begin in range(len(self.parts))):
            return True
        return any(_fit(self.parts, names[begin:]) for begin in range(len(names)))


def target(write: Write, root: str) -> Target | None:
    path, files = write.path, write.files
    below, said = write.below, (write.layout, write.effect, write.language)
    if LISTED in path:
        folder, _, path = path.rpartition(LISTED)
        path, _, glob = path.partition(OF_NAMES)
        path, below = joined(folder.rstrip("/"), path), True
        files = (glob,) if glob else files
    anchored = path.startswith(TOP)
    path = path.removeprefix(TOP).lstrip("/") if anchored else path
    if path.startswith("/"):
        if root:
            inside = f"{path}/".startswith(f"{root.rstrip('/')}/")
            if not inside:
                return None
            path, anchored = path[len(root.rstrip("/")) :].lstrip("/"), True
        else:
            parts = _parts(path)
            return Target(parts, False, below, files, True, *said) if _is_name(path) else None
    while path.startswith(("../", "~/", "./")):
        path = path.partition("/")[2]
    if path in ("", ".", "..", "~"):
        return Target((), anchored, below, files, False, *said) if below else None
    if not _is_name(path):
        return None
    bare = OPEN not in path and not _GLOB.isdisjoint(path.rpartition("/")[2])  # the shell expands it in one folder
    return Target(_parts(path), anchored or bare, below, files, False, *said)


def _is_name(path: str) -> bool:
    return OPEN not in path or len(_SIGN.findall(path.rstrip("/").rpartition("/")[2])) >= FEWEST_SIGNS


def _parts(path: str) -> tuple[str, ...]:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    while parts and not parts[0].strip(OPEN):
        parts.pop(0)
    return tuple(part.replace(OPEN, "*") for part in parts)


def _fit(parts: Sequence[str], names: Sequence[str]) -> bool:
    reached = {0}  # possible numbers of names matched so far
    for part in parts:
        if part == "**":
            reached = {*range(min(reached), len(names) + 1)}
        else:
            reached = {at + 1 for at in reached if at < len(names) and _fits_name(part, names[at])}
        if not reached:
            return False
    return len(names) in reached


def _fits_name(glob: str, name: str) -> bool:
    return glob == name or (not _GLOB.isdisjoint(glob) and _regex(glob).match(name) is not None)


@lru_cache(1024)
def _regex(glob: str) -> re.Pattern[str]:
    return re.compile(translate(glob))


def _fits_any(globs: Iterable[str], path: str) -> bool:
    """True if one of the globs matches the end of the path."""
    names = path.split("/")
    for glob in globs:
        parts = [part for part in glob.split("/") if part]
        if any(_fit(parts, names[begin:]) for begin in range(len(names))):
            return True
    return False
