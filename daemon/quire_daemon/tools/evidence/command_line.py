"""Command line: does what a shell was asked to do account for a change of a file? Pure.

It does where a program that writes names the file, or the folder that it is in, or where a program of a known kind
writes such files without naming them (`programs`). In doubt it does not. Nothing is looked up on the disk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

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
    found = (one.claim(path) for one in _targets(command, root, cwd).near(path))
    return [one for one in found if one is not None]


class _Targets(NamedTuple):
    """What a command line may write. It may name a thousand files, and a thousand files may be found changed."""

    by_name: Mapping[str, Sequence[Target]]  # single files, by the last part of their paths
    others: Sequence[Target]

    def near(self, path: str) -> Iterable[Target]:
        """Those that the file at `path` may be one of."""
        return chain(self.by_name.get(path.rpartition("/")[2], ()), self.others)


@lru_cache(MOST_KEPT)
def _targets(command: str, root: str, cwd: str) -> _Targets:
    found = dict.fromkeys(one for run in invocations(command, listing, cwd) for one in writes(run))
    by_name: dict[str, list[Target]] = defaultdict(list)
    others: list[Target] = []
    for one in (target(write, root) for write in found):
        if one is not None:
            (others if one.name is None else by_name[one.name]).append(one)
    return _Targets(by_name, others)
