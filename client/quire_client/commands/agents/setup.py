"""`quire setup AGENT`: adds Quire to the configuration files of an agent or of git."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quire_client.cli import git_output, render
from quire_client.commands import ClientOptions, Command, Invocation, Option, Usage, chosen
from quire_client.hooks import AGENTS, TOLD
from quire_client.setup import (
    GIT,
    GIT_HOOKS,
    MalformedConfig,
    config_file,
    git_file,
    git_hook_files,
    hooks_folder,
    set_aside,
)

if TYPE_CHECKING:
    from quire_client.setup import Change, File, Scope

SDK_MISSING: Final = (
    f"The hooks work now. Quire's own tools need the MCP SDK: run `{sys.executable} -m pip install 'mcp>=2.3,<3'`."
)

GIT_S: Final = 5.0

_ASKED: Final = {"claude-code": ("claude", "--version")}

ASKED_S: Final = 10.0

TARGETS: Final = (*AGENTS, GIT, GIT_HOOKS)


def run(call: Invocation) -> int:
    return change(call, puts=True)


def change(call: Invocation, puts: bool) -> int:
    """Add Quire's entries to the files of an agent (`puts`), or remove them; return the exit status. Raises Usage."""
    from quire_client.setup import agents, write as setup_write
    from quire_journal.model import Refusal

    agent, done = call.one_argument("AGENT"), "set up" if puts else "without Quire"
    chosen("AGENT", agent, TARGETS)
    if agent == GIT and "project" not in call.options:
        call.options = {**call.options, "user": ""}
    dry, where = "dry-run" in call.options, scope(call)
    if agent != GIT_HOOKS and "trailers" in call.options:
        raise Usage(f"--trailers is for {GIT_HOOKS}.")
    if puts and agent in _ASKED:
        where = where._replace(version=_said(_ASKED[agent]))
    try:
        here = entry_point()
        shared = shared_entry_point(here, call.environ)
        files = _files(call, agent, where, here, shared, puts)
        changes = setup_write.planned(files, puts)
        if not dry:
            with _announced(call, f"quire {'setup' if puts else 'unsetup'} {agent}", changes, where.project):
                setup_write.write(changes)
            if agent == GIT:
                _make_folder(puts)
    except Refusal as refused:
        return call.answer(refused.reply(), lambda reply: "")
    told = [{"path": str(c.path), "action": c.action, "diff": c.diff()} for c in changes]
    changed = [one for one in told if one["action"] != "unchanged"]
    message = _message(agent, done, len(changed), dry)
    if changed and not dry and puts and agent in AGENTS:
        message = f"{message} Start it anew. {agents.afterwards(agent, where)}".rstrip() + _journal_missing(call)
    news = {one["path"] for one in changed}
    tied = [file.path for file in files if file.tied and str(file.path) in news]
    if puts and where.project is not None and (missing := ignore_lines(where.project, tied)):
        message = f"{message} {_ties(missing, agent, shared)}"
    if puts and not dry and agent in AGENTS and find_spec("mcp") is None:
        message = f"{message} {SDK_MISSING}"
    reply = {"ok": True, "message": message, "agent": agent, "dry_run": dry, "files": told}
    return call.answer(reply, lambda reply: _show(reply, call.colours))


def _files(call: Invocation, agent: str, where: Scope, here: str, shared: str, puts: bool) -> list[File]:
    from quire_client.setup import agents
    from quire_journal.workspaces import trace_folder

    if agent == GIT_HOOKS:
        return _hooks_of_git(call, where, here, shared, puts)
    if agent == GIT:
        if "project" in call.options:
            raise Usage("--project: git reads its trace settings for all of your repositories, or for none.")
        return [git_file(config_file(where.home, call.environ), trace_folder(), TOLD)]
    return agents.files(agent, where, here, shared)


def _make_folder(puts: bool) -> None:
    from quire_journal.workspaces import trace_folder

    folder = trace_folder()
    if puts:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return
    with suppress(OSError):
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()


def _hooks_of_git(call: Invocation, where: Scope, quire: str, shared: str, puts: bool) -> list[File]:
    from quire_journal.model import Refusal

    if where.project is None:
        raise Usage(f"--user: {GIT_HOOKS} are those of one repository.")
    root, environ = where.project, call.environ
    path = git_output(["rev-parse", "--git-path", "hooks"], root, environ).strip()
    if not path:
        raise Refusal("not_found", f"{root} is in no repository of git.", "check_path", path=str(root))
    own = git_output(["config", "--local", "--get", "core.hooksPath"], root, environ).strip()
    every = git_output(["config", "--get", "core.hooksPath"], root, environ).strip()
    try:
        folder = hooks_folder(path, root, bool(every) and not own)
    except MalformedConfig as error:
        message = f"{path} is left as it is: {error}."
        raise Refusal("config_unusable", message, "repair_file", path=path) from None
    tied = bool(own) and not os.path.isabs(own)  # a hooks folder in the tree is shared with other users
    files = [*git_hook_files(folder, shared if tied else quire, not puts or "trailers" in call.options, tied)]
    return files if puts else [*files, *set_aside(files)]


