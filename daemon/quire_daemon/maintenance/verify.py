"""The `verify` service: checks the whole journal in a separate process while the daemon works."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from quire_daemon.core import Call
from quire_daemon.core.replies import VerifyReply
from quire_daemon.integrity import HEADS, SAVED, AuditTask, CheckAnswer, CheckTask, examine
from quire_daemon.maintenance.service import Service, ServiceHost
from quire_daemon.workers import Cancellation
from quire_journal.model import Refusal, counted
from quire_journal.transparency import BadNote, read_head, read_notes, read_vkey

MOST_FINDINGS: Final = 200


def check(
    call: Call, host: ServiceHost, task: CheckTask, then: Callable[[CheckAnswer], None], audit: AuditTask | None = None
) -> None:
    """Run `task`, then `audit`, in a separate process, and call `then` with the findings in the main loop; `status`
    shows the progress. If the journal cannot be read, the caller gets a refusal, and `then` is not called.
    """
    name = call.tool.name

    def look() -> None:
        if host.stopping:
            raise Cancellation

    def told(what: str, done: int, total: int) -> None:
        look()
        host.progress[name] = {"what": what, "done": done, "total": total}

    def work() -> Callable[[], None]:
        examined = examine(task, told, look=look)
        if audit is not None and "failed" not in examined.end and not examined.fate:
            _add(examined, examine(audit, told, look=look))
        return lambda: come(examined)

    def come(examined: CheckAnswer) -> None:
        host.progress.pop(name, None)
        if failed := examined.end.get("failed"):
            host.answer(call, Refusal("busy", f"The journal could not be checked: {failed}.", "retry").reply())
        else:
            then(examined)

    def failed(error: Exception) -> None:
        host.progress.pop(name, None)
        host.answer(call, host.told(name, error))

    host.commit_noted()
    host.start_job(work, name, failed)


def _add(examined: CheckAnswer, audited: CheckAnswer) -> None:
    for sentence, table in audited.findings:
        examined.find(sentence, table)
    examined.end |= audited.end


_PART: Final = re.compile(r"([1-9]\d{0,5})/([1-9]\d{0,5})")


class VerifyParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    read_data: str = "all"  # stored bytes to unpack: "all", "none", or the n-th of t equal parts, "n/t"
    against: str = ""  # signed heads that were saved, as text
    keys: tuple[str, ...] = ()  # verifier keys that must have signed them; empty: those of the journal
    source: str = SAVED  # where `against` was found, as a phrase


def run(call: Call, host: ServiceHost) -> None:
    """Reply with `ok` for an intact journal, else with `journal_damaged` and `findings` as sentences. `heads` has a
    verdict on each signed head, including those in `against`.
    """
    params = call.params
    read_data, part = _part(params.read_data)
    _require_heads(params.against, params.keys)
    task = CheckTask(str(host.state_dir / "journal"), in_use=True, read_data=read_data, part=part)
    heads = params.against or any(host.state_dir.glob("heads*"))
    audit = AuditTask(str(host.state_dir), params.against, params.keys, params.source) if heads else None
    check(call, host, task, lambda examined: host.answer(call, _reply(examined, params)), audit)


def _require_heads(against: str, keys: Sequence[str]) -> None:
    argument = "against"
    try:
        for note in read_notes(against) if against else ():
            read_head(note.text)
        argument = "keys"
        for key in keys:
            read_vkey(key)
    except BadNote as error:
        raise Refusal("schema_invalid", f"{argument}: {error}.", argument=argument) from None


def _reply(examined: CheckAnswer, params: VerifyParams) -> dict[str, Any]:
    count = examined.count
    body: dict[str, Any] = {
        "ok": not count,
        "message": _message(examined, params.source),
        "findings": examined.sentences[:MOST_FINDINGS],
        "read_data": params.read_data,
        "heads": examined.end.get("heads", []),
    }
    if not count:
        return body
    repairs = any(table != HEADS for _, table in examined.findings)
    return {**body, "error": "journal_damaged", "suggested_action": "run_repair" if repairs else "keep_copies"}


def _message(examined: CheckAnswer, source: str) -> str:
    if examined.count:
        return f"{counted(examined.count, 'finding')}."
    told = (head["said"] for head in examined.end.get("heads", ()) if head["source"] == source)
    return " ".join(["The journal is sound.", *told])


def _part(asked: str) -> tuple[bool, tuple[int, int]]:
    if asked in ("all", "none"):
        return asked == "all", (1, 1)
    found = _PART.fullmatch(asked)
    if found is None or int(found[1]) > int(found[2]):
        message = f'read_data: must be "all", "none" or "n/t" with n up to t, not {asked[:40]!r}.'
        raise Refusal("schema_invalid", message, argument="read_data")
    return True, (int(found[1]), int(found[2]))


VERIFY: Final = Service("verify", VerifyParams, run, reply=VerifyReply)
