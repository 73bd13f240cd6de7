"""Replies to callers, with the warnings that each reply carries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any, Final

from quire_daemon.commit import FailurePolicy, Recorder
from quire_daemon.core import Call, refused_reply
from quire_daemon.engine.lease_queue import LeaseQueue
from quire_daemon.maintenance.gc import Collector
from quire_daemon.server import Server
from quire_daemon.watch import Blind, blind_told, touching
from quire_journal.model import EditRefused, Refusal, capitalised, is_escaped, percent_escaped

WITH_PATHS: Final = frozenset(
    {
        *("files", "records", "record", "entries", "versions", "batch_files", "superseded_by", "diff", "not_captured"),
        *("leases", "conflicts", "waiting", "released", "broken", "writers", "on", "bursts", "contents"),
        *("changes", "changed_since_your_read", "news", "warnings", "stories", "calls", "refused", "collisions"),
        "writing",
    }
)

NAMING: Final = frozenset(
    {"path", "to", "moved_from", "moved_to", "resolved_from", "paths", "names", "folders", "taken_back"}
)

BEHIND: Final = "what other programs wrote lately was still being looked at, and may be missing here"

MOST_TOLD: Final = 10_000
"""Maximum number of (caller, warning) pairs remembered as sent."""

TELLING_THEMSELVES: Final = ("status", "doctor", "verify")
"""Tools whose replies report a salvage and a broken head anyway."""


class Responder:
    def __init__(
        self,
        server: Server,
        recorder: Recorder,
        lease_queue: LeaseQueue,
        collector: Collector,
        failures: FailurePolicy,
        blind: Callable[[], Sequence[Blind]],
        notices: Callable[[Call, dict[str, Any]], Iterator[dict[str, Any]]] = lambda call, body: iter(()),
    ) -> None:
        """`notices` yields warnings about what other checkouts changed in the files of a call."""
        self._server, self._recorder, self._lease_queue = server, recorder, lease_queue
        self._collector, self._failures, self._blind, self._notices = collector, failures, blind, notices
        self.own: dict[bytes, Callable[[dict[str, Any]], None]] = {}  # identity of an internal caller → takes the reply
        self.salvaged = ""  # recent losses; each caller is warned once
        self.broken = ""  # how the journal differs from its last signed head; each caller is warned once
        self._know: set[tuple[bytes, str]] = set()  # (caller, warning) pairs already sent

    @property
    def unread(self) -> Set[bytes]:
        """Connections that have not read all their replies; their next calls wait."""
        return self._server.unread

    def answer(self, call: Call, body: dict[str, Any]) -> None:
        """Send the reply to `call` with its warnings. A reply that cannot be encoded becomes an error."""
        request = call.incoming.request
        assert request is not None
        self._lease_queue.answered(call)
        warnings = [*body.get("warnings", ()), *self._warnings(call, bool(body.get("ok"))), *self._notices(call, body)]
        if warnings:
            body["warnings"] = warnings
        _tell_encoding(body)
        if call.tool.writes:
            body.setdefault("outcome", "applied" if body.get("ok") and not body.get("dry_run") else "not_applied")
            if call.op:
                body.setdefault("op", call.op.hex())
        try:
            if own := self.own.get(call.incoming.identity):
                own(body)
                return
            self._server.reply(call.incoming.identity, request.id, body)
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            # The reply cannot be encoded, or needs more memory than there is: send an error reply instead.
            told = self._failures.told(call.tool.name, error)
            told |= {name: body[name] for name in ("outcome", "op") if name in body}
            self._server.reply(call.incoming.identity, request.id, told)

    def _warnings(self, call: Call, ok: bool) -> Iterator[dict[str, Any]]:
        yield from self._collector.warnings
        if full := self._recorder.takes_nothing():
            yield {"type": "disk_full", "message": f"{capitalised(full)}."}
        if call.behind and ok:
            yield {"type": "not_caught_up", "message": f"{capitalised(BEHIND)}; ask again."}
        if ok and call.tool.of_tree and (blind := touching(self._all_blind(), _asked(call))):
            yield {"type": "coverage", "message": blind_told(blind)}
        for what, message in (("journal_salvaged", self.salvaged), ("head_broken", self.broken)):
            told = call.who.key, what
            if message and call.tool.name not in TELLING_THEMSELVES and told not in self._know:
                if len(self._know) >= MOST_TOLD:
                    self._know.clear()
                self._know.add(told)
                yield {"type": what, "message": message}

    def _all_blind(self) -> Sequence[Blind]:
        read_only = self._failures.read_only
        return [*self._blind(), *([Blind("", f"the journal is read-only ({read_only})")] if read_only else ())]

    def refuse(self, call: Call, refused: Refusal) -> None:
        """Refuse a call that its tool has not decided. The refusal of a writing tool is journaled, except for dry runs
        and expired or malformed calls.
        """
        only_asked = any(getattr(call.params, name, False) for name in ("dry_run", "plan"))
        writer, journaled = call.who.writer, not only_asked and refused.code not in ("expired", "schema_invalid")
        if call.tool.writes and journaled and not self._failures.read_only and self._recorder.takes_refusal(writer):
            path = next(iter(call.tool.paths(call.params)), "")
            self._recorder.introduce(writer)
            self._recorder.note(EditRefused(call.tool.name, path, refused.code, refused.message[:200]), writer)
        self.answer(call, refused_reply(refused, call.params))


def _asked(call: Call) -> list[str]:
    found = [*call.tool.paths(call.params)]
    for name in call.tool.asks:
        said = getattr(call.params, name, "")
        found += said if isinstance(said, list) else [said]
    return [path for path in found if path]


def _tell_encoding(body: dict[str, Any]) -> None:
    """Percent-escape paths that are not UTF-8, also in the message, and mark single paths with `path_encoding`."""
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
