"""Configuration files of each agent: hooks, and the entry of the MCP server.

Quire's entries are recognised by their command (`quire hook AGENT`, `quire mcp`) with any path. A project's entries go
into files that are not shared by git, if the agent has such files. Shared files name a plain `quire` if PATH leads to
it, else absolute paths.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from quire_client.setup import block, claude_code, jsonc
from quire_client.setup.claude_code import SERVER
from quire_client.setup.errors import MalformedConfig

TIMEOUT_S: Final = 10
"""Maximum number of seconds that an agent waits for a hook; the hook itself stops after 5 s."""

STARTUP_S: Final = 30
"""Maximum number of seconds that Codex waits for the MCP server, which may have to start a daemon; Codex's default is
10 s.
"""


class Scope(NamedTuple):
    """The project folder, or the user's home, for which an agent is set up."""

    home: Path
    environ: Mapping[str, str]
    project: Path | None  # None: for all projects of the user
    version: str = ""  # version that the agent reports; "" if it was not asked


class File(NamedTuple):
    """A configuration file, with functions that add and remove Quire's entries in its text. Both functions raise
    MalformedConfig if the text cannot be parsed or contains an entry of Quire's name that Quire did not write.
    """

    path: Path
    put: Callable[[str | None], str]  # text (None: no file) → text with Quire's entries
    take: Callable[[str], str | None]  # text → text before `put`; None: there was no file
    tied: bool = False  # a file in the project, with entries for this machine alone
    mode: int = 0o644  # mode of a new file, before the umask


PLAIN: Final = "quire"


def files(agent: str, scope: Scope, quire: str, shared: str = "") -> list[File]:
    """Return the configuration files of `agent`. `quire` is the absolute path of the command, `shared` the command in
    files that git shares.
    """
    return list(_AGENTS[agent](scope, quire, quire if scope.project is None else shared or quire))


def afterwards(agent: str, scope: Scope) -> str:
    """Return a sentence with what the user must approve in the agent after setup; "" for nothing."""
    said = _AFTERWARDS.get(agent, ("", ""))
    return " ".join(part for part in (said[0] if scope.project is not None else "", said[1]) if part)


_AFTERWARDS: Final = {
    "claude-code": (
        "Claude Code asks, when it starts here, whether you trust the folder, and whether the server of .mcp.json may "
        "run: both need a yes.",
        "",
    ),
    "codex": (
        "Codex reads the files of a project only where you trust it, which it asks when it starts here.",
        "It runs new hooks only when you have looked at them: type /hooks there, once.",
    ),
    "cursor": ("", "Cursor shows the hooks and the server in its settings, where each can be switched off."),
    "gemini": (
        "Gemini CLI reads the settings of a project only in a folder that you trust, which it asks when it starts "
        "here, or at /permissions.",
        "",
    ),
}

# ── what is set up ──


class WayIn(NamedTuple):
    kind: str  # "hook" or "mcp"
    command: tuple[str, ...]
    path: Path  # configuration file with the command


def ways_in(agent: str, scope: Scope) -> list[WayIn]:
    """Return each distinct command of Quire in the files of `agent`. Unreadable files are skipped."""
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
    """Return the unreadable configuration files of `agent`, each with the reason."""
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
        for hook in found.get("hooks") or [found]:
            if "command" in hook:
                yield "hook", tuple(shlex.split(claude_code.unguarded(hook["command"])))
    for name in ("mcpServers", "mcp_servers", "mcp"):
        server = block.at(value, (name, SERVER))
        if _calls_server(server):
            yield "mcp", tuple(_words(server))


# ── JSON files ───────────────────────────────────────────────────────────────


class _Entries(NamedTuple):
    lists: Mapping[tuple[str, ...], Any] = {}  # path of a list → Quire's item in it
    members: Mapping[tuple[str, ...], Any] = {}  # path of a member of Quire's own → its value
    base: Mapping[str, Any] = {}  # initial content of a new file
    needs_base: bool = False  # the agent ignores a file without `base`


def _json_file(path: Path, entries: _Entries, agent: str, tied: bool = False) -> File:
    return File(path, lambda text: _put(text, entries, agent), lambda text: _take(text, entries, agent), tied)


def _put(text: str | None, entries: _Entries, agent: str) -> str:
    if text is not None and text.strip(jsonc.BLANK) and _stands(jsonc.read(text), entries, agent):
        return text
    rest = None if text is None else _take(text, entries, agent)
    if rest is None or not rest.strip(jsonc.BLANK):
        value = jsonc.rendered(_made(entries))
        return f"{value}\n" if rest is None else f"{rest}{value}"
    found = jsonc.read(rest)
    for name, value in entries.base.items() if entries.needs_base else ():
        if name not in found:
            raise MalformedConfig(f'it has no "{name}": add `"{name}": {json.dumps(value)}`, or {agent} passes it over')
    for path, item in entries.lists.items():
        rest = jsonc.prepend(rest, path, item)
    for path, value in entries.members.items():
        if block.at(found, path) is not None:
            raise MalformedConfig(f"{'.'.join(path)} stands there already, and is not from `quire setup`")
        rest = jsonc.put(rest, path, value)
    return rest


