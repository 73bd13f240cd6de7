"""The MCP server's name, instructions and capabilities, sent in the first answer."""

from __future__ import annotations

from typing import Any, Final

from quire_journal import VERSION

NAME: Final = "quire"
TITLE: Final = "Quire"
ABOUT: Final = "Every version of every file, who wrote it, and nothing lost."

INSTRUCTIONS: Final = """\
Quire keeps every version of every file of this workspace, and who wrote it. Several agents and people edit it at once.

- Read a file with read_file before you edit it. Every edit is checked against what you were shown.
- If somebody changed what it is about since, the edit is refused and nothing is changed. The refusal says who changed \
what, and shows the lines as they are now. Read them, then edit again; or set on_stale to rebase to have your change \
carried over theirs where the two do not touch.
- changed_since_your_read in a reply lists what others did to files that you read. It is their work: keep it.
- undo takes back what you did and keeps what others did since. redo, restore, log, diff and blame work on the history.
- The tool manual has the whole guidance for each editing tool.
"""

INFO: Final[dict[str, Any]] = {"name": NAME, "title": TITLE, "version": VERSION, "description": ABOUT}

CAPABILITIES: Final[dict[str, Any]] = {
    "tools": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": False},
}

KEPT_MS: Final = 60_000
