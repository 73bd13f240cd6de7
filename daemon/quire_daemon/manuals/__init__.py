"""Manuals: what agents and listings are told of each tool.

A page for each tool: its head, in TOML between `+++`, is a `ToolPage`; behind it is Markdown, which begins with a
heading that says in one line what the tool does. `writing.md` has what all writing tools have in common,
`arguments.toml` what arguments mean in every tool. The texts may hold placeholders (`tools/admin/placeholders.py`).
"""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.manuals.pages import *
else:
    __getattr__ = face(__name__, pages="ToolPage meanings page")
