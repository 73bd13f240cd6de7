"""A file that is edited and renamed in one call, on a real disk: in a race with others, and after a crash."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from clocks import SetClock

from quire_daemon.commit.inflight import InFlight, InFlightWrite
from quire_daemon.commit.recorder import Recorder
from quire_daemon.config.live import LiveSettings
from quire_daemon.config.settings import Settings
from quire_daemon.core.call import Call
from quire_daemon.core.decision import Who, World
from quire_daemon.engine.perform import Done, LostRace, Outcome, Performer
from quire_daemon.engine.request_files import RequestFiles
from quire_daemon.ops.daemon_log import Log
from quire_daemon.startup.recovery import recover
from quire_daemon.startup.recovery_context import RecoveryContext
from quire_daemon.tools.edit.hashline_edit import HASHLINE_TOOL, HashlineParams
from quire_daemon.watch.ignore import Ignore
from quire_daemon.watch.observe import Observer
from quire_daemon.watch.outside import Outside
from quire_daemon.workspace.workspace import Workspace
from quire_journal.integrity.checker import check
from quire_journal.journal import Journal
from quire_journal.model.events import WriterIntroduced
from quire_journal.model.ids import WriterId, blob_id
from quire_journal.storage.memory import MemoryStore
from quire_journal.text.line_hash import line_id
from quire_journal.views.writers import caller_key

OLD, NEW, THEIRS = b"one\ntwo\n", b"one\n2\n", b"theirs\n"
LIMIT = 1 << 20


@dataclass
class Looks:
    """In place of the looks at what outside programs do: which paths are to be looked at."""

    named: list[str] = field(default_factory=list)

    def landed(self, path: str, signature: object, blob: bytes, exchanged: bool = False) -> None:
        """A write of ours stands there."""

    def name(self, path: str, evidence: str, now: float) -> None:
        self.named.append(path)


class Steps:
    """Somebody else acts, once, when a named step is passed for the given time."""

    def __init__(self) -> None:
        self.at: dict[str, tuple[int, Callable[[], object]]] = {}

    def __call__(self, step: str) -> None:
        if step not in self.at:
            return
        passing, act = self.at.pop(step)
        if passing > 1:
            self.at[step] = passing - 1, act
        else:
            act()


@dataclass
class Scene:
    """A checkout with f.txt, its journal in memory, and one call that becomes d/g.txt."""

    root: Path
    steps: Steps
    workspace: Workspace
    recorder: Recorder
    looks: Looks
    performer: Performer

    def observer(self) -> Observer:
        return Observer(self.workspace, self.recorder, Ignore(self.root), LiveSettings(Settings()))

    def decide(self) -> InFlightWrite:
        """The call, decided and noted, but not performed."""
        edits = ({"target": f"2#{line_id(b'two')}", "new_content": ["2"]},)
        params = HashlineParams(path="f.txt", rename="d/g.txt", edits=edits)
        now = RequestFiles(self.observer())
        files = {path: now.file(path, True) for path in HASHLINE_TOOL.paths(params)}
        self.recorder.commit()
        who = Who(WriterId(1), caller_key(1000, "ann", "s1"), "ann", "s1")
        with self.recorder.history() as history:
            world = World(0, who, Settings(), files, history, self.recorder.next_seq, 0)
            decision = HASHLINE_TOOL.decide(params, world)
        batch = self.recorder.next_seq
        seqs = tuple(self.recorder.note(event, who.writer, batch) for event in decision.events)
        for data in decision.blobs:
            self.recorder.note_blob(data, None)
        call = Call(cast("Any", None), HASHLINE_TOOL, params, who, b"", "", 0.0, 0)
        return InFlightWrite(call, decision, seqs, batch)

    def perform(self, going: InFlightWrite) -> Outcome:
        """What comes of it; afterwards the disk is looked at, as the loop does."""
        ((_, outcome),) = self.performer.perform([going], sync_folders=True)
        self.look()
        return outcome

    def look(self) -> None:
        """Journal what is on disk."""
        for path in ("f.txt", "d/g.txt"):
            RequestFiles(self.observer()).file(path, False)
        self.recorder.commit()

    def on_disk(self) -> dict[str, bytes]:
        """Every file of the checkout."""
        found = {p.relative_to(self.root): p for p in self.root.rglob("*") if p.is_file()}
        return {str(name): p.read_bytes() for name, p in found.items() if name.parts[0] != ".quire"}

    def agreed(self) -> None:
        """The journal's heads are what is on disk, and the journal is sound."""
        with self.recorder.history() as history:
            heads = {path: head.blob for path, head in history.paths() if not head.gone}
        assert heads == {path: blob_id(data) for path, data in self.on_disk().items()}
        assert list(check(self.recorder.journal.store)) == []

    def state(self, going: InFlightWrite) -> str:
        with self.recorder.history() as history:
            return history.batch_state(going.batch)

    def holds(self, data: bytes) -> bool:
        with self.recorder.history() as history:
            return history.holds(blob_id(data))


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    (tmp_path / "f.txt").write_bytes(OLD)
    steps = Steps()
    workspace = Workspace(tmp_path, steps=steps)
    recorder = Recorder(Journal.open(MemoryStore(), SetClock().ns), SetClock())
    recorder.introduce(recorder.writer(WriterIntroduced(WriterId(0), uid=1000, agent="ann", agent_session="s1")))
    recorder.commit()
    looks = Looks()
    performer = Performer(workspace, recorder, cast("Outside", looks), InFlight(recorder), steps)
    yield Scene(tmp_path, steps, workspace, recorder, looks, performer)
    performer.close()
    workspace.close()


