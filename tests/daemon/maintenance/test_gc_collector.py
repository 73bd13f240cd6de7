"""Limits of what journals take, as replies tell them; and the reserve of the disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from quire_daemon.clock import SystemClock
from quire_daemon.commit.disk_space import Reserve
from quire_daemon.commit.recorder import Recorder
from quire_daemon.config.live import LiveSettings
from quire_daemon.config.settings import Retention, Settings
from quire_daemon.maintenance.gc.collector import WORTH_BYTES, CollectionOrder, Collector, due, usage, warnings
from quire_daemon.maintenance.gc.drop import BUSY_S, IDLE_S
from quire_daemon.ops.daemon_log import Log
from quire_daemon.workers.pool import Failed, Job, brought, ended
from quire_journal.journal import Journal
from quire_journal.model.events import FileWritten, WriterIntroduced, WritesSettled
from quire_journal.model.ids import WriterId, blob_id
from quire_journal.model.records import JournalDamaged
from quire_journal.model.refusals import Refusal
from quire_journal.storage.blobs import codec, row as blob_row
from quire_journal.storage.blobs.row import BlobRow
from quire_journal.storage.compaction import Tee
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import Elsewhere, StoreFailure, u64
from quire_journal.workspaces.layout import packing_lock_file
from quire_journal.workspaces.lock import hold_lock

MIB = 1 << 20
RETENTION = Retention(workspace_bytes=100 * MIB, store_bytes=0)


@pytest.mark.parametrize(("taken", "warned"), [(0, False), (80 * MIB, False), (81 * MIB, True), (200 * MIB, True)])
def test_above_four_fifths_of_the_limit_every_reply_has_a_warning(tmp_path: Path, taken: int, warned: bool) -> None:
    told = warnings(usage(RETENTION, taken, tmp_path))
    assert [one["type"] for one in told] == ["retention"] * warned
    assert all(f"takes {taken >> 20} of 100 MiB" in one["message"] for one in told)


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        (1, "takes 102400 of 1 bytes;"),
        (2048, "takes 100 of 2 KiB;"),
        (3 * MIB // 2, ""),
        (100 << 10, "takes 100 of 100 KiB;"),
    ],
)
def test_a_small_limit_is_told_in_a_unit_that_shows_it(tmp_path: Path, limit: int, told: str) -> None:
    retention = Retention(workspace_bytes=limit, store_bytes=0)
    messages = [one["message"] for one in warnings(usage(retention, 100 << 10, tmp_path))]
    assert [told in message for message in messages] == [True] * bool(told)


def test_without_a_limit_nothing_is_told(tmp_path: Path) -> None:
    assert warnings(usage(Retention(workspace_bytes=0, store_bytes=0), 1 << 50, tmp_path)) == ()


def test_all_journals_of_the_state_home_count_for_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name in ("mine", "other"):
        database = tmp_path / "quire" / name / "journal" / "db" / "data.mdb"
        database.parent.mkdir(parents=True)
        database.write_bytes(b"x" * 3 * MIB)
        identity = f'{{"id": "{"0" * 32}", "root": "/somewhere/{name}", "created": "2026-01-01T00:00:00Z"}}'
        (tmp_path / "quire" / name / "workspace.json").write_text(identity)
    found = usage(Retention(store_bytes=MIB), 5 * MIB, tmp_path / "quire" / "mine")
    assert found["workspace"]["bytes"] == 5 * MIB
    assert found["store"] == {"bytes": 8 * MIB, "limit": MIB}


@pytest.mark.parametrize(
    ("automatic", "taken", "running_s", "since_s", "expected"),
    [
        ("off", 200 * MIB, 1e9, 1e9, False),
        ("over_quota", 99 * MIB, 1e9, 1e9, False),
        ("over_quota", 100 * MIB, 5.0, float("inf"), True),  # as soon as it starts
        ("over_quota", 200 * MIB, 1e9, 1800.0, False),  # what the policy keeps does not shrink
        ("daily", 0, 3600.0, float("inf"), False),
        ("daily", 0, 90_000.0, float("inf"), True),
        ("daily", 0, 90_000.0, 3600.0, False),
    ],
)
def test_a_collection_by_itself_is_due_only_when_the_settings_ask_for_it(
    tmp_path: Path, automatic: str, taken: int, running_s: float, since_s: float, expected: bool
) -> None:
    assert due(automatic, usage(RETENTION, taken, tmp_path), running_s, since_s) is expected


class Full:
    """A daemon whose disk takes nothing."""

    clock, log = SystemClock(), Log()
    stopping = False

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.in_force = LiveSettings(Settings())
        self.recorder = Recorder(Journal.open(store or MemoryStore(), 1), self.clock)
        self.jobs: list[str] = []
        self.steps: list[str] = []
        self.faults: list[Exception] = []
        self.progress: dict[str, dict[str, Any]] = {}
        self.full = True

    def step(self, name: str) -> None:
        self.steps.append(name)

    def told(self, what: str, error: Exception) -> dict[str, Any]:
        self.faults.append(error)
        return {}

    def start_job(self, work: Job, what: str, failed: Failed) -> None:
        self.jobs.append(what)

    def commit_noted(self) -> None:
        if self.full:
            raise StoreFailure("the disk is full", disk_full=True)


def test_a_collection_that_cannot_begin_does_not_keep_others_from_it(tmp_path: Path) -> None:
    """Who makes room by hand, and asks again, was told that a collection was going on until the daemon ended."""
    host = Full()
    collector = Collector(host, tmp_path)
    with pytest.raises(StoreFailure):
        collector.begin(CollectionOrder(), lambda body: None)
    assert not collector.going_on
    host.full = False
    collector.begin(CollectionOrder(), lambda body: None)
    assert collector.going_on
    assert host.jobs == ["gc"]


def test_nothing_is_collected_while_a_purge_looks_that_would_be_refused_for_it_in_the_end(tmp_path: Path) -> None:
    host = Full()
    host.full = False
    host.in_force.now = Settings(retention=Retention(workspace_bytes=1, store_bytes=0, automatic="over_quota"))
    host.progress["purge"] = {}
    collector = Collector(host, tmp_path)
    collector.tidy()
    assert collector.usage["workspace"]["bytes"] > 0
    with pytest.raises(Refusal, match="purge"):
        collector.begin(CollectionOrder(), lambda body: None)
    assert host.jobs == []
    host.progress.clear()
    collector.begin(CollectionOrder(), lambda body: None)
    assert host.jobs == ["gc"]


class Standing(SystemClock):
    """A clock that goes on when somebody waits, or tells it to."""

    now_s = 100.0

    def mono_s(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class Served(Full):
    """A daemon whose loop turns when it is told to, and whose journal has versions that no rule keeps."""

    def __init__(self, state_dir: Path, store: MemoryStore | None = None) -> None:
        super().__init__(store)
        keeping = Retention(keep_last=1, keep_within="", daily=0, thin_outside="", grace="0")
        self.in_force = LiveSettings(Settings(retention=keeping))
        self.clock = Standing()
        self.recorder.clock = self.clock
        self.work: list[tuple[Job, Failed]] = []
        self.collector = Collector(self, state_dir)
        self.recorder.note(WriterIntroduced(1, uid=1000, agent="ann"), WriterId(1))
        for number in range(6):
            data = b"%d" % number
            self.recorder.note(FileWritten("a", blob_id(data), len(data), 0o644), WriterId(1))
            self.recorder.note_blob(data, "a")
            self.recorder.note(WritesSettled(self.recorder.next_seq - 1))
        self.commit_noted()

    def start_job(self, work: Job, what: str, failed: Failed) -> None:
        self.work.append((work, failed))

    def turn(self) -> None:
        if self.work:
            work, failed = self.work.pop()
            ended(brought(work) or (lambda: None), failed)

    def commit_noted(self) -> None:
        self.recorder.commit()


def test_where_others_never_rest_something_is_dropped_each_second(tmp_path: Path) -> None:
    daemon, told = Served(tmp_path), []
    daemon.collector.begin(CollectionOrder(), told.append)
    turns = 0
    while not told:
        turns += 1
        daemon.recorder.note(WritesSettled(daemon.recorder.next_seq - 1))
        daemon.commit_noted()
        daemon.turn()
        daemon.clock.now_s += IDLE_S / 5
    assert told[0]["dropped"] == {"blobs": 5}
    assert turns * IDLE_S / 5 >= BUSY_S


def test_drops_wait_for_a_pause_of_others_and_not_at_all_where_there_is_one(tmp_path: Path) -> None:
    daemon, told = Served(tmp_path), []
    daemon.clock.now_s += IDLE_S  # since the last edit
    daemon.collector.begin(CollectionOrder(dry_run=True), told.append)
    while daemon.collector.going_on:
        daemon.turn()
    daemon.collector.begin(CollectionOrder(), told.append)
    for _ in range(6):  # mark, note, drop, look for more, end
        daemon.turn()
    assert [body.get("dropped") for body in told] == [None, {"blobs": 5}], "others have not written for a while"

    for data in (b"new", b"newer"):
        daemon.recorder.note(FileWritten("b", blob_id(data), len(data), 0o644), WriterId(1))
        daemon.recorder.note_blob(data, "b")
        daemon.recorder.note(WritesSettled(daemon.recorder.next_seq - 1))
    daemon.commit_noted()
    daemon.collector.begin(CollectionOrder(), told.append)
    for _ in range(6):
        daemon.turn()
    assert daemon.collector.going_on, "somebody has just written"
    daemon.clock.now_s += IDLE_S
    for _ in range(3):
        daemon.turn()
    assert told[2]["dropped"] == {"blobs": 1}


@pytest.mark.parametrize(
    ("table", "key", "row"),
    [
        ("records", 2, b"nonsense"),
        ("blobs", 6, b""),
        ("blobs", 2, b"nonsense"),
        ("blobs", 2, b"\x83\x09\x00\x01x"),  # made from one that lies before the first
    ],
)
def test_a_collection_that_meets_damage_has_it_followed_up_like_any_other(
    tmp_path: Path, table: str, key: int, row: bytes
) -> None:
    """The next start believed that the journal is as it was left, and did not check it."""
    daemon, told = Served(tmp_path), list[dict[str, Any]]()
    with daemon.recorder.journal.store.writing() as w:
        w.put(table, u64(key), row)
    daemon.collector.begin(CollectionOrder(), told.append)
    while not told:
        daemon.turn()
    assert told[0]["error"] == "journal_damaged"
    assert [type(error) for error in daemon.faults] == [JournalDamaged]


@pytest.mark.parametrize(("for_good", "followed_up"), [(True, 1), (False, 0)])
def test_a_commit_of_a_collection_that_fails_for_good_is_followed_up_like_any_other(
    tmp_path: Path, for_good: bool, followed_up: int
) -> None:
    """The journal was read-only, and mistrusted, only from the next commit on."""
    store = Failing()
    daemon, told = Served(tmp_path, store), list[dict[str, Any]]()
    daemon.collector.begin(CollectionOrder(), told.append)
    store.fails = StoreFailure("could not sync", for_good=for_good)
    while not told:
        daemon.turn()
    assert told[0]["error"] == "journal_damaged"
    assert len(daemon.faults) == followed_up


class Failing(MemoryStore):
    """A store whose commits fail from some time on."""

    fails: StoreFailure | None = None

    def __init__(self) -> None:
        super().__init__(self._fail)

    def _fail(self) -> None:
        if self.fails is not None:
            raise self.fails


def test_damage_that_drops_meet_while_they_ride_ends_the_collection_and_no_edit(tmp_path: Path) -> None:
    """Each fourth commit failed, and then every one, as long as nobody rested: of edits that stood on the disk."""
    daemon, told = Served(tmp_path), list[dict[str, Any]]()
    daemon.collector.begin(CollectionOrder(), told.append)
    for _ in range(3):  # mark, note, look what is to go
        daemon.turn()
    with daemon.recorder.journal.store.writing() as w:
        w.delete("blobs", u64(3))
        w.put("blobs", u64(7), blob_row.row(7, BlobRow(3, 1, 1, codec.STRETCH, b"\1")))
    for number in range(8):
        daemon.recorder.note(FileWritten("b", blob_id(b"%d" % number), 1, 0o644), WriterId(1))
        daemon.commit_noted()
    while not told:
        daemon.turn()
    assert told[0]["error"] == "journal_damaged"
    assert "blob 3" in told[0]["message"]
    assert [type(error) for error in daemon.faults] == [JournalDamaged]


class Hurried(MemoryStore):
    """Others write more, while it is compacted, than can be held."""

    def compacting(self, step: Callable[[str], None] = lambda name: None) -> Any:
        found = super().compacting(step)

        def copy(pause: Callable[[], None], elsewhere: Elsewhere, shared: Sequence[str] = ()) -> None:
            tee = Tee(most_bytes=0)
            tee.add([("meta", b"key", b"value")])
            tee.take()

        found.copy = copy  # type: ignore[method-assign]
        return found


def test_a_compaction_that_others_outran_is_to_be_asked_for_again_and_is_no_damage(tmp_path: Path) -> None:
    daemon, told = Served(tmp_path, Hurried()), list[dict[str, Any]]()
    daemon.collector.begin(CollectionOrder(compact=True), told.append)
    while not told:
        daemon.turn()
    assert (told[0]["error"], told[0]["suggested_action"]) == ("busy", "retry")
    assert told[0]["blobs_dropped"] == 5


def test_all_that_a_collection_waits_for_goes_by_the_clock_that_it_is_given(tmp_path: Path) -> None:
    """The grace time, and what it leaves to others between two slices, were measured by the machine's."""
    daemon, told = Served(tmp_path), list[dict[str, Any]]()
    keeping = Retention(keep_last=1, keep_within="", daily=0, thin_outside="", grace="10m")
    daemon.in_force.now = Settings(retention=keeping)
    began_s = daemon.clock.now_s
    daemon.collector.begin(CollectionOrder(compact=True), told.append)
    while not told:
        daemon.turn()
    assert told[0]["dropped"] == {"blobs": 5}
    assert daemon.clock.now_s - began_s >= 600


