"""A request of many writes: its records are committed at once, its files are written over several turns."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quire_daemon.commit.inflight import InFlightWrite
from quire_daemon.commit.recorder import Recorder
from quire_daemon.config.live import LiveSettings
from quire_daemon.config.settings import Settings
from quire_daemon.core.call import Call, IncomingRequest, LookProgress, Peer, Wait
from quire_daemon.core.decision import Decision, Put, Who
from quire_daemon.engine.gather import Gatherer
from quire_daemon.engine.long_decisions import LongDecisions
from quire_daemon.engine.perform import (
    MANY,
    SLICE_S,
    DiskFailure,
    Done,
    InPart,
    LostRace,
    Outcome,
    Performer,
    Unknown,
)
from quire_daemon.engine.request_files import RequestFiles
from quire_daemon.engine.stage import AT_ONCE, PORTION
from quire_daemon.ops.daemon_log import Log
from quire_daemon.startup.recovery import recover
from quire_daemon.startup.recovery_context import RecoveryContext
from quire_daemon.tools.table import TOOLS
from quire_daemon.watch.ignore import Ignore
from quire_daemon.watch.observe import FileInFlight, Observer
from quire_daemon.workspace.displaced import GRACE_S
from quire_daemon.workspace.stage import TOGETHER, sync_each
from quire_daemon.workspace.types import Signature
from quire_daemon.workspace.workspace import Workspace
from quire_journal.journal import Journal
from quire_journal.model.events import FileWritten, OutsideWritten, WriterIntroduced
from quire_journal.model.ids import WriterId, blob_id
from quire_journal.model.messages import Request
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import StoreFailure
from quire_journal.views.writers import caller_key

FILES = [f"f{n}.txt" for n in range(MANY + AT_ONCE)]


class Ticking:
    """Each look at the clock takes more than a slice: so a turn writes as little as it can."""

    now_s = 1_700_000_000.0

    def now_ns(self) -> int:
        return int(self.now_s * 1e9)

    def mono_s(self) -> float:
        self.now_s += SLICE_S * 1.5
        return self.now_s


class Told:
    """In the place of `Outside`: what it is told."""

    def __init__(self) -> None:
        self.landed_at: list[str] = []
        self.named: list[str] = []

    def landed(self, path: str, signature: Signature | None, blob: bytes, exchanged: bool = False) -> None:
        self.landed_at.append(path)

    def name(self, path: str, evidence: str, now: float, at: float | None = None) -> None:
        self.named.append(path)


class Scene:
    """Ann puts other bytes into all of the files, in one request."""

    def __init__(self, root: Path, workspace: Workspace) -> None:
        self.root, self.workspace, self.clock, self.outside = root, workspace, Ticking(), Told()
        self.recorder = Recorder(Journal.open(MemoryStore(), self.clock.now_ns()), self.clock)
        self.observer = Observer(workspace, self.recorder, Ignore(root), LiveSettings(Settings()))
        self.files, self.in_flight = RequestFiles(self.observer), self.observer.in_flight
        self.gatherer = Gatherer(self.files, LongDecisions(self.recorder, lambda: 0.0))
        self.steps: list[str] = []
        outside: Any = self.outside
        self.woken = threading.Event()
        self.performer = Performer(workspace, self.recorder, outside, self.in_flight, self.steps.append, self.woken.set)
        self.ann = self.recorder.writer(WriterIntroduced(0, 1000, 1, 1, "ann", "s1"))
        self.recorder.introduce(self.ann)
        for name in (*FILES, "beside.txt"):
            (root / name).write_bytes(b"before\n")
            self.recorder.note(OutsideWritten(name, blob_id(b"before\n"), 7, 0o644, "captured"))
        self.recorder.note_blob(b"before\n", "f0.txt")
        self.recorder.commit()

    def call(self, tool: str, **args: Any) -> Call:
        incoming = IncomingRequest(tool.encode(), Peer(1000, 1), Request(1, tool))
        who = Who(WriterId(self.ann), caller_key(1000, "ann", "s1"), "ann", "s1")
        return Call(incoming, TOOLS[tool], msgspec.convert(args, TOOLS[tool].params), who, b"op", "key", 0.0, 0)

    def looks(self, path: str) -> LookProgress:
        """What a read of a file that nobody writes looks at."""
        found = self.gatherer.looks(self.call("read_file", path=path))
        assert isinstance(found, LookProgress)
        return found

    def decide(self, names: list[str], data: bytes) -> InFlightWrite:
        """The decision to put `data` into all of them, noted."""
        seen = {name: self.files.file(name, writing=True) for name in names}
        batch = self.recorder.next_seq
        seqs = tuple(
            self.recorder.note(FileWritten(name, blob_id(data), len(data), 0o644, 0, "undo"), self.ann, batch)
            for name in names
        )
        self.recorder.note_blob(data, names[0])
        writes = [Put(seq, name, data, 0o644, seen[name]) for seq, name in zip(seqs, names, strict=True)]
        return InFlightWrite(self.call("undo", last=1), Decision({"ok": True}, (), writes, ()), seqs, batch)

    def begin(self) -> InFlightWrite:
        """It is in the log, and nothing of it on the disk."""
        self.begun = self.decide(FILES, b"after\n")
        assert [*self.performer.perform([self.begun], False)] == []
        return self.begun

    def turn(self) -> list[tuple[InFlightWrite, Outcome]]:
        """A turn; before it the wait that there would be between two."""
        if self.performer.patience_s():
            assert self.woken.wait(20), "the disk has synced what is waited for, and nobody says so"
        self.woken.clear()
        return [*self.performer.go_on(hurried=True)]

    def turns(self) -> Iterator[list[tuple[InFlightWrite, Outcome]]]:
        """Each turn's outcomes, until there is nothing to go on with."""
        while self.performer.patience_s() is not None:
            yield self.turn()

    def until_written(self, count: int) -> None:
        """As many files have landed, and not all."""
        while len(self.outside.landed_at) < count:
            assert self.turn() == []
        assert count <= len(self.outside.landed_at) < len(FILES)

    def now(self) -> set[bytes]:
        return {(self.root / name).read_bytes() for name in FILES}

    def unsettled(self) -> list[int]:
        with self.recorder.history() as history:
            return history.unsettled()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with_files = Workspace(tmp_path)
    it = Scene(tmp_path, with_files)
    yield it
    it.performer.close()
    with_files.close()


