"""Looking at the files of a call: many in slices of time, and all of them known at one moment of the journal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkout import put
from quire_daemon.commit.inflight import InFlightWrite
from quire_daemon.commit.recorder import Recorder
from quire_daemon.config.live import LiveSettings
from quire_daemon.config.settings import Settings
from quire_daemon.core.call import Call, IncomingRequest, LookProgress, Peer, Wait
from quire_daemon.core.decision import Decision, ImpliedFiles, Who
from quire_daemon.engine.gather import MANY, RETRY_S, SLICE_S, Gatherer
from quire_daemon.engine.long_decisions import LongDecisions
from quire_daemon.engine.request_files import RequestFiles
from quire_daemon.tools.table import TOOLS
from quire_daemon.watch.ignore import Ignore
from quire_daemon.watch.observe import Observer
from quire_daemon.workspace.workspace import Workspace
from quire_journal.history.history import History
from quire_journal.journal import Journal
from quire_journal.model.events import (
    BatchUndone,
    BurstBegun,
    Event,
    FileMoved,
    FileWritten,
    OutsideMoved,
    OutsideWritten,
    ReadServed,
    WorkspaceScanned,
    WriterIntroduced,
    WritesAbandoned,
)
from quire_journal.model.ids import OUTSIDE, Seq, WriterId, blob_id
from quire_journal.model.messages import Request
from quire_journal.storage.memory import MemoryStore
from quire_journal.views.writers import caller_key

FILES = [f"f{n}.txt" for n in range(10)]


class Counted(list[str]):
    """Names, and how often one of them was asked for."""

    asked = 0

    def __iter__(self) -> Iterator[str]:
        for at in range(len(self)):
            yield self[at]

    def __getitem__(self, at: Any) -> Any:
        self.asked += 1
        return super().__getitem__(at)


class Ticking:
    """Each look at the clock takes a third of a slice, unless a test says otherwise."""

    now_s = 1_700_000_000.0
    tick_s = SLICE_S / 3

    def now_ns(self) -> int:
        return int(self.now_s * 1e9)

    def mono_s(self) -> float:
        self.now_s += self.tick_s
        return self.now_s


class Scene:
    """Ann has changed ten files, and wants to undo all of it."""

    def __init__(self, root: Path, workspace: Workspace) -> None:
        self.root, self.clock = root, Ticking()
        self.recorder = Recorder(Journal.open(MemoryStore(), self.clock.now_ns()), self.clock)
        self.observer = Observer(workspace, self.recorder, Ignore(root), LiveSettings(Settings()))
        self.long_decisions = LongDecisions(self.recorder, lambda: 0.0)
        self.gatherer = Gatherer(RequestFiles(self.observer), self.long_decisions)
        self.ann = self.recorder.writer(WriterIntroduced(0, 1000, 1, 1, "ann", "s1"))
        self.recorder.introduce(self.ann)
        self.ben = self.recorder.writer(WriterIntroduced(0, 1000, 1, 1, "ben", "s2"))
        self.recorder.introduce(self.ben)
        for name in FILES:
            self.write(name, b"before\n", by_tool=False)
        for name in FILES:
            self.write(name, b"after\n")

    def write(self, name: str, data: bytes, by_tool: bool = True) -> None:
        """It stands on the disk and in the journal."""
        (self.root / name).write_bytes(data)
        self.recorder.note_blob(data, name)
        if by_tool:
            self.recorder.note(FileWritten(name, blob_id(data), len(data), 0o644, 0), self.ann)
        else:
            self.recorder.note(OutsideWritten(name, blob_id(data), len(data), 0o644, "captured"))
        self.recorder.commit()

    def note(self, event: Event, by: WriterId) -> None:
        """It happened."""
        self.recorder.note(event, by)
        self.recorder.commit()

    def implied(self, **args: Any) -> ImpliedFiles:
        """What an undo implies as the journal is now."""
        call, implies = self.call("undo", **args), TOOLS["undo"].implies
        assert implies is not None
        with self.recorder.history() as history:
            return implies(call.params, history, call.who)

    def still(self, implied: ImpliedFiles) -> ImpliedFiles | None:
        assert implied.still is not None
        with self.recorder.history() as history:
            return implied.still(history, self.recorder.journal.head, False)

    def call(self, tool: str, **args: Any) -> Call:
        params = msgspec.convert(args, TOOLS[tool].params)
        incoming = IncomingRequest(b"ann", Peer(1000, 1), Request(1, tool))
        who = Who(WriterId(self.ann), caller_key(1000, "ann", "s1"), "ann", "s1")
        return Call(incoming, TOOLS[tool], params, who, b"", "", 0.0, 0)

    def undo(self) -> Call:
        return self.call("undo", last=len(FILES))

    def turns(self, call: Call) -> Iterator[LookProgress | float]:
        """What each turn comes to: when to come again, or everything."""
        while True:
            self.long_decisions.begin_turn()
            looks = self.gatherer.looks(call)
            yield looks.until_s if isinstance(looks, Wait) else looks
            if isinstance(looks, LookProgress):
                return

    def waits(self, call: Call) -> bool:
        """Does the call wait after one more turn?"""
        return isinstance(self.gatherer.looks(call), Wait)

    def all(self, call: Call) -> LookProgress:
        """What it comes to in the end."""
        *_, last = self.turns(call)
        assert isinstance(last, LookProgress)
        return last


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    workspace = Workspace(tmp_path)
    yield Scene(tmp_path, workspace)
    workspace.close()


def test_a_slice_begins_where_the_one_before_it_ended(scene: Scene) -> None:
    """Each went through all that was known by then: of a restore of 100,000 files most of the time went into that."""
    call = scene.undo()
    turns = scene.turns(call)
    next(turns)
    assert call.looks is not None
    names = Counted(call.looks.implied.paths)
    call.looks.implied = msgspec.structs.replace(call.looks.implied, paths=names)
    left = len(FILES) - len(call.looks.files)
    sliced = len(list(turns))
    assert sliced > 2
    assert names.asked <= left + sliced  # each once, and once more where a slice ended at it


def test_what_a_call_implies_is_looked_at_in_slices(scene: Scene) -> None:
    """The others are served between them; each file is looked at once."""
    call = scene.undo()
    turns = list(scene.turns(call))
    assert len(turns) > 3
    seen = turns[-1]
    assert isinstance(seen, LookProgress)
    assert list(seen.files) == FILES
    assert all(file.version is not None and file.text is not None for file in seen.files.values())
    assert call.looks is None  # a race that is lost later begins anew


def test_a_turn_that_has_looked_for_long_leaves_the_decision_to_the_next(scene: Scene) -> None:
    call = scene.undo()
    scene.clock.tick_s = SLICE_S / (3 * MANY)
    names = [f"new{n}" for n in range(MANY)]
    call.looks = LookProgress(head=scene.recorder.journal.head, implied=ImpliedFiles(names))
    assert scene.waits(call)
    assert [*call.looks.files] == names
    assert [*scene.all(call).files] == names


def test_what_the_journal_learns_meanwhile_is_looked_at_again(scene: Scene) -> None:
    """Someone edits a file that this call has looked at, and one that it did not imply joins the choice."""
    call = scene.undo()
    turns = scene.turns(call)
    assert isinstance(next(turns), float)
    assert call.looks is not None
    assert FILES[0] in call.looks.files
    scene.write(FILES[0], b"changed again\n")
    scene.write("new.txt", b"made\n")
    seen = scene.all(call)
    text = seen.files[FILES[0]].text
    assert text is not None
    assert text.data == b"changed again\n"
    assert "new.txt" in seen.files
    assert seen.head == scene.recorder.journal.head


def test_a_change_from_outside_that_a_look_finds_is_noted_once(scene: Scene) -> None:
    (scene.root / FILES[3]).write_bytes(b"from outside\n")
    before = scene.recorder.journal.head
    text = scene.all(scene.undo()).files[FILES[3]].text
    assert text is not None
    assert text.data == b"from outside\n"
    assert scene.recorder.journal.head == before + 1


def test_what_is_named_is_looked_at_in_one_turn(scene: Scene) -> None:
    """However long it takes: what a reader is shown is of the moment of the answer."""
    call = scene.call("read_file", path=FILES[0])
    assert isinstance(next(scene.turns(call)), LookProgress)


def test_what_is_in_a_folder_is_looked_at_for_a_tool_that_shows_it_alone(scene: Scene) -> None:
    (scene.root / "d" / "e").mkdir(parents=True)
    (scene.root / "d" / "e" / "f").touch()
    view = scene.call("text_editor", command="view", path="d")
    assert scene.all(view).files["d"].inside == ("d/e/", "d/e/f")
    (top,) = scene.all(scene.call("text_editor", command="view", path=".")).files.values()
    assert {"d/", "d/e/", FILES[0]} <= {*top.inside}
    assert scene.all(scene.call("read_file", path="d")).files["d"].inside == ()


def test_a_name_that_says_that_it_is_a_folder_is_told_as_one(scene: Scene) -> None:
    named = scene.all(scene.call("move_file", path=FILES[0], to="new/")).files
    assert {name: file.as_folder for name, file in named.items()} == {FILES[0]: False, "new/": True}


def test_a_file_that_is_held_open_does_not_lose_what_was_seen_of_the_others(scene: Scene) -> None:
    """It is waited for; when that time is over the others go on without it, and it is looked at no more."""
    call = scene.undo()
    call.give_up_s = scene.clock.now_s + 100 * SLICE_S
    fd = os.open(scene.root / FILES[1], os.O_WRONLY)
    try:
        turns = scene.turns(call)
        first = next(turns)
        assert isinstance(first, float)
        assert first >= scene.clock.now_s + RETRY_S - SLICE_S
        assert call.looks is not None
        assert list(call.looks.files) == FILES[:1]
        call.give_up_s = 0.0
        seen = scene.all(call)
    finally:
        os.close(fd)
    assert {*FILES} - {*seen.files} == {FILES[1]}
    assert seen.kept_off == {FILES[1]: "busy"}


def test_a_call_waits_for_another_that_writes_one_of_its_files_and_keeps_what_it_saw(scene: Scene) -> None:
    call = scene.undo()
    write = put(scene.observer.workspace, FILES[5], b"of another request\n")
    scene.observer.in_flight.decided(InFlightWrite(scene.undo(), Decision({}, (), [write]), (), Seq(0)))
    while not isinstance(call.looks, LookProgress) or len(call.looks.files) < 5:
        assert scene.waits(call)
    seen = {**call.looks.files}
    scene.observer.in_flight.turn_over()
    files = scene.all(call).files
    assert len(files) == len(FILES)
    assert all(files[name] is file for name, file in seen.items())


WRITTEN = FileWritten("elsewhere.txt", blob_id(b"x"), 1, 0o644, 0)


def test_what_others_do_elsewhere_meanwhile_does_not_have_all_of_it_found_out_anew(scene: Scene) -> None:
    asked = []

    def implies(params: Any, history: History, who: Who) -> ImpliedFiles:
        asked.append(history.head())
        found = TOOLS["undo"].implies
        assert found is not None
        return found(params, history, who)

    call = scene.undo()
    call.tool = msgspec.structs.replace(call.tool, implies=implies)
    turns = scene.turns(call)
    assert isinstance(next(turns), float)
    scene.note(WRITTEN, scene.ben)
    assert list(scene.all(call).files) == FILES
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("what", "event", "by", "args"),
    [
        ("another edits elsewhere", WRITTEN, "ben", {}),
        ("another reads", ReadServed(FILES[0], 1, (), anchors=True), "ben", {}),
        ("a program writes elsewhere", OutsideWritten("o.txt", blob_id(b"x"), 1, 0o644, "watched"), "outside", {}),
    ],
)
def test_what_is_implied_still_is_what_it_would_be_anew(
    scene: Scene, what: str, event: Event, by: str, args: dict[str, Any]
) -> None:
    before = scene.implied(last=len(FILES), **args)
    scene.note(event, OUTSIDE if by == "outside" else getattr(scene, by))
    still, anew = scene.still(before), scene.implied(last=len(FILES), **args)
    assert still is not None, what
    assert (still.paths, still.thought) == (anew.paths, anew.thought), what


@pytest.mark.parametrize(
    ("what", "event", "by", "args"),
    [
        ("the caller edits elsewhere", WRITTEN, "ann", {}),
        ("another edits a file of it", FileWritten(FILES[2], blob_id(b"x"), 1, 0o644, 0), "ben", {}),
        ("a file is moved to one of it", FileMoved("o.txt", FILES[2], blob_id(b"x"), 1, 0o644, 0), "ben", {}),
        ("one of it is moved away", OutsideMoved(FILES[2], "o.txt", blob_id(b"x"), 1, 0o644, "watched"), "ben", {}),
        ("batches were undone", BatchUndone((1,), "undo"), "ben", {}),
        ("writes were taken back", WritesAbandoned((1,), "swap"), "ben", {}),
        ("the tree was looked at", WorkspaceScanned("start", 1, 1), "outside", {}),
        ("it may be anybody's", WRITTEN, "ben", {"writer": "*"}),
        ("a name may mean another file now", WRITTEN, "ben", {"paths": ["*.txt"]}),
        ("a point may be another", WRITTEN, "ben", {"from": "seq:1"}),
    ],
)
def test_what_may_be_implied_otherwise_by_now_is_found_out_anew(
    scene: Scene, what: str, event: Event, by: str, args: dict[str, Any]
) -> None:
    before = scene.implied(last=len(FILES), **args)
    assert before.paths, what
    scene.note(event, OUTSIDE if by == "outside" else getattr(scene, by))
    assert scene.still(before) is None, what


def test_an_undo_of_a_burst_is_found_out_anew_when_the_burst_has_grown(scene: Scene) -> None:
    scene.note(BurstBegun("tidy up", "tool_call", 10**19), scene.ben)
    burst = scene.recorder.journal.head
    scene.note(FileWritten(FILES[4], blob_id(b"after\n"), 6, 0o644, 0), scene.ben)
    before = scene.implied(burst=burst)
    assert list(before.paths) == [FILES[4]]
    scene.note(ReadServed(FILES[0], 1, (), anchors=True), scene.ben)
    assert scene.still(before) is not None
    scene.note(WRITTEN, scene.ben)
    assert scene.still(before) is None
