"""The life of a write: which state follows which, and what each step of the order of durability leaves for a start."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from clocks import SetClock

from checkout import put
from quire_daemon.commit.inflight import InFlight, InFlightWrite
from quire_daemon.commit.recorder import Recorder
from quire_daemon.commit.write_states import LIFE, AtStart, ImpossibleTransition, WriteState, following
from quire_daemon.core.decision import Decision
from quire_daemon.engine.perform import STEPS, DiskFailure, Done, LostRace, Outcome, Performer
from quire_daemon.workspace.workspace import Workspace
from quire_journal.journal import Journal
from quire_journal.model.events import FileWritten
from quire_journal.model.ids import OUTSIDE, blob_id
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import StoreFailure

NAMES = ("one", "two")


class Scene:
    """A request for two files, and the state of its writes at each step."""

    def __init__(self, root: Path) -> None:
        self.root, self.workspace, clock = root, Workspace(root), SetClock()
        self.recorder = Recorder(Journal.open(MemoryStore(), clock.now_ns()), clock)
        self.in_flight = InFlight(self.recorder)
        self.met: dict[str, WriteState] = {}
        self.fault_at, self.fault = "", lambda: None
        quiet: Any = SimpleNamespace(landed=lambda *_: None, name=lambda *_: None)
        self.performer = Performer(self.workspace, self.recorder, quiet, self.in_flight, self.step)
        for name in NAMES:
            (root / name).write_bytes(b"old\n")
        first = self.recorder.next_seq
        writes = [put(self.workspace, name, b"new\n", seq=first + at) for at, name in enumerate(NAMES)]
        seqs = tuple(
            self.recorder.note(FileWritten(name, blob_id(b"new\n"), 4, 0o644, 0, "undo"), OUTSIDE, first if at else 0)
            for at, name in enumerate(NAMES)
        )
        call: Any = SimpleNamespace(who=SimpleNamespace(writer=OUTSIDE), marks=set())
        self.going = InFlightWrite(call, Decision({"ok": True}, (), writes, ()), seqs, first, self.recorder.next_commit)

    def step(self, name: str) -> None:
        self.met.setdefault(name, self.going.state)
        if name == self.fault_at:
            self.fault()

    def performed(self) -> Outcome:
        ((_, outcome),) = self.performer.perform([self.going], sync_folders=False)
        self.performer.commit_noted()
        return outcome

    def close(self) -> None:
        self.performer.close()
        self.workspace.close()


def unlike_the_table(met: dict[str, WriteState]) -> dict[str, WriteState]:
    return {name: state for name, state in met.items() if STEPS[name] is not state}


def test_each_step_of_a_write_leaves_the_state_that_its_table_says(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    assert scene.performed() == Done()
    assert scene.met.keys() == {
        *("before_commit", "after_commit", "after_stage", "after_write", "before_reply", "before_settle"),
    }
    assert unlike_the_table(scene.met) == {}
    with scene.recorder.history() as history:
        assert history.unsettled() == []
    scene.close()


def test_a_write_that_lost_its_race_is_abandoned(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.fault_at, scene.fault = "after_stage", lambda: (tmp_path / "two").unlink()
    assert isinstance(scene.performed(), LostRace)
    assert scene.going.state is WriteState.ABANDONED
    assert scene.met["after_abandon"] is WriteState.ABANDONED
    assert (tmp_path / "one").read_bytes() == b"old\n"
    scene.close()


def test_what_the_disk_refuses_before_a_file_is_written_is_abandoned(tmp_path: Path) -> None:
    scene = Scene(tmp_path)

    def fail() -> None:
        raise OSError(28, "no space left on device")

    scene.fault_at, scene.fault = "after_stage", fail
    assert isinstance(scene.performed(), DiskFailure)
    assert scene.going.state is WriteState.ABANDONED
    scene.close()


def test_what_fails_before_the_log_has_it_stays_decided(tmp_path: Path) -> None:
    scene = Scene(tmp_path)

    def fail() -> None:
        raise StoreFailure("full")

    scene.fault_at, scene.fault = "before_commit", fail
    with pytest.raises(StoreFailure):
        scene.performed()
    assert scene.going.state is WriteState.DECIDED
    scene.close()


@pytest.mark.parametrize("now", WriteState)
@pytest.mark.parametrize("then", WriteState)
def test_no_state_follows_but_those_of_the_table(now: WriteState, then: WriteState) -> None:
    if then in LIFE[now].following:
        assert following(now, then) is then
        return
    with pytest.raises(ImpossibleTransition, match=f"{now.value} cannot become {then.value}"):
        following(now, then)


def test_every_write_can_end_and_only_an_ended_one_is_left_alone_by_a_start() -> None:
    ended = {state for state in WriteState if not LIFE[state].following}
    assert ended == {WriteState.SETTLED, WriteState.ABANDONED}
    for state in WriteState:
        reached = {state}
        for _ in WriteState:
            reached |= {then for one in reached for then in LIFE[one].following}
        assert reached & ended
    assert [state for state in WriteState if LIFE[state].at_start is AtStart.NOTHING] == [WriteState.SETTLED]


def test_a_start_writes_no_file_of_which_the_log_is_not_whole() -> None:
    finished = {state for state in WriteState if LIFE[state].at_start is AtStart.FINISH}
    assert finished == {WriteState.LOGGED, WriteState.STAGED}
