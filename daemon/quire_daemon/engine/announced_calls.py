"""Announced calls: agents' own tools that are under way, so that what they write is known when it is found.

The calls are kept in memory: after a start, what was announced before is told by the end of the call alone. Which calls
are still under way is what the journal says of their bursts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from quire_daemon.commit import Recorder
from quire_daemon.core import AnnouncedCall, TracedWriter, WritePart
from quire_daemon.tools.evidence import by_processes, explain, explain_move
from quire_journal.model import (
    DURING,
    EXACT,
    OUTSIDE,
    Event,
    OutsideDeleted,
    OutsideMoved,
    OutsideWritten,
    disk_path,
)
from quire_journal.views import Version, standing

MOST_CALLS: Final = 256
"""Calls that are kept; the oldest one goes, whose payload is not asked for any more."""


class AnnouncedCalls:
    """The calls that were announced, by the number of their burst."""

    def __init__(self, recorder: Recorder, writers_of: Callable[[str], Sequence[TracedWriter] | None]) -> None:
        """`writers_of`: the processes that wrote a path (as on disk) since it was looked at last; None: unknown."""
        self._recorder, self._writers_of = recorder, writers_of
        self._calls: dict[int, AnnouncedCall] = {}
        self._done: set[tuple[int, str]] = set()  # (burst, path) that a write was explained by

    def begin(self, call: AnnouncedCall) -> None:
        """Keep a call that may go on."""
        self._calls[call.burst] = replace(call, began_s=self._recorder.clock.mono_s())
        while len(self._calls) > MOST_CALLS:
            self._forget(next(iter(self._calls)))

    def attribute(self, event: Event, head: Version | None, data: bytes | None) -> tuple[WritePart, ...]:
        """The parts of an outside write that the calls under way account for; none where they account for nothing.

        `data` are the bytes that were found; None where the file is gone, or its bytes are not at hand.
        """
        if not self._calls or not isinstance(event, OutsideWritten | OutsideDeleted | OutsideMoved):
            return ()
        calls = self._under_way()
        if not calls or (data is None and not isinstance(event, OutsideDeleted)):
            return ()
        known = standing(head)
        with self._recorder.history() as history:
            before = None if known is None or known.uncaptured else history.bytes_held(known.blob)
            if known is not None and before is None:
                return ()
            if isinstance(event, OutsideMoved):
                moved = self._moved(event, data, calls)
                return moved or self._traced(event.to, calls)
        offering = [call for call in calls if (call.burst, event.path) not in self._done]
        parts = self._parts(event.path, before, data, offering)
        if parts and parts[-1].evidence:
            return parts
        return (*parts[:-1], *(self._traced(event.path, calls) or parts[-1:]))

    def _traced(self, path: str, calls: Sequence[AnnouncedCall]) -> tuple[WritePart, ...]:
        """What the processes that wrote the file prove, where the kernel tells of them."""
        asking = [call for call in calls if call.process is not None and (not call.paths or path in call.paths)]
        part = by_processes(asking, path, self._writers_of(disk_path(path))) if asking else None
        return () if part is None else (part,)

    def _parts(
        self, path: str, before: bytes | None, data: bytes | None, calls: list[AnnouncedCall]
    ) -> tuple[WritePart, ...]:
        steps = explain(path, before, data, calls)
        parts: list[WritePart] = []
        for number, step in enumerate(steps, 1):
            made = None if number == len(steps) else step.data
            if step.call is not None:
                self._done.add((step.call.burst, path))
                parts.append(WritePart(made, step.call.writer, EXACT, step.call.burst))
            elif step.layout and parts:
                parts.append(WritePart(made, parts[-1].writer, DURING, parts[-1].burst))
            else:
                parts.append(WritePart(made, OUTSIDE))
        return tuple(parts)

    def _moved(self, event: OutsideMoved, data: bytes | None, calls: list[AnnouncedCall]) -> tuple[WritePart, ...]:
        with self._recorder.history() as history:
            old = standing(history.file(event.path))
            before = None if old is None or old.uncaptured else history.bytes_held(old.blob)
        found = before if data is None else data
        call = None if before is None or found is None else explain_move(event.path, event.to, before, found, calls)
        return () if call is None else (WritePart(None, call.writer, EXACT, call.burst),)

    def _under_way(self) -> list[AnnouncedCall]:
        """The calls whose bursts are open, oldest first; the others are forgotten."""
        now_ns = self._recorder.clock.now_ns()
        with self._recorder.history() as history:
            open_now = {burst.number for burst in history.open_bursts() if burst.open_at(now_ns)}
        noted = self._recorder.journal.head
        for number in [number for number in self._calls if number not in open_now and number <= noted]:
            self._forget(number)
        return [self._calls[number] for number in sorted(self._calls)]

    def _forget(self, number: int) -> None:
        del self._calls[number]
        self._done = {one for one in self._done if one[0] != number}