def test_the_log_has_all_of_it_before_the_first_file_and_others_have_their_turn_between(scene: Scene) -> None:
    going = scene.begin()
    assert scene.recorder.journal.head == going.seqs[-1]
    assert (scene.now(), scene.unsettled()) == ({b"before\n"}, [going.batch])
    came = [one for turn in scene.turns() for one in turn]
    assert came == [(going, Done())]
    assert (scene.now(), scene.outside.landed_at) == ({b"after\n"}, FILES)
    assert scene.steps[:3] == ["before_commit", "after_commit", "after_stage"]
    assert scene.steps[-1] == "before_reply"
    scene.performer.commit_noted()
    assert scene.unsettled() == []


def test_a_turn_writes_only_some_of_the_files(scene: Scene) -> None:
    scene.begin()
    written = [len(scene.outside.landed_at) for _ in scene.turns()]
    steps = {later - earlier for earlier, later in pairwise(written)}
    assert max(steps) <= AT_ONCE < len(FILES) == written[-1]


def test_the_loop_is_woken_when_the_disk_has_synced_what_is_waited_for(scene: Scene) -> None:
    """It need not look again and again meanwhile."""
    scene.begin()
    assert [*scene.turns()][-1] == [(scene.begun, Done())]
    assert scene.now() == {b"after\n"}


def test_while_nobody_asks_a_turn_writes_more(scene: Scene) -> None:
    scene.begin()
    landed = [0]
    while scene.performer.patience_s() is not None:
        assert [*scene.performer.go_on(hurried=False)] in ([], [(scene.begun, Done())])
        landed.append(len(scene.outside.landed_at))
    assert scene.now() == {b"after\n"}
    assert max(later - earlier for earlier, later in pairwise(landed)) > AT_ONCE


def test_where_each_file_is_synced_by_itself_one_that_cannot_be_ends_all_of_it(scene: Scene) -> None:
    """They are synced several at a time then, and the refusal names the file."""
    written = scene.workspace.write(scene.decide(FILES, b"after\n").decision.writes)
    os.close(written.unnamed[TOGETHER + 3].fd)
    with pytest.raises(OSError, match="descriptor"):
        sync_each(written.unnamed)
    written.unnamed[TOGETHER + 3].fd = os.open(scene.root, os.O_TMPFILE | os.O_RDWR)
    sync_each(written.unnamed)
    for staged in scene.workspace.name(written):
        scene.workspace.abandon(staged)
    assert os.listdir(scene.root / ".quire" / "tmp") == []


