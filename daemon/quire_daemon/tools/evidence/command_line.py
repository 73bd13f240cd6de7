"""Command line: does what a shell was asked to do account for a change of a file? Pure.

It does where a program that writes names the file, or the folder that it is in, or where a program of a known kind
writes such files without naming them (`programs`). In doubt it does not. Nothing is looked up on the disk.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from quire_daemon.tools.evidence.program_writes import listing, writes
from quire_daemon.tools.evidence.shell_commands import invocations
from quire_daemon.tools.evidence.targets import Claim, Target, target

MOST_KEPT: Final = 64
"""Command lines of which it is remembered what they write."""


def accounts_for(command: str, path: str, root: str = "", cwd: str = "") -> bool:
    """Does the command line account for a change of the file at `path`, from the top of the checkout at `root` on?

    `cwd`: the absolute folder in which the shell begins. Where one of both is not known, a path is taken for that of
    each file that ends like it.
    """
    return bool(claims(command, path, root, cwd))


def claims(command: str, path: str, root: str = "", cwd: str = "") -> list[Claim]:
    """In which ways the command line accounts for the file; none where it does not."""
    found = (one.claim(path) for one in _targets(command, root, cwd))
    return [one for one in found if one is not None]


@lru_cache(MOST_KEPT)
def _targets(command: str, root: str, cwd: str) -> tuple[Target, ...]:
    found = dict.fromkeys(one for run in invocations(command, listing, cwd) for one in writes(run))
    return tuple(one for write in found if (one := target(write, root)) is not None)
