"""Commits of a large request's records in chunks, so as not to delay other callers. If a crash prevents the last record
(`BatchUndone`), recovery knows that no file was written.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from quire_daemon.commit.provisional_seqs import ProvisionalSeqs
from quire_daemon.commit.recorder import Recorder
from quire_daemon.core import Decision, Put
from quire_journal.model import Event, Seq, WriterId

PORTION: Final = 48
"""Maximum number of records in one commit (0.1 ms each)."""

FILES: Final = "files"


class RecordChunks(msgspec.Struct):
    """A large decision with provisional sequence numbers, and the real ones of its records so far."""

    decision: Decision
    numbers: ProvisionalSeqs
    recorder: Recorder
    writer: WriterId
    op: bytes  # the operation id
    kept: Callable[[dict[str, Any]], Event] | None  # makes the event that logs the reply of a call with a key
    seqs: list[Seq] = msgspec.field(default_factory=list)
    files: list[Any] = msgspec.field(default_factory=list)  # files of the reply, with real numbers so far

    def note(self) -> None:
        """Add the next chunk of records to the coming commit. After the last, `settled` is the decision with real
        numbers.
        """
        events, blobs = self.decision.events, {id(data): data for data in self.decision.blobs}
        puts = {write.seq - self.numbers.first: write for write in self.decision.writes if isinstance(write, Put)}
        left = len(events) - len(self.seqs)
        size = math.ceil(left / math.ceil(left / PORTION))
        for at in range(len(self.seqs), len(self.seqs) + size):
            self._note(events[at])
            put = puts.get(at)
            if put is not None and id(put.data) in blobs:
                self.recorder.note_blob(put.text or put.data, put.path)
        if self.all_noted and self.kept is not None:
            self._note(self.kept(self.settled.reply))

    def settle_some(self) -> bool:
        """Put real sequence numbers into more files of the reply; return False if no file could be completed."""
        begun = len(self.files)
        try:
            for file in islice(self.decision.reply.get(FILES, ()), begun, begun + PORTION):
                self.files.append(self.numbers.reply(file, self.seqs))
        except IndexError:
            pass
        return len(self.files) > begun

    def _note(self, event: Event) -> None:
        op, batch = (b"", self.seqs[0]) if self.seqs else (self.op, 0)
        self.seqs.append(self.recorder.note(self.numbers.event(event, self.seqs), self.writer, batch, op))

    @property
    def all_noted(self) -> bool:
        return len(self.seqs) >= len(self.decision.events)

    @property
    def write_seqs(self) -> list[Seq]:
        known = (write.seq - self.numbers.first for write in self.decision.writes)
        return [self.seqs[at] for at in known if at < len(self.seqs)]

    @property
    def settled(self) -> Decision:
        numbers, seqs, decision = self.numbers, self.seqs, self.decision
        while self.settle_some():
            pass
        reply = {n: self.files if n == FILES else numbers.reply(part, seqs) for n, part in decision.reply.items()}
        writes = [numbers.write(write, seqs) for write in decision.writes]
        return replace(decision, reply=reply, writes=writes)
