"""The records of a request of many writes, noted in portions: a commit of a thousand would keep everybody waiting.

Its last record says what it did (`BatchUndone`), so that of a batch that ends without it a start knows that nothing of
it was written (`recovery`).
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
"""Records of one commit at most, which takes about a tenth of a millisecond for each. All portions are about as large:
what ends the batch does not stand alone.
"""

FILES: Final = "files"
"""The part of a reply that is as long as the request has writes."""


class RecordChunks(msgspec.Struct):
    """A decision that was made with provisional numbers, and how much of it is noted."""

    decision: Decision
    numbers: ProvisionalSeqs
    recorder: Recorder
    writer: WriterId
    op: bytes  # the operation id
    kept: Callable[[dict[str, Any]], Event] | None  # the record that keeps the reply, of a call that has a key
    seqs: list[Seq] = msgspec.field(default_factory=list)
    files: list[Any] = msgspec.field(default_factory=list)  # of the reply, with real numbers, as far as they are known

    def note(self) -> None:
        """Note the next portion, for the commit that follows. After the last, `settled` tells the real numbers."""
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
        """Find the real numbers of the next files of the reply; of all of them at once it takes long.

        Were there any? What tells of a record that is still to be noted has to wait for that.
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
        """Is there nothing left to note?"""
        return len(self.seqs) >= len(self.decision.events)

    @property
    def write_seqs(self) -> list[Seq]:
        """The records that are noted of its writes."""
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
