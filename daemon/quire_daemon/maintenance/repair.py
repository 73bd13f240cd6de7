"""The `repair` service: reports a repair plan; with `execute` the daemon also stores a repair request and ends. Its
next start (`integrity.verdict`) checks and repairs the journal.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from quire_daemon.core import Call
from quire_daemon.core.replies import RepairReply
from quire_daemon.integrity import CheckAnswer, CheckTask, ask_for_repair, only_views
from quire_daemon.maintenance.service import Service, ServiceHost
from quire_daemon.maintenance.verify import MOST_FINDINGS, check
from quire_journal.model import counted


class RepairParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    execute: bool = False  # else only the plan


def run(call: Call, host: ServiceHost) -> None:
    """Reply with the `findings` and the `plan`. With `execute`, the daemon then ends, so that its next start
    repairs.
    """
    task = CheckTask(str(host.state_dir / "journal"), in_use=True)
    check(call, host, task, lambda examined: _answer(call, host, examined))


def _answer(call: Call, host: ServiceHost, examined: CheckAnswer) -> None:
    plan = _plan(examined)
    execute = call.params.execute and bool(examined.count)
    body: dict[str, Any] = {
        "ok": True,
        "message": f"{plan} The daemon ends for it, and the next call starts it again." if execute else plan,
        "findings": examined.sentences[:MOST_FINDINGS],
        "plan": plan,
        "executed": execute,
    }
    if execute:
        ask_for_repair(host.state_dir / "journal")
    host.answer(call, body)
    if execute:
        host.stop()


def _plan(examined: CheckAnswer) -> str:
    if not examined.count:
        return "The journal is sound; there is nothing to repair."
    many = counted(examined.count, "finding")
    if only_views(examined):
        return f"{many}, all in views: they are rebuilt from the log, and nothing is lost."
    return (
        f"{many}: the database is set aside, and a new one is made of everything that its hashes prove. Damaged "
        "records leave gaps in the numbers; versions with damaged bytes are marked as lost."
    )


REPAIR: Final = Service("repair", RepairParams, run, reply=RepairReply)
