"""Reactions to errors of the daemon or its journal, and the replies about them.

After a failed sync, the journal takes no more records in this run (`read_only`). After damage, the next start checks
the journal (`sound` is false).
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Sequence
from typing import Any

from quire_daemon.commit.disk_space import Reserve
from quire_daemon.commit.recorder import Recorder
from quire_daemon.ops import Log
from quire_journal.model import JournalDamaged, Refusal, capitalised, counted, limits
from quire_journal.storage import JournalGone, JournalUnseen, StoreFailure


class FailurePolicy:
    def __init__(self, recorder: Recorder, reserve: Reserve, log: Log, stop: Callable[[], None]) -> None:
        self._recorder, self._reserve, self._log, self._stop = recorder, reserve, log, stop
        self.read_only = ""  # why the journal takes no more records
        self.sound = True  # the next start need not check the journal
        self.unsure = False  # the journal may hold a record that this process does not know

    def require_edits_taken(self) -> None:
        """Raise `Refusal` if the journal is read-only or its disk is full."""
        if self.read_only:
            raise Refusal("journal_damaged", f"The journal takes no more records: {self.read_only}", "run_doctor")
        if self._reserve.given_back:
            raise Refusal(
                "disk_full",
                f"The disk of {self._reserve.folder} is full; its reserve was given back so that the past can be "
                "read and `quire gc` can make room. Edits are taken again when there is space.",
                "free_space",
            )

    def store_failed(self, error: StoreFailure) -> dict[str, Any]:
        """Return the reply for a failed read or commit of the journal. After a lasting failure, the journal is
        read-only.
        """
        self.unsure = self.unsure or error.unsure
        if isinstance(error, JournalGone | JournalUnseen):
            return self._journal_gone(error)
        self._log.fault("store_failed", error)
        if error.disk_full and not error.unsure:
            self._reserve.give_back()
            message = f"The journal's disk is full: {error}. Nothing was written."
            return Refusal("disk_full", message, "free_space").reply()
        if not error.for_good and (limit := limits.reached(error)):
            return limits.refusal(limit, f"The journal could not be used just now ({error})").reply()
        if not error.for_good:
            message = f"The journal could not be used just now: {error}. Nothing was written; try again."
            return Refusal("busy", message, "retry", retry_after_ms=250).reply()
        self.mistrust()
        self.read_only = str(error)
        message = f"The journal could not be synced and is read-only now: {error}"
        told = Refusal("journal_damaged", message, "run_doctor").reply()
        return told | {"outcome": "unknown"} if error.unsure else told

    def _journal_gone(self, error: JournalGone | JournalUnseen) -> dict[str, Any]:
        self.sound, self.read_only = False, str(error)
        self._log.warning("journal_gone", why=self.read_only)
        # The log has probably gone, too; systemd keeps stderr.
        print(f"quired: {self.read_only}; this daemon ends.", file=sys.stderr)
        self._stop()
        if isinstance(error, JournalUnseen):
            message = f"{capitalised(self.read_only)}. This daemon ends; the next one may perform the call."
        elif error.unsure:
            message = (
                f"{capitalised(self.read_only)} while its daemon wrote to it. The files are as they were; where that "
                "journal is put back, its next daemon performs the call."
            )
        else:
            message = (
                f"{capitalised(self.read_only)} while its daemon ran. Nothing was written. The next daemon begins a "
                "new journal."
            )
        told = Refusal("journal_damaged", message, "retry").reply()
        return told | {"outcome": "unknown"} if error.unsure else told

    def mistrust(self) -> None:
        self.sound = False
        self._recorder.journal.store.mistrust()

    def damaged(self, error: JournalDamaged) -> dict[str, Any]:
        """Return the reply for a damaged journal, which the next start checks. Damage to the whole store stops the
        daemon.
        """
        self._log.fault("damaged", error)
        self.mistrust()
        action = "run_verify"
        if error.everywhere:
            self._stop()
            action = "retry"
        return Refusal("journal_damaged", f"{capitalised(str(error))}.", action).reply()

    def told(self, what: str, error: Exception) -> dict[str, Any]:
        """Return the reply for any `error`; log and handle the error by its kind. `what` names the failed tool or
        task.
        """
        if isinstance(error, Refusal):
            return error.reply()
        if isinstance(error, StoreFailure):
            return self.store_failed(error)
        if isinstance(error, JournalDamaged):
            return self.damaged(error)
        if limit := limits.reached(error):
            return self.limited(what, limit, error).reply()
        return self.fault(what, error)

    def limited(self, what: str, limit: limits.Limit, error: Exception) -> Refusal:
        """Return the refusal for a limit of the system, such as threads or memory, and log it."""
        self._log.warning("limit_reached", limit=limit, tool=what, error=str(error) or type(error).__name__)
        return limits.refusal(limit, what)

    def left_open(self, what: str, error: Exception) -> dict[str, Any]:
        """Return the reply for a request whose writes were taken back, if that could not be logged: `unknown`, because
        the next start may write the files.
        """
        told = self.told(what, error) | {"outcome": "unknown"}
        if not isinstance(error, Refusal | StoreFailure | JournalDamaged) and (limit := limits.reached(error)):
            outcome = "Whether it was made is unknown; `op_status` settles it"
            told = limits.refusal(limit, what, outcome).reply() | {"outcome": "unknown"}
        if isinstance(error, StoreFailure) and not isinstance(error, JournalGone | JournalUnseen):
            told["message"] = (
                f"{what}: outcome unknown. The files are unchanged, but the journal could not record that ({error}), "
                "and the next start of the daemon may apply the call. Run `op_status` to find out whether it was "
                "applied, or repeat the call with its `idempotency_key`."
            )
        return told

    def in_part(self, what: str, error: Exception | None, stays: Sequence[str]) -> dict[str, Any]:
        """Return the reply for a failed request whose writes at `stays` could not be taken back. `error`: the reason;
        None if another program changed a file first.
        """
        overtaken = Refusal("busy", f"{what}: another program was faster at one of its files.", "retry")
        told = self.told(what, overtaken if error is None else error)
        more = f" and {counted(len(stays) - 1, 'more file')}" if len(stays) > 1 else ""
        told["message"] = (
            f"{told['message']} The call was undone except in {stays[0]}{more}: another program has that file open, or "
            "the disk fails. `op_status` reports the outcome, and `undo` takes the rest back."
        )
        return told | {"outcome": "unknown"}

    def in_doubt(self, what: str, error: Exception) -> dict[str, Any]:
        """Return the reply for a disk error during a write, and stop the daemon; the next start finds the outcome."""
        told = self.told(what, error) | {"outcome": "unknown"}
        self._log.warning("in_doubt", tool=what, why=str(error))
        told["message"] = (
            f"{what}: outcome unknown. The disk failed during the write ({error}). This daemon ends, and the next one "
            "completes the call or finds out what happened. Run `op_status` to see the outcome."
        )
        self._stop()
        return told

    def fault(self, what: str, error: Exception) -> dict[str, Any]:
        """Log an unexpected error under an id, and return a reply with the id."""
        log_id = secrets.token_hex(4)
        self._log.fault("fault", error, tool=what, log_id=log_id)
        return Refusal(
            "fault",
            f"{what}: something unexpected happened; daemon.log has it under {log_id}.",
            "report",
            log_id=log_id,
        ).reply()
