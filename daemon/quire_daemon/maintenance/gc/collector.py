"""Garbage collection of blobs while the daemon works.

1. mark: a worker thread finds the blobs to drop, in short read transactions (`mark`).
2. grace: a blob that a record names after the mark began is kept.
3. drop: record `retention_applied`, then delete a few blobs per commit, with a `bytes_gone` record in each (`drop`).
4. compact: if requested, or if much of the file is free (`compaction`).

After the first capture of a large tree only the compaction runs: it fills the pages, and moves contents into packs,
which the checkouts of one repository share (`quire_journal.storage.packs`).

A crash leaves an intact journal: the log names the blobs dropped so far, and the next collection continues. Replies
warn when journals exceed four fifths of their limit. Automatic collection is off by default.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from quire_daemon.commit import Recorder
from quire_daemon.config import LiveSettings, Retention, policy_of
from quire_daemon.integrity import copied
from quire_daemon.maintenance.gc.drop import BUSY_S, IDLE_S, DropQueue
from quire_daemon.maintenance.gc.mark import Chunk, Marks, NewerNeeds
from quire_daemon.ops import Log
from quire_daemon.workers import Breather, Failed, Job, Throttle
from quire_journal.history import rfc3339
from quire_journal.maintenance import Policy, duration_ns
from quire_journal.model import JournalDamaged, Refusal, RetentionApplied, size
from quire_journal.storage import Compaction, Outrun, StoreFailure
from quire_journal.workspaces import WorkspaceRefused, packing_lock_file, state_home, take_lock

STEPS: Final = ("gc_marked", "gc_begun", "gc_dropped", "gc_finished")
"""Steps of a collection at which crash tests can kill the daemon."""

BEGUN: Final = "gc.begun"

DROP_REST_S: Final = 0.02
LOOK_S: Final = 10.0
HOUR_S: Final = 3600.0
DAY_S: Final = 24 * HOUR_S
WARN_AT: Final = 0.8
MOST_ATTEMPTS: Final = 3
"""Maximum number of mark phases of one collection. A checkpoint named during a mark phase makes another one
necessary.
"""

CAPTURE: Final = "capture"
"""`CollectionOrder.by` of the compaction after a first capture."""

WORTH_BYTES: Final = 4 << 20
"""Size of a journal from which on it is compacted after its first capture."""

COMPACT_ABOVE: Final = 0.5
"""Used fraction of the file below which an automatic collection compacts it."""

Then = Callable[[dict[str, Any]], None]


class CollectorHost(Throttle, Protocol):
    in_force: LiveSettings
    recorder: Recorder
    log: Log
    step: Callable[[str], None]
    progress: dict[str, dict[str, Any]]  # other long work, by service

    def start_job(self, work: Job, what: str, failed: Failed) -> None: ...

    def told(self, what: str, error: Exception) -> dict[str, Any]: ...

    def commit_noted(self) -> None: ...


Databases = Callable[[], Sequence[str]]
"""Function that returns the folders of other journals' databases, whose packs may be linked. For a worker thread."""


class CollectionOrder(msgspec.Struct, frozen=True):
    dry_run: bool = False
    compact: bool = False
    by: str = "asked"
    limit: int = 0  # blobs to list
    skip: int = 0
    only: str = ""  # list only blobs that are "kept" or "dropped"


