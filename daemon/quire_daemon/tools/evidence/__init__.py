"""Evidence: who made a write of another program, from what agents announce of their calls; pure decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools.evidence.accounts import CallAccounts as CallAccounts
    from quire_daemon.tools.evidence.explanation import (
        Explanation as Explanation,
        explain as explain,
        explain_move as explain_move,
    )
    from quire_daemon.tools.evidence.targets import NAMED as NAMED, Claim as Claim
    from quire_daemon.tools.evidence.trace import EndedCall as EndedCall, by_processes as by_processes
    from quire_daemon.tools.evidence.verdict import (
        FAILED as FAILED,
        CallEnd as CallEnd,
        by_its_command as by_its_command,
        told_afterwards as told_afterwards,
        verdicts as verdicts,
    )
else:
    __getattr__ = face(
        __name__,
        accounts="CallAccounts",
        explanation="Explanation explain explain_move",
        targets="Claim NAMED",
        trace="EndedCall by_processes",
        verdict="CallEnd FAILED by_its_command told_afterwards verdicts",
    )
