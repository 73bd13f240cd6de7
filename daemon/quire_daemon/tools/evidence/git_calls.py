"""Commands of git that a command line runs and that may write any file of the tree. Pure."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from quire_daemon.tools.evidence.program_writes import listing, started_programs
from quire_daemon.tools.evidence.shell_commands import invocations

GIT_VALUED: Final = frozenset(
    {"-C", "-c", "--attr-source", "--config-env", "--exec-path", "--git-dir", "--namespace", "--work-tree"}
)
"""Options of git before the subcommand whose value may be the next word."""

_OTHERS: Final = frozenset(
    {"add", "archive", "blame", "branch", "commit", "config", "describe", "diff", "fetch", "gc", "grep", "init", "log"}
    | {"ls-files", "mv", "notes", "push", "reflog", "remote", "rev-parse", "rm", "shortlog", "show", "status", "tag"}
)
"""Subcommands that write no file of the tree, or only those that they name; another one may be an alias."""

MOST_KEPT: Final = 64


@lru_cache(MOST_KEPT)
def tree_commands(command: str) -> tuple[str, ...]:
    """Return the commands of git within a command line, as `git checkout main`."""
    runs = (one for run in invocations(command, listing) for one in started_programs(run))
    return tuple(" ".join(run.argv) for run in runs if run.argv[0] == "git" and _may_write_tree(run.argv))


def _may_write_tree(argv: tuple[str, ...]) -> bool:
    words = iter(argv[1:])
    for word in words:
        if word in GIT_VALUED:
            next(words, None)
        elif not word.startswith("-"):
            return word not in _OTHERS
    return False
