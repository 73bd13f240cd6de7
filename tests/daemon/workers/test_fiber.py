"""Work in slices: several works at once share what they read."""

from __future__ import annotations

from functools import partial

from quire_daemon.workers.fiber import Fiber, Pause
from quire_journal.model.pause_points import cached_property, pause, pausing


class Shared:
    """A value that takes long to compute."""

    @cached_property
    def told(self) -> list[str]:
        pause()
        return ["told"]


def read(shared: Shared, paused: Pause) -> list[str]:
    with pausing(paused):
        return shared.told


def test_two_works_compute_one_property_in_turn() -> None:
    """On Python 3.11 the second waited for a lock of the first for ever, and so did the daemon."""
    shared = Shared()
    works = [Fiber(partial(read, shared), lambda: 0.0) for _ in range(2)]
    assert [work.go_on(0.0) for work in works] == [False, False]
    assert [work.go_on(0.0) for work in works] == [True, True]
    assert works[1].result() is shared.told
