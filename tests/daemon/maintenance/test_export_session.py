"""Exports under way: pages of bounded size and time, asked for again, forgotten."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from quire_daemon.maintenance.export_session import IDLE_S, MOST, PAGE_BYTES, PAGE_S, Export, ExportSessions
from quire_journal.export.source import Source, Stretch
from quire_journal.storage.memory import MemoryStore


class Ticking:
    """A clock that moves by a step at each look."""

    def __init__(self, step_s: float = 0.0) -> None:
        self.now_s, self.step_s = 0.0, step_s

    def __call__(self) -> float:
        self.now_s += self.step_s
        return self.now_s


def export(chunks: Iterator[bytes], caller: bytes = b"ada", now_s: float = 0.0) -> Export:
    return Export(caller, Source(MemoryStore(), Stretch(0, 0)), chunks, now_s)


def pages(one: Export, clock: Ticking) -> list[bytes]:
    """All pages."""
    found = []
    while not one.done:
        one.next_page(clock)
        found.append(one.last)
    return found


def test_pages_are_bounded_however_large_the_chunks_and_give_the_whole() -> None:
    chunks = [b"a" * 10, b"b" * (3 * PAGE_BYTES), b"", b"c" * 100]
    found = pages(export(iter(chunks)), Ticking())
    assert b"".join(found) == b"".join(chunks)
    assert max(map(len, found)) == PAGE_BYTES


def test_a_page_ends_when_its_time_is_over_although_nothing_was_told() -> None:
    one, clock = export(iter([b""] * 1000 + [b"end"])), Ticking(PAGE_S / 10)
    one.next_page(clock)
    assert (one.last, one.done, one.page) == (b"", False, 1)
    assert pages(one, clock)[-1] == b"end"


def test_an_export_of_nothing_is_one_empty_page() -> None:
    assert pages(export(iter([])), Ticking()) == [b""]


def test_only_its_caller_finds_an_export_and_not_after_a_long_silence() -> None:
    exporting, one = ExportSessions(), export(iter([]), now_s=0.0)
    exporting.begin(one)
    assert exporting.find(one.id, b"eve", 1.0) is None
    assert exporting.find(one.id, b"ada", IDLE_S) is one
    one.busy = True
    assert exporting.find(one.id, b"ada", 10 * IDLE_S) is one, "a page is being made"
    one.busy = False
    assert exporting.find(one.id, b"ada", 10 * IDLE_S) is None


@pytest.mark.parametrize("busy", [False, True])
def test_of_too_many_the_one_that_waits_longest_goes(busy: bool) -> None:
    exporting, made = ExportSessions(), [export(iter([]), now_s=float(n)) for n in range(MOST + 1)]
    made[0].busy = busy
    for one in made:
        exporting.begin(one)
    left = [one for one in made if exporting.find(one.id, b"ada", 20.0) is not None]
    assert left == ([made[0], *made[2:]] if busy else made[1:])
