"""Shipping through faults, with the rows of a journal in memory: nothing lost, nothing twice, nothing out of order.

The shipper is killed at each of its steps, the far side fails before or after it stored, is emptied or loses its end,
the position is lost or falls back, a journal is cloned, or put back from an old copy.
"""

from __future__ import annotations

import hashlib
import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from scribe import SECOND, Scribe, to_purge

from disks import fill, small_disk
from quire_client.ship.address import FarSide, open_far_side
from quire_client.ship.memory import MemoryObjects
from quire_client.ship.port import FarSideUnreachable
from quire_client.ship.shipper import WHOLE_S, Parcel, Shipment, Shipper
from quire_journal.maintenance.purge import PurgeTarget
from quire_journal.shipment.cipher import decrypt
from quire_journal.shipment.ledger import (
    ContentKeys,
    content_key,
    forget_position,
    fork_at,
    forked,
    keep_keys,
    keep_position,
    keep_receipt,
    lineage,
    position,
    receipt,
)
from quire_journal.shipment.outbox import QUIET_NS, Rules, SealedSegment, adopted, adopted_after_gap, seal
from quire_journal.shipment.segment import Position, follow, read_segment
from quire_journal.storage.port import TABLES, apply_changes
from quire_journal.transparency.checkpoint import TreeHead, keys_of, signed
from quire_journal.transparency.ed25519 import public_of
from quire_journal.transparency.frontier import Frontier
from quire_journal.transparency.log_leaves import leaves

PRIVATE = b"\x01" * 32
ORIGIN = "journal.quire.invalid/test"
KEYS = keys_of(ORIGIN, public_of(PRIVATE))
NAME = "j"

STEPS = ("sealed", "contents_put", "segment_put", "read_back", "told")


class Killed(BaseException):
    """The shipper was killed here."""


class Host:
    """A journal, and the part of its daemon that ships."""

    made = 0

    def __init__(self, scribe: Scribe) -> None:
        self.scribe = scribe
        self._sealed: SealedSegment | None = None
        self._restarted = 0
        self.contents = True

    def copy(self) -> Host:
        scribe = Scribe()
        with self.scribe.store.reading() as r, scribe.store.writing() as w:
            for table in TABLES:
                w.put_all(table, list(r.scan(table)))
        scribe.seq, scribe._prev = self.scribe.seq, self.scribe._prev
        return Host(scribe)

    def _random(self) -> bytes:
        Host.made += 1
        return hashlib.sha256(b"%d" % Host.made).digest()

    def at(self) -> Position:
        with self.scribe.store.reading() as r:
            return position(r, NAME)

    def last(self) -> Shipment:
        at = self.at()
        # The segment before a fork stands under the parent's name.
        return Shipment(at.holder, at.number, at.hash, at.gaps)

    def next(self) -> Parcel | None:
        at = self.at()
        with self.scribe.store.reading() as r:
            keys = ContentKeys(r, self._random)
            now_ns = self.scribe.seq * SECOND + QUIET_NS
            again = receipt(r, at.number + 1)
            if again is not None and again.first != at.seq + 1:
                again = None
            at_s = Host.made if again is None else again.at_s
            rules = Rules(lambda path: path.startswith("private/"), self.contents)
            sealed = seal(r, at, rules, keys, lambda tree: self._head(tree, at_s), now_ns, again=again)
        if sealed is None:
            return None
        with self.scribe.store.writing() as w:
            keep_keys(w, keys.new)
        self._sealed = sealed
        changed = (again is not None or at.number < self._restarted) and sealed.after.hash != (again and again.hash)
        return Parcel(at.journal, at.number + 1, sealed.data, sealed.contents, changed)

    def shipped(self, parcel: Parcel) -> None:
        assert self._sealed is not None
        assert self._sealed.data == parcel.data
        self._move(self._sealed.after, parcel.data)

    def found(self, data: bytes) -> None:
        with self.scribe.store.reading() as r:
            after = adopted(r, self.at(), data, KEYS)
        self._adopt(after, data)

    def passed(self, number: int, data: bytes) -> None:
        with self.scribe.store.reading() as r:
            after = adopted_after_gap(r, self.at(), data)
        self._adopt(after, data)

    def _adopt(self, after: Position | None, data: bytes) -> None:
        at = self.at()
        if after is not None:
            self._move(after, data)
            return
        fork = fork_at(at, self._random().hex()[:8])
        self.scribe.note(fork)
        self._move(forked(at, fork))

    def restart(self) -> None:
        self._restarted = self.at().number
        with self.scribe.store.writing() as w:
            forget_position(w)

    def _move(self, at: Position, data: bytes = b"") -> None:
        with self.scribe.store.writing() as w:
            if data:
                keep_receipt(w, data)
            keep_position(w, lineage(w, at))

    @staticmethod
    def _head(tree: Frontier, at_s: int) -> str:
        return signed(TreeHead(ORIGIN, tree.size, tree.root()), PRIVATE, at_s).encoded()


