"""Queue of rejected work: once the turn of the work's writer has ended, `undo` is called for it in the name of the user
who rejected it.

The log holds the queue (`WorkRejected` without a `RejectionEnded`), so it survives a restart of the daemon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from quire_daemon.commit import Recorder
from quire_daemon.core import Call, IncomingRequest, Peer, Present, Who
from quire_daemon.tools.review import is_at_work, open_rejections
from quire_daemon.tools.undo import UNDO_TOOL, UndoParams
from quire_journal.history import History
from quire_journal.model import Caller, RejectionEnded, Request, WorkRejected, WriterId, encode
from quire_journal.views.indexes import of_kind

SOON_NS: Final = 1_000_000_000
"""Minimum wait of a rejection in nanoseconds, so that the user who rejected the work can first undo it directly."""

TRANSIENT: Final = frozenset({"busy", "expired", "lease_held", "out_of_memory", "internal_error"})
"""Codes of refusals after which the undo is tried again."""

RETRY_NS: Final = 10_000_000_000


class Rejections:
    """Rejected work that is not undone yet."""

    ADDRESS: Final = b"rejections"
    """Address for the replies to the queue's own calls; no connection has it."""

    def __init__(
        self, recorder: Recorder, present: Callable[[], Mapping[bytes, Present]], submit: Callable[[Call], None]
    ) -> None:
        """`present` returns the presence of each caller, by the caller's key. `submit` adds a call to the daemon's
        queue of calls.
        """
        self._recorder, self._present, self._submit = recorder, present, submit
        self._head = 0  # the newest record that was looked at
        self._waiting = False  # there may be open rejections
        self._under_way: tuple[int, ...] = ()
        self._ended: set[int] = set()  # ended rejections, whose end may not be in the log yet
        self._not_before_ns = 0

    def tidy(self) -> None:
        """Call `undo` for rejected work whose writer's turn has ended. The main loop calls this about once a second."""
        head = self._recorder.journal.head
        if self._under_way or self._recorder.clock.now_ns() < self._not_before_ns:
            return
        with self._recorder.history() as history:
            if head > self._head:
                after, self._head = self._head, head
                self._waiting = self._waiting or self._any(history, after, head)
            if not self._waiting:
                return
            waiting = {seq: event for seq, event in open_rejections(history).items() if seq not in self._ended}
            self._waiting = bool(waiting)
            ready = [seq for seq, event in waiting.items() if self._is_ready(seq, event, history)]
            if ready:
                self._carry_out(ready, history)

    def answered(self, reply: Mapping[str, Any]) -> None:
        """Handle the reply to an `undo` that this queue called. After a refusal that repeating cannot change, or an
        undo without effect, the rejections end.
        """
        seqs, self._under_way = self._under_way, ()
        if reply.get("ok") and not reply.get("unchanged"):
            return
        code = "" if reply.get("ok") else str(reply.get("error"))
        if code in TRANSIENT:
            self._not_before_ns = self._recorder.clock.now_ns() + RETRY_NS
            return
        self._ended.update(seqs)
        self._recorder.note(RejectionEnded(seqs, code))

    @staticmethod
    def _any(history: History, after: int, upto: int) -> bool:
        return any(seqs for _, seqs in history.with_terms([[of_kind(WorkRejected.kind)]], after, upto))

    def _is_ready(self, seq: int, event: WorkRejected, history: History) -> bool:
        record, now_ns = history.record(seq), self._recorder.clock.now_ns()
        if record is None or now_ns - record.at_ns < SOON_NS:
            return False
        return not any(is_at_work(key, self._present(), history, now_ns) for key in self._writers(event, history))

    @staticmethod
    def _writers(event: WorkRejected, history: History) -> Iterator[bytes]:
        for batch in event.batches:
            record = history.record(batch)
            if record is not None:
                yield history.caller_of(history.author(record))

    def _carry_out(self, seqs: Sequence[int], history: History) -> None:
        """Call one `undo` for the oldest rejection and the others by the same caller for the same file."""
        first, event = history.record(seqs[0]), history.event(seqs[0])
        assert first is not None
        assert isinstance(event, WorkRejected)
        mine = tuple(seq for seq in seqs if self._is_like(seq, first.writer, event.path, history))
        writer, who = WriterId(first.writer), history.writer(first.writer)
        agent, session = (who.agent, who.agent_session) if who is not None else ("", "")
        params = UndoParams(rejected=list(mine))
        request = Request(0, UNDO_TOOL.name, msgspec.Raw(encode({"rejected": mine})), Caller(agent, session))
        incoming = IncomingRequest(self.ADDRESS, Peer(who.uid if who is not None else 0, 0), request)
        caller = Who(writer, history.caller_of(writer), agent, session)
        self._under_way = mine
        give_up_s = self._recorder.clock.mono_s()
        self._submit(Call(incoming, UNDO_TOOL, params, caller, b"", "", give_up_s, 0))

    @staticmethod
    def _is_like(seq: int, writer: int, path: str, history: History) -> bool:
        record, event = history.record(seq), history.event(seq)
        return record is not None and record.writer == writer and getattr(event, "path", "") == path
