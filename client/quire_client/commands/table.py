"""Commands of `quire` by group, in the order of the help: name and summary.

A new command is a module of that name and a line here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from quire_client.commands.base import Command

GROUPS: Final[dict[str, dict[str, str]]] = {
    "Everyday": {
        "up": "Start the daemon and wait for the first capture",
        "down": "Stop the daemon",
        "status": "Tell how the daemon and the journal are",
        "ui": "Look at what happened on a screen, and take it back",
        "top": "Watch who works now, on what, and where they collide",
        "page": "Show what happened in a browser, and take it back there",
        "read": "Show a file, with anchors if wanted",
        "run": "Run a command whose writes are yours, or an agent's",
        "call": "Call any tool with JSON arguments",
    },
    "History": {
        "log": "Tell what happened, newest first",
        "away": "Tell what happened since you looked last",
        "report": "Print what somebody did, for a pull request",
        "since": "Print what was recorded after a cursor, and the next one",
        "watch": "Print what happens as it happens",
        "show": "Show a version",
        "diff": "Show what changed between two points",
        "blame": "Tell who wrote each line of a file",
        "why": "Tell who made a file or a line what it is",
        "bisect": "Find the change after which a command fails",
        "cat": "Print a file as it was",
        "ls": "List a tree as it was",
        "export-tree": "Write a tree as it was into a new folder",
        "export": "Write the history for other tools",
        "import": "Make a journal of an export",
    },
    "Take back": {
        "undo": "Undo what somebody did and keep what others did",
        "redo": "Bring back what was undone",
        "rollback": "Go back to a checkpoint and keep what others did",
        "restore": "Bring a file back as it was",
        "checkpoint": "Name this moment, to come back to it",
        "burst": "Say which changes belong together",
    },
    "Commit": {
        "review": "Show what nobody has accepted yet; accept or reject it",
        "patch": "Print one writer's changes as a patch, for git's index",
        "check-staged": "Tell whether lines of others are staged",
        "commit-message": "Print trailers that name whose lines are staged",
    },
    "Together": {
        "who": "Tell who is present, and on what",
        "claim": "Say that you work on a file, or keep others away",
        "claims": "List who works where",
        "release": "Give leases up",
        "hub": "Join the checkouts of several machines",
    },
    "Journal care": {
        "verify": "Check the journal",
        "prove": "Print the signed head, or a proof that strangers can check",
        "ship": "Carry the history to where agents cannot rewrite it",
        "gc": "Drop bytes of the past that no rule keeps",
        "purge": "Remove a secret's bytes from the journal",
        "repair": "Put a damaged journal right",
        "doctor": "Check the installation, the workspace and the daemon",
        "list": "List the journals of all your workspaces",
        "forget": "Remove a journal",
        "adopt": "Give a moved folder its journal back",
    },
    "Agents": {
        "setup": "Put Quire into an agent's configuration",
        "unsetup": "Take Quire out of an agent's configuration",
        "hook": "Answer an agent's hook (what its configuration calls)",
        "mcp": "Serve the tools to an agent that speaks MCP",
        "saved": "Note that an editor saved a file (what its plugin calls)",
        "manual": "Print what an agent should know before it edits",
    },
    "Set-up": {
        "service": "Run the daemon as a service from login on",
        "env": "Print what lets git say who runs it, for a shell",
        "completion": "Complete command lines of quire in your shell",
    },
}

COMMANDS: Final = {name: summary for group in GROUPS.values() for name, summary in group.items()}

_ROOMS: Final = {
    name: group.lower().replace(" ", "_").replace("-", "_") for group, names in GROUPS.items() for name in names
}


def offered(name: str) -> Command:
    """Return the command `name`; its module is imported."""
    command: Command = import_module(f"quire_client.commands.{_ROOMS[name]}.{name.replace('-', '_')}").COMMAND
    return command