class FaultyObjects(MemoryObjects):
    """A store that fails once: before or after it stored."""

    def __init__(self) -> None:
        super().__init__()
        self.fails = ""
        self.after = 0  # calls

    def create(self, key: str, data: bytes) -> bool:
        self._fail("before")
        new = super().create(key, data)
        self._fail("after")
        return new

    def get(self, key: str) -> bytes | None:
        self._fail("get")
        return super().get(key)

    def _fail(self, where: str) -> None:
        if self.fails == where:
            self.after -= 1
            if self.after < 0:
                self.fails = ""
                raise FarSideUnreachable("the disk is full, or the line is cut")


def far_records(far: FarSide, journal: str, number: int) -> list[tuple[int, bytes]]:
    """(seq, leaf) of the segments up to `number`, those of parents first, each checked; and its contents are there."""
    chain: list[bytes] = []
    while number:
        numbers = [one for one in far.segments.numbers(journal) if one <= number]
        some = [far.segments.get(journal, one) or b"" for one in numbers]
        assert numbers == [*range(number - len(numbers) + 1, number + 1)]
        assert numbers
        chain = [*some, *chain]
        journal, number = read_segment(some[0]).parent, numbers[0] - 1
    found: list[tuple[int, bytes]] = []
    at = Position(read_segment(chain[0]).journal) if chain else Position(journal)
    for data in chain:
        segment, at = follow(at, data, KEYS)
        for _, name in segment.blobs:
            encrypted = far.blobs.get(name.hex())
            assert encrypted is not None
            assert hashlib.sha256(encrypted).digest() == name
        found += [(seq, leaf) for seq, _, leaf in segment.rows()]
    return found


def require_all_there(host: Host, far: FarSide) -> None:
    with host.scribe.store.reading() as r:
        ours = [(seq, leaf) for seq, leaf, _ in leaves(r, 1)]
    last = host.last()
    assert far_records(far, last.journal, last.number) == ours


def drain(host: Host, far: FarSide) -> None:
    shipper = Shipper(host, far)
    while shipper.ship():
        pass


def new_host() -> Host:
    return Host(Scribe().introduce())


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_loses_nothing_and_sends_nothing_twice(step: str) -> None:
    host, objects = new_host(), MemoryObjects()
    far = FarSide.of(objects)
    for round in range(3):
        host.scribe.write(f"{round}.txt", b"%d\n" % round)

        def killed(name: str) -> None:
            if name == step:
                raise Killed

        with pytest.raises(Killed):
            Shipper(host, far, killed).ship()
    drain(host, far)
    require_all_there(host, far)


def test_a_store_that_is_emptied_beside_a_running_shipper_gets_all_of_it_again() -> None:
    host, objects = new_host(), MemoryObjects()
    far = FarSide.of(objects)
    shipper = Shipper(host, far, now_s=lambda: 0.0)
    for n in range(3):
        host.scribe.write(f"{n}.txt", b"%d\n" % n)
        while shipper.ship():
            pass
    objects.held.clear()
    host.scribe.write("later.txt", b"later\n")
    while shipper.ship():
        pass
    require_all_there(host, far)


