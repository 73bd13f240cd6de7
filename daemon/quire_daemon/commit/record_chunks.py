"""Records of a large request, noted in portions, as one commit of a thousand would delay everybody. If the last record
(`BatchUndone`) is missing, recovery knows that nothing was written.
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
"""Maximum number of records of one commit, about 0.1 ms each."""

FILES: Final = "files"


class RecordChunks(msgspec.Struct):
    """A decision with provisional numbers, and how much of it is noted."""

    decision: Decision
    numbers: ProvisionalSeqs
    recorder: Recorder
    writer: WriterId
    op: bytes  # the operation id
    kept: Callable[[dict[str, Any]], Event] | None  # makes the record that keeps the reply of a call with a key
    seqs: list[Seq] = msgspec.field(default_factory=list)
    files: list[Any] = msgspec.field(default_factory=list)  # of the reply, with real numbers so far

    def note(self) -> None:
        """Note the next portion. After the last, `settled` has the real numbers."""
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
        """Set the real numbers of the next files of the reply; True if there were any.

        Files whose records are not noted yet wait.
        """
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
        """True if everything is noted."""
        return len(self.seqs) >= len(self.decision.events)

    @property
    def write_seqs(self) -> list[Seq]:
        """The noted records of its writes."""
        known = (write.seq - self.numbers.first for write in self.decision.writes)
        return [self.seqs[at] for at in known if at < len(self.seqs)]

    @property
    def settled(self) -> Decision:
        """The decision with its real numbers."""
        numbers, seqs, decision = self.numbers, self.seqs, self.decision
        while self.settle_some():
            pass
        reply = {n: self.files if n == FILES else numbers.reply(part, seqs) for n, part in decision.reply.items()}
        writes = [numbers.write(write, seqs) for write in decision.writes]
        return replace(decision, reply=reply, writes=writes)