def _made(entries: _Entries) -> dict[str, Any]:
    value: dict[str, Any] = dict(entries.base)
    for path, entry in (*((path, [item]) for path, item in entries.lists.items()), *entries.members.items()):
        *above, last = path
        below = value
        for key in above:
            below = below.setdefault(key, {})
        below[last] = entry
    return value


def _take(text: str, entries: _Entries, agent: str) -> str | None:
    body = text.lstrip(jsonc.BLANK)
    if not body:
        return text
    rest = text
    while (path := next(_ours(jsonc.read(rest), entries, agent), None)) is not None:
        rest = jsonc.remove(rest, path)
    value, blanks = jsonc.read(text), text[: len(text) - len(body)]
    whole = [*value.items()][: len(entries.base)] == [*entries.base.items()] and jsonc.read(rest) == entries.base
    if rest == text or not whole or body.removesuffix("\n") != jsonc.rendered(value):
        return rest
    return None if not blanks and body.endswith("\n") else blanks


def _stands(value: Any, entries: _Entries, agent: str) -> bool:
    wanted = len(entries.lists) + len(entries.members)
    return (
        len([*_ours(value, entries, agent)]) == wanted
        and all(item in _list(block.at(value, path)) for path, item in entries.lists.items())
        and all(_has(block.at(value, path), member) for path, member in entries.members.items())
    )


def _has(found: Any, wanted: Mapping[str, Any]) -> bool:
    return isinstance(found, dict) and all(found.get(key) == value for key, value in wanted.items())


def _ours(value: Any, entries: _Entries, agent: str) -> Iterator[tuple[str | int, ...]]:
    for key, found in value.items() if isinstance(value, dict) else ():
        if key == "hooks":
            yield from _our_hooks(found, agent)
        yield from (path for path in entries.members if path[0] == key and _calls_server(block.at(value, path)))


def _our_hooks(hooks: Any, agent: str) -> Iterator[tuple[str | int, ...]]:
    for event, items in hooks.items() if isinstance(hooks, dict) else ():
        for place, item in enumerate(_list(items)):
            if not isinstance(item, dict):
                continue
            below = _list(item.get("hooks"))
            ours = [inner for inner, hook in enumerate(below) if _is_hook(hook, agent)]
            if _is_hook(item, agent) or (ours and len(ours) == len(below)):
                yield ("hooks", event, place)
                continue
            yield from (("hooks", event, place, "hooks", inner) for inner in ours)


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []


def _is_hook(hook: Any, agent: str) -> bool:
    if not isinstance(hook, dict):
        return False
    if agent == "claude-code" and claude_code.is_tool(hook):
        return True
    command = hook.get("command")
    try:
        words = shlex.split(claude_code.unguarded(command)) if isinstance(command, str) else []
    except ValueError:
        return False
    return len(words) == 3 and os.path.basename(words[0]) == "quire" and words[1:] == ["hook", agent]


def _calls_server(server: Any) -> bool:
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
    "claude-code": (),  # names the project in CLAUDE_PROJECT_DIR
    "cursor": ("-C", _CURSORS_PROJECT),  # Cursor fills the placeholder in; it starts servers in the home folder
    "gemini": (),  # starts servers in its own working folder
    "opencode": (),  # starts servers in the project
}


def _mcp_arguments(agent: str, scope: Scope, quire: str) -> list[str]:
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


def _matched(events: Mapping[str, str], *hooks: dict[str, Any]) -> dict[tuple[str, ...], Any]:
    return {
        ("hooks", event): {**({"matcher": matcher} if matcher else {}), "hooks": [*hooks]}
        for event, matcher in events.items()
    }


def _whole(names: str) -> str:
    return f"^({names})$"


def _claude_code(scope: Scope, quire: str, shared: str) -> Iterator[File]:
    writes = "Edit|MultiEdit|Write|NotebookEdit|Bash|PowerShell"
    matchers = {"PreToolUse": writes, "PostToolUse": f"{writes}|Read", "PostToolUseFailure": writes}
    hook = {"type": "command", "command": _command(quire, "claude-code"), "timeout": TIMEOUT_S}
    lists = _matched(dict.fromkeys(("SessionStart", "SessionEnd"), ""), hook)
    for event in claude_code.FIELDS:
        answered = claude_code.hooks(event, quire, "claude-code", TIMEOUT_S)
        by_server = claude_code.calls_tools(scope.version)
        lists |= _matched({event: matchers.get(event, "")}, *(answered if by_server else [hook]))
    folder = Path(scope.environ.get("CLAUDE_CONFIG_DIR") or scope.home / ".claude")
    settings, servers = folder / "settings.json", scope.home / ".claude.json"
    if scope.environ.get("CLAUDE_CONFIG_DIR"):
        servers = folder / ".claude.json"
    if scope.project is not None:
        settings, servers = scope.project / ".claude" / "settings.local.json", scope.project / ".mcp.json"
    yield _json_file(settings, _Entries(lists=lists), "claude-code", scope.project is not None)
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
    table = {
        "command": shared,
        "args": _mcp_arguments("codex", scope, shared),
        "env_vars": [*_PASSED],
        "startup_timeout_sec": STARTUP_S,
    }
    yield _toml_file(folder / "config.toml", table, scope.project is not None)


