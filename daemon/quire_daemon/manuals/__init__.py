"""Manuals: the manual page of each tool, as agents and listings receive it.

A page begins with a head in TOML between `+++` lines, read into `ToolPage`. Markdown follows; its first heading says in
one line what the tool does. `writing.md` holds what all writing tools have in common, `arguments.toml` what each
argument means in every tool. The texts may hold placeholders (`tools/admin/placeholders.py`).
"""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.manuals.pages import *
else:
    __getattr__ = face(__name__, pages="ToolPage meanings page")