def test_nobody_looks_at_a_file_of_it_before_all_have_landed(scene: Scene) -> None:
    """The disk lags behind the log: what is there would be taken for somebody else's."""
    scene.begin()
    scene.until_written(AT_ONCE)
    head = scene.recorder.journal.head
    for name in (FILES[0], FILES[-1]):
        with pytest.raises(FileInFlight):
            scene.observer.observe(name, "watched")
        for call in (scene.call("read_file", path=name), scene.call("delete_file", path=name)):
            assert isinstance(scene.gatherer.looks(call), Wait)
    assert scene.looks("beside.txt").files["beside.txt"].text
    assert [*scene.turns()][-1][0][1] == Done()
    looks = scene.looks(FILES[0])
    text = looks.files[FILES[0]].text
    assert text is not None
    assert (text.data, scene.recorder.journal.head) == (b"after\n", head)


def test_an_edit_beside_it_is_done_at_once_and_settled_only_after_it(scene: Scene) -> None:
    """Else a kill would leave the files that are not written yet to nobody."""
    long = scene.begin()
    scene.until_written(AT_ONCE)
    beside = scene.decide(["beside.txt"], b"edited\n")
    assert [*scene.performer.perform([beside], False)] == [(beside, Done())]
    assert (scene.root / "beside.txt").read_bytes() == b"edited\n"
    assert not scene.in_flight.unsettled
    scene.performer.commit_noted()
    assert scene.unsettled() == [long.batch, beside.batch]
    assert [*scene.turns()][-1] == [(long, Done())]
    assert scene.in_flight.unsettled
    scene.performer.commit_noted()
    assert scene.unsettled() == []


def test_what_was_on_disk_before_it_is_settled_with_its_records(scene: Scene) -> None:
    before = scene.decide(["beside.txt"], b"edited\n")
    assert [*scene.performer.perform([before], False)] == [(before, Done())]
    assert scene.unsettled() == [before.batch]
    long = scene.begin()
    assert scene.unsettled() == [long.batch]


def test_an_outside_save_in_the_middle_takes_all_of_it_back(scene: Scene) -> None:
    going = scene.begin()
    scene.until_written(AT_ONCE)
    (scene.root / FILES[-1]).write_bytes(b"saved outside\n")
    assert [*scene.turns()][-1] == [(going, LostRace((FILES[-1],)))]
    assert scene.now() == {b"before\n", b"saved outside\n"}
    assert (scene.root / FILES[-1]).read_bytes() == b"saved outside\n"
    with scene.recorder.history() as history:
        assert history.batch_state(going.batch) == "abandoned"
    assert scene.observer.observe(FILES[0], "watched").event is None
    assert {*scene.outside.named} == {*FILES}


def test_it_is_taken_back_in_slices_too_and_nobody_looks_at_its_files_meanwhile(scene: Scene) -> None:
    going = scene.begin()
    (scene.root / FILES[-1]).write_bytes(b"saved outside\n")
    stand, ended = [0], list[tuple[InFlightWrite, Outcome]]()
    while not ended:
        with pytest.raises(FileInFlight):
            scene.observer.observe(FILES[0], "watched")
        ended = scene.turn()
        stand.append(sum((scene.root / name).read_bytes() == b"after\n" for name in FILES))
    assert ended == [(going, LostRace((FILES[-1],)))]
    assert max(stand) >= len(FILES) - AT_ONCE
    assert stand[-1] == 0
    assert max(abs(later - earlier) for earlier, later in pairwise(stand)) <= AT_ONCE


def taken_back_in_part(scene: Scene) -> InFlightWrite:
    """All of it has been taken back on disk, and the log says so of a part."""
    going = scene.begin()
    (scene.root / FILES[-1]).write_bytes(b"saved outside\n")
    while "after_abandon" not in scene.steps:
        assert scene.turn() == []
    with scene.recorder.history() as history:
        assert 0 < len(history.batch_writes(going.batch)) < len(FILES)
    assert scene.now() == {b"before\n", b"saved outside\n"}
    return going


