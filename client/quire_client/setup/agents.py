"""What stands in which file of which agent: the hooks, and the entry of the MCP server.

Entries are known by what they call (`quire hook AGENT`, `quire mcp`), wherever that `quire` lies, so that a new
installation replaces what an old one wrote. A project's entries go into files that are not shared where the agent has
such: the path of the installed `quire` is this machine's. Files that people check in name a plain `quire`, and the
project as the agent itself tells it, where both can be found so; else they hold paths, and `setup` says so.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from quire_client.setup import block, jsonc
from quire_client.setup.errors import MalformedConfig

SERVER: Final = "quire"
"""The name of the MCP server; without a hyphen, which changes what matchers mean."""

TIMEOUT_S: Final = 10
"""How long an agent waits for a hook, which itself gives up after 5 s."""


class Scope(NamedTuple):
    """Where an agent is set up."""

    home: Path
    environ: Mapping[str, str]
    project: Path | None  # None: for all projects of the user


class File(NamedTuple):
    """A file of an agent, and how it is changed. Both functions raise MalformedConfig."""

    path: Path
    put: Callable[[str], str]  # the text (of a file that does not exist, "") with our entries
    take: Callable[[str], str]  # and without them; "" where nothing is left that anybody would miss
    tied: bool = False  # people check it in, and what we put there holds paths of this machine


PLAIN: Final = "quire"
"""The command as it is called where it is on the PATH."""


def files(agent: str, scope: Scope, quire: str, shared: str = "") -> list[File]:
    """The files of `agent`; `quire` is the absolute path of the command, `shared` what files that are shared call."""
    return list(_AGENTS[agent](scope, quire, quire if scope.project is None else shared or quire))


def afterwards(agent: str) -> str:
    """What the person has to do then, beside starting the agent anew."""
    return _AFTERWARDS.get(agent, "")


_AFTERWARDS: Final = {
    "codex": "Codex runs new hooks only when you have looked at them: type /hooks there, once.",
    "gemini": "Gemini CLI asks, when it starts, whether the hooks of a project may run.",
    "cursor": "Cursor shows the hooks and the server in its settings, where each can be switched off.",
}


# ── what is set up ──


class WayIn(NamedTuple):
    """A way in that an agent was given."""

    kind: str  # "hook" or "mcp"
    command: tuple[str, ...]
    path: Path  # of the file that says so


def ways_in(agent: str, scope: Scope) -> list[WayIn]:
    """What the files of `agent` call, each once. Files that cannot be read are passed over; `broken` has those."""
    found: dict[tuple[str, tuple[str, ...]], WayIn] = {}
    for file in files(agent, scope, ""):
        try:
            commands = list(_commands(file.path, agent))
        except (OSError, ValueError):
            continue
        for kind, words in commands:
            command = tuple(os.fspath(scope.project or word) if word == _CURSORS_PROJECT else word for word in words)
            found.setdefault((kind, command), WayIn(kind, command, file.path))
    return list(found.values())


def broken(agent: str, scope: Scope) -> list[tuple[Path, str]]:
    """The files of `agent` that are there and cannot be read, each with why. What they call is not known."""
    found = []
    for file in files(agent, scope, ""):
        try:
            for _ in _commands(file.path, agent):
                pass
        except (FileNotFoundError, NotADirectoryError):
            continue
        except UnicodeDecodeError:
            found.append((file.path, "it is not UTF-8"))
        except OSError as error:
            found.append((file.path, (error.strerror or str(error)).lower()))
        except ValueError as error:
            found.append((file.path, str(error)))
    return found


def _commands(path: Path, agent: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    text = path.read_text("utf-8")
    if path.suffix == ".js":
        named = re.search(r"^const QUIRE = (\".*\")$", text, re.MULTILINE)
        if text.startswith(_MARKED) and named is not None:
            yield "hook", (str(json.loads(named[1])), "hook", agent)
        return
    value = block.read(text) if path.suffix == ".toml" else jsonc.read(text)
    for place in _ours(value, _Entries(), agent):
        found: Any = value
        for key in place:
            found = found[key]
        yield "hook", tuple(shlex.split(found["command"] if "command" in found else found["hooks"][0]["command"]))
    for name in ("mcpServers", "mcp_servers", "mcp"):
        server = block.at(value, (name, SERVER))
        if _calls_server(server):
            yield "mcp", tuple(_words(server))


# ── JSON files ───────────────────────────────────────────────────────────────


class _Entries(NamedTuple):
    """Our entries in a JSON file."""

    lists: Mapping[tuple[str, ...], Any] = {}  # path of a list → our item of it
    members: Mapping[tuple[str, ...], Any] = {}  # path of a member that is ours alone → its value
    defaults: Mapping[tuple[str, ...], Any] = {}  # what must stand there, but is not ours when it stands there already
    leftover: tuple[Any, ...] = ({},)  # values of a whole file that nobody would miss


def _json_file(path: Path, entries: _Entries, agent: str, tied: bool = False) -> File:
    return File(path, lambda text: _put(text, entries, agent), lambda text: _take(text, entries, agent), tied)


def _put(text: str, entries: _Entries, agent: str) -> str:
    text = text if text.strip(jsonc.BLANK) else "{}\n"
    if _stands(jsonc.read(text), entries, agent):
        return text
    text = _without_ours(text, entries, agent)
    for path, value in entries.defaults.items():
        if block.at(jsonc.read(text), path) is None:
            text = jsonc.put(text, path, value)
    for path, item in entries.lists.items():
        text = jsonc.append(text, path, item)
    for path, value in entries.members.items():
        if block.at(jsonc.read(text), path) is not None:
            raise MalformedConfig(f"{'.'.join(path)} stands there already, and is not from `quire setup`")
        text = jsonc.put(text, path, value)
    return text


def _take(text: str, entries: _Entries, agent: str) -> str:
    if not text.strip(jsonc.BLANK):
        return text
    rest = _without_ours(text, entries, agent)
    return "" if rest != text and jsonc.read(rest) in entries.leftover and jsonc.bare(rest) else rest


def _stands(value: Any, entries: _Entries, agent: str) -> bool:
    """Is everything there as it should be, and nothing of ours besides?"""
    ours = list(_ours(value, entries, agent))
    wanted = len(entries.lists) + len(entries.members)
    return (
        len(ours) == wanted
        and all(item in (block.at(value, path) or ()) for path, item in entries.lists.items())
        and all(block.at(value, path) == member for path, member in entries.members.items())
        and all(block.at(value, path) is not None for path in entries.defaults)
    )


def _without_ours(text: str, entries: _Entries, agent: str) -> str:
    while (path := next(_ours(jsonc.read(text), entries, agent), None)) is not None:
        text = jsonc.remove(text, path)
    return text


def _ours(value: Any, entries: _Entries, agent: str) -> Iterator[tuple[str | int, ...]]:
    """Where our entries are: hooks of any event, and the server."""
    hooks = value.get("hooks") if isinstance(value, dict) else None
    for event, items in hooks.items() if isinstance(hooks, dict) else ():
        for place, item in enumerate(items if isinstance(items, list) else ()):
            if not isinstance(item, dict):
                continue
            if _calls_hook(item.get("command"), agent):
                yield ("hooks", event, place)
                continue
            below = item.get("hooks")
            for inner, hook in enumerate(below if isinstance(below, list) else ()):
                if isinstance(hook, dict) and _calls_hook(hook.get("command"), agent):
                    alone = len(below or ()) == 1
                    yield ("hooks", event, place) if alone else ("hooks", event, place, "hooks", inner)
    for path in entries.members:
        if _calls_server(block.at(value, path)):
            yield path


def _calls_hook(command: Any, agent: str) -> bool:
    """Is it `/somewhere/quire hook AGENT`?"""
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    return len(words) == 3 and os.path.basename(words[0]) == "quire" and words[1:] == ["hook", agent]


def _calls_server(server: Any) -> bool:
    """Is it `/somewhere/quire mcp …`, as `{command, args}` or as one list?"""
    if not isinstance(server, dict):
        return False
    words = _words(server)
    return len(words) > 1 and os.path.basename(str(words[0])) == "quire" and words[1] == "mcp"


def _words(server: Mapping[str, Any]) -> list[str]:
    command, arguments = server.get("command"), server.get("args")
    words = [*(command if isinstance(command, list) else [command])]
    return [str(word) for word in [*words, *(arguments if isinstance(arguments, list) else [])]]


# ── the agents ───────────────────────────────────────────────────────────────


def _command(quire: str, agent: str) -> str:
    return shlex.join([quire, "hook", agent])


_CURSORS_PROJECT: Final = "${workspaceFolder}"

_TOLD_PROJECT: Final[Mapping[str, tuple[str, ...]]] = {
    "claude-code": (),  # it says so in the environment: CLAUDE_PROJECT_DIR
    "cursor": ("-C", _CURSORS_PROJECT),  # which it fills in; it starts servers in the home folder
    "gemini": (),  # it starts servers where it was started
    "opencode": (),  # it starts servers in the project
}
"""How a project's server learns which project that is, without a path of this machine. Codex has no way for it: its
app starts servers elsewhere."""


def _mcp_arguments(agent: str, scope: Scope, quire: str) -> list[str]:
    """A project's server serves that project; the user's one where it is started."""
    words = ["mcp", "--agent", agent]
    if scope.project is None:
        return words
    if quire == PLAIN and agent in _TOLD_PROJECT:
        return [*words, *_TOLD_PROJECT[agent]]
    return [*words, "-C", os.fspath(scope.project)]


def _tied(scope: Scope, quire: str) -> bool:
    return scope.project is not None and quire != PLAIN


def _server(agent: str, scope: Scope, quire: str) -> dict[str, Any]:
    return {"command": quire, "args": _mcp_arguments(agent, scope, quire)}


def _matched(events: Mapping[str, str], hook: dict[str, Any]) -> dict[tuple[str, ...], Any]:
    """Event → its item, in the shape that Claude Code, Codex and Gemini CLI share. A matcher "" is left out."""
    return {
        ("hooks", event): {**({"matcher": matcher} if matcher else {}), "hooks": [hook]}
        for event, matcher in events.items()
    }


def _claude_code(scope: Scope, quire: str, shared: str) -> Iterator[File]:
    writes = "Edit|MultiEdit|Write|NotebookEdit|Bash|PowerShell"
    events = {
        **dict.fromkeys(("SessionStart", "UserPromptSubmit"), ""),
        "PreToolUse": writes,
        "PostToolUse": f"{writes}|Read",
        "PostToolUseFailure": writes,
        **dict.fromkeys(("Stop", "SubagentStop", "SessionEnd"), ""),
    }
    hook = {"type": "command", "command": _command(quire, "claude-code"), "timeout": TIMEOUT_S}
    folder = Path(scope.environ.get("CLAUDE_CONFIG_DIR") or scope.home / ".claude")
    settings, servers = folder / "settings.json", scope.home / ".claude.json"
    if scope.environ.get("CLAUDE_CONFIG_DIR"):
        servers = folder / ".claude.json"
    if scope.project is not None:
        settings, servers = scope.project / ".claude" / "settings.local.json", scope.project / ".mcp.json"
    yield _json_file(settings, _Entries(lists=_matched(events, hook)), "claude-code")
    server = {"type": "stdio", **_server("claude-code", scope, shared)}
    entries = _Entries(members={("mcpServers", SERVER): server})
    yield _json_file(servers, entries, "claude-code", _tied(scope, shared))


def _codex(scope: Scope, quire: str, shared: str) -> Iterator[File]:
    tools = "Bash|apply_patch|Edit|Write"
    events = {
        **dict.fromkeys(("SessionStart", "UserPromptSubmit"), ""),
        **dict.fromkeys(("PreToolUse", "PostToolUse"), tools),
        "Stop": "",
    }
    hook = {"type": "command", "command": _command(shared, "codex"), "timeout": TIMEOUT_S}
    folder = Path(scope.environ.get("CODEX_HOME") or scope.home / ".codex")
    folder = folder if scope.project is None else scope.project / ".codex"
    yield _json_file(folder / "hooks.json", _Entries(lists=_matched(events, hook)), "codex", _tied(scope, shared))
    table: dict[str, str | list[str]] = {"command": shared, "args": _mcp_arguments("codex", scope, shared)}
    yield File(
        folder / "config.toml",
        lambda text: block.put(text, ("mcp_servers", SERVER), table),
        block.take,
        scope.project is not None,
    )


def _cursor(scope: Scope, quire: str, shared: str) -> Iterator[File]:
    writes = "Write|Edit|MultiEdit|StrReplace|Delete|Shell"
    hook = {"command": _command(shared, "cursor"), "timeout": TIMEOUT_S}
    matchers = {"preToolUse": writes, "postToolUse": f"{writes}|Read", "postToolUseFailure": writes}
    lists: dict[tuple[str, ...], Any] = {
        ("hooks", event): {**hook, **({"matcher": matchers[event]} if event in matchers else {})}
        for event in ("sessionStart", "beforeSubmitPrompt", *matchers, "stop", "sessionEnd")
    }
    folder = (scope.project or scope.home) / ".cursor"
    entries = _Entries(lists=lists, defaults={("version",): 1}, leftover=({}, {"version": 1}))
    yield _json_file(folder / "hooks.json", entries, "cursor", _tied(scope, shared))
    servers = _Entries(members={("mcpServers", SERVER): _server("cursor", scope, shared)})
    yield _json_file(folder / "mcp.json", servers, "cursor", _tied(scope, shared))


def _gemini(scope: Scope, quire: str, shared: str) -> Iterator[File]:
    writes = "write_file|replace|run_shell_command"
    events = {
        **dict.fromkeys(("SessionStart", "BeforeAgent"), ""),
        "BeforeTool": writes,
        "AfterTool": f"{writes}|read_file",
        **dict.fromkeys(("AfterAgent", "SessionEnd"), ""),
    }
    hook = {"type": "command", "name": "quire", "command": _command(shared, "gemini"), "timeout": TIMEOUT_S * 1000}
    enabled = {"tools": {"enableHooks": True}}  # older versions ask for it
    entries = _Entries(
        lists=_matched(events, hook),
        members={("mcpServers", SERVER): _server("gemini", scope, shared)},
        defaults={("tools", "enableHooks"): True},
        leftover=({}, enabled),
    )
    path = (scope.project or scope.home) / ".gemini" / "settings.json"
    yield _json_file(path, entries, "gemini", _tied(scope, shared))


def _opencode(scope: Scope, quire: str, shared: str) -> Iterator[File]:
    config = Path(scope.environ.get("XDG_CONFIG_HOME") or scope.home / ".config") / "opencode"
    folder, top = (config, config) if scope.project is None else (scope.project / ".opencode", scope.project)
    yield _plugin_file(folder / "plugins" / "quire.js", shared, _tied(scope, shared))
    names = ("opencode.jsonc", "opencode.json")
    path = next((top / name for name in names if (top / name).exists()), top / names[-1])
    server = {"type": "local", "command": [shared, *_mcp_arguments("opencode", scope, shared)], "enabled": True}
    schema = {"$schema": "https://opencode.ai/config.json"}
    entries = _Entries(members={("mcp", SERVER): server}, leftover=({}, schema))
    yield _json_file(path, entries, "opencode", _tied(scope, shared))


MARK: Final = "// Written by `quire setup opencode`; `quire unsetup opencode` removes it.\n"

_MARKED: Final = MARK.partition(";")[0]

_PLUGIN: Final = """\
// Tells Quire's journal what opencode's own tools write, and them what others wrote meanwhile.
import { spawn } from "node:child_process"

