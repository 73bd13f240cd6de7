"""Hooks of Codex: Claude Code's event names, `apply_patch` for edits, and no read events, as Codex reads files by shell
commands.

Lines shown in a refusal therefore count as read. Codex validates answers against a schema without "allow" and "ask".
"""

from __future__ import annotations

from typing import Any, Final

from quire_client.hooks import claude_code, patches
from quire_client.hooks.base import Agent, Intent, Outcome
from quire_client.hooks.fields import Fields, fields, text

PATCHES: Final = ("apply_patch",)


def understand(given: Fields) -> Intent | None:
    if text(given, "tool_name") not in PATCHES:
        intent = claude_code.understand(given)
        return _with_patches(intent) if intent is not None and intent.command else intent
    intent = claude_code.understand({**given, "tool_name": "Bash"})
    if intent is None:
        return None
    patch = text(fields(given, "tool_input"), "command", "patch", "input")
    return patches.of_call(intent._replace(tool="apply_patch", command=""), patch)


def _with_patches(intent: Intent) -> Intent:
    patch, alone = patches.in_shell(intent.command)
    if not patch:
        return intent
    applied = patches.of_call(intent, patch)
    if applied is None:
        return intent
    return applied._replace(tool="apply_patch", command="") if alone else intent._replace(payloads=applied.payloads)


def _answer(intent: Intent, outcome: Outcome) -> dict[str, Any]:
    if intent.event == "PostToolUseFailure":  # Codex has no such event
        return {}
    return claude_code.answer(intent, outcome._replace(ask=False))


AGENT: Final = Agent("codex", understand, _answer, claude_code.greeting, rereads=False)
