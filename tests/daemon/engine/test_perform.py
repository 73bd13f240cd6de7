"""Putting decisions on disk: what is refused before anything is promised, and what is kept of others."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from clocks import SetClock
from swapping import Steps

from checkout import do, file_now, put
from quire_daemon.commit.inflight import InFlight, InFlightWrite
from quire_daemon.commit.recorder import Recorder
from quire_daemon.core.decision import Decision, Remove
from quire_daemon.engine.perform import SPARE_FILES, Done, LostRace, Performer, require_room
from quire_daemon.engine.rescued import LATE_S, note_theirs, nothing_is_withheld
from quire_daemon.workspace.types import SwapLost
from quire_daemon.workspace.workspace import Workspace
from quire_journal.journal import Journal
from quire_journal.model.events import BytesDisplaced, FileDeleted, FileWritten
from quire_journal.model.ids import OUTSIDE, blob_id
from quire_journal.model.refusals import Refusal
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import StoreFailure


def test_more_writes_than_there_are_descriptors_for_are_refused() -> None:
    """Each holds what it displaces until all have landed, and connections need some, too."""
    require_room(9000, most_open=10_024)
    with pytest.raises(Refusal, match="9001 files at once, and here it can be 9000") as caught:
        require_room(9001, most_open=9000 + SPARE_FILES)
    assert (caught.value.code, caught.value.details["most"]) == ("schema_invalid", 9000)


@pytest.mark.parametrize("most_open", [256, 1024])
def test_a_few_writes_are_never_refused(most_open: int) -> None:
    """However little the system allows."""
    require_room(100, most_open)


class Unheard:
    """In the place of `Outside`."""

    def landed(self, path: str, signature: object, blob: bytes, exchanged: bool = False) -> None:
        """Nobody asks."""

    def name(self, path: str, evidence: str, now: float) -> None:
        """Nobody looks."""


def write_late(performer: Performer, displaced: int, data: bytes = b"late") -> None:
    """Write into a displaced file, through a descriptor of it, until it is found."""

    def write() -> None:
        with open(f"/proc/self/fd/{displaced}", "wb", buffering=0) as late:  # waits until a sweep gives the lease back
            late.write(data)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while not writing.done():
            performer.sweep()
    performer.sweep()


def test_what_a_late_writer_wrote_is_put_aside_where_the_journal_must_not_have_it(tmp_path: Path) -> None:
    workspace, clock = Workspace(tmp_path), SetClock()
    recorder = Recorder(Journal.open(MemoryStore(), clock.now_ns()), clock)
    nobody: Any = None
    secret = {".env": "secret"}
    withheld = lambda path, data: secret.get(path, "")  # noqa: E731
    performer = Performer(workspace, recorder, nobody, InFlight(recorder), lambda step: None, withheld=withheld)
    (tmp_path / ".env").write_bytes(b"old\n")
    before = os.open(tmp_path / ".env", os.O_RDONLY)
    do(workspace, put(workspace, ".env", b"new\n"))
    write_late(performer, before)
    os.close(before)
    with recorder.history() as history:
        kept = [event for record in history.records() if isinstance(event := record.event(), BytesDisplaced)]
        assert [(one.path, one.uncaptured, (tmp_path / one.kept).read_bytes()) for one in kept] == [
            (".env", "secret", b"late")
        ]
        assert not history.holds(blob_id(b"late"))
    performer.close()
    workspace.close()


def test_a_file_of_others_that_is_too_large_for_the_journal_is_put_aside_unread(tmp_path: Path) -> None:
    """It was read into memory, whatever its size, while everybody waited."""
    steps, clock, large = Steps(), SetClock(), b"theirs\n" * 1000
    workspace = Workspace(tmp_path, steps=steps, most_bytes=1000)
    recorder = Recorder(Journal.open(MemoryStore(), clock.now_ns()), clock)
    nobody: Any = None
    performer = Performer(workspace, recorder, nobody, InFlight(recorder), lambda step: None)
    (tmp_path / "f").write_bytes(b"old\n")
    before = os.open(tmp_path / "f", os.O_RDONLY)
    do(workspace, put(workspace, "f", b"new\n"))
    write_late(performer, before, large)
    os.close(before)

    def saved_and_taken_away() -> None:
        (tmp_path / "theirs").write_bytes(large[:-1])
        (tmp_path / "theirs").replace(tmp_path / "f")
        steps.at("perform.conflict", (tmp_path / "f").unlink)

    steps.at("perform.base_held", saved_and_taken_away)
    lost = do(workspace, put(workspace, "f", b"newer\n"))
    assert isinstance(lost, SwapLost)
    assert [(one.data, one.large) for one in lost.kept] == [(b"", len(large) - 1)]
    note_theirs(recorder, workspace, "f", lost.kept[0], "swap", nothing_is_withheld)
    note_theirs(recorder, workspace, "f", lost.kept[0], "swap", nothing_is_withheld)  # once more, after a full disk
    recorder.commit()
    workspace.discard(lost.kept)
    with recorder.history() as history:
        kept = [event for record in history.records() if isinstance(event := record.event(), BytesDisplaced)]
    told = [(one.why, one.uncaptured, one.blob, one.size, (tmp_path / one.kept).read_bytes()) for one in kept]
    swapped = ("swap", "too_large", b"", len(large) - 1, large[:-1])
    assert told == [("late", "too_large", b"", len(large), large), swapped, swapped]
    performer.close()
    workspace.close()
    assert os.listdir(tmp_path / ".quire/tmp") == []


def test_what_a_late_writer_wrote_is_journaled_when_the_disk_takes_it_again(tmp_path: Path) -> None:
    def full() -> None:
        raise StoreFailure("the disk is full", disk_full=True)

    workspace, store, clock = Workspace(tmp_path), MemoryStore(), SetClock()
    recorder = Recorder(Journal.open(store, clock.now_ns()), clock)
    nobody: Any = None
    performer = Performer(workspace, recorder, nobody, InFlight(recorder), lambda step: None)
    (tmp_path / "f").write_bytes(b"old\n")
    before = os.open(tmp_path / "f", os.O_RDONLY)
    do(workspace, put(workspace, "f", b"new\n"))
    store.fault = full

    with pytest.raises(StoreFailure):
        write_late(performer, before)
    performer.sweep()  # a full disk is not asked in each turn
    os.close(before)
    store.fault = None
    clock.pass_s(LATE_S)
    performer.sweep()
    with recorder.history() as history:
        kept = [event for record in history.records() if isinstance(event := record.event(), BytesDisplaced)]
        assert [(one.path, one.why, history.bytes_of(one.blob)) for one in kept] == [("f", "late", b"late")]
    assert os.listdir(tmp_path / ".quire" / "tmp") == []
    performer.close()
    workspace.close()


def noted(recorder: Recorder) -> list[tuple[str, str, str]]:
    """(path, why, why the journal does not have the bytes) of what was displaced."""
    with recorder.history() as history:
        events = [record.event() for record in history.records()]
    return [(event.path, event.why, event.uncaptured) for event in events if isinstance(event, BytesDisplaced)]


def test_what_can_be_put_aside_nowhere_keeps_nothing_else_from_the_journal_and_is_tried_again(tmp_path: Path) -> None:
    """What came behind it waited for a start, and what came before it was noted again each second."""
    workspace, clock = Workspace(tmp_path), SetClock()
    recorder = Recorder(Journal.open(MemoryStore(), clock.now_ns()), clock)
    nobody: Any = None
    withheld = lambda path, data: "secret" if path == ".env" else ""  # noqa: E731
    performer = Performer(workspace, recorder, nobody, InFlight(recorder), lambda step: None, withheld=withheld)
    (tmp_path / ".quire/displaced").write_bytes(b"no folder")
    for path in (".env", "f"):
        (tmp_path / path).write_bytes(b"old\n")
        before = os.open(tmp_path / path, os.O_RDONLY)
        do(workspace, put(workspace, path, b"new\n"))
        write_late(performer, before)
        os.close(before)
    for _ in range(3):
        assert "displaced is not a folder" in performer.theirs.no_place
        clock.pass_s(LATE_S)
        performer.sweep()
    recorder.commit()
    assert noted(recorder) == [("f", "late", "")]
    (tmp_path / ".quire/displaced").unlink()
    clock.pass_s(LATE_S)
    performer.sweep()
    assert noted(recorder) == [("f", "late", ""), (".env", "late", "secret")]
    assert performer.theirs.no_place == ""
    assert os.listdir(tmp_path / ".quire/tmp") == []
    performer.close()
    workspace.close()


def test_a_lost_race_is_told_also_where_what_came_out_can_be_put_aside_nowhere(tmp_path: Path) -> None:
    """It was told as a fault, and the log called the write done."""
    steps, clock = Steps(), SetClock()
    workspace = Workspace(tmp_path, steps=steps)
    recorder = Recorder(Journal.open(MemoryStore(), clock.now_ns()), clock)
    outside: Any = Unheard()
    withheld = lambda path, data: "secret"  # noqa: E731
    performer = Performer(workspace, recorder, outside, InFlight(recorder), lambda step: None, withheld=withheld)
    env, first, second = tmp_path / ".env", tmp_path / "first", tmp_path / "second"
    for path in (env, first, second):
        path.write_bytes(path.name.encode())
    seq = recorder.note(FileDeleted(".env", 0, "delete", env.stat().st_ino))
    steps.at("perform.base_held", lambda: first.replace(env))
    steps.at("perform.conflict", lambda: second.replace(env))
    call: Any = SimpleNamespace(who=SimpleNamespace(writer=OUTSIDE))
    going = InFlightWrite(
        call, Decision({"ok": True}, (), [Remove(seq, ".env", file_now(workspace, ".env"))], ()), (seq,), seq
    )
    (tmp_path / ".quire/displaced").write_bytes(b"no folder")
    assert [*performer.perform([going], sync_folders=False)] == [(going, LostRace((".env",)))]
    assert (env.read_bytes(), noted(recorder)) == (b"second", [])
    with recorder.history() as history:
        assert history.batch_state(seq) == "abandoned"
    (tmp_path / ".quire/displaced").unlink()
    performer.sweep()
    assert noted(recorder) == [(".env", "swap", "secret")]
    assert [path.read_bytes() for path in (tmp_path / ".quire/displaced").iterdir()] == [b"first"]
    performer.close()
    workspace.close()


def test_what_was_written_is_done_also_where_its_folder_was_removed_before_it_was_synced(tmp_path: Path) -> None:
    workspace, clock = Workspace(tmp_path), SetClock()
    recorder = Recorder(Journal.open(MemoryStore(), clock.now_ns()), clock)
    outside: Any = Unheard()
    in_flight = InFlight(recorder)

    def step(name: str) -> None:
        if name == "after_write":
            shutil.rmtree(tmp_path / "folder")

    performer = Performer(workspace, recorder, outside, in_flight, step)
    (tmp_path / "folder").mkdir()
    write = put(workspace, "folder/f", b"new\n", seq=recorder.next_seq)
    seq = recorder.note(FileWritten("folder/f", blob_id(b"new\n"), 4, 0o644, 0, "write_file"))
    call: Any = None
    going = InFlightWrite(call, Decision({"ok": True}, (), [write], ()), (seq,), seq)
    assert [*performer.perform([going], sync_folders=True)] == [(going, Done())]
    assert in_flight.unsettled
    performer.close()
    workspace.close()
