"""Points that git resolves: `HEAD~1`, a branch, a tag, an abbreviated commit id.

The daemon gets the commit (`commit:1a2b3c4`). A checkpoint of the same name takes precedence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quire_client.cli import git_output, render

if TYPE_CHECKING:
    from quire_client.api import Client

COMMIT: Final = "commit:"

BEFORE: Final = "before:"
"""Prefix of a point just before an event: `before:ruff`."""

MOST_PAGES: Final = 5
RENAMES: Final = ("--find-renames=50%",)
"""Options of git that find renames as Quire does, whatever the user has configured."""

RENAMED: Final = "R"
"""Status of a renamed file in git's lists, which have both of its names."""

OF_A_PATH: Final = {"read_file": "at", "blame": "at", "why": "at", "restore": "at", "show": "version"}
"""Argument for a point, by tool for one file. If the point is a commit, the tool uses the file as in that commit."""

_OF_EVERYTHING: Final = frozenset({"stories", "log", "since"})
_LOGGED: Final = re.compile(r"[0-9a-f]{40,64} ([0-9a-f]{40,64}) [^\t]*> (\d{1,12}) [-+]\d{4}", re.ASCII)


def commit_named(name: str, folder: Path, environ: Mapping[str, str]) -> str:
    """Return the id of the commit `name` in the repository around `folder`; "" if unknown."""
    return _git(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"], folder, environ)


def uncommitted(paths: Sequence[str], folder: Path, environ: Mapping[str, str]) -> list[str]:
    """Return those paths that differ from HEAD, or that git does not track."""
    if not paths:
        return []
    changed = _git(["diff", "--name-only", "--relative", "-z", "HEAD", "--", *paths], folder, environ)
    lacking = _git(["ls-files", "--others", "--exclude-standard", "-z", "--", *paths], folder, environ)
    found = {*changed.split("\0"), *lacking.split("\0")}
    return [path for path in paths if path in found]


def lacking(paths: Sequence[str], folder: Path, environ: Mapping[str, str]) -> list[str]:
    """Return those paths that HEAD does not have."""
    known = {*_git(["ls-tree", "-r", "--name-only", "-z", "HEAD", "--", *paths], folder, environ).split("\0")}
    return [path for path in paths if path not in known]


def staged(folder: Path, environ: Mapping[str, str], commit: str = "HEAD") -> str:
    """Return the list of files that differ between `commit` and git's index, followed by their patch without context
    lines, with renames.
    """
    words = [
        "diff",
        "--cached",
        "--patch-with-raw",
        "-z",
        "-U0",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--relative",
        *RENAMES,
    ]
    own = ("-c", "core.quotePath=false", "-c", "diff.noprefix=false", "-c", "diff.mnemonicPrefix=false")
    words += ["--src-prefix=a/", "--dst-prefix=b/", commit]
    return git_output(words, folder, environ, own=own, index=_index(folder, environ))


def under_way(folder: Path, environ: Mapping[str, str]) -> str:
    """Return the name of the commit that git is merging, picking or rebasing, of which the next commit has lines, too;
    "" if none.
    """
    rebasing = _git(["rev-parse", "--git-path", "rebase-merge", "--git-path", "rebase-apply"], folder, environ)
    names = ["MERGE_HEAD", "CHERRY_PICK_HEAD"]
    if any((folder / one).is_dir() for one in rebasing.splitlines()):
        names.append("REBASE_HEAD")  # git leaves it behind
    return next((name for name in names if commit_named(name, folder, environ)), "")


def in_commit(commit: str, path: str, folder: Path, environ: Mapping[str, str]) -> str:
    """Return the text of a file below `folder` in a commit; "" if there is none."""
    return git_output(["show", f"{commit}:./{path}"], folder, environ)


def folder_in_repository(folder: Path, environ: Mapping[str, str]) -> str:
    """Return the path of a folder below the top of its repository, with "/" at the end; "" for the top."""
    return git_output(["rev-parse", "--show-prefix"], folder, environ).rstrip("\n")


def not_checked_out(folder: Path, environ: Mapping[str, str]) -> list[str]:
    """Return the files that git tracks and a sparse checkout leaves out."""
    rows = git_output(["ls-files", "-t", "-z"], folder, environ).split("\0")
    return [row[2:] for row in rows if row.startswith("S ")]


def _index(folder: Path, environ: Mapping[str, str]) -> str:
    """Return the index file that a git hook names in GIT_INDEX_FILE; "" means the repository's own."""
    named = environ.get("GIT_INDEX_FILE", "")
    own = _git(["rev-parse", "--absolute-git-dir"], folder, environ) if named else ""
    path = os.path.abspath(named) if named else ""
    return path if own and os.path.dirname(os.path.realpath(path)) == os.path.realpath(own) else ""


def ignored(paths: Sequence[str], folder: Path, environ: Mapping[str, str]) -> set[str]:
    """Return those paths that git ignores and does not track."""
    if not paths:
        return set()
    found = _git(["check-ignore", "-z", "--stdin"], folder, environ, "\0".join(paths))
    return {*filter(None, found.split("\0"))}


def _git(words: list[str], folder: Path, environ: Mapping[str, str], given: str = "") -> str:
    return git_output(words, folder, environ, given).removesuffix("\n")


Answer = dict[str, Any]


def asked_again(
    client: Client, tool: str, arguments: Mapping[str, Any], refused: Answer, tell: Callable[[str], None]
) -> Answer:
    """Repeat a call that was refused for an unknown point, with the commit that git knows by that name, or for
    `before:WORD` with the point before the newest call or command that WORD names, about which `tell` gets a sentence.

    Returns the reply; a refusal names the point as typed.
    """
    point = refused.get("point")
    names = [name for name, value in arguments.items() if value == point]
    if refused.get("suggested_action") != "name_a_point" or not isinstance(point, str) or not names:
        return refused
    if point.startswith(BEFORE):
        word = point.removeprefix(BEFORE)
        path = "" if tool in _OF_EVERYTHING else _single(arguments)
        found = _before(client, word, path)
        if found is None:
            where = f" to have written {path}" if path else ""
            message = (
                f"Nothing called {word!r} is known{where}. A program has a name where an agent or `quire run` started "
                "it; else name the time before it."
            )
            return {**refused, "message": message, "suggested_action": "log"}
        tell(f"{render.one_line(point)} is in front of {found.said}.")
        return client.call(tool, {**arguments, **dict.fromkeys(names, found.point)})
    commit = commit_named(point, client.place.root, os.environ)
    if not commit:
        return refused
    meant = COMMIT + commit
    if names == [OF_A_PATH.get(tool)] and arguments.get("path"):
        version = _version(client, str(arguments["path"]), commit, point, tool == "restore")
        if not isinstance(version, str):
            return version
        meant = version
    reply = client.call(tool, {**arguments, **dict.fromkeys(names, meant)})
    if reply.get("point") == meant and (when := _came(commit, client.place.root)):
        meant = when
        reply = client.call(tool, {**arguments, **dict.fromkeys(names, meant)})
    return reply if reply.get("ok") else _as_typed(reply, meant, point)


def _as_typed(refused: Answer, meant: str, typed: str) -> Answer:
    """Return the refusal with the point `meant` in its message replaced by the text that the user `typed`."""
    return {**refused, "message": str(refused.get("message", "")).replace(repr(meant), repr(typed))}


class _Moment(NamedTuple):
    point: str
    said: str  # the event at the point, its writer and time


def _single(arguments: Mapping[str, Any]) -> str:
    named = [*filter(None, (arguments.get("path"), *(arguments.get("paths") or ())))]
    return str(named[0]) if len(named) == 1 and named[0] != "." else ""


def _before(client: Client, word: str, path: str) -> _Moment | None:
    cursor = dict[str, Any]()
    named = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    wanted = {"path": path} if path else {}
    for _ in range(MOST_PAGES):
        page = client.call("stories", {"all": True, "limit": 200, **wanted, **cursor})
        for story in page.get("stories") or ():
            for call in reversed(story.get("calls") or ()):
                said = str(call.get("command") or call.get("label") or "")
                if (call.get("writes") or not path) and named.search(f"{said} {call.get('label', '')}"):
                    began = call["burst"] if "burst" in call else call["batch"] - 1
                    seq = _before_first_write(client, call.get("burst"), path, began)
                    return _Moment(f"seq:{seq}", _told(said, story, call.get("at", "")))
            program, commands = story.get("program") or {}, story.get("commands") or ()
            commands = [*map(render.git_command, commands)] if story.get("form") == "git" else commands
            texts = (*program.values(), *commands, story.get("prompt") or "", story.get("hint") or "")
            if found := next((text for text in texts if named.search(text)), ""):
                seq = _before_first_write(client, story.get("burst"), path, story["first"] - 1)
                return _Moment(f"seq:{seq}", _told(found, story, story.get("at", "")))
        if not page.get("next"):
            break
        cursor = {"cursor": page["next"]}
    return None


def _before_first_write(client: Client, burst: int | None, path: str, began: int) -> int:
    """Return the seq just before the first version of `path` that a burst made: others may have saved between its
    beginning and that. Without a burst or a path return `began`.
    """
    if burst is None or not path:
        return began
    reply = client.call("log", {"path": path, "burst": burst, "order": "oldest", "limit": 10})
    written = (int(record["seq"]) for record in reply.get("records") or () if record.get("version"))
    return next(written, began + 1) - 1


def _told(said: str, story: Mapping[str, Any], at: str) -> str:
    agent = (story.get("writer") or {}).get("agent")
    whose = f" of {render.writer(story['writer'])}" if agent else ""
    return f"`{render.one_line(said, 60)}`{whose}, {render.moment(at)}"


def _came(commit: str, folder: Path) -> str:
    said = _git(["rev-parse", "--git-path", "logs/HEAD"], folder, os.environ)
    try:
        rows = (folder / said).read_text("utf-8", "replace").splitlines() if said else []
    except OSError:
        return ""
    found = (_LOGGED.match(row) for row in reversed(rows))
    seconds = next((int(row[2]) for row in found if row is not None and row[1] == commit), None)
    # The log has seconds; writes in that second probably precede the commit.
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.999999Z")


def _version(client: Client, path: str, commit: str, named: str, restoring: bool) -> Answer | str:
    tree = client.call("tree", {"at": COMMIT + commit, "path": path})
    if not tree.get("ok"):
        return tree
    entries = tree.get("entries") or ()
    entry = next((one for one in entries if path in (one.get("path"), one.get("renamed_to"))), None)
    if entry is not None and entry.get("version"):
        return str(entry["version"])
    message = f"{named} has no file {path}."
    if restoring and entry is None and entries:
        message = (
            f"{path} is not one file; of a commit, as {named}, one file at a time is restored. "
            f"`git restore --source={named} -- {path}` brings them all, which Quire records."
        )
    if entry is not None:
        then = entry["path"]
        message = f"The journal never had {then} as it is in {named}; `git show {named}:{then}` prints it."
    return {"ok": False, "error": "not_found", "message": message, "suggested_action": "choose_another_point"}