ANNOUNCED_S: Final = 5.0


@contextmanager
def _announced(call: Invocation, tool: str, changes: Sequence[Change], project: Path | None) -> Iterator[None]:
    from quire_client.transport import NoDaemon
    from quire_journal.model import SETUP
    from quire_journal.workspaces import WorkspaceRefused

    found = [_payload(one, project) for one in changes] if project is not None else []
    payloads = [one for one in found if one is not None]
    call_id = secrets.token_hex(8)  # id that joins the end of the call to its begin
    told: dict[str, Any] = {"tool": tool, "call": call_id, "paths": [one["path"] for one in payloads]}
    with ExitStack() as stack:
        client = None
        with suppress(NoDaemon, WorkspaceRefused):
            if payloads:
                opened = call.opener(ClientOptions(call.place, SETUP, "", ANNOUNCED_S, start=False))
                client = stack.enter_context(opened)
                client.call("native", {"moment": "before", "payloads": payloads, **told}, tool_call=call_id)
        yield
        with suppress(NoDaemon):
            if client is not None:
                client.call("native", {"moment": "after", **told}, tool_call=call_id)


def _payload(change: Change, project: Path) -> dict[str, str] | None:
    path = os.path.relpath(os.path.realpath(change.path), os.path.realpath(project))
    if change.action == "unchanged" or path.startswith(os.pardir):
        return None
    if change.after is None:
        return {"kind": "removed", "path": path}
    return {"kind": "content", "path": path, "text": change.after.decode()}


def _said(words: Sequence[str]) -> str:
    import subprocess

    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ASKED_S)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def scope(call: Invocation) -> Scope:
    """Return the scope for which an agent is set up: the workspace, or with `--user` all workspaces. Raises Usage if
    both are asked for.
    """
    from quire_client.setup import Scope

    if "user" in call.options and "project" in call.options:
        raise Usage("--user and --project exclude each other.")
    project = None if "user" in call.options else _project(call)
    return Scope(Path.home(), call.environ, project)


def _project(call: Invocation) -> Path:
    from quire_journal.workspaces import WorkspaceRefused

    try:
        return call.place.root
    except WorkspaceRefused:
        here = Path(os.path.realpath(call.folder))
        if "workspace" in call.options or not here.is_dir():
            raise
        if here in (Path(os.path.realpath(Path.home())), Path(here.anchor)):
            raise WorkspaceRefused(f"{here} is not a project: name one with -C PATH, or say --user.") from None
        return here


def entry_point() -> str:
    """Return the absolute path of this installation's `quire`. Raises Refusal if it is missing."""
    from quire_journal.model import Refusal

    beside = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), "quire")
    called = os.path.abspath(sys.argv[0])
    for path in (beside, called):
        if os.path.basename(path) == "quire" and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    message = f"There is no command `quire` beside {sys.executable}; install the package, so that agents can call it."
    raise Refusal("not_installed", message, "install_quire")


def shared_entry_point(here: str, environ: Mapping[str, str]) -> str:
    """Return the command for files that are checked in: `quire` if PATH leads to this installation, else `here`."""
    script = Path(__file__).resolve().parents[4] / "scripts" / "quire"
    own = os.path.join(os.path.realpath(sys.prefix), "") if sys.prefix != sys.base_prefix else None
    for folder in environ.get("PATH", "").split(os.pathsep):
        found = os.path.join(folder, "quire")
        if not os.path.isabs(folder) or (own and os.path.realpath(folder).startswith(own)):
            continue
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return "quire" if os.path.realpath(found) in (os.path.realpath(here), os.fspath(script)) else here
    return here


class IgnoreLines(NamedTuple):
    """The ignore lines that keep setup's files out of git."""

    lines: tuple[str, ...]  # one line per file, for an ignore file
    exclude: str  # this checkout's private ignore file; "" if git cannot be asked
    tracked: tuple[str, ...]  # files already in git, which no ignore line excludes