def test_a_collection_whose_drops_are_done_is_not_called_unfinished_where_only_the_compaction_was_refused(
    tmp_path: Path,
) -> None:
    """`doctor` said that something needs a look until the next collection, though nothing was left to drop."""
    daemon, told = Served(tmp_path), list[dict[str, Any]]()
    daemon.collector.begin(CollectionOrder(compact=True), told.append)
    while not any(event == "gc_begun" for event in daemon.steps):
        daemon.turn()
    assert "did not come to its end" in Collector(daemon, tmp_path).unfinished()
    daemon.recorder.journal.store.compacting()  # a purge's
    while not told:
        daemon.turn()
        daemon.clock.now_s += IDLE_S
    assert told[0]["error"] == "busy"
    assert told[0]["blobs_dropped"] == 5
    assert daemon.collector.unfinished() == ""


def test_the_reserve_takes_its_space_and_gives_it_back_once(tmp_path: Path) -> None:
    reserve = Reserve(tmp_path / "reserve", MIB)
    assert reserve.json() == {"bytes": MIB, "held": False, "given_back": False}
    reserve.give_back()  # there was none: nobody is kept waiting for it
    assert not reserve.given_back
    reserve.take()
    assert (tmp_path / "reserve").stat().st_blocks * 512 >= MIB
    reserve.give_back()
    assert reserve.json() == {"bytes": MIB, "held": False, "given_back": True}
    assert list(tmp_path.iterdir()) == []
    reserve.take()
    assert reserve.json() == {"bytes": MIB, "held": True, "given_back": False}