def test_that_it_was_taken_back_is_said_in_parts_between_which_others_are_served(scene: Scene) -> None:
    """Of thousands of files it takes as long as that they were written."""
    going = taken_back_in_part(scene)
    beside = scene.decide(["beside.txt"], b"edited\n")
    assert [*scene.performer.perform([beside], False)] == [(beside, Done())]
    scene.performer.commit_noted()
    assert scene.unsettled() == [going.batch, beside.batch]
    with pytest.raises(FileInFlight):
        scene.observer.observe(FILES[0], "watched")
    assert [*scene.turns()][-1] == [(going, LostRace((FILES[-1],)))]
    with scene.recorder.history() as history:
        assert history.batch_state(going.batch) == "abandoned"


def test_a_start_that_finds_only_a_part_of_that_said_says_the_rest(scene: Scene) -> None:
    """Else it would write the others once more, for the log promises them."""
    going = taken_back_in_part(scene)
    recorder, with_files = Recorder(Journal.open(scene.recorder.journal.store, 0), scene.clock), Workspace(scene.root)
    assert recover(RecoveryContext(recorder, with_files, Log(), 1 << 20)) == 0
    with_files.close()
    assert scene.now() == {b"before\n", b"saved outside\n"}
    with recorder.history() as history:
        assert (history.batch_state(going.batch), history.unsettled()) == ("abandoned", [])
        heads = [history.file(name) for name in FILES]
        assert {head.blob for head in heads if head is not None} == {blob_id(b"before\n")}


def test_what_is_left_to_say_when_the_store_takes_no_more_is_said_later(scene: Scene) -> None:
    def full() -> None:
        raise StoreFailure("the disk is full", disk_full=True)

    store = scene.recorder.journal.store
    assert isinstance(store, MemoryStore)
    going = taken_back_in_part(scene)
    store.fault = full
    assert [type(outcome) for _, outcome in [*scene.turns()][-1]] == [Unknown]
    store.fault = None
    scene.performer.commit_noted()
    with scene.recorder.history() as history:
        assert (history.batch_state(going.batch), history.unsettled()) == ("abandoned", [])


def write_into(file: Path) -> None:
    file.write_bytes(b"on top\n")


def replace(file: Path) -> None:
    file.unlink()
    file.write_bytes(b"in its place\n")


