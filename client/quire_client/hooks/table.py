"""Table of agents with hooks.

A new agent needs a module with `AGENT`, a line here, its files in `setup.agents`, and vectors in
`tests/vectors/hooks/`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from quire_client.hooks.base import Agent

AGENTS: Final[dict[str, str]] = {
    "claude-code": "quire_client.hooks.claude_code",
    "codex": "quire_client.hooks.codex",
    "cursor": "quire_client.hooks.cursor",
    "gemini": "quire_client.hooks.gemini",
    "opencode": "quire_client.hooks.opencode",
}


def agent(name: str) -> Agent:
    """Return the hook translator of the agent with that name. Raises KeyError for an unknown name."""
    found: Agent = import_module(AGENTS[name]).AGENT
    return found
