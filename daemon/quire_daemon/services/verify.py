"""`verify`: the whole journal is checked on a worker thread, against one state of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from quire_daemon.call import Call
from quire_daemon.services.base import Host, NoArguments, Service
from quire_journal.check import check
from quire_journal.log import Damaged

MOST_FINDINGS: Final = 200
"""Findings that a reply lists; its message has their number."""


def run(call: Call, host: Host) -> None:
    """Answer `ok` for a sound journal, else `journal_damaged` with the `findings`, each a sentence."""
    store = host.recorder.journal.store

    def work() -> Callable[[], None]:
        try:
            findings = [str(finding) for finding in check(store)]
        except Damaged as error:
            findings = [str(error)]
        body: dict[str, Any] = {
            "ok": not findings,
            "message": "The journal is sound." if not findings else f"{len(findings)} findings.",
            "findings": findings[:MOST_FINDINGS],
        }
        if findings:
            body["error"] = "journal_damaged"
        return lambda: host.answer(call, body)

    host.settle()
    host.start_job(work)


VERIFY: Final = Service("verify", NoArguments, run)