def test_daemons_share_a_reserve_and_none_writes_on_what_another_gave_back(tmp_path: Path) -> None:
    room = [100 * MIB]
    one, other, late = (Reserve(tmp_path / "reserve", MIB, lambda folder: room[0]) for _ in range(3))
    one.take()
    other.take()
    assert os.listdir(tmp_path) == ["reserve"]
    room[0] = MIB  # only what was given back
    one.give_back()
    for reserve in (other, late):
        reserve.take()
    assert (other.given_back, late.given_back) == (True, False), "who never saw it does not wait for it"
    other.give_back()  # there is no more
    room[0] = 100 * MIB
    other.take()
    one.take()
    assert (one.given_back, other.given_back) == (False, False)
    other.give_back()
    one.give_back()  # its disk was full before it looked again
    assert one.given_back


def test_a_reserve_for_which_there_is_no_room_is_not_taken(tmp_path: Path) -> None:
    reserve = Reserve(tmp_path / "reserve", 1 << 60)
    reserve.take()
    assert not (tmp_path / "reserve").exists()
    nothing = Reserve(tmp_path / "reserve", 0)
    nothing.take()
    nothing.give_back()
    assert not (tmp_path / "reserve").exists()
    assert not nothing.given_back


@pytest.mark.parametrize("wanted", [0, MIB])
def test_a_start_with_a_smaller_reserve_gives_back_what_is_not_wanted_any_more(tmp_path: Path, wanted: int) -> None:
    """The file stayed as it was until the disk was full."""
    Reserve(tmp_path / "reserve", 4 * MIB).take()
    reserve = Reserve(tmp_path / "reserve", wanted)
    reserve.make_room()
    reserve.take()
    held = sum(file.stat().st_blocks * 512 for file in tmp_path.iterdir())
    assert wanted <= held < 2 * MIB
    assert reserve.json() == {"bytes": wanted, "held": wanted > 0, "given_back": False}