class Collector:
    """Runs garbage collections, one at a time, and measures the size of the journals."""

    def __init__(self, host: CollectorHost, state_dir: Path, databases: Databases = tuple) -> None:
        self._host, self._state_dir, self._databases = host, state_dir, databases
        self._running: _Collection | None = None
        self._look_at = 0.0
        self._began_s = host.clock.mono_s()
        self._last_s = float("-inf")  # time of the last automatic collection
        self._begun = state_dir / BEGUN
        self.warnings: tuple[dict[str, str], ...] = ()
        self.usage: dict[str, Any] = {}

    def taken(self) -> dict[str, Any]:
        """Return size and limit in bytes of this journal (`workspace`) and of all journals (`store`, as last measured);
        {} before the first measurement.
        """
        if not self.usage:
            return {}
        mine, store = self.usage["workspace"], self.usage["store"]
        now = self._host.recorder.journal.store.size_bytes()
        return {
            "workspace": {**mine, "bytes": now},
            "store": {**store, "bytes": store["bytes"] - mine["bytes"] + now},
        }

    def unfinished(self) -> str:
        """Return a sentence about a collection that the daemon's end interrupted; "" if there is none, or a collection
        runs.
        """
        if self._running is not None:
            return ""
        try:
            said = self._begun.read_text("utf-8")
        except OSError:
            return ""
        return (
            f"A collection {said} did not come to its end; nothing is wrong with what is left, and `quire gc` goes on."
        )

    @property
    def going_on(self) -> bool:
        """True during a collection, when nothing else may delete or rewrite blobs."""
        return self._running is not None

    def begin(self, asked: CollectionOrder, then: Then) -> None:
        """Start a collection; `then` gets the reply. Raises `Refusal` during another collection or a purge,
        `StoreFailure` if a commit fails.
        """
        if self._running is not None:
            raise Refusal("busy", "A collection is going on already; wait for its end.", "retry", retry_after_ms=1000)
        if "purge" in self._host.progress:
            raise Refusal("busy", "A purge is going on; collect when it has ended.", "retry", retry_after_ms=1000)

        def ended(body: dict[str, Any]) -> None:
            self._running, self._look_at = None, 0.0
            then(body)

        self._running = _Collection(self._host, asked, self._begun, self._databases, ended)
        try:
            self._running.begin()
        except Exception:
            self._running = None  # the collection did not start; another may
            raise

    def captured(self) -> bool:
        """Compact the journal after its first capture if that is worthwhile. Returns False if the caller must try
        again: other work must end first, or the compaction of another journal, whose packs this journal may then
        share.
        """
        if self._host.recorder.journal.store.size_bytes() < WORTH_BYTES:
            return True
        if self._running is not None or "purge" in self._host.progress:
            return False
        try:
            lock = take_lock(packing_lock_file(self._state_dir), 0.0)
        except (OSError, WorkspaceRefused):
            return True  # no lock can be made: the journal stays as it is
        if lock is None:
            return False
        try:
            self.begin(CollectionOrder(by=CAPTURE, compact=True), lambda body: lock.close())
        except (StoreFailure, Refusal):  # there is no room
            lock.close()
        return True

    def tidy(self) -> None:
        """Measure the journals, and start a collection if the settings say so. Called once a second."""
        now, retention = self._host.clock.mono_s(), self._host.in_force.now.retention
        if now < self._look_at:
            return
        self._look_at = now + LOOK_S
        self.usage = usage(retention, self._host.recorder.journal.store.size_bytes(), self._state_dir)
        self.warnings = warnings(self.usage)
        if (
            self._running is None
            and "purge" not in self._host.progress
            and due(retention.automatic, self.usage, now - self._began_s, now - self._last_s)
        ):
            self._last_s = now
            self.begin(CollectionOrder(by="automatic", compact=True), lambda body: None)


def due(automatic: str, usage: dict[str, Any], running_s: float, since_s: float) -> bool:
    """Return True if a collection is due by the setting `automatic` ("off", "daily", "over_quota"). `running_s`:
    seconds since the daemon's start; `since_s`: since the last collection.
    """
    if automatic == "daily":
        return min(running_s, since_s) >= DAY_S
    over = any(0 < taken["limit"] <= taken["bytes"] for taken in usage.values())
    return automatic == "over_quota" and over and since_s >= HOUR_S


def usage(retention: Retention, journal_bytes: int, state_dir: Path) -> dict[str, Any]:
    """Return `{bytes, limit}` of this journal (`workspace`) and of all journals in the state folder (`store`)."""
    others = others_bytes(state_dir) if retention.store_bytes else 0
    return {
        "workspace": {"bytes": journal_bytes, "limit": retention.workspace_bytes},
        "store": {"bytes": journal_bytes + others, "limit": retention.store_bytes},
    }


def others_bytes(state_dir: Path) -> int:
    """Return the disk usage in bytes of this user's other journals."""
    home, own = os.fspath(state_home()), _files_of(os.fspath(state_dir))
    taken: dict[tuple[int, int], int] = {}  # by file: a state folder may have several names, and so has a shared pack
    with contextlib.suppress(OSError):
        for name in os.listdir(home):
            taken |= _files_of(os.path.join(home, name))
    return sum(size for file, size in taken.items() if file not in own)


def _files_of(state: str) -> dict[tuple[int, int], int]:
    """Return (device, inode) → disk usage in bytes of the database and the packs of a journal."""
    folder, found = os.path.join(state, "journal", "db"), dict[tuple[int, int], int]()
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name == "data.mdb" or name.startswith("pack."):
                with contextlib.suppress(OSError):
                    one = os.stat(os.path.join(folder, name))
                    found[one.st_dev, one.st_ino] = one.st_blocks * 512
    return found