def ignore_lines(project: Path, paths: Sequence[Path]) -> IgnoreLines | None:
    """Return ignore lines for those `paths` that git does not ignore yet; None if there are none."""
    import subprocess

    def asked(*words: str) -> list[str]:
        git = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", os.fspath(project), *words]
        done = subprocess.run(git, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=GIT_S)
        return done.stdout.splitlines() if done.returncode == 0 else []

    names = [os.path.relpath(path, project) for path in paths]
    try:
        prefix, *exclude = asked("rev-parse", "--show-prefix", "--git-path", "info/exclude") or ["", ""]
        ignored = asked("check-ignore", "--", *names) if names and any(exclude) else []
        tracked = asked("ls-files", "--", *names) if names and any(exclude) else []
    except (OSError, subprocess.TimeoutExpired):
        prefix, exclude, ignored, tracked = "", [""], [], []
    lines = tuple(f"/{prefix}{name}" for name in names if name not in (*ignored, *tracked))
    return IgnoreLines(lines, exclude[0], tuple(tracked)) if lines or tracked else None


def _ties(found: IgnoreLines, agent: str, shared: str) -> str:
    said = ". ".join((*_kept_out(found), *_left_out(found))) + "."
    if agent == "codex":
        return f"{said} `quire setup codex --user` needs no file in the project."
    if shared == "quire":
        return said
    shared_ones = [name for name in (*(line[1:] for line in found.lines), *found.tracked) if ".local." not in name]
    if not shared_ones:
        return said
    return (
        f"{said} To share {' and '.join(shared_ones)} with others instead, let every shell find `quire` (a link in "
        f"/usr/local/bin will do) and run `quire setup {agent}` again: then no path of this machine stands there."
    )


def _kept_out(found: IgnoreLines) -> Iterator[str]:
    names, one = " and ".join(line[1:] for line in found.lines), len(found.lines) == 1
    alone = f"{names} {'is' if one else 'are'} for this machine alone"
    if names and not found.exclude:
        yield f"{alone}: keep {'it' if one else 'them'} out of version control"
    elif names:
        lines = f"the line{'' if one else 's'} {' and '.join(f'`{line}`' for line in found.lines)}"
        yield (
            f"{alone}: git does not ignore {'it' if one else 'them'}, so add {lines} to {found.exclude}, which is "
            "yours, or to .gitignore, which is everybody's"
        )


def _left_out(found: IgnoreLines) -> Iterator[str]:
    if names := " and ".join(found.tracked):
        one = len(found.tracked) == 1
        yield (
            f"What {names} {'holds' if one else 'hold'} now is for this machine alone, and git tracks "
            f"{'it' if one else 'them'}: leave the change out of your commits"
        )


def _message(agent: str, done: str, changed: int, dry: bool) -> str:
    if not changed:
        return f"{agent} is {done} already; nothing has to be changed."
    files = render.counted(changed, "file")
    return f"{files} would be changed." if dry else f"{agent} is {done}: {files} changed."


def _journal_missing(call: Invocation) -> str:
    from quire_journal.workspaces import WorkspaceRefused

    command = "quire up"
    try:
        if "user" in call.options or call.place.identity_file.exists():
            return ""
    except WorkspaceRefused:
        command = "quire up ."
    return f" There is no journal here yet, and hooks make none: `{command}` does."


def _show(reply: Mapping[str, Any], colours: render.Palette) -> str:
    files: Sequence[Mapping[str, Any]] = reply["files"]
    lines = [line for one in files for line in render.clean_text(one["diff"]).splitlines()]
    return "\n".join([*map(colours.diff_line, lines), str(reply["message"])])


SCOPE_OPTIONS: Final = (
    Option("project", "", "for this workspace alone (if neither is said)"),
    Option("user", "", "for all projects of the user; folders without a journal are left alone"),
    Option("dry-run", "", "only show what would be changed"),
)

COMMAND = Command(
    arguments="AGENT|git|git-hooks",
    about="Puts the hooks and the MCP server into the agent's configuration files, and shows what it changes. They\n"
    "call this `quire` by its absolute path, but files that a project shares call plain `quire`, if your PATH leads\n"
    "to this one even without the virtual environment that is active. Everything else in the files stays as it is,\n"
    "comments too; a file that cannot be read, or that changes meanwhile, is left alone.\n"
    f"Agents: {', '.join(AGENTS)}.\n"
    "From then on each call of the agent's own tools is told before and after it runs. What its bytes or the kernel\n"
    "prove is the agent's, what is only probable has a ~ in front; `quire log --writer AGENT` lists both, and\n"
    "`quire undo --writer AGENT` takes back what is proved.\n"
    "`quire setup git-hooks` puts `quire check-staged` into this repository's pre-commit hook: a commit from an\n"
    "agent's shell fails if lines of others are staged, and a person's never does. `quire setup git` has every git of\n"
    "yours leave its trace for the daemons (trace2, in your git configuration), so that `quire why --git` tells more.",
    example="quire setup claude-code --dry-run",
    run=run,
    words=TARGETS,
    options=(*SCOPE_OPTIONS, Option("trailers", "", "git-hooks: name agents in commit messages, too")),
)
