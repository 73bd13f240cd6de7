"""Calls of agents' own tools that hooks announced, in memory, used to attribute outside writes to them. The journal's
bursts say which of them are open.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final

from msgspec.structs import replace

from quire_daemon.commit import Recorder
from quire_daemon.core import AnnouncedCall, TracedWriter, WritePart
from quire_daemon.ops import WriteCounters
from quire_daemon.tools.evidence import (
    CallAccounts,
    EndedCall,
    Explanation,
    by_processes,
    claims,
    explain,
    explain_move,
    least_written,
)
from quire_daemon.workspace import Signature
from quire_journal.history import History, is_by_git
from quire_journal.model import (
    EXACT,
    OUTSIDE,
    OVERLAP,
    TRACED,
    BurstEnded,
    Event,
    OutsideDeleted,
    OutsideMoved,
    OutsideWritten,
    disk_path,
)
from quire_journal.views import Version, standing

MOST_CALLS: Final = 256

MOST_CHARACTERS: Final = 64 * 1024 * 1024

RENAMED_NS: Final = 10_000_000_000
"""Longest time from the last write of a file to its rename to its name, in nanoseconds."""

MOST_OVER: Final = 64
"""Maximum number of ended calls remembered; their background processes may still write."""


class AnnouncedCalls:
    def __init__(
        self, recorder: Recorder, writers_of: Callable[[str], Sequence[TracedWriter] | None], counters: WriteCounters
    ) -> None:
        """`writers_of`: the processes that wrote a path (as on disk) since the journal's last look at it; None if
        unknown.
        """
        self._recorder, self._writers_of, self._counters = recorder, writers_of, counters
        self._calls: dict[int, CallAccounts] = {}
        self.told: dict[int, AnnouncedCall] = {}  # the same calls in the form in which they were announced
        self._ended_s: dict[int, float] = {}  # monotonic time of the end of calls in `told`
        self._over: deque[EndedCall] = deque(maxlen=MOST_OVER)
        self._done: set[tuple[int, str]] = set()  # (burst, path) of calls that already explain a write

    def begin(self, call: AnnouncedCall) -> None:
        """Add an announced call; beyond the limits the oldest calls are dropped."""
        self.told[call.burst] = call = replace(call, began_s=self._recorder.clock.mono_s())
        self._calls[call.burst] = CallAccounts.of(call)
        kept = sum(one.size for one in self._calls.values())
        for number in list(self._calls):
            if len(self._calls) <= MOST_CALLS and kept <= MOST_CHARACTERS:
                break
            kept -= self._calls[number].size
            self._forget(number)
        self._follow()

    def noted(self, events: Sequence[Event]) -> None:
        now_s = self._recorder.clock.mono_s()
        ended = [event.burst for event in events if isinstance(event, BurstEnded)]
        self._ended_s.update((number, now_s) for number in ended if number in self.told)
        if ended:
            self._follow()

    def _follow(self) -> None:
        going_on = (call for number, call in self.told.items() if number not in self._ended_s)
        self._counters.follow(call.process for call in going_on if call.process is not None and call.command)

    @property
    def traceable(self) -> bool:
        return any(one.call.process is not None for one in self._calls.values())

    def attribute(
        self, event: Event, head: Version | None, data: bytes | None, signature: Signature | None
    ) -> tuple[WritePart, ...]:
        """Split an outside write into parts by the open calls that explain it; () if none does. `head`: the version
        before the write; `data`: bytes on disk, None if not read.
        """
        if not self._calls or not isinstance(event, OutsideWritten | OutsideDeleted | OutsideMoved):
            return ()
        if data is None and isinstance(event, OutsideWritten):
            return ()
        calls = self._under_way()
        if not calls:
            return ()
        if isinstance(event, OutsideMoved):
            return self._moved(event, data, calls) or self._traced(event.to, calls)
        traced = self._traced(event.path, calls)
        if traced and (traced[0].evidence, traced[0].writer) == (TRACED, OUTSIDE):
            return traced  # all processes that wrote are known and belong to no call, which outweighs announcements
        explained = self._explained(event, head, data, calls)
        if explained.proved:
            return self._proved(event.path, explained)
        if traced and traced[0].evidence == TRACED:
            return traced
        if explained.rivals:
            return (WritePart(None, OUTSIDE, OVERLAP, candidates=explained.rivals),)
        if not traced and len(explained.steps) < 2 and isinstance(event, OutsideWritten):
            traced = self._by_others(event, head, data or b"", calls, signature)
        # The file has text of open calls; only their ends say whether the calls were made.
        return (*(WritePart(step.data) for step in explained.steps[:-1]), *(traced or (WritePart(),)))

    def _by_others(
        self,
        event: OutsideWritten,
        head: Version | None,
        data: bytes,
        calls: Sequence[CallAccounts],
        signature: Signature | None,
    ) -> tuple[WritePart, ...]:
        """Return a part with author unknown, evidence `overlap` and the open commands that name the file as candidates,
        if each of these commands wrote too few bytes at the time to have made the change; else ().
        """
        named = [one.call for one in calls if not one.call.paths and claims(one.call.command, event.path)]
        if not named or signature is None or is_by_git(event.hint):
            return ()
        with self._recorder.history() as history:
            known = standing(head)
            before = b"" if known is None or known.uncaptured else history.bytes_held(known.blob) or b""
        takes = least_written(before, data)
        if takes and all(self._wrote_less(call, takes, signature) for call in named):
            return (WritePart(None, OUTSIDE, OVERLAP, candidates=tuple(call.burst for call in named)),)
        return ()

    def _wrote_less(self, call: AnnouncedCall, takes: int, signature: Signature) -> bool:
        if call.process is None:
            return False
        put_there_ns = signature.ctime_ns - signature.mtime_ns
        at_ns = signature.mtime_ns if 0 < put_there_ns < RENAMED_NS else signature.ctime_ns
        written = self._counters.written_since(call.process, at_ns)
        return written is not None and written < takes

    def _explained(
        self,
        event: OutsideWritten | OutsideDeleted,
        head: Version | None,
        data: bytes | None,
        calls: Sequence[CallAccounts],
    ) -> Explanation:
        path, known = event.path, standing(head)
        offering = [one for one in calls if (one.call.burst, path) not in self._done and one.about(path)]
        if not offering:
            return Explanation()
        with self._recorder.history() as history:
            if is_by_git(event.hint) and isinstance(event, OutsideWritten) and history.holds(event.blob):
                return Explanation()  # git restores earlier bytes
            before = None if known is None or known.uncaptured else history.bytes_held(known.blob)
            if known is not None and before is None:
                return Explanation()
            return explain(path, before, data, offering, partial(_bytes_at, history))

    def _proved(self, path: str, explained: Explanation) -> tuple[WritePart, ...]:
        parts: list[WritePart] = []
        for number, (data, call) in enumerate(explained.steps, 1):
            assert call is not None, "each step of what is proved is a call's"
            self._done.add((call.burst, path))
            made = None if number == len(explained.steps) else data
            parts.append(WritePart(made, call.writer, EXACT, call.burst))
        return tuple(parts)

    def _traced(self, path: str, calls: Sequence[CallAccounts]) -> tuple[WritePart, ...]:
        able = [one.call for one in calls if one.call.process is not None]
        asking = [call for call in able if not call.paths or path in call.paths]
        writers = self._writers_of(disk_path(path)) if asking else None
        part = by_processes(asking, path, writers, self._over)
        if part is None or self._may_be_anothers(part, path):
            return ()
        agents = {call.process for call in able}
        theirs = any((one.pid, one.start) in agents for writer in writers or () for one in writer.line)
        return () if part.evidence == TRACED and part.writer == OUTSIDE and theirs else (part,)

    def _may_be_anothers(self, part: WritePart, path: str) -> bool:
        """Return True if a call of another owner than `part`'s, without a known process (as after a restart), may have
        written the file.
        """
        own = self.told[part.burst].owner if part.burst else b""
        now_ns = self._recorder.clock.now_ns()
        with self._recorder.history() as history:
            under_way = [burst for burst in history.open_bursts() if burst.outside and burst.open_at(now_ns)]
        taking = [burst for burst in under_way if burst.owner != own and (not burst.paths or path in burst.paths)]
        return any(burst.number not in self.told or not self.told[burst.number].process for burst in taking)

    def _moved(self, event: OutsideMoved, data: bytes | None, calls: Sequence[CallAccounts]) -> tuple[WritePart, ...]:
        if not any(one.about(event.to) for one in calls):
            return ()
        with self._recorder.history() as history:
            old = standing(history.file(event.path))
            before = None if old is None or old.uncaptured else history.bytes_held(old.blob)
        found = before if data is None else data
        call = None if before is None or found is None else explain_move(event.path, event.to, before, found, calls)
        return () if call is None else (WritePart(None, call.writer, EXACT, call.burst),)

    def _under_way(self) -> list[CallAccounts]:
        now_ns = self._recorder.clock.now_ns()
        with self._recorder.history() as history:
            open_now = {burst.number for burst in history.open_bursts() if burst.open_at(now_ns)}
        noted = self._recorder.journal.head
        for number in [number for number in self._calls if number not in open_now and number <= noted]:
            if self.told[number].process is not None:
                ended_s = self._ended_s.get(number, self._recorder.clock.mono_s())
                self._over.append(EndedCall(self.told[number], ended_s))
            self._forget(number)
        return [self._calls[number] for number in sorted(self._calls)]

    def _forget(self, number: int) -> None:
        del self._calls[number], self.told[number]
        self._ended_s.pop(number, None)
        self._done = {one for one in self._done if one[0] != number}


def _bytes_at(history: History, path: str) -> Iterator[bytes]:
    newest = next((one for one in islice(history.versions(path, reverse=True), 2) if not one.gone), None)
    held = None if newest is None or newest.uncaptured else history.bytes_held(newest.blob)
    if held is not None:
        yield held
