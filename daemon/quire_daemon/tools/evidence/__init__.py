"""Evidence: the writer of an outside write, from what agents announce about their calls. Pure."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools.evidence.accounts import *
    from quire_daemon.tools.evidence.explanation import *
    from quire_daemon.tools.evidence.program_kinds import *
    from quire_daemon.tools.evidence.targets import *
    from quire_daemon.tools.evidence.trace import *
    from quire_daemon.tools.evidence.verdict import *
else:
    __getattr__ = face(
        __name__,
        accounts="CallAccounts",
        explanation="Explanation explain explain_move",
        program_kinds="program_kind",
        targets="Claim NAMED",
        trace="EndedCall by_processes",
        verdict="CallEnd FAILED LATE_NS MOST_LOOKED_AT by_its_command told_afterwards verdicts",
    )
