"""`quire setup AGENT`: put Quire into an agent's configuration."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render
from quire_client.commands import Command, Invocation, Option, Usage, chosen
from quire_client.hooks import AGENTS

if TYPE_CHECKING:
    from quire_client.setup import File, Scope

SDK_MISSING: Final = (
    f"The hooks work now. Quire's own tools need the MCP SDK: run `{sys.executable} -m pip install 'mcp>=2.3,<3'`."
)
"""What `setup` says where the extra `mcp` is not installed."""


def run(call: Invocation) -> int:
    """Show what is to be changed, and change it."""
    return change(call, lambda file: file.put, "set up")


def change(call: Invocation, act: Callable[[File], Callable[[str], str]], done: str) -> int:
    """Change the files of one agent by `act`; `done` says in a word or two what was done to it."""
    from quire_client.setup import agents, write as setup_write
    from quire_journal.model import Refusal

    agent = call.one_argument("AGENT")
    chosen("AGENT", agent, [*AGENTS])
    dry = "dry-run" in call.options
    try:
        here = entry_point()
        files = agents.files(agent, scope(call), here, shared_entry_point(here, call.environ))
        changes = setup_write.planned(files, act)
        if not dry:
            setup_write.write(changes)
    except Refusal as refused:
        return call.answer(refused.reply(), lambda reply: "")
    told = [{"path": str(c.path), "action": c.action, "diff": c.diff()} for c in changes]
    changed = [one for one in told if one["action"] != "unchanged"]
    message = _message(agent, done, len(changed), dry)
    if changed and not dry and done == "set up":
        message = f"{message} Start it anew. {agents.afterwards(agent)}".rstrip() + _journal_missing(call)
    news = {one["path"] for one in changed}
    tied = [os.path.relpath(file.path, call.folder) for file in files if file.tied and str(file.path) in news]
    if tied and done == "set up":
        message = f"{message} {_ties(tied, agent)}"
    if done == "set up" and not dry and find_spec("mcp") is None:
        message = f"{message} {SDK_MISSING}"
    reply = {"ok": True, "message": message, "agent": agent, "dry_run": dry, "files": told}
    return call.answer(reply, lambda reply: _show(reply, call.colours))


def scope(call: Invocation) -> Scope:
    """For the workspace, or with --user for all of them."""
    from quire_client.setup import Scope

    if "user" in call.options and "project" in call.options:
        raise Usage("--user and --project exclude each other.")
    project = None if "user" in call.options else _project(call)
    return Scope(Path.home(), call.environ, project)


def _project(call: Invocation) -> Path:
    """The workspace; where there is none, the current folder, which is what an agent that starts there takes for one.

    Raises WorkspaceRefused.
    """
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
    """The absolute path of this installation's `quire`. An agent has a PATH of its own. Raises Refusal."""
    from quire_journal.model import Refusal

    beside = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), "quire")
    called = os.path.abspath(sys.argv[0])
    for path in (beside, called):
        if os.path.basename(path) == "quire" and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    message = f"There is no command `quire` beside {sys.executable}; install the package, so that agents can call it."
    raise Refusal("not_installed", message, "install_quire")


def shared_entry_point(here: str, environ: Mapping[str, str]) -> str:
    """What a file calls that others check out: plain `quire`, where the PATH leads to this installation; else `here`.

    So does the script of a checkout that this is installed from. A folder that is on the PATH because a virtual
    environment is activated is so in this shell only.
    """
    script = Path(__file__).resolve().parents[4] / "scripts" / "quire"
    own = os.path.join(os.path.realpath(sys.prefix), "") if sys.prefix != sys.base_prefix else None
    for folder in environ.get("PATH", "").split(os.pathsep):
        found = os.path.join(folder, "quire")
        if not os.path.isabs(folder) or (own and os.path.realpath(folder).startswith(own)):
            continue
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return "quire" if os.path.realpath(found) in (os.path.realpath(here), os.fspath(script)) else here
    return here


def _ties(paths: Sequence[str], agent: str) -> str:
    """That files which people check in hold what is only true here, and what to do about it."""
    one = len(paths) == 1
    hold = f"{' and '.join(paths)} {'holds' if one else 'hold'} paths of this machine"
    keep = f"keep {'it' if one else 'them'} out of version control"
    if agent == "codex":
        return f"{hold}: {keep}, or say --user."
    return f"{hold}, for this `quire` is not on the PATH of other shells: {keep}, or link `quire` there and repeat."


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
    arguments="AGENT",
    about="Puts the hooks and the MCP server into the agent's configuration files, and shows what it changes. They\n"
    "call this `quire` by its absolute path, but files that a project shares call plain `quire`, if your PATH leads\n"
    "to this one. Everything else in the files stays as it is, comments too; a file that cannot be read, or that\n"
    f"changes meanwhile, is left alone. Agents: {', '.join(AGENTS)}.\n"
    "From then on each call of the agent's own tools that writes is a burst with the agent's name. Its changes stay\n"
    "`outside`, with the call as a hint: `quire burst list` tells its number, `quire log --burst N` lists one,\n"
    "`quire undo --burst N` takes it back; `--writer AGENT` finds only what came through Quire's own tools.",
    example="quire setup claude-code --dry-run",
    run=run,
    words=tuple(AGENTS),
    options=SCOPE_OPTIONS,
)