def test_a_segment_that_the_store_lost_in_the_middle_is_noticed_and_all_is_there_again() -> None:
    host, objects, now_s = new_host(), MemoryObjects(), 0.0
    far = FarSide.of(objects)
    shipper = Shipper(host, far, now_s=lambda: now_s)
    for n in range(4):
        host.scribe.write(f"{n}.txt", b"%d\n" % n)
        while shipper.ship():
            pass
    del objects.held[f"segments/{NAME}/{2:012}"]
    while shipper.ship():
        pass
    assert [*far.segments.numbers(NAME)] == [1, 3, 4], "it does not look all the time"
    now_s = WHOLE_S
    while shipper.ship():
        pass
    require_all_there(host, far)


def ship_in_steps(host: Host, far: FarSide) -> None:
    for n in range(5):
        host.scribe.write(f"{n}.txt", b"%d\n" % n)
        drain(host, far)


@pytest.mark.parametrize("lost", [[1], [3], [2, 3], [5]])
def test_lost_segments_are_put_back_as_they_were_and_nothing_forks(lost: list[int]) -> None:
    host, objects = new_host(), MemoryObjects()
    far = FarSide.of(objects)
    ship_in_steps(host, far)
    before = dict(objects.held)
    for number in lost:
        del objects.held[f"segments/{NAME}/{number:012}"]
    drain(host, far)
    assert objects.held == before
    assert not host.last().gaps


def test_a_segment_that_cannot_be_made_again_stays_a_gap_and_nothing_forks() -> None:
    host, objects = new_host(), MemoryObjects()
    far = FarSide.of(objects)
    ship_in_steps(host, far)
    for number in (2, 3):
        del objects.held[f"segments/{NAME}/{number:012}"]
    before = dict(objects.held)
    host.contents = False  # of other settings the bytes are others
    drain(host, far)
    assert objects.held == before
    assert host.last().gaps == (2, 3)
    host.scribe.write("later.txt", b"later\n")
    drain(host, far)
    assert far.segments.journals() == [NAME]
    assert [*far.segments.numbers(NAME)] == [1, 4, 5, 6]
    steps: list[str] = []
    Shipper(host, far, steps.append).ship()
    assert "restarted" not in steps, "a gap that is known is not looked for again"


def test_contents_are_there_before_their_segment() -> None:
    host, objects = new_host(), MemoryObjects()
    host.scribe.write("a.txt", b"a\n")
    drain(host, FarSide.of(objects))
    kinds = [key.partition("/")[0] for key in objects.held]
    assert kinds == ["blobs", "segments"]


def test_a_clone_ships_under_a_name_of_its_own_from_there_and_says_so() -> None:
    host, far = new_host(), FarSide.of(MemoryObjects())
    host.scribe.write("a.txt", b"a\n")
    drain(host, far)
    clone = host.copy()
    host.scribe.write("b.txt", b"here\n")
    clone.scribe.write("b.txt", b"there\n")
    drain(host, far)
    drain(clone, far)
    assert host.last().journal == NAME
    assert clone.last().journal.startswith(f"{NAME}.")
    require_all_there(host, far)
    require_all_there(clone, far)
    assert len(far.segments.journals()) == 2


def test_what_was_purged_is_unreadable_at_the_far_side() -> None:
    host, far = new_host(), FarSide.of(MemoryObjects())
    host.scribe.write("a.txt", b"hunter2\n")
    drain(host, far)
    ((blob, name),) = read_segment(far.segments.get(NAME, 1) or b"").blobs
    with host.scribe.store.reading() as r:
        key = content_key(r, blob)
    assert key is not None
    assert decrypt(key, blob, far.blobs.get(name.hex()) or b"") == b"hunter2\n"
    with host.scribe.store.writing() as w:
        apply_changes(w, to_purge(w, PurgeTarget(path="a.txt")).rows)
    with host.scribe.store.reading() as r:
        assert content_key(r, blob) is None
        assert r.empty("content_keys")


