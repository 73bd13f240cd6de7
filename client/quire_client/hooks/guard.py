"""The guard: denies an agent's shell command that would discard uncommitted changes of other writers, or bytes that the
journal does not hold.

The daemon's tool `guard` returns the paths that the command line removes or overwrites, git the files at these paths,
and the tool `contributions` their writers. A command that cannot be parsed is allowed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from quire_client.cli import git_output, render
from quire_client.hooks.base import Outcome
from quire_client.hooks.dispatch import Call, writer_told
from quire_journal.model import journal_path, shown_path

MAY_TAKE: Final = re.compile(r"\b(?:git|rm|mv|cp|gmv|gcp|find|fd|fdfind|rsync|shred|trash|unlink)\b")
"""Pattern of programs that can remove or overwrite files; other command lines are not checked."""

MOST_FILES: Final = 200
MOST_TOLD: Final = 8
MOST_ALIASES: Final = 3
MOST_WALKED: Final = 2000

_MADE_ANEW = """\
.cache .coverage .eggs .gradle .hypothesis .mypy_cache .next .nox .nuxt .parcel-cache .pytest_cache .ruff_cache
.tox .turbo .venv __pycache__ bower_components build coverage dist htmlcov node_modules obj out target tmp venv
"""
MADE_ANEW: Final = frozenset(_MADE_ANEW.split())
"""Names of files and folders that a build, a test run or a package manager recreates."""

MADE_ENDINGS: Final = (
    ".class",
    ".egg-info",
    ".log",
    ".map",
    ".o",
    ".orig",
    ".pyc",
    ".pyo",
    ".rej",
    ".swp",
    ".tmp",
    "~",
)
OUTSIDE: Final = "outside"
UNNAMED: Final = "a person or another program"

OWN: Final = ".quire/"
_CACHE_MARK: Final = "CACHEDIR.TAG"


class Stake(NamedTuple):
    """A file that a command would discard, with its writers other than the caller."""

    path: str  # relative to the workspace
    held: bool  # the journal has its bytes
    others: tuple[tuple[str, int | None], ...] = ()  # (who, lines; 0: only renamed; None: not counted)


def judged(command: str, folder: str, root: Path, environ: Mapping[str, str], call: Call) -> Outcome:
    """Return the `Outcome` that allows or denies the shell command in `folder`, for the workspace at `root`."""
    reply = _losses(command, folder, environ, call)
    named: dict[str, list[Stake]] = {}
    for loss in reply.get("losses") or ():
        stakes = _stakes(loss, root, environ, call)
        if stakes:
            named.setdefault(str(loss["command"]), []).extend(stakes)
    if not named:
        return Outcome()
    return Outcome(allow=False, reason=reason(named), ask=reply.get("mode") == "ask")


def _losses(command: str, folder: str, environ: Mapping[str, str], call: Call) -> Mapping[str, Any]:
    aliases: dict[str, str] = {}
    for _ in range(MOST_ALIASES):
        reply = call("guard", {"command": command, "folder": folder, "aliases": aliases})
        unknown = [name for name in reply.get("aliases") or () if name not in aliases]
        if not unknown:
            break
        for name in unknown:
            aliases[name] = git_output(["config", "--get", f"alias.{name}"], Path(folder), environ).strip()
    return reply


# ── which files ──────────────────────────────────────────────────────────────


def _stakes(loss: Mapping[str, Any], root: Path, environ: Mapping[str, str], call: Call) -> list[Stake]:
    folder = Path(loss["folder"].removeprefix(":/") if loss["folder"].startswith(":/") else loss["folder"])
    if loss["folder"].startswith(":/"):
        folder = root / folder
    top = git_output(["rev-parse", "--show-toplevel"], folder, environ).strip()
    scopes = [os.path.join(top or root, path[2:]) if path.startswith(":/") else path for path in loss["paths"]]
    found = _in_git(loss, scopes, top, environ) if top else _on_disk(scopes)
    paths = [
        os.path.relpath(os.path.realpath(os.path.dirname(path)) + "/" + os.path.basename(path), root) for path in found
    ]
    inside = [journal_path(path) for path in dict.fromkeys(paths) if not path.startswith(("../", OWN))]
    commit = git_output(["rev-parse", "--verify", "--quiet", "HEAD"], folder, environ).strip()
    stakes = [*_of_repository(scopes, top, loss)]
    for start in range(0, min(len(inside), 5 * MOST_FILES), MOST_FILES):
        some = inside[start : start + MOST_FILES]
        reply = call("contributions", {"from": f"commit:{commit}" if commit else "nothing", "paths": some})
        stakes += [stake for file in reply.get("files") or () if (stake := _stake(file, root, bool(top))) is not None]
    return stakes


def _in_git(loss: Mapping[str, Any], scopes: Sequence[str], top: str, environ: Mapping[str, str]) -> list[str]:
    untracked = "no" if not (loss["untracked"] or loss["ignored"]) else "all" if loss["new_folders"] else "normal"
    words = ["status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all", f"--untracked-files={untracked}"]
    said = git_output([*words, "--ignored=matching" if loss["ignored"] else "--ignored=no"], Path(top), environ)
    fits = [_scope(scope, loss) for scope in scopes]
    found: list[str] = []
    for row in filter(None, said.split("\0")):
        state = {"??": "untracked", "!!": "ignored"}.get(row[:2], "changed")
        path = os.path.join(top, row[3:])
        takes = loss.get("added", loss["changed"]) if row[0] == "A" else loss[state]
        if not takes or (path.endswith("/") and not loss["new_folders"]):
            continue
        if not scopes or any(fit.match(path.rstrip("/")) for fit in fits):
            found.append(path.rstrip("/"))
        elif path.endswith("/"):  # git lists only the folder if the folder is ignored
            found += [scope for scope in scopes if scope.startswith(path) and os.path.lexists(scope)]
    return found


def _scope(scope: str, loss: Mapping[str, Any]) -> re.Pattern[str]:
    any_name = ".*" if loss["globs_cross"] else r"(?!\.)[^/]*"
    parts = {"**/": "(?:.*/)?", "*": any_name, "?": "[^/]"}
    text = "".join(parts.get(part) or re.escape(part) for part in re.split(r"(\*\*/|\*|\?)", scope.rstrip("/")))
    text = text.replace(rf"[^/]{any_name}", any_name)
    return re.compile(text + ("(?:/.*)?$" if loss["inside"] else "$"), re.DOTALL)


def _on_disk(scopes: Sequence[str]) -> list[str]:
    found: list[str] = []
    for scope in scopes:
        if os.path.isdir(scope) and not os.path.islink(scope):
            files = (os.path.join(where, name) for where, _, names in os.walk(scope) for name in names)
            found += islice(files, MOST_WALKED)
        elif os.path.lexists(scope):
            found.append(scope)
    return found


def _of_repository(scopes: Sequence[str], top: str, loss: Mapping[str, Any]) -> Iterator[Stake]:
    own = os.path.join(top, ".git")
    if not top or not loss["inside"] or loss["globs_cross"]:
        return
    for scope in scopes:
        if not scope.endswith(".lock") and (
            f"{own}/".startswith(f"{scope.rstrip('/')}/") or scope.startswith(f"{own}/")
        ):
            yield Stake(os.path.relpath(max(scope, own, key=len), top), False)


def _stake(file: Mapping[str, Any], root: Path, in_git: bool) -> Stake | None:
    path = shown_path(file)
    if not file["held"]:
        return None if is_made_anew(path, root) else Stake(path, False)
    shares = [share for share in file["writers"] if not share["you"]]
    if not shares or not in_git:
        return None
    return Stake(path, True, tuple((_who(share["writer"]), share["lines"]) for share in shares))


def _who(writer: Mapping[str, Any]) -> str:
    return UNNAMED if writer["id"] == OUTSIDE else writer_told(writer)


def is_made_anew(path: str, root: Path) -> bool:
    """Return True for a file that a build, a test run or a package manager recreates."""
    names = path.rstrip("/").split("/")
    if not MADE_ANEW.isdisjoint(names) or any(name.endswith(MADE_ENDINGS) for name in names):
        return True
    folders = ("/".join(names[:end]) for end in range(1, len(names) + 1))
    return any((root / folder / _CACHE_MARK).is_file() for folder in folders)


# ── in words ─────────────────────────────────────────────────────────────────


def reason(named: Mapping[str, Sequence[Stake]]) -> str:
    """Return the message to the agent: why its command is denied. `named` maps each program to its files."""
    lines: list[str] = []
    for command, stakes in named.items():
        whose = "what is not yours alone" if any(stake.others for stake in stakes) else "what nothing brings back"
        lines.append(f"Quire: `{command}` would take from the tree {whose}:")
        lines += [f"- {render.one_line(stake.path)}: {_told(stake)}" for stake in stakes[:MOST_TOLD]]
        if len(stakes) > MOST_TOLD:
            lines.append(f"- and {render.counted(len(stakes) - MOST_TOLD, 'more file')}")
    every = [stake for stakes in named.values() for stake in stakes]
    lost = any(not stake.held for stake in every)
    told = ""
    if any(stake.held for stake in every):
        back = "What the journal holds can be brought back" if lost else "The journal holds it"
        how = "`quire undo --git last`" if all(name.startswith("git ") for name in named) else "`quire undo --burst N`"
        told = f"{back} ({how}). "
    left = "what is not yours" if any(stake.others for stake in every) else "these"
    lines.append(f"{told}Nothing has run yet: leave out {left}, or let the person decide.")
    return "\n".join(lines)


def _told(stake: Stake) -> str:
    if not stake.held:
        return "the journal does not hold it, so nothing brings it back"
    return "uncommitted, " + ", ".join(_share(who, lines) for who, lines in stake.others)


def _share(who: str, lines: int | None) -> str:
    if lines == 0:
        return f"renamed by {who}"
    return who if lines is None else f"{render.counted(lines, 'line')} of {who}"