const QUIRE = %s

function ask(event) {
  return new Promise((resolve) => {
    const child = spawn(QUIRE, ["hook", "opencode"], { stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), 10000)
    let said = ""
    const done = () => {
      clearTimeout(timer)
      try { resolve(JSON.parse(said)) } catch { resolve({}) }
    }
    child.on("error", done)
    child.stdin.on("error", () => {})
    child.stdout.on("data", (part) => { said += part })
    child.on("close", done)
    child.stdin.end(JSON.stringify(event))
  })
}

export const Quire = async ({ directory }) => ({
  "chat.message": async (input) => {
    await ask({ event: "chat.message", sessionID: input.sessionID, messageID: input.messageID, directory })
  },
  "tool.execute.before": async (input, output) => {
    const { tool, sessionID, callID } = input
    const answer = await ask({ event: "tool.execute.before", tool, sessionID, callID, args: output.args, directory })
    if (answer.decision === "deny") throw new Error(answer.reason)
  },
  "tool.execute.after": async (input, output) => {
    const { tool, sessionID, callID, args } = input
    const answer = await ask({ event: "tool.execute.after", tool, sessionID, callID, args, directory })
    if (answer.context && typeof output.output === "string") output.output += "\\n\\n" + answer.context
  },
  event: async ({ event }) => {
    if (event.type !== "session.idle") return
    await ask({ event: "session.idle", sessionID: event.properties?.sessionID, directory })
  },
})
"""


def _plugin_file(path: Path, quire: str, tied: bool) -> File:
    """A file that is ours as a whole."""

    def require_ours(text: str) -> None:
        if text.strip() and not text.startswith(_MARKED):
            raise MalformedConfig("it is not from `quire setup`")

    def put(text: str) -> str:
        require_ours(text)
        return MARK + _PLUGIN % json.dumps(quire)

    def take(text: str) -> str:
        require_ours(text)
        return ""

    return File(path, put, take, tied)


_AGENTS: Final[dict[str, Callable[[Scope, str, str], Iterator[File]]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "cursor": _cursor,
    "gemini": _gemini,
    "opencode": _opencode,
}