class Shipping(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.objects = FaultyObjects()
        self.far = FarSide.of(self.objects)
        self.hosts = [new_host()]
        self.copies: list[Host] = []
        self.edits = 0

    def _host(self, data: st.DataObject) -> int:
        return data.draw(st.integers(0, len(self.hosts) - 1))

    @rule(data=st.data(), count=st.integers(1, 3), path=st.sampled_from(["a.txt", "b.txt", "private/c.txt"]))
    def edit(self, data: st.DataObject, count: int, path: str) -> None:
        host = self.hosts[self._host(data)]
        for _ in range(count):
            self.edits += 1
            host.scribe.write(path, b"%d\n" % self.edits)

    @rule(
        data=st.data(),
        kill=st.sampled_from(["", *STEPS, "restarted"]),
        fails=st.sampled_from(["", "before", "after", "get"]),
        calls=st.integers(0, 4),
    )
    def ship(self, data: st.DataObject, kill: str, fails: str, calls: int) -> None:
        def step(name: str) -> None:
            if name == kill:
                raise Killed

        self.objects.fails, self.objects.after = fails, calls
        shipper = Shipper(self.hosts[self._host(data)], self.far, step)
        try:
            for _ in range(3):
                shipper.ship()
        except (Killed, FarSideUnreachable):
            pass
        self.objects.fails = ""

    @rule(data=st.data())
    def lose_the_position(self, data: st.DataObject) -> None:
        self.hosts[self._host(data)].restart()

    @rule()
    def empty_the_far_side(self) -> None:
        self.objects.held.clear()

    @precondition(lambda self: len(self.hosts) == 1 and len(self.far.segments.journals()) == 1)
    @rule(left=st.integers(0, 5))
    def cut_the_far_side(self, left: int) -> None:
        for key in [key for key in self.objects.held if key.startswith("segments/")][left:]:
            del self.objects.held[key]

    @precondition(lambda self: bool(self.objects.held))
    @rule(data=st.data())
    def lose_any_segment(self, data: st.DataObject) -> None:
        segments = sorted(key for key in self.objects.held if key.startswith("segments/"))
        if segments:
            del self.objects.held[data.draw(st.sampled_from(segments))]

    @precondition(lambda self: len(self.hosts) < 3)
    @rule(data=st.data())
    def clone(self, data: st.DataObject) -> None:
        self.hosts.append(self.hosts[self._host(data)].copy())

    @rule()
    def keep_a_copy(self) -> None:
        self.copies = [self.hosts[0].copy()]

    @precondition(lambda self: bool(self.copies))
    @rule()
    def put_the_copy_back(self) -> None:
        self.hosts[0] = self.copies.pop()

    @invariant()
    def all_is_there_in_the_end(self) -> None:
        if not hasattr(self, "hosts"):
            return
        hosts, held = [host.copy() for host in self.hosts], dict(self.objects.held)
        objects = MemoryObjects()
        objects.held = held
        far = FarSide.of(objects)
        for host in hosts:
            drain(host, far)
            require_all_there(host, far)


def test_nothing_is_lost_sent_twice_or_out_of_order_whatever_fails() -> None:
    run_state_machine_as_test(Shipping, settings=settings(max_examples=40, stateful_step_count=25, deadline=None))


# ── a real folder ────────────────────────────────────────────────────────────


@pytest.mark.wide
@pytest.mark.parametrize("step", STEPS)
def test_a_process_that_is_killed_at_a_step_leaves_a_folder_that_the_next_one_completes(
    step: str, tmp_path: Path
) -> None:
    """The position is lost each time, too: the process that was killed has it."""
    host = new_host()
    far = open_far_side(str(tmp_path))
    for round in range(4):
        host.scribe.write(f"{round}.txt", bytes(200_000) + b"%d\n" % round)
        child = os.fork()
        if not child:
            try:
                Shipper(host, far, lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == step else None).ship()
            finally:
                os._exit(1)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    drain(host, far)
    require_all_there(host, far)


@pytest.mark.wide
def test_a_full_disk_at_the_far_side_delays_and_loses_nothing(tmp_path: Path) -> None:
    host = new_host()
    for round in range(3):
        host.scribe.write(f"{round}.bin", hashlib.shake_256(b"%d" % round).digest(300_000))
    with small_disk(tmp_path / "far", 4) as folder:
        far = open_far_side(str(folder))
        fill(folder / "others")
        for _ in range(3):
            with pytest.raises(FarSideUnreachable, match="No space left"):
                drain(host, far)
        (folder / "others").unlink()
        drain(host, far)
        require_all_there(host, far)
        assert not list(folder.rglob(".new-*"))
