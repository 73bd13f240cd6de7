"""Files in a git commit, and the writers of their lines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quire_client.cli import git_output
from quire_client.commands.git_points import COMMIT, commit_named
from quire_journal.model import journal_path

if TYPE_CHECKING:
    from quire_client.api import Client

MOST_FILES: Final = 200
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
    words = ["diff-tree", "-r", "-z", "--no-commit-id", "--name-only", "--relative", "--no-renames", *against]
    paths = git_output(words, folder, environ).split("\0")
    return GitCommit(commit, parent, author, email, at, subject, tuple(filter(None, paths)))


def work_in(commit: GitCommit, client: Client) -> dict[str, Any]:
    """Return the reply of the tool `contributions` with the writers of all lines in the commit, or a refusal."""
    start = COMMIT + commit.parent if commit.parent else BEFORE_ALL
    files: list[Any] = []
    for first in range(0, len(commit.paths), MOST_FILES):
        some = [journal_path(path) for path in commit.paths[first : first + MOST_FILES]]
        asked = {"from": start, "to": COMMIT + commit.id, "paths": some, "lines": True}
        reply = client.call("contributions", asked)
        if not reply.get("ok"):
            return reply
        files += reply["files"]
    return {"ok": True, "message": f"{len(files)} of {len(commit.paths)} files are known.", "files": files}
