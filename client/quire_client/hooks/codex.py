"""Codex: the names of Claude Code's events, `apply_patch` for edits, and no reads: it reads by shell.

So what a refusal shows counts as read. Answers are checked against a closed schema there; nothing stands in them that
it does not list, and "allow" and "ask" are not answered, which it does not support.
"""

from __future__ import annotations

from typing import Any, Final

from quire_client.hooks import claude_code
from quire_client.hooks.base import Agent, Fields, Intent, fields, text

PATCHES: Final = ("apply_patch",)
_CHANGING: Final = ("*** Update File: ", "*** Move to: ")
_HEADERS: Final = ("*** Add File: ", "*** Delete File: ", *_CHANGING)


def understand(given: Fields) -> Intent | None:
    """What a hook's JSON means."""
    if text(given, "tool_name") not in PATCHES:
        return claude_code.understand(given)
    intent = claude_code.understand({**given, "tool_name": "Bash"})
    if intent is None:
        return None
    told = fields(given, "tool_input")
    paths, replaces = in_patch(text(told, "command", "patch", "input"))
    return intent._replace(tool="apply_patch", paths=paths, replaces=replaces) if paths else None


def in_patch(patch: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(the files that a patch names, the texts that its hunks replace)."""
    paths: list[str] = []
    hunks: list[list[str]] = [[]]
    blank = 0  # lines without even a mark, which are empty ones of the file where others of it follow
    updating = False  # below an update, a line behind a blank is one of the file
    for row in patch.split("\n"):  # a form feed, say, ends none
        line = row.removesuffix("\r")
        said = line if updating else line.strip()
        header = next((header for header in _HEADERS if said.startswith(header)), "")
        if header:
            updating = header in _CHANGING
            paths.append(said[len(header) :].strip())
        if header or line.startswith("@@"):
            hunks.append([])
            blank = 0
        elif not line:
            blank += 1
        elif line[0] in " -":
            hunks[-1] += [*[""] * blank, line[1:]]
            blank = 0
    return tuple(dict.fromkeys(path for path in paths if path)), tuple("\n".join(hunk) for hunk in hunks if hunk)


def _answer(intent: Intent, outcome: Any) -> dict[str, Any]:
    if intent.event == "PostToolUseFailure":  # which it does not have
        return {}
    return claude_code.answer(intent, outcome)


AGENT: Final = Agent("codex", understand, _answer, claude_code.greeting, rereads=False)
