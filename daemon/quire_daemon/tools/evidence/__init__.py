"""Evidence for the writer of an outside write, from the calls that agents announce. Pure."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools.evidence.accounts import *
    from quire_daemon.tools.evidence.changes import *
    from quire_daemon.tools.evidence.command_line import *
    from quire_daemon.tools.evidence.explanation import *
    from quire_daemon.tools.evidence.git_calls import *
    from quire_daemon.tools.evidence.program_kinds import *
    from quire_daemon.tools.evidence.program_writes import listing as listing, started_programs as started_programs
    from quire_daemon.tools.evidence.shell_commands import *
    from quire_daemon.tools.evidence.shell_lexer import OPEN as OPEN
    from quire_daemon.tools.evidence.targets import *
    from quire_daemon.tools.evidence.trace import *
    from quire_daemon.tools.evidence.verdict import *
else:
    __getattr__ = face(
        __name__,
        accounts="CallAccounts",
        changes="least_written",
        command_line="claims",
        explanation="Explanation explain explain_move",
        git_calls="GIT_VALUED tree_commands",
        program_kinds="program_kind",
        program_writes="listing started_programs",
        shell_commands="Invocation LISTED OF_NAMES TOP invocations joined",
        shell_lexer="OPEN",
        targets="Claim NAMED",
        trace="EndedCall by_processes",
        verdict="CallEnd FAILED LATE_NS MOST_LOOKED_AT by_its_command told_afterwards verdicts",
    )
