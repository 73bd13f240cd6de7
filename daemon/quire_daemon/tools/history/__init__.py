"""History tools: log, show, diff, blame, why and the tree at a point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools.history.before_journal import and_before_it as and_before_it, before_it as before_it
    from quire_daemon.tools.history.blame import BLAME_TOOL as BLAME_TOOL
    from quire_daemon.tools.history.diff import ENTRIES as ENTRIES
    from quire_daemon.tools.history.filters import (
        ME as ME,
        VERSION_KINDS as VERSION_KINDS,
        as_glob as as_glob,
        glob_matches as glob_matches,
        in_session as in_session,
        is_unclaimed as is_unclaimed,
        known_path as known_path,
        named_burst as named_burst,
        named_paths as named_paths,
        nobody as nobody,
        path_filter as path_filter,
        single_path as single_path,
        writer_filter as writer_filter,
    )
    from quire_daemon.tools.history.log import (
        LOG_TOOL as LOG_TOOL,
        SINCE_TOOL as SINCE_TOOL,
        writer_type as writer_type,
    )
    from quire_daemon.tools.history.show import (
        DIFF_TOOL as DIFF_TOOL,
        SHOW_TOOL as SHOW_TOOL,
        DiffParams as DiffParams,
        decide_diff as decide_diff,
    )
    from quire_daemon.tools.history.stories import STORIES_TOOL as STORIES_TOOL
    from quire_daemon.tools.history.tree import BLOBS_TOOL as BLOBS_TOOL, TREE_TOOL as TREE_TOOL
    from quire_daemon.tools.history.why import WHY_TOOL as WHY_TOOL
else:
    __getattr__ = face(
        __name__,
        before_journal="and_before_it before_it",
        blame="BLAME_TOOL",
        diff="ENTRIES",
        filters=(
            "ME VERSION_KINDS as_glob glob_matches in_session is_unclaimed known_path named_burst "
            "named_paths nobody path_filter single_path writer_filter"
        ),
        log="LOG_TOOL SINCE_TOOL writer_type",
        show="DIFF_TOOL DiffParams SHOW_TOOL decide_diff",
        stories="STORIES_TOOL",
        tree="BLOBS_TOOL TREE_TOOL",
        why="WHY_TOOL",
    )