def test_a_file_that_is_held_open_keeps_no_other_from_being_taken_back(scene: Scene) -> None:
    """Whoever holds it open writes on top of ours: it stays, is looked at, and the log goes on telling of it alone."""
    going = scene.begin()
    scene.until_written(AT_ONCE)
    held = FILES[AT_ONCE // 2]
    with (scene.root / held).open("r+b"):
        (scene.root / FILES[-1]).write_bytes(b"saved outside\n")
        assert [*scene.turns()][-1] == [(going, InPart(None, (held,)))]
    assert [name for name in FILES if (scene.root / name).read_bytes() == b"after\n"] == [held]
    scene.performer.commit_noted()
    with scene.recorder.history() as history:
        assert (history.batch_state(going.batch), history.unsettled()) == ("applied", [])
        stands = [history.event(seq) for seq in history.batch_writes(going.batch)]
        assert [event.path for event in stands if isinstance(event, FileWritten)] == [held]
    assert {*scene.outside.named} == {*FILES}


@pytest.mark.parametrize("touch", [write_into, replace, Path.unlink])
def test_nothing_is_held_for_good_of_what_cannot_be_taken_back(scene: Scene, touch: Callable[[Path], None]) -> None:
    scene.begin()
    scene.until_written(AT_ONCE)
    touch(scene.root / FILES[0])
    (scene.root / FILES[-1]).write_bytes(b"saved outside\n")
    assert [type(outcome) for _, outcome in [*scene.turns()][-1]] == [LostRace]
    scene.performer.sweep()
    scene.clock.now_s += 2 * GRACE_S
    scene.performer.sweep()
    scene.performer.close()
    assert (scene.workspace.displaced_files(), os.listdir(scene.root / ".quire" / "tmp")) == (0, [])


def test_what_was_taken_back_while_the_store_took_nothing_is_told_with_the_next_commit(scene: Scene) -> None:
    """Else the log would call writes settled that never stood, and say that somebody else had undone them."""

    def full() -> None:
        raise StoreFailure("the disk is full", disk_full=True)

    store = scene.recorder.journal.store
    assert isinstance(store, MemoryStore)
    going = scene.begin()
    scene.until_written(AT_ONCE)
    (scene.root / FILES[-1]).write_bytes(b"saved outside\n")
    store.fault = full
    (_, outcome) = [*scene.turns()][-1][0]
    assert isinstance(outcome, Unknown)
    assert {*scene.outside.named} == {*FILES}
    with pytest.raises(StoreFailure):
        scene.performer.commit_noted()
    store.fault = None
    assert scene.in_flight.unsettled
    beside = scene.decide(["beside.txt"], b"edited\n")
    assert [*scene.performer.perform([beside], False)] == [(beside, Done())]
    with scene.recorder.history() as history:
        assert history.batch_state(going.batch) == "abandoned"
    scene.performer.commit_noted()
    assert not scene.in_flight.unsettled
    assert scene.unsettled() == []


def test_what_the_disk_refuses_is_told_when_the_log_has_taken_it_back(scene: Scene) -> None:
    going = scene.begin()
    (scene.root / FILES[AT_ONCE + 1]).unlink()
    (scene.root / FILES[AT_ONCE + 1]).mkdir()
    outcomes = [*scene.turns()][-1]
    assert [type(outcome) for _, outcome in outcomes] in ([LostRace], [DiskFailure])
    with scene.recorder.history() as history:
        assert history.batch_state(going.batch) == "abandoned"
    assert {(scene.root / name).read_bytes() for name in FILES if (scene.root / name).is_file()} == {b"before\n"}


def test_where_one_cannot_be_written_none_is_shown_for_a_moment(scene: Scene) -> None:
    """Those before it are synced while it is written, and must not be swapped yet."""
    before, after = scene.decide(FILES * 4, b"after\n"), scene.decide(["beside.txt"], b"too long\n" * 20)
    both = Decision({"ok": True}, (), [*before.decision.writes, *after.decision.writes], ())
    going = msgspec.structs.replace(before, decision=both, seqs=(*before.seqs, *after.seqs))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    assert len(both.writes) > PORTION
    assert [*scene.performer.perform([going], False)] == []
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
        (_, outcome) = [*scene.turns()][-1][0]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert isinstance(outcome, DiskFailure)
    assert (scene.now(), scene.outside.landed_at) == ({b"before\n"}, [])


@pytest.mark.parametrize("puts", ["nothing", "a link"])
def test_all_of_it_is_taken_back_also_when_a_temporary_file_is_gone(scene: Scene, puts: str) -> None:
    """Somebody clears `.quire/tmp`. Else half of it would stand, and be called settled with the next edit."""
    going = scene.begin()
    scene.until_written(AT_ONCE)
    for left in (scene.root / ".quire" / "tmp").iterdir():
        if left.name.startswith(f"{going.seqs[-1]}."):
            left.unlink()
            if puts == "a link":  # which nobody expects
                left.symlink_to("nowhere")
    (_, outcome) = [*scene.turns()][-1][0]
    assert isinstance(outcome, DiskFailure)
    assert scene.now() == {b"before\n"}
    with scene.recorder.history() as history:
        assert history.batch_state(going.batch) == "abandoned"
    assert {*scene.outside.named} == {*FILES}


def test_a_daemon_that_ends_writes_the_rest_first(scene: Scene) -> None:
    first, second = scene.begin(), scene.decide(["beside.txt", *(f"new{n}.txt" for n in range(MANY))], b"made\n")
    assert [*scene.performer.perform([second], False)] == []
    scene.until_written(AT_ONCE)
    assert [*scene.performer.finish()] == [(first, Done()), (second, Done())]
    assert scene.now() == {b"after\n"}
    assert (scene.root / f"new{MANY - 1}.txt").read_bytes() == b"made\n"
    assert not any(map(scene.in_flight.writes, (*FILES, "beside.txt")))


def test_its_caller_and_its_marks_are_known_until_it_has_ended(scene: Scene) -> None:
    going = scene.begin()
    in_flight = scene.in_flight
    assert (in_flight.callers, in_flight.operations) == ({b"undo"}, going.call.marks)
    assert len(going.call.marks) == 2
    assert [*scene.turns()][-1] == [(going, Done())]
    assert (in_flight.callers, in_flight.operations) == (set(), set())