_PASSED: Final = ("XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "QUIRE_PATH_MAP")


def _toml_file(path: Path, table: Mapping[str, Any], tied: bool) -> File:
    place = ("mcp_servers", SERVER)

    def put(text: str | None) -> str:
        if text is not None and _has(block.at(block.read(text), place), table):
            return text
        return block.put(take(text) if text is not None else None, place, table)

    def take(text: str) -> str | None:
        return block.take(text, place) if _calls_server(block.at(block.read(text), place)) else text

    return File(path, put, take, tied)


def _cursor(scope: Scope, quire: str, shared: str) -> Iterator[File]:
    writes = "Write|Edit|MultiEdit|StrReplace|Delete|Shell"
    hook = {"command": _command(shared, "cursor"), "timeout": TIMEOUT_S}
    matchers = {
        "preToolUse": _whole(writes),
        "postToolUse": _whole(f"{writes}|Read"),
        "postToolUseFailure": _whole(writes),
    }
    lists: dict[tuple[str, ...], Any] = {
        ("hooks", event): {**hook, **({"matcher": matchers[event]} if event in matchers else {})}
        for event in ("sessionStart", "beforeSubmitPrompt", *matchers, "stop", "sessionEnd")
    }
    folder = (scope.project or scope.home) / ".cursor"
    entries = _Entries(lists=lists, base={"version": 1}, needs_base=True)
    yield _json_file(folder / "hooks.json", entries, "cursor", _tied(scope, shared))
    servers = _Entries(members={("mcpServers", SERVER): _server("cursor", scope, shared)})
    yield _json_file(folder / "mcp.json", servers, "cursor", _tied(scope, shared))


def _gemini(scope: Scope, quire: str, shared: str) -> Iterator[File]:
    writes = "write_file|replace|run_shell_command"
    events = {
        **dict.fromkeys(("SessionStart", "BeforeAgent"), ""),
        "BeforeTool": _whole(writes),
        "AfterTool": _whole(f"{writes}|read_file"),
        **dict.fromkeys(("AfterAgent", "SessionEnd"), ""),
    }
    hook = {"type": "command", "name": "quire", "command": _command(shared, "gemini"), "timeout": TIMEOUT_S * 1000}
    server = _server("gemini", scope, shared)
    entries = _Entries(lists=_matched(events, hook), members={("mcpServers", SERVER): server})
    path = (scope.project or scope.home) / ".gemini" / "settings.json"
    yield _json_file(path, entries, "gemini", _tied(scope, shared))


def _opencode(scope: Scope, quire: str, shared: str) -> Iterator[File]:
    config = Path(scope.environ.get("XDG_CONFIG_HOME") or scope.home / ".config") / "opencode"
    folder, top = (config, config) if scope.project is None else (scope.project / ".opencode", scope.project)
    yield _plugin_file(folder / "plugins" / "quire.js", shared, _tied(scope, shared))
    names = ("opencode.jsonc", "opencode.json")
    path = next((top / name for name in names if (top / name).exists()), top / names[-1])
    server = {"type": "local", "command": [shared, *_mcp_arguments("opencode", scope, shared)], "enabled": True}
    schema = {"$schema": "https://opencode.ai/config.json"}  # opencode adds this member to a file without it
    entries = _Entries(members={("mcp", SERVER): server}, base=schema)
    yield _json_file(path, entries, "opencode", _tied(scope, shared))


_MARKED: Final = "// Written by `quire setup opencode`"
_PLUGIN: Final = "opencode_plugin.js"


def _plugin_file(path: Path, quire: str, tied: bool) -> File:

    def put(text: str | None) -> str:
        require_ours(text)
        plugin = Path(__file__).with_name(_PLUGIN).read_text("utf-8")
        return plugin.replace('"quire"', json.dumps(quire), 1)

    def take(text: str) -> None:
        require_ours(text)

    def require_ours(text: str | None) -> None:
        if text is not None and not text.startswith(_MARKED):
            raise MalformedConfig("it is not from `quire setup`")

    return File(path, put, take, tied)


_AGENTS: Final[dict[str, Callable[[Scope, str, str], Iterator[File]]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "cursor": _cursor,
    "gemini": _gemini,
    "opencode": _opencode,
}
