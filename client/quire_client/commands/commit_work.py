"""Files in a git commit, and the writers of their lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quire_client.cli import git_output
from quire_client.commands.git_points import COMMIT, RENAMED, RENAMES, commit_named
from quire_journal.model import journal_path

if TYPE_CHECKING:
    from quire_client.api import Client

MOST_FILES: Final = 200
"""Maximum number of files of a call; even, as renamed files have two names."""

BEFORE_ALL: Final = "nothing"
"""Point before the first commit."""


UTC: Final = "%Y-%m-%dT%H:%M:%SZ"


class GitCommit(NamedTuple):
    id: str
    parent: str  # the first one; "" for a first commit
    author: str
    email: str
    at: str  # author date, RFC 3339 in UTC
    subject: str
    paths: tuple[str, ...]  # files that differ from the parent, below the workspace
    moved_from: Mapping[str, str] = {}  # path → path in the parent of the renamed files


def git_commit(name: str, folder: Path, environ: Mapping[str, str]) -> GitCommit | None:
    """Return the commit `name` of the repository around `folder`; None if git knows none.

    `A..B` is the commit B with A as its parent.
    """
    start, dots, end = name.partition("..")
    commit = commit_named(end or "HEAD" if dots else name, folder, environ)
    since = commit_named(start or "HEAD", folder, environ) if dots else ""
    if not commit or (dots and not since):
        return None
    fields = "%P%x00%an%x00%ae%x00%ad%x00%s"
    words = ["-c", "log.showSignature=false", "show", "-s", f"--format={fields}", f"--date=format-local:{UTC}", commit]
    said = git_output(words, folder, {**environ, "TZ": "UTC0"})
    parents, author, email, at, subject = (said.rstrip("\n").split("\0") + [""] * 5)[:5]
    parent = since or parents.partition(" ")[0]
    against = [parent, commit] if parent else ["--root", commit]
    words = ["diff-tree", "-r", "-z", "--no-commit-id", "--name-status", "--relative", *RENAMES, *against]
    names = _names(git_output(words, folder, environ).split("\0"))
    moved = {path: old for path, old in names if old}
    return GitCommit(commit, parent, author, email, at, subject, tuple(path for path, _ in names), moved)


def _names(fields: Sequence[str]) -> list[tuple[str, str]]:
    """Return (path, old path) of each file in the fields of `git diff-tree -z --name-status`. Old path: "" unless
    renamed.
    """
    found, left = list[tuple[str, str]](), iter(fields)
    for status in left:
        if status:
            old = next(left, "") if status.startswith(RENAMED) else ""
            found.append((next(left, ""), old))
    return found


def work_in(commit: GitCommit, client: Client) -> dict[str, Any]:
    """Return the reply of the tool `contributions` with the writers of all lines in the commit, or a refusal."""
    start = COMMIT + commit.parent if commit.parent else BEFORE_ALL
    files: list[Any] = []
    moved = [name for path, old in commit.moved_from.items() for name in (old, path)]  # both in one call
    named = [*moved, *(path for path in commit.paths if path not in commit.moved_from)]
    for first in range(0, len(named), MOST_FILES):
        some = [journal_path(path) for path in named[first : first + MOST_FILES]]
        asked = {"from": start, "to": COMMIT + commit.id, "paths": some, "lines": True}
        reply = client.call("contributions", asked)
        if not reply.get("ok"):
            return reply
        files += reply["files"]
    files.sort(key=lambda file: str(file["path"]))
    return {"ok": True, "message": f"{len(files)} of {len(commit.paths)} files are known.", "files": files}


def versions_in(work: Mapping[str, Any]) -> set[int]:
    """Return the numbers of the versions that made the files in a reply of `work_in`: the versions of new lines, or for
    a file without new lines the newest version of each writer, such as its removal.
    """
    made = (one["version"] for file in work["files"] for one in file.get("runs") or file["writers"])
    return {int(version.removeprefix("v")) for version in made}
