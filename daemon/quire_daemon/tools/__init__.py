"""Tools that decide on files or history, one module each. They are pure functions of values."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools import read as read
    from quire_daemon.tools.agent_hooks import *
    from quire_daemon.tools.bursts import burst_json as burst_json
    from quire_daemon.tools.checkpoints import blind_then as blind_then
    from quire_daemon.tools.notices import *
    from quire_daemon.tools.overlap import *
    from quire_daemon.tools.preconditions import *
    from quire_daemon.tools.read import (
        READ_TOOL as READ_TOOL,
        ReadParams as ReadParams,
        file_then as file_then,
        fitting as fitting,
        seen_with as seen_with,
    )
    from quire_daemon.tools.recent_changes import *
    from quire_daemon.tools.runs import RUN_TOOL as RUN_TOOL
    from quire_daemon.tools.table import *
else:
    __getattr__ = face(
        __name__,
        agent_hooks="NATIVE_TOOL",
        bursts="burst_json",
        checkpoints="blind_then",
        notices="FIELD beside decided",
        overlap=(
            "CONFLICTING CallerLines MOST_STEPS NONE TOUCHING WHOLE done_by image lines_of relation relations strongest"
        ),
        preconditions=(
            "captured require_captured require_file require_fits require_free require_lines require_name "
            "require_own_name require_size require_text shown_as who_made"
        ),
        read="READ_TOOL ReadParams file_then fitting seen_with",
        recent_changes="MOST_ENTRIES changes_told news rest",
        runs="RUN_TOOL",
        table="TOOLS",
    )