def test_a_disk_that_packs_what_is_empty_has_no_reserve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says that it has reserved the space, and holds none. The file was written again at each start."""
    monkeypatch.setattr(os, "posix_fallocate", lambda fd, start, size: os.ftruncate(fd, size))
    reserve = Reserve(tmp_path / "reserve", MIB)
    reserve.take()
    assert list(tmp_path.iterdir()) == []
    assert reserve.json() == {"bytes": MIB, "held": False, "given_back": False}


def test_a_large_journal_is_compacted_after_its_first_capture_and_drops_nothing(tmp_path: Path) -> None:
    daemon = Served(tmp_path)
    with daemon.recorder.journal.store.writing() as w:
        w.put("meta", b"large", bytes(WORTH_BYTES))
    asked: list[str] = []
    daemon.collector = Collector(daemon, tmp_path, lambda: asked.append("databases") or ["/elsewhere/db"])
    assert daemon.collector.captured()
    assert daemon.collector.going_on
    assert not asked, "only the worker thread looks for them"
    while daemon.collector.going_on:
        daemon.turn()
    assert asked == ["databases"]
    assert [step for step in daemon.steps if step.startswith("gc")] == ["gc_finished"]
    with daemon.recorder.history() as history:
        assert all(history.holds(version.blob) for version in history.versions("a"))


def test_a_small_journal_is_not_compacted_after_its_first_capture(tmp_path: Path) -> None:
    daemon = Served(tmp_path)
    assert daemon.collector.captured()
    assert not daemon.collector.going_on


def test_a_compaction_after_a_first_capture_waits_for_a_collection_and_a_purge(tmp_path: Path) -> None:
    daemon = Served(tmp_path)
    with daemon.recorder.journal.store.writing() as w:
        w.put("meta", b"large", bytes(WORTH_BYTES))
    daemon.progress["purge"] = {}
    assert not daemon.collector.captured()
    del daemon.progress["purge"]
    daemon.collector.begin(CollectionOrder(), lambda body: None)
    assert not daemon.collector.captured()


def test_journals_are_compacted_after_their_first_captures_one_after_the_other(tmp_path: Path) -> None:
    daemon = Served(tmp_path)
    with daemon.recorder.journal.store.writing() as w:
        w.put("meta", b"large", bytes(WORTH_BYTES))
    with hold_lock(packing_lock_file(tmp_path)):  # by the daemon of another checkout
        assert not daemon.collector.captured()
    assert daemon.collector.captured()
    with hold_lock(packing_lock_file(tmp_path), 0.0) as lock:
        assert lock is None
    while daemon.collector.going_on:
        daemon.turn()
    with hold_lock(packing_lock_file(tmp_path), 0.0) as lock:
        assert lock is not None


def test_packs_count_for_the_store_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name in ("mine", "one", "other"):
        (tmp_path / "quire" / name / "journal" / "db").mkdir(parents=True)
    pack = tmp_path / "quire" / "one" / "journal" / "db" / "pack.1"
    pack.write_bytes(b"x" * 3 * MIB)
    os.link(pack, tmp_path / "quire" / "other" / "journal" / "db" / "pack.1")
    mine = tmp_path / "quire" / "mine"
    assert usage(Retention(store_bytes=MIB), 5 * MIB, mine)["store"]["bytes"] == 8 * MIB
    os.link(pack, mine / "journal" / "db" / "pack.1")
    assert usage(Retention(store_bytes=MIB), 5 * MIB, mine)["store"]["bytes"] == 5 * MIB
