"""What is done now and then: each at its own time, whatever becomes of the others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from quire_daemon.ops.timers import Chore, Chores


class Scene:
    """What was done, and what failed, in order."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.failed: list[str] = []

    def guarded(self, what: str, act: Callable[[], None]) -> None:
        try:
            act()
        except OSError:
            self.failed.append(what)

    def chore(self, name: str, every_s: float, later_s: float | None = None) -> Chore:
        def act() -> float | None:
            self.done.append(name)
            return later_s

        return Chore(name, every_s, act)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_one_that_fails_keeps_no_other_from_its_turn_and_waits_for_its_own(scene: Scene) -> None:
    def fail() -> float | None:
        raise OSError

    chores = Chores(scene.guarded, Chore("broken", 5.0, fail), scene.chore("sound", 1.0))
    for now_s in (10.0, 11.0, 12.0):
        chores.do(now_s)
    assert (scene.done, scene.failed) == (["sound"] * 3, ["broken"])
    chores.do(15.0)
    assert scene.failed == ["broken"] * 2


def test_each_comes_at_its_own_time_or_at_the_one_that_it_says(scene: Scene) -> None:
    chores = Chores(scene.guarded, scene.chore("slow", 10.0), scene.chore("again", 10.0, later_s=2.0))
    for now_s in (1.0, 2.9, 3.0, 4.9, 11.0):
        chores.do(now_s)
    assert scene.done == ["slow", "again", "again", "slow", "again"]


def test_one_that_is_asked_for_while_it_is_done_is_done_again(scene: Scene) -> None:
    """As a lease that is broken during the sweep, which a signal tells."""
    chore = scene.chore("sweep", 10.0)
    act = chore.act

    def interrupted() -> float | None:
        act()
        chore.at_s = 0.0
        return None

    chore.act = interrupted
    chores = Chores(scene.guarded, chore)
    chores.do(1.0)
    chores.do(1.0)
    assert scene.done == ["sweep"] * 2
