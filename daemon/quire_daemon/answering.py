"""What goes out: the reply of each call, and what a fault of the daemon or of its journal is told as.

Refusals are values with a stable code. A fault is logged under an id, which the reply names. A journal that could not
be synced takes no more records for the rest of this run (`read_only`); one that is not what it was is checked by the
next start (`sound`).
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from quire_daemon.call import Call
from quire_daemon.collecting import Collecting
from quire_daemon.leasing import Leasing
from quire_daemon.logfile import Log
from quire_daemon.recorder import Recorder
from quire_daemon.reserve import Reserve
from quire_daemon.server import Server
from quire_journal.events import EditRefused
from quire_journal.ids import is_escaped, percent_escaped
from quire_journal.log import Damaged, JournalGone, StoreFailed
from quire_journal.refusals import Refused
from quire_journal.sentences import capitalised

WITH_PATHS: Final = frozenset(
    {
        *("files", "records", "record", "entries", "versions", "batch_files", "superseded_by", "diff", "not_captured"),
        *("leases", "conflicts", "waiting", "released", "broken", "writers", "on", "bursts", "contents"),
        *("changes", "changed_since_your_read", "news", "warnings"),
    }
)
"""Parts of replies that have paths, or parts that have."""

NAMING: Final = frozenset({"path", "to", "moved_from", "moved_to", "resolved_from", "paths", "names"})
"""Where a reply, and such a part, has one, or a list of them."""

BEHIND: Final = "what other programs wrote lately was still being looked at, and may be missing here"
"""Of a call that could wait no longer for the watcher."""

MOST_TOLD: Final = 10_000
"""Callers that are remembered to have been told of a salvage."""

TELLING_OF_SALVAGE: Final = ("status", "doctor")
"""They tell of it by themselves, for longer."""


class Answering:
    """Answers calls, and keeps what is wrong with the journal."""

    def __init__(
        self,
        server: Server,
        recorder: Recorder,
        leasing: Leasing,
        collecting: Collecting,
        reserve: Reserve,
        log: Log,
        stop: Callable[[], None],
    ) -> None:
        self._server, self._recorder, self._leasing = server, recorder, leasing
        self._collecting, self._reserve, self._log, self._stop = collecting, reserve, log, stop
        self.read_only = ""  # why the journal takes no more records
        self.salvaged = ""  # what was lost lately: each caller is told once
        self._know: set[bytes] = set()  # who has been told, of the last ones
        self.sound = True  # as far as it is known: the next start need not check the journal

    def answer(self, call: Call, body: dict[str, Any]) -> None:
        """Send the reply of `call`, with what every reply tells."""
        request = call.incoming.request
        assert request is not None
        self._leasing.answered(call)
        warnings = [*body.get("warnings", ()), *self._warnings(call, bool(body.get("ok")))]
        if warnings:
            body["warnings"] = warnings
        _tell_encoding(body)
        if call.tool.writes:
            body.setdefault("outcome", "applied" if body.get("ok") and not body.get("dry_run") else "not_applied")
            if call.op:
                body.setdefault("op", call.op.hex())
        try:
            self._server.reply(call.incoming.identity, request.id, body)
        except (
            TypeError,
            ValueError,
            OverflowError,
        ):  # nobody has seen to it that this can be said: the caller hears that, at least
            told: dict[str, Any] = {name: body[name] for name in ("outcome", "op") if name in body}
            self._server.reply(call.incoming.identity, request.id, {**self.fault(call.tool.name), **told})

    def _warnings(self, call: Call, ok: bool) -> Iterator[dict[str, Any]]:
        """What every reply warns of, whatever was asked."""
        yield from self._collecting.warnings
        if full := self._recorder.takes_nothing():
            yield {"type": "disk_full", "message": f"{capitalised(full)}."}
        if call.behind and ok:
            yield {"type": "not_caught_up", "message": f"{capitalised(BEHIND)}; ask again."}
        if self.salvaged and call.tool.name not in TELLING_OF_SALVAGE and call.who.key not in self._know:
            if len(self._know) >= MOST_TOLD:
                self._know.clear()
            self._know.add(call.who.key)
            yield {"type": "journal_salvaged", "message": self.salvaged}

    def refuse(self, call: Call, refused: Refused) -> None:
        """Refused before or after the decision; of writing tools journaled, as handlers do theirs, unless dry."""
        dry = bool(getattr(call.params, "dry_run", False))
        only_asked = dry or bool(getattr(call.params, "plan", False))
        writer, journaled = call.who.writer, not only_asked and refused.code not in ("expired", "schema_invalid")
        if call.tool.writes and journaled and not self.read_only and self._recorder.takes_refusal(writer):
            path = next(iter(call.tool.paths(call.params)), "")
            self._recorder.introduce(writer)
            self._recorder.note(EditRefused(call.tool.name, path, refused.code, refused.message[:200]), writer)
        self.answer(call, refused.reply() | ({"dry_run": True, "valid": False} if dry else {}))

    def store_failed(self, error: StoreFailed) -> dict[str, Any]:
        """The journal could not commit. A full disk passes; anything else makes it read-only, and that is said."""
        if isinstance(error, JournalGone):
            return self._journal_gone(error)
        self._log.fault("store_failed")
        if error.disk_full:
            self._reserve.give_back()
            message = f"The journal's disk is full: {error}. Nothing was written."
            return Refused("disk_full", message, "free_space").reply()
        self.mistrust()
        self.read_only = str(error)
        message = f"The journal could not be synced and is read-only now: {error}"
        return Refused("journal_damaged", message, "run_doctor").reply()

    def _journal_gone(self, error: JournalGone) -> dict[str, Any]:
        """The journal was removed while this daemon had it open, which ends; what is at its path now is another's."""
        self.sound, self.read_only = False, str(error)
        self._log.warning("journal_gone", why=self.read_only)
        # The log has probably gone, too; systemd keeps this.
        print(f"quired: {self.read_only}; this daemon ends.", file=sys.stderr)
        self._stop()
        message = f"{capitalised(self.read_only)} while its daemon ran. Nothing was written."
        return Refused("journal_damaged", f"{message} The next daemon begins a new journal.", "retry").reply()

    def mistrust(self) -> None:
        """The next start is to check the journal, however this daemon ends."""
        self.sound = False
        self._recorder.journal.store.drop_image()

    def damaged(self, error: Damaged) -> dict[str, Any]:
        """Something in the journal is not what it was. The next start checks it; of a damaged store, at once."""
        self._log.fault("damaged")
        self.mistrust()
        action = "run_verify"
        if error.everywhere:
            self._stop()
            action = "retry"
        return Refused("journal_damaged", f"{capitalised(str(error))}.", action).reply()

    def told(self, what: str, error: Exception) -> dict[str, Any]:
        """What a caller is told of the error that `what` ended with, when it is being handled; the daemon goes on.

        What follows from one of the journal follows from it wherever it was met.
        """
        if isinstance(error, Refused):
            return error.reply()
        if isinstance(error, StoreFailed):
            return self.store_failed(error)
        if isinstance(error, Damaged):
            return self.damaged(error)
        return self.fault(what)

    def fault(self, what: str) -> dict[str, Any]:
        """Something that nobody thought of: logged under an id, which the reply names."""
        log_id = secrets.token_hex(4)
        self._log.fault("fault", tool=what, log_id=log_id)
        return Refused(
            "fault",
            f"{what}: something unexpected happened; daemon.log has it under {log_id}.",
            "report",
            log_id=log_id,
        ).reply()


def _tell_encoding(body: dict[str, Any]) -> None:
    """Paths that are not UTF-8 go out percent-escaped, and say so; in the message, too."""
    parts = [body]
    for part in parts:
        if not WITH_PATHS.isdisjoint(part):
            for name in WITH_PATHS.intersection(part):
                below = part[name] if isinstance(part[name], list) else [part[name]]
                parts += below if below and isinstance(below[0], dict) else ()
        for name in NAMING.intersection(part):
            found = part[name]
            if isinstance(found, str) and is_escaped(found):
                part[name], part["path_encoding"] = percent_escaped(found), "percent"
                body["message"] = body.get("message", "").replace(found, percent_escaped(found))
            elif isinstance(found, list) and any(map(is_escaped, found)):
                part[name] = [percent_escaped(path) if is_escaped(path) else path for path in found]
