"""Decides whether a shell command line explains a file's change. Pure.

A writing program must name the file or its folder, or be of a kind that writes such files without naming them
(`programs`). In doubt the line does not explain the change.
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


def claims(command: str, path: str, root: str = "", cwd: str = "") -> list[Claim]:
    """Return the claims of the command line's words to a change of the file at `path`, in a checkout at `root`. Without
    `root` or the shell's absolute folder `cwd`, a path in the command matches every file whose path ends with it.
    """
    found = (one.claim(path) for one in _targets(command, root, cwd).near(path))
    return [one for one in found if one is not None]


class _Targets(NamedTuple):
    """Possible targets of a command line, indexed for the case of a thousand names and a thousand changed files."""

    by_name: Mapping[str, Sequence[Target]]  # single files, by the last part of their paths
    others: Sequence[Target]

    def near(self, path: str) -> Iterable[Target]:
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
