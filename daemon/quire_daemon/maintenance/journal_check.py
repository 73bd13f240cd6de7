"""Having the whole journal checked by another process, while it is in use: what `verify` and `repair` begin with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from quire_daemon.core import Call
from quire_daemon.integrity import CheckAnswer, CheckTask, examine
from quire_daemon.maintenance.service import ServiceHost
from quire_daemon.workers import Cancellation
from quire_journal.model import Refusal

MOST_FINDINGS: Final = 200
"""Findings that a reply lists; its message has their number."""


def check(call: Call, host: ServiceHost, task: CheckTask, then: Callable[[CheckAnswer], None]) -> None:
    """Have `task` done for a call, and in the loop `then` what comes of it; `progress` of `status` tells how far it is.

    A journal that could not be looked at is the answer. A daemon that is to end does not wait for it.
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