def saved(path: Path, data: bytes) -> Callable[[], object]:
    """Somebody saves by rename, which makes another inode of the name."""

    def save() -> None:
        path.parent.mkdir(exist_ok=True)
        beside = path.with_name("beside")
        beside.write_bytes(data)
        beside.replace(path)

    return save


# ── in a race ────────────────────────────────────────────────────────────────


def test_the_new_name_has_the_new_bytes_and_the_old_name_is_gone(scene: Scene) -> None:
    going = scene.decide()
    assert isinstance(scene.perform(going), Done)
    assert scene.on_disk() == {"d/g.txt": NEW}
    scene.agreed()
    assert scene.holds(OLD)


@pytest.mark.parametrize(
    ("step", "passing"), [("before_commit", 1), ("after_commit", 1), ("after_stage", 1), ("perform.folders_made", 1)]
)
def test_a_target_that_somebody_makes_meanwhile_stays_and_nothing_is_renamed(
    scene: Scene, step: str, passing: int
) -> None:
    scene.steps.at[step] = passing, saved(scene.root / "d/g.txt", THEIRS)
    going = scene.decide()
    assert isinstance(scene.perform(going), LostRace)
    assert scene.on_disk() == {"f.txt": OLD, "d/g.txt": THEIRS}
    assert scene.state(going) == "abandoned"
    assert {"f.txt", "d/g.txt"} <= {*scene.looks.named}
    scene.agreed()


@pytest.mark.parametrize(
    ("step", "passing"), [("after_commit", 1), ("after_stage", 1), ("after_write", 1), ("perform.base_held", 1)]
)
def test_a_file_that_somebody_changes_meanwhile_stays_and_the_new_name_is_taken_back(
    scene: Scene, step: str, passing: int
) -> None:
    """The new file has landed by then; the end of the old one is what fails."""
    scene.steps.at[step] = passing, saved(scene.root / "f.txt", THEIRS)
    going = scene.decide()
    assert isinstance(scene.perform(going), LostRace)
    assert not scene.steps.at, "nobody has saved"
    assert scene.on_disk() == {"f.txt": THEIRS}
    assert not (scene.root / "d").exists()
    assert scene.state(going) == "abandoned"
    scene.agreed()
    assert scene.holds(OLD)


def test_what_somebody_wrote_into_the_new_file_before_it_is_taken_back_stays(scene: Scene) -> None:
    def both() -> None:
        saved(scene.root / "f.txt", THEIRS)()
        saved(scene.root / "d/g.txt", b"theirs, too\n")()

    scene.steps.at["after_write"] = 1, both
    going = scene.decide()
    assert isinstance(scene.perform(going), LostRace)
    assert scene.on_disk() == {"f.txt": THEIRS, "d/g.txt": b"theirs, too\n"}
    assert scene.state(going) == "abandoned"
    scene.agreed()


def test_a_file_that_somebody_removes_meanwhile_is_not_brought_back(scene: Scene) -> None:
    scene.steps.at["after_write"] = 1, (scene.root / "f.txt").unlink
    assert isinstance(scene.perform(scene.decide()), LostRace)
    assert scene.on_disk() == {}
    scene.agreed()
    assert scene.holds(OLD)


