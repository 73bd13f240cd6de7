"""Commands: a module for each command of `quire`, its help text and its shell completion."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.commands import help as help
    from quire_client.commands.all_checkouts import *
    from quire_client.commands.base import *
    from quire_client.commands.commit_work import *
    from quire_client.commands.completed_words import *
    from quire_client.commands.git_points import *
    from quire_client.commands.help import *
    from quire_client.commands.path_hints import *
    from quire_client.commands.table import *
    from quire_client.commands.tool_help import *
else:
    __getattr__ = face(
        __name__,
        all_checkouts="ALL_CHECKOUTS asked headed shown",
        base=(
            "COMMON ClientOptions Command DAMAGED DONE FAULT INTERRUPTED Invocation "
            "MissingArgument NOT_FOUND NO_DAEMON Opener Option REFUSED Surplus TRIAL "
            "UNWRITTEN USAGE Usage VERSION_OPTION chosen either is_number is_of_nobody is_point kind_of open_client "
            "end_of point_of status_of stretch"
        ),
        commit_work="GitCommit git_commit versions_in work_in",
        completed_words="completed",
        git_points=(
            "COMMIT RENAMED commit_named folder_in_repository ignored in_commit not_checked_out staged uncommitted"
        ),
        help="columns",
        path_hints="nearest nowhere",
        table="COMMANDS offered",
        tool_help="of_tool",
    )
