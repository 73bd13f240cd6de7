"""Commands: a module for each command of `quire`, their help and their completion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.commands import help as help
    from quire_client.commands.base import (
        COMMON as COMMON,
        DAMAGED as DAMAGED,
        DONE as DONE,
        FAULT as FAULT,
        INTERRUPTED as INTERRUPTED,
        NO_DAEMON as NO_DAEMON,
        NOT_FOUND as NOT_FOUND,
        REFUSED as REFUSED,
        TRIAL as TRIAL,
        UNWRITTEN as UNWRITTEN,
        USAGE as USAGE,
        VERSION_OPTION as VERSION_OPTION,
        ClientOptions as ClientOptions,
        Command as Command,
        Invocation as Invocation,
        MissingArgument as MissingArgument,
        Opener as Opener,
        Option as Option,
        Surplus as Surplus,
        Usage as Usage,
        chosen as chosen,
        either as either,
        is_number as is_number,
        is_point as is_point,
        kind_of as kind_of,
        open_client as open_client,
        point_of as point_of,
        status_of as status_of,
        stretch as stretch,
    )
    from quire_client.commands.completed_words import completed as completed
    from quire_client.commands.git_points import (
        COMMIT as COMMIT,
        commit_named as commit_named,
        uncommitted as uncommitted,
    )
    from quire_client.commands.help import columns as columns
    from quire_client.commands.path_hints import nearest as nearest, nowhere as nowhere
    from quire_client.commands.table import COMMANDS as COMMANDS, offered as offered
    from quire_client.commands.tool_help import of_tool as of_tool
else:
    __getattr__ = face(
        __name__,
        base=(
            "COMMON ClientOptions Command DAMAGED DONE FAULT INTERRUPTED Invocation "
            "MissingArgument NOT_FOUND NO_DAEMON Opener Option REFUSED Surplus TRIAL "
            "UNWRITTEN USAGE Usage VERSION_OPTION chosen either is_number is_point kind_of open_client "
            "point_of status_of stretch"
        ),
        completed_words="completed",
        git_points="COMMIT commit_named uncommitted",
        help="columns",
        path_hints="nearest nowhere",
        table="COMMANDS offered",
        tool_help="of_tool",
    )