def test_a_call_that_was_overtaken_can_be_made_again(scene: Scene) -> None:
    scene.steps.at["after_write"] = 1, saved(scene.root / "f.txt", OLD + b"three\n")
    assert isinstance(scene.perform(scene.decide()), LostRace)
    assert isinstance(scene.perform(scene.decide()), Done)
    assert scene.on_disk() == {"d/g.txt": NEW + b"three\n"}
    scene.agreed()


# ── after a crash ────────────────────────────────────────────────────────────


def promised(scene: Scene) -> InFlightWrite:
    """The log has the promise; nothing else has happened."""
    going = scene.decide()
    scene.recorder.commit()
    return going


def recovered(scene: Scene) -> int:
    """How many promises were kept by the next start, which then looks at the disk; twice is the same as once."""
    kept = recover(RecoveryContext(scene.recorder, scene.workspace, Log(), LIMIT))
    disk = scene.on_disk()
    assert recover(RecoveryContext(scene.recorder, scene.workspace, Log(), LIMIT)) == 0
    assert scene.on_disk() == disk
    scene.look()
    scene.agreed()
    with scene.recorder.history() as history:
        assert list(history.unsettled()) == []
    return kept


def target(scene: Scene, data: bytes) -> None:
    """Something stands at the new name."""
    (scene.root / "d").mkdir()
    (scene.root / "d/g.txt").write_bytes(data)


def test_a_promise_that_nobody_began_to_keep_is_kept(scene: Scene) -> None:
    promised(scene)
    assert recovered(scene) == 1
    assert scene.on_disk() == {"d/g.txt": NEW}


def test_a_promise_of_which_the_new_name_stands_is_finished(scene: Scene) -> None:
    promised(scene)
    target(scene, NEW)
    assert recovered(scene) == 1
    assert scene.on_disk() == {"d/g.txt": NEW}
    assert scene.holds(OLD)


def test_a_promise_that_was_kept_is_not_kept_again(scene: Scene) -> None:
    promised(scene)
    target(scene, NEW)
    (scene.root / "f.txt").unlink()
    assert recovered(scene) == 0
    assert scene.on_disk() == {"d/g.txt": NEW}


def test_a_new_name_that_somebody_took_meanwhile_is_theirs(scene: Scene) -> None:
    promised(scene)
    target(scene, THEIRS)
    assert recovered(scene) == 0
    assert scene.on_disk() == {"f.txt": OLD, "d/g.txt": THEIRS}


@pytest.mark.parametrize("landed", [True, False])
def test_what_somebody_wrote_under_the_old_name_meanwhile_stays(scene: Scene, landed: bool) -> None:
    promised(scene)
    if landed:
        target(scene, NEW)
    saved(scene.root / "f.txt", THEIRS)()
    assert recovered(scene) == 0
    assert scene.on_disk() == {"f.txt": THEIRS} | ({"d/g.txt": NEW} if landed else {})
    assert scene.holds(NEW)


def test_the_old_bytes_that_somebody_put_back_under_the_old_name_stay(scene: Scene) -> None:
    promised(scene)
    target(scene, NEW)
    saved(scene.root / "f.txt", OLD)()
    assert recovered(scene) == 0
    assert scene.on_disk() == {"f.txt": OLD, "d/g.txt": NEW}


def taken_away(scene: Scene, going: InFlightWrite, data: bytes, same_file: bool) -> None:
    """It died after it had moved the old name away, before it saw what that was."""
    target(scene, NEW)
    kept = scene.root / f".quire/tmp/{going.batch}.dead.0"
    if same_file:
        (scene.root / "f.txt").rename(kept)
    kept.write_bytes(data)
    (scene.root / "f.txt").unlink(missing_ok=True)


def test_a_save_that_the_dead_daemon_had_taken_from_the_old_name_goes_back_there(scene: Scene) -> None:
    taken_away(scene, promised(scene), THEIRS, same_file=False)
    recovered(scene)
    assert scene.on_disk() == {"f.txt": THEIRS, "d/g.txt": NEW}
    with scene.recorder.history() as history:
        head = history.file("f.txt")
    assert head is not None
    assert (head.type, head.evidence) == ("outside", "displaced")


@pytest.mark.parametrize(("data", "same_file"), [(OLD, False), (OLD, True), (NEW, False), (THEIRS, True)])
def test_the_old_file_and_what_a_late_writer_put_into_it_are_only_journaled(
    scene: Scene, data: bytes, same_file: bool
) -> None:
    taken_away(scene, promised(scene), data, same_file)
    recovered(scene)
    assert scene.on_disk() == {"d/g.txt": NEW}
    assert scene.holds(data)
