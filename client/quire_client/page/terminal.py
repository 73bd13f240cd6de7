"""Translates the page's queries into the command lines with the same result."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

_PLAIN: Final = re.compile(r"[A-Za-z0-9_./][\w./ +=,()\[\]&;'!#%-]*")
_LINES: Final = re.compile(r"\d+(-\d+)?", re.ASCII)
_WHOSE: Final = {"writer": "--writer", "agent_session": "--agent-session", "turn": "--turn"}
_STRETCH: Final = {"since": "--since", "until": "--until"}
_PAGE: Final = {"limit": "--limit", "cursor": "--cursor"}

_OPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "stories": {**_WHOSE, **_STRETCH, **_PAGE, "agents": "--agents", "all": "--all"},
    "log": {
        **_WHOSE,
        **_STRETCH,
        **_PAGE,
        "kind": "--kind",
        "burst": "--burst",
        "contains": "--contains",
        "text_changed": "--changed-text",
        "stat": "--stat",
        "order": "--oldest",
    },
    "diff": {**_WHOSE, "cursor": "--cursor", "context": "--unified", "ignore_space": "--ignore-all-space"},
    "blame": {"at": "--at", "writer": "--writer"},
    "why": {"at": "--at"},
    "tree": {"at": "--at"},
    "undo": {
        **_WHOSE,
        "from": "--since",
        "to": "--until",
        "git": "--git",
        "last": "--last",
        "batch": "--batch",
        "burst": "--burst",
        "probable": "--probable",
        "conflicts": "--conflicts",
        "plan": "--plan",
        "token": "--token",
    },
    "review": {"writer": "--writer", "turn": "--turn", "since": "--since", "all": "--all"},
    "restore": {"plan": "--plan", "token": "--token"},
    "rollback": {"writer": "--only", "conflicts": "--conflicts", "plan": "--plan", "token": "--token"},
}
_COMMANDS: Final = {"stories": ("log",), "log": ("log", "--records"), "tree": ("ls",)}


def command_line(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the `quire` command line for a tool call; `quire call` if no command has these arguments."""
    words = _words(tool, arguments)
    if words is None or not all(word.isprintable() for word in words):
        given = json.dumps(arguments, separators=(",", ":"))
        words = ["call", tool, *([given] if arguments else ())]
    return shlex.join(["quire", *words])


def _words(tool: str, arguments: Mapping[str, Any]) -> list[str] | None:
    if tool in ("status", "claims") and not arguments:
        return [tool]
    if tool == "checkpoint":
        return ["checkpoint", "list"] if arguments == {"action": "list"} else None
    if tool == "show":
        return _version(arguments)
    options = _OPTIONS.get("undo" if tool == "redo" else tool)
    if options is None:
        return None
    named = _named(tool, arguments)
    rest = {name: value for name, value in arguments.items() if name not in _POSITIONS.get(tool, ("path",))}
    if named is None or rest.keys() - options.keys() or rest.get("order") == "newest":
        return None
    words = [*_COMMANDS.get(tool, (tool,)), *named]
    for name, value in rest.items():
        if isinstance(value, list) and len(value) != 1:
            return None
        one = value[0] if isinstance(value, list) else value
        if one is False:
            continue
        text = str(one)
        if name == "order" or one is True:
            words.append(options[name])
        elif text.startswith("-") or not text:
            return None
        else:
            words += [options[name], text]
    return words


_POSITIONS: Final[Mapping[str, Sequence[str]]] = {
    "diff": ("from", "to", "paths"),
    "blame": ("path", "start_line", "end_line"),
    "why": ("path", "line"),
    "undo": ("path", "paths", "lines"),
    "redo": ("path", "paths"),
    "restore": ("path", "at"),
    "rollback": ("to", "paths"),
}


def _named(tool: str, arguments: Mapping[str, Any]) -> list[str] | None:
    several = arguments.get("paths") or ()
    if not isinstance(several, list | tuple):
        return None
    paths = [*several, *([arguments["path"]] if "path" in arguments else ())]
    if not all(isinstance(path, str) and _PLAIN.fullmatch(path) and not path[:1].isdigit() for path in paths):
        return None
    match tool:
        case "blame" | "why" if not paths:
            return None
        case "diff" if not arguments.get("from") or any(
            str(arguments.get(end, "")).startswith("-") for end in ("from", "to")
        ):
            return None  # it would be taken for an option
        case "diff":
            return [str(arguments["from"]), *([str(arguments["to"])] if "to" in arguments else ()), *paths]
        case "blame":
            if "start_line" not in arguments:
                return None if "end_line" in arguments else paths
            end = arguments.get("end_line")
            return None if end is None else [f"{paths[0]}:{arguments['start_line']}-{end}"]
        case "why":
            return [f"{paths[0]}:{arguments['line']}"] if "line" in arguments else paths
        case "restore":
            if not paths:
                return []
            return [f"{paths[0]}@{arguments['at']}"] if "at" in arguments else None
        case "undo" if "lines" in arguments:
            is_one = len(paths) == 1 and _LINES.fullmatch(str(arguments["lines"]))
            return [f"{paths[0]}:{arguments['lines']}"] if is_one else None
        case "rollback" if str(arguments.get("to", "")).startswith("-"):
            return None
        case "rollback":
            return [*([str(arguments["to"])] if "to" in arguments else ()), *paths]
        case _:
            return paths


def _version(arguments: Mapping[str, Any]) -> list[str] | None:
    version, path = str(arguments.get("version", "")), str(arguments.get("path", ""))
    if "start_line" in arguments or version.startswith("-"):
        return None
    if "path" not in arguments:
        return ["show", version]
    return ["show", f"{path}@{version}"] if _PLAIN.fullmatch(path) and not path[:1].isdigit() else None