def warnings(usage: dict[str, Any]) -> tuple[dict[str, str], ...]:
    """Return warnings for every reply about journals above four fifths of their limit."""
    told = {"workspace": "The journal of this workspace takes", "store": "All journals together take"}
    return tuple(
        {
            "type": "retention",
            "message": f"{told[name]} {_of(taken['bytes'], taken['limit'])}; `quire gc --dry-run` shows what could go.",
        }
        for name, taken in usage.items()
        if taken["limit"] and taken["bytes"] > WARN_AT * taken["limit"]
    )


def _of(taken: int, limit: int) -> str:
    unit, name = next(
        (unit, name) for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes")) if limit >= unit
    )
    return f"{taken // unit} of {limit // unit} {name}"


class _Collection:
    def __init__(
        self, host: CollectorHost, asked: CollectionOrder, begun: Path, databases: Databases, then: Then
    ) -> None:
        self._host, self._asked, self._begun, self._databases, self._then = host, asked, begun, databases, then
        self._others_s = float("-inf")  # time of the last commit by other work before this collection's last commit
        self._own_commit = 0  # number of this collection's last commit
        self._dropped_s = 0.0  # time of the last drop, or of its first chance
        self._policy: Policy = policy_of(host.in_force.now.retention)
        self._grace_s = duration_ns(host.in_force.now.retention.grace) / 1e9
        self._to = host.in_force.now.ship.to
        self._ships = host.recorder.journal.workspace_id if self._to else ""
        self._breathe = Breather(host)
        # If the clock was set forward, every version would be old enough to drop.
        self._now_ns = host.clock.now_ns() - max(host.clock.set_ns(), 0)
        self._store = host.recorder.journal.store
        self._attempts = 0
        self._dropped = 0  # before new marks
        self._batch = 0  # of the record with the policy
        self.dropping: DropQueue | None = None
        self._body: dict[str, Any] = {}
        self._chunks: Iterator[Chunk] = iter(())
        self._compaction: Compaction | None = None
        self._marks: Marks
        self._needed: NewerNeeds

    def begin(self) -> None:
        if self._asked.by == CAPTURE:
            self._settle()
            self._begin_compaction()
            return
        self._host.log.info("gc", by=self._asked.by, dry_run=self._asked.dry_run, policy=str(self._policy))
        self._settle()
        self._work(self._mark)

    def _settle(self) -> None:
        self._others_s = self._committed_s()
        self._host.commit_noted()
        self._own_commit = self._host.recorder.next_commit

    def _committed_s(self) -> float:
        recorder = self._host.recorder
        return self._others_s if self._own_commit == recorder.next_commit else recorder.committed_s

    def _work(self, work: Job) -> None:
        self._host.start_job(work, "gc", self._fail)

    def _fail(self, error: Exception) -> None:
        if isinstance(error, JournalDamaged) or (isinstance(error, StoreFailure) and error.for_good):
            self._host.told("gc", error)  # logs the error; the reply reports how far the collection got
        else:
            self._host.log.fault("gc", error)
        if self._compaction is not None:
            self._compaction.cancel()
        if isinstance(error, Refusal):
            code = error.code
        elif isinstance(error, Outrun):
            code = "busy"
        elif isinstance(error, StoreFailure):
            code = "disk_full" if error.disk_full else "journal_damaged"
        else:
            code = "journal_damaged" if isinstance(error, JournalDamaged) else "fault"
        dropped = self._end_drops()
        message = f"The collection stopped after {dropped} blobs: {error}"
        self._then(Refusal(code, message, blobs_dropped=dropped).reply())

    # ── mark ──

    def _mark(self) -> Callable[[], None]:
        self._attempts += 1
        marks = Marks(self._store, self._policy, self._now_ns, self._ships, self._to)
        marks.make(self._breathe)
        asked = self._asked
        listed, skip = marks.listing(asked.skip, asked.limit, asked.only, self._breathe) if asked.limit else ([], None)
        self._marks, self._needed = marks, NewerNeeds(marks)
        totals = marks.totals
        self._body = {
            "policy": str(self._policy),
            "kept": {"blobs": totals.kept, "bytes": totals.kept_bytes, "bases": totals.bases},
            "droppable": {"blobs": totals.dropped, "bytes": totals.dropped_bytes},
            "reasons": dict(totals.reasons.most_common()),
            "blobs": [one.json() for one in listed],
            "next": skip,
        }
        if not self._asked.dry_run and totals.dropped:
            self._breathe.rest(self._grace_s)
            self._needed.catch_up(self._store, self._breathe)
        return self._marked

    def _marked(self) -> None:
        self._host.step("gc_marked")
        totals = self._marks.totals
        self._host.log.info("gc_marked", keep=totals.kept, drop=totals.dropped)
        if self._asked.dry_run:
            message = (
                f"{totals.dropped} blobs could go, {size(totals.dropped_bytes)}; {totals.kept} stay "
                f"({self._policy}). Nothing was changed."
            )
            self._then({"ok": True, "message": message, "dry_run": True, **self._body})
            return
        if totals.dropped:
            with contextlib.suppress(OSError):  # on a full disk the note is missing
                at = rfc3339(self._host.clock.now_ns())
                self._begun.write_text(f"of {totals.dropped} blobs that began at {at}", "utf-8")
            event = RetentionApplied(str(self._policy), totals.dropped, totals.dropped_bytes, self._asked.by)
            self._batch = self._host.recorder.note(event)
            self._settle()
            self._host.step("gc_begun")
        self._chunks = self._marks.chunks(self._breathe)
        host = self._host
        self.dropping = DropQueue(host.recorder, self._store, self._needed, self._batch, host.step)
        self._dropped_s = host.clock.mono_s()
        self._work(self._next)

    # ── drop ──

    def _next(self) -> Callable[[], None]:
        assert self.dropping is not None
        chunks = list(islice(self._chunks, self.dropping.room))
        self._breathe.rest(DROP_REST_S)
        return lambda: self._look(chunks)

    def _look(self, chunks: Sequence[Chunk]) -> None:
        dropping = self.dropping
        assert dropping is not None
        more = dropping.take(chunks)
        now_s = self._host.clock.mono_s()
        if more and (now_s - self._committed_s() >= IDLE_S or now_s - self._dropped_s >= BUSY_S):
            self._settle()
            dropping.drop()
            self._dropped_s = self._host.clock.mono_s()
            self._own_commit = self._host.recorder.next_commit
        if dropping.look_again:
            self._begin_again(dropping.look_again)
        elif more:
            self._work(self._next)
        else:
            self._end_drops()
            self._all_dropped()

    def _end_drops(self) -> int:
        if self.dropping is not None:
            self._dropped += self.dropping.dropped
            self.dropping = None
        return self._dropped

    def _begin_again(self, why: str) -> None:
        self._end_drops()
        if self._attempts == MOST_ATTEMPTS:
            raise Refusal("busy", f"{why}; try again when no checkpoints are made.", "retry")
        self._work(self._mark)

    def _all_dropped(self) -> None:
        self._begun.unlink(missing_ok=True)  # also that of an interrupted one
        used, takes = self._store.used_bytes(), self._store.size_bytes()
        if self._asked.compact and (self._asked.by == "asked" or used < COMPACT_ABOVE * takes):
            self._host.log.info("gc_compacts", used_bytes=used, size_bytes=takes)
            self._begin_compaction()
        else:
            self._finish()

    # ── compact ──

    def _begin_compaction(self) -> None:
        try:
            self._compaction = self._store.compacting(self._host.step)
        except RuntimeError as error:  # a purge compacts, too
            raise Refusal("busy", f"{error}; ask for the compaction again when it has ended.", "retry") from error
        self._work(self._compact)

    def _compact(self) -> Callable[[], None]:
        assert self._compaction is not None
        self._compaction.copy(self._breathe, copied, self._databases())
        return self._swap

    def _swap(self) -> None:
        assert self._compaction is not None
        self._host.commit_noted()
        compaction = self._compaction
        done = compaction.finish()
        self._compaction = None
        self._body["compacted"] = {"before_bytes": done.before_bytes, "after_bytes": done.after_bytes}

        def release() -> Callable[[], None]:
            compaction.release()
            return self._finish

        self._work(release)

    def _finish(self) -> None:
        self._host.step("gc_finished")
        self._host.log.info("gc_finished", dropped=self._dropped, **self._body.get("compacted", {}))
        told = f"{self._dropped} blobs were dropped" if self._dropped else "Nothing was dropped"
        done = self._body.get("compacted")
        if done:
            told += f"; the journal took {size(done['before_bytes'])} and takes {size(done['after_bytes'])}"
        body = {"dry_run": False, "dropped": {"blobs": self._dropped}, **self._body}
        self._then({"ok": True, "message": f"{told} ({self._policy}).", **body})
