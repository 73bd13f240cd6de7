"""Commands: a module for each command of `quire`, its help text and its shell completion."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.commands import help as help
    from quire_client.commands.all_checkouts import *
    from quire_client.commands.base import *
    from quire_client.commands.capture_wait import *
    from quire_client.commands.commit_work import *
    from quire_client.commands.completed_words import *
    from quire_client.commands.exit_statuses import *
    from quire_client.commands.git_points import *
    from quire_client.commands.help import *
    from quire_client.commands.options import *
    from quire_client.commands.path_hints import *
    from quire_client.commands.table import *
    from quire_client.commands.tool_help import *
else:
    __getattr__ = face(
        __name__,
        all_checkouts="ALL_CHECKOUTS asked checkouts_of headed read_at_hub shown told_by",
        base="ClientOptions Command Invocation Opener TRIAL is_of_nobody open_client",
        capture_wait="TOLD_S captured",
        commit_work="GitCommit git_commit versions_in work_in",
        completed_words="completed",
        exit_statuses="DAMAGED DONE FAULT INTERRUPTED NOT_FOUND NO_DAEMON REFUSED UNWRITTEN USAGE status_of",
        git_points=(
            "COMMIT RENAMED asked_again commit_named folder_in_repository ignored in_commit lacking not_checked_out "
            "staged uncommitted under_way"
        ),
        help="columns",
        options=(
            "COMMON MissingArgument Option Surplus Usage VERSION_OPTION chosen either end_of is_number is_point "
            "kind_of point_of stretch"
        ),
        path_hints="nearest nowhere",
        table="COMMANDS offered",
        tool_help="of_tool",
    )
