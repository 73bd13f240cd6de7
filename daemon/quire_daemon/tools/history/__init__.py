"""History tools: `log`, `show`, `diff`, `blame`, `why` and the tree at a point."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools.history.before_journal import *
    from quire_daemon.tools.history.blame import *
    from quire_daemon.tools.history.contributions import CONTRIBUTIONS_TOOL as CONTRIBUTIONS_TOOL
    from quire_daemon.tools.history.diff import (
        DIFF_TOOL as DIFF_TOOL,
        DiffParams as DiffParams,
        decide_diff as decide_diff,
    )
    from quire_daemon.tools.history.difference import *
    from quire_daemon.tools.history.filters import *
    from quire_daemon.tools.history.lanes import LANES_TOOL as LANES_TOOL
    from quire_daemon.tools.history.log import *
    from quire_daemon.tools.history.renames import (
        TreeChange as TreeChange,
        end_of as end_of,
        file_at as file_at,
        made_by as made_by,
        name_then as name_then,
    )
    from quire_daemon.tools.history.short_names import *
    from quire_daemon.tools.history.show import SHOW_TOOL as SHOW_TOOL
    from quire_daemon.tools.history.sides import *
    from quire_daemon.tools.history.stories import STORIES_TOOL as STORIES_TOOL
    from quire_daemon.tools.history.syntax import SYNTAX_TOOL as SYNTAX_TOOL
    from quire_daemon.tools.history.tree import *
    from quire_daemon.tools.history.why import WHY_TOOL as WHY_TOOL
    from quire_daemon.tools.history.writers import *
else:
    __getattr__ = face(
        __name__,
        before_journal="and_before_it before_it",
        blame="BLAME_TOOL",
        contributions="CONTRIBUTIONS_TOOL",
        diff="DIFF_TOOL DiffParams decide_diff",
        difference="ENTRIES known_text same",
        filters=(
            "Filter VERSION_KINDS as_glob glob_matches known_path named_burst named_paths path_filter single_path"
        ),
        lanes="LANES_TOOL",
        log="LOG_TOOL SINCE_TOOL writer_type",
        short_names="require_one_session spelled_out",
        renames="TreeChange end_of file_at made_by name_then",
        sides="ComparedTrees TreeSide side_of",
        show="SHOW_TOOL",
        stories="STORIES_TOOL",
        syntax="SYNTAX_TOOL",
        tree="BLOBS_TOOL TREE_TOOL",
        why="WHY_TOOL",
        writers="ME Ownership Whose is_own is_unclaimed nobody",
    )
