"""Tools: a module for each tool that decides on files or on the history; values in, values out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools import read as read
    from quire_daemon.tools.agent_hooks import NATIVE_TOOL as NATIVE_TOOL
    from quire_daemon.tools.bursts import burst_json as burst_json
    from quire_daemon.tools.checkpoints import blind_then as blind_then
    from quire_daemon.tools.notices import FIELD as FIELD, beside as beside, decided as decided
    from quire_daemon.tools.read import (
        READ_TOOL as READ_TOOL,
        ReadParams as ReadParams,
        file_then as file_then,
        fitting as fitting,
        seen_with as seen_with,
    )
    from quire_daemon.tools.recent_changes import (
        MOST_ENTRIES as MOST_ENTRIES,
        changes_told as changes_told,
        news as news,
        rest as rest,
    )
    from quire_daemon.tools.table import TOOLS as TOOLS
else:
    __getattr__ = face(
        __name__,
        agent_hooks="NATIVE_TOOL",
        bursts="burst_json",
        checkpoints="blind_then",
        notices="FIELD beside decided",
        read="READ_TOOL ReadParams file_then fitting seen_with",
        recent_changes="MOST_ENTRIES changes_told news rest",
        table="TOOLS",
    )
