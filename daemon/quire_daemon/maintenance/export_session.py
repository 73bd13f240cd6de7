"""Exports in progress, which callers fetch page by page.

A worker thread makes each page, within limits of bytes and time; no read transaction stays open between pages. The last
page can be fetched again. An export is dropped after `IDLE_S` seconds without a request, or when there are too many.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Final

from quire_journal.export import Source

PAGE_BYTES: Final = 1 << 20
PAGE_S: Final = 0.5
IDLE_S: Final = 120.0
MOST: Final = 8


class Export:
    """One export in progress; `chunks` yields the exported bytes."""

    def __init__(self, caller: bytes, source: Source, chunks: Iterator[bytes], now_s: float) -> None:
        self.id = secrets.token_hex(8)
        self.caller = caller
        self.busy = False  # a worker makes a page
        self.asked_s = now_s
        self.page = 0  # the number of `last`
        self.last = b""
        self.done = False  # `last` is the final page
        self.source = source
        self._chunks = chunks
        self._rest = bytearray()  # made, not handed out yet
        self._ended = False

    def next_page(self, mono_s: Callable[[], float]) -> None:
        """Make the next page, `last`: at most `PAGE_BYTES`, in about `PAGE_S` seconds. For a worker thread."""
        until = mono_s() + PAGE_S
        while not self._ended and len(self._rest) < PAGE_BYTES and mono_s() < until:
            chunk = next(self._chunks, None)
            if chunk is None:
                self._ended = True
            else:
                self._rest += chunk
        self.last = bytes(self._rest[:PAGE_BYTES])
        del self._rest[:PAGE_BYTES]
        self.page += 1
        self.done = self._ended and not self._rest


class ExportSessions:
    def __init__(self) -> None:
        self._open: dict[str, Export] = {}

    def begin(self, export: Export) -> None:
        """Add `export`; if there are too many, drop the one that has been idle longest."""
        self.forget_idle(export.asked_s)
        idle = sorted((one for one in self._open.values() if not one.busy), key=lambda one: one.asked_s)
        for old in idle[: max(0, len(self._open) + 1 - MOST)]:
            self.end(old)
        self._open[export.id] = export

    def find(self, id: str, caller: bytes, now_s: float) -> Export | None:
        """Return the caller's export with this id; None if there is none."""
        self.forget_idle(now_s)
        found = self._open.get(id)
        return found if found is not None and found.caller == caller else None

    def end(self, export: Export) -> None:
        self._open.pop(export.id, None)

    def forget_idle(self, now_s: float) -> None:
        for one in list(self._open.values()):
            if not one.busy and now_s - one.asked_s > IDLE_S:
                self.end(one)
