"""`verify`: checks the whole journal in a process of its own, while it is in use. `repair` uses the same check."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from quire_daemon.core import Call
from quire_daemon.core.replies import VerifyReply
from quire_daemon.integrity import CheckAnswer, CheckTask, examine
from quire_daemon.maintenance.service import Service, ServiceHost
from quire_daemon.workers import Cancellation
from quire_journal.model import Refusal, counted

MOST_FINDINGS: Final = 200
"""Most findings in a reply; its message has their number."""


def check(call: Call, host: ServiceHost, task: CheckTask, then: Callable[[CheckAnswer], None]) -> None:
    """Run `task` for a call, then `then` with its result in the loop; `status` shows the `progress`.

    If the journal cannot be read, that is the answer. An ending daemon does not wait.
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

    host.settle()
    host.start_job(work, name, failed)


_PART: Final = re.compile(r"([1-9]\d{0,5})/([1-9]\d{0,5})")


class VerifyParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    read_data: str = "all"  # stored bytes to unpack: "all", "none", or the n-th of t equal parts, "n/t"


def run(call: Call, host: ServiceHost) -> None:
    """Answer `ok` for a sound journal, else `journal_damaged` with the `findings`, each a sentence."""
    read_data, part = _part(call.params.read_data)
    task = CheckTask(str(host.state_dir / "journal"), in_use=True, read_data=read_data, part=part)
    check(call, host, task, lambda examined: host.answer(call, _reply(examined, call.params.read_data)))


def _reply(examined: CheckAnswer, read_data: str) -> dict[str, Any]:
    count = examined.count
    body: dict[str, Any] = {
        "ok": not count,
        "message": "The journal is sound." if not count else f"{counted(count, 'finding')}.",
        "findings": examined.sentences[:MOST_FINDINGS],
        "read_data": read_data,
    }
    return {**body, "error": "journal_damaged", "suggested_action": "run_repair"} if count else body


def _part(asked: str) -> tuple[bool, tuple[int, int]]:
    if asked in ("all", "none"):
        return asked == "all", (1, 1)
    found = _PART.fullmatch(asked)
    if found is None or int(found[1]) > int(found[2]):
        message = f'read_data: must be "all", "none" or "n/t" with n up to t, not {asked[:40]!r}.'
        raise Refusal("schema_invalid", message, argument="read_data")
    return True, (int(found[1]), int(found[2]))


VERIFY: Final = Service("verify", VerifyParams, run, reply=VerifyReply)
