"""Changes of the tree by other programs, found by file events and scans.

Both only name paths; `Observer.observe` looks at each. Each turn spends a bounded time here, so that thousands of
changed files do not delay an edit. A path open for writing is looked at again until closed; after `UNFINISHED_S` its
bytes are recorded as unfinished.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager

import msgspec

from quire_daemon.config import WORKSPACE_FILE
from quire_daemon.core import Renames, SeenStat, with_moves
from quire_daemon.watch.crawl import crawl
from quire_daemon.watch.due import DueQueue
from quire_daemon.watch.hints import Batch, Blind, below
from quire_daemon.watch.observe import RETRY_S, FileInFlight, Observation, Observer
from quire_daemon.watch.prefetch import Prefetcher
from quire_daemon.watch.prefetch_client import ReadingAhead
from quire_daemon.watch.scan import OVERFLOW, RULES, Scanner, TreeComparison
from quire_daemon.watch.temporary_names import STANDS_S, is_temporary
from quire_daemon.watch.watcher import Watcher
from quire_daemon.workers import StartJob
from quire_daemon.workspace import FileBusy, Signature
from quire_journal.model import (
    FOLDER,
    READ,
    SCANNED,
    WATCHED,
    OutsideDeleted,
    OutsideWritten,
    Refusal,
    WatchLost,
    counted,
    disk_path,
    journal_path,
    path_after,
)
from quire_journal.views import standing

SLICE_S = 0.006  # of one turn, while callers wait
IDLE_SLICE_S = 0.04  # of one turn, while nobody waits: fewer, larger commits
COMMIT_EVERY = 512  # outside versions in one transaction
AHEAD_EVERY = 2048  # the same, of prefetched files
HURRIED_AHEAD = 48  # the same, while callers wait
WRITTEN_S = 0.05  # between two looks at a file that a long request of ours will write
UNFINISHED_S = 0.25  # after which a file that stays open is recorded unfinished
AGAIN_S = 1.0  # between two looks from then on; before, `RETRY_S`
LONGEST_S = 60.0  # longest delay between two tries
LANDED_S = 0.05  # upper bound of the delay between our write and its report
BRIEF_S = 0.015  # before a missing file or an empty folder is recorded: usually something is just being put there
NAMELESS_S = 0.05  # before a write under git's lock is recorded without the name of its command: most end sooner
MOST_NAMELESS = 64  # paths that wait for the name of a command


class Outside:
    """Paths changed by other programs, in order of the time to look at each."""

    def __init__(self, observer: Observer, watcher: Watcher, start_job: StartJob, reload: Callable[[], None]) -> None:
        self._observer, self._recorder, self._ignore = observer, observer.recorder, observer.ignore
        self._root, self._watcher, self._start_job = observer.workspace.root, watcher, start_job
        self._reload = reload  # the settings file changed
        self._named = DueQueue()
        self.scanner = Scanner(observer, watcher, start_job, self._take_compared)
        self._unseen: dict[str, str] = {}  # path whose look failed and is repeated → why
        self._stopped = False
        self._ignored: set[str] = set()  # known files to be recorded as unwatched
        self._locked: set[str] = set()  # paths to look at of which every event came while git's index was locked
        self._unlocked: set[str] = set()  # the same, while it was not locked
        self._moves = Renames()  # renames of which an end has not been looked at
        self._halves: dict[str, str] = {}  # new name → old name that waits for it
        self._standing: set[str] = set()  # files with a later look, once they have existed for `STANDS_S`
        self._crawling: set[object] = set()  # running crawls of folders
        self._ahead = Prefetcher(ReadingAhead(observer), start_job, self._not_read_ahead)

    # ── naming paths ──

    def name(self, path: str, evidence: str, now: float, at: float | None = None) -> None:
        self._ahead.forget(path)
        self._named.name(path, evidence, now, at)

    def landed(self, path: str, signature: Signature | None, blob: bytes, exchanged: bool = False) -> None:
        """Record that our own write is at `path`, so that its events need no look.

        `exchanged`: the old file was exchanged in one step.
        """
        if signature is None or not blob:
            self._recorder.seen.tell({path: None})
            return
        # rule and settings files must be read
        if exchanged and self._ignore.governs(path) is None and path != WORKSPACE_FILE:
            self._watcher.exchanged(path, signature)
        self._recorder.seen.tell({path: SeenStat.of(signature, blob, self._recorder.clock.now_ns())})
        self._observer.looked(path, self._now() - LANDED_S)
        self._observer.unwatched.met(path)

    def idle(self) -> bool:
        """True if all changes shown by events or scans have been looked at.

        The first capture does not count, as it may take minutes; nor do files that another program holds open.
        """
        if self.scanner.awaited or self._crawling or self._watcher.has_news():
            return False
        waiting = self._named.waiting
        return not waiting or waiting == self.scanner.left

    def next_look_s(self, now: float) -> float:
        """Return the monotonic time by which to call `look` again."""
        if self._ahead.ready:
            return now
        return min(now + 60, self.scanner.next_s, self._named.next_s)

    # ── looking ──

    def look(self, now: float, hurried: bool) -> None:
        """Take new events from the watcher and look at due paths, for one time slice. `hurried`: callers wait."""
        self._look_at_told(now, SLICE_S if hurried else IDLE_SLICE_S)
        if self._ahead.ready:
            self._record_ahead(now, HURRIED_AHEAD if hurried else AHEAD_EVERY)
        self.scanner.look(now)

    def look_first(self) -> bool:
        """Look at new events' paths at once, because a request met a file that came or went; return True if there were
        any. Both ends of a rename, seen together, become one move.
        """
        if not self._watcher.has_news():
            return False
        try:
            self._look_at_told(self._now(), SLICE_S)
        except Exception:  # noqa: BLE001  the next look reports it; the request is not at fault
            return False
        return True

    def _look_at_told(self, now: float, slice_s: float) -> None:
        self._take_hints(now)
        observed: list[Observation] = []
        try:
            self._look_at_due(observed, now, now + slice_s)
        finally:  # keep what was seen before the error
            observed = self._without_half_moves(observed, now)
            if observed or self._moves:  # else nothing to record or forget
                with self._again_unless_taken([one.path for one in observed], now):
                    self._record(observed)

    def _look_at_due(self, observed: list[Observation], now: float, end: float) -> None:
        looked: set[str] = set()
        while (path := self._named.take(now)) is not None:
            looked.add(path)
            try:
                found = self._look_at(path, now)
            except Exception as error:
                self._look_later(path, now)
                self._unseen[path] = str(error)
                raise
            observed += found
            if found and self._name_other_end(found[0], looked, now):
                continue
            if len(observed) >= COMMIT_EVERY or self._now() > end:
                return

    def _name_other_end(self, one: Observation, looked: Set[str], now: float) -> bool:
        """Plan an immediate look at the other path of a rename, so that both become one move; return False if none is
        needed.
        """
        to = self._other_end(one)
        if to == one.path or to in looked or self._ignore.ignored(to, folder=False):
            return False
        if one.locked and to not in self._named:
            self._locked.add(to)
        self._named.name(to, WATCHED, now, 0.0)  # before everything that is due
        return True

    def _other_end(self, one: Observation) -> str:
        """Return the path to which a removed file was renamed; for a new file its old path, if that is still due for a
        look; for any other file its own path.
        """
        if isinstance(one.event, OutsideDeleted):
            return disk_path(self._moves.followed(journal_path(one.path)))
        half = self._halves.get(one.path, "") if isinstance(one.event, OutsideWritten) else ""
        return half if half in self._named else one.path

    def _without_half_moves(self, observed: Sequence[Observation], now: float) -> list[Observation]:
        """Return the observations that can be recorded now. An end of a rename whose other path is due for a look is
        postponed to that look, because only both together are a move.
        """
        whole, here = list[Observation](), {one.path for one in observed}
        for one in observed:
            to = self._other_end(one)
            if to == one.path or to in here or to not in self._named or self._named.is_late(to):
                whole.append(one)
            else:  # just before: the look at the removal brings the other end's
                self._halves[to] = one.path
                self._named.name(one.path, WATCHED, now, math.nextafter(self._named.due_s(to), 0.0))
        return whole

    def _look_later(self, path: str, now: float) -> None:
        since, evidence = self._named.first(path)
        self.scanner.looked(path, False)
        self._ahead.forget(path)
        self._named.name(path, evidence, now, now + min(max(AGAIN_S, now - since), LONGEST_S), late=True)

    @contextmanager
    def _again_unless_taken(self, paths: Sequence[str], now: float) -> Iterator[None]:
        """Context manager: if the commit fails (full disk), plan another look at the paths."""
        try:
            yield
        except Exception:
            for path in paths:
                self._named.keep(path, SCANNED, now)
                self._look_later(path, now)
            raise

    def _look_at(self, path: str, now: float) -> list[Observation]:
        since, evidence = self._named.first(path)
        if now < since + STANDS_S and is_temporary(path) and self._is_young(path):
            self._let_stand(path, evidence, since)
            return []
        is_ignored = self._ignore.ignored(path, False)
        if is_ignored and self._observer.head(journal_path(path)) is None:
            self._looked(path, False)  # by rules that came after its hint, as in a cache that hides itself
            return []
        patient = now - since < UNFINISHED_S
        named_ns = self._recorder.clock.now_ns() - int((now - since) * 1e9) if evidence != SCANNED else 0
        try:
            if path in self._ignored and is_ignored:
                observation = self._observer.observe(path, evidence, ignored=True)
            else:
                observation = self._observer.observe(path, evidence, not patient, named_ns)
        except FileBusy:
            self.name(path, evidence, now, now + (RETRY_S if patient else AGAIN_S))
            return []
        except FileInFlight:
            self.name(path, evidence, now, now + WRITTEN_S)
            return []
        except Refusal as refused:
            if refused.code == "permission_denied":  # a folder above cannot be entered: no event reports when it can
                self._look_later(path, now)
                self._unseen[path] = str(refused)
            else:
                self._looked(path, False)
            return []
        if path in self._locked or path in self._unlocked:
            observation = msgspec.structs.replace(observation, locked=path in self._locked)
        if now < since + STANDS_S and evidence == WATCHED and self._is_put_aside(observation):
            self._let_stand(path, evidence, since)
            return []
        if now < since + BRIEF_S and evidence == WATCHED and self._may_be_brief(observation):
            self.name(path, evidence, now, since + BRIEF_S)
            return []
        if now < since + NAMELESS_S and evidence == WATCHED and self._is_nameless(observation):
            self.name(path, evidence, now, since + NAMELESS_S)
            return []
        self._looked(path, observation.event is not None)
        if observation.sighting.disk.kind == "missing":
            self._observer.unwatched.forget(path)
        parent = path.rpartition("/")[0]
        if observation.sighting.disk.kind == "missing" and parent:
            self.name(parent, evidence, now)  # it may be empty or missing now
        if observation.sighting.disk.unfinished:
            self._named.name(path, evidence, now, now + AGAIN_S, late=True)  # until it is closed
        return [observation]

    def _is_young(self, path: str) -> bool:
        try:
            signature = self._observer.workspace.look(path).signature
        except Refusal:
            return False
        return signature is not None and self._recorder.clock.now_ns() - signature.ctime_ns < STANDS_S * 1e9

    def _is_put_aside(self, one: Observation) -> bool:
        """True if the file was renamed to a temporary name, as editors do before they write the file anew."""
        if not isinstance(one.event, OutsideDeleted) or one.sighting.disk.kind != "missing":
            return False
        name = journal_path(one.path)
        to = self._moves.followed(name)
        return to != name and is_temporary(disk_path(to))

    def _let_stand(self, path: str, evidence: str, since: float) -> None:
        self.scanner.looked(path, False)
        self._standing.add(path)
        self._named.name(path, evidence, since, since + STANDS_S, late=True)

    def _may_be_brief(self, one: Observation) -> bool:
        """True if the observed state, or its known writer, may soon change, so that a later look should record it.

        Git and some editors remove a file and write it again; recorded as two events, all lines would be the last
        writer's.
        """
        if isinstance(one.event, OutsideDeleted):
            name = journal_path(one.path)
            return one.sighting.disk.kind == "missing" and self._moves.followed(name) == name
        is_folder = isinstance(one.event, OutsideWritten) and one.event.entry == FOLDER
        return is_folder or self._observer.is_early(one)

    def _is_nameless(self, one: Observation) -> bool:
        """True if git holds the index and its command is not known yet, but soon may be."""
        return self._named.waiting <= MOST_NAMELESS and self._observer.is_nameless(one)

    def _not_read_ahead(self, path: str) -> None:
        self.name(path, self.scanner.evidence, self._now())

    def _record_ahead(self, now: float, most: int) -> None:
        found = self._ahead.take(most)
        if not found:
            return
        with self._again_unless_taken([one.path for one in found], now):
            left = set(self._observer.note_ahead(found, self.scanner.evidence))
            for one in found:
                if one.path in left:
                    self.name(one.path, self.scanner.evidence, now)
                else:
                    self._looked(one.path, True)
            self._recorder.commit()

    def _looked(self, path: str, changed: bool) -> None:
        self._named.looked(path)
        self._standing.discard(path)
        self._locked.discard(path)
        self._unlocked.discard(path)
        self._ignored.discard(path)
        self._unseen.pop(path, None)
        self.scanner.looked(path, changed)

    def _record(self, observed: list[Observation]) -> None:
        if not observed:
            self._forget_moves()
            return
        events = [o.event for o in observed if o.event is not None]
        if events and self._moves:
            heads = {journal_path(o.path): o.head for o in observed if o.head is not None}
            events = with_moves(events, heads, self._moves)
        self._observer.expect([one.path for one in observed if one.event is not None])
        by_path = {path_after(event): event for event in events}
        for observation in observed:
            self._observer.note(observation, by_path.get(journal_path(observation.path)))
        if events:
            self._recorder.commit()
        self._forget_moves()

    def _forget_moves(self) -> None:
        if not self._named.waiting and not self._standing:
            self._moves.clear()
            self._halves.clear()

    def _take_hints(self, now: float) -> None:
        if not self._watcher.has_news():
            return
        batch = self._watcher.drain()
        try:
            self._take_batch(batch, now)
        except Exception:
            self.scanner.scan(OVERFLOW)  # the other hints are lost, as if the kernel had dropped events
            raise

    def _take_batch(self, batch: Batch, now: float) -> None:
        settings = False
        if rules := self._ignore.exclude_changed():
            self._ignore.forget()
        for path in batch.dirty:
            if rules and self._ignore.ignored(path, False):
                continue  # the scan marks it if the journal has it
            governed = self._ignore.governs(path)
            if governed is not None:
                self._ignore.forget(governed)
                rules = True
            settings |= path == WORKSPACE_FILE
            if path in batch.touched or not self._observer.stands(path):
                for told, kept in ((batch.locked, self._locked), (batch.unlocked, self._unlocked)):
                    if path in told and not batch.overflowed and (path in kept or path not in self._named):
                        kept.add(path)
                    else:
                        kept.discard(path)
                self.name(path, WATCHED, now)
        self._moves.add((journal_path(a), journal_path(b)) for a, b in batch.moved)
        for pair in batch.moved:
            for path in pair:
                self.name(path, WATCHED, now)
        if batch.folders:
            self._take_folders({f: SCANNED if f in batch.unseen else WATCHED for f in batch.folders}, batch, now)
        if rules:
            self.scanner.scan(RULES)
        if batch.overflowed:
            self._recorder.note(WatchLost("overflow"))
            self.scanner.scan(OVERFLOW)
        if settings:
            self._reload()  # after all hints are named, so that an invalid file loses none

    def _take_folders(self, folders: Mapping[str, str], batch: Batch, now: float) -> None:
        """Plan looks at the present and the journaled content of folders (→ evidence) that came or went. Only files
        that came with the folder or later get the evidence "watched".
        """
        with self._recorder.history() as history:
            inside = below(history.names(), folders)
            known = [(disk_path(path), folder) for path, folder in inside if standing(history.file(path))]
        for path, folder in [*((folder, folder) for folder in folders), *known]:
            if path:
                self._name_in(folder, path, folders[folder], batch, now)
        for folder, evidence in folders.items():
            self._crawl_folder(folder, evidence, batch)

    def _name_in(self, folder: str, path: str, evidence: str, batch: Batch, now: float) -> None:
        """Plan a look at `path` for an event of `folder` above it, whose git lock counts unless `path` has events of
        its own.
        """
        if folder in batch.locked_folders and path not in batch.dirty and path not in self._named:
            self._locked.add(path)
        self.name(path, evidence, now)

    def _crawl_folder(self, folder: str, evidence: str, batch: Batch) -> None:
        crawling = object()
        self._crawling.add(crawling)

        def work() -> Callable[[], None]:
            entries = list(crawl(self._root, self._ignore, folder, lambda: self._stopped))
            self._watcher.cover([e.path for e in entries if e.kind == "folder"])
            inhabited = {e.path.rpartition("/")[0] for e in entries}
            found = [e.path for e in entries if e.kind != "folder" or e.path not in inhabited]

            def then() -> None:
                mono = self._now()
                for path in found:
                    self._name_in(folder, path, evidence, batch, mono)
                self._crawling.discard(crawling)

            return then

        def failed(error: Exception) -> None:
            self._crawling.discard(crawling)  # nothing to wait for
            self.scanner.scan(OVERFLOW)  # it finds the content
            raise error

        self._start_job(work, "crawl", failed)

    def _take_compared(self, compared: TreeComparison) -> None:
        evidence = self.scanner.evidence
        look_at, new, now = compared.look_at, compared.new, self._now()
        ahead: dict[str, int] = {}
        if not self.scanner.captured:
            ahead = {p: new[p] for p in look_at if p in new and p not in self._named and not is_temporary(p)}
            for path in ahead:
                self._named.keep(path, evidence, now)
        self._ignored = {*compared.ignored}
        self._observer.unwatched.know(compared.unwatched)
        self.look_at_unwatched()
        for path in (*look_at, *compared.ignored):
            if path not in self._named or self._named.is_late(path):
                self.name(path, evidence, now)
        self._ahead.begin(ahead)

    # ── telling ──

    def look_at_unwatched(self) -> None:
        """Plan looks at files whose changes cause no event, because a caller asks about the tree."""
        if self._ignore.exclude_changed():
            self._ignore.forget()
            self.scanner.scan(RULES)
        for path in self._observer.unwatched.to_look_at():
            if path not in self._named:
                self.name(path, READ, self._now())

    def blind(self) -> list[Blind]:
        """Return the parts of the tree that are not watched, and why."""
        health = self._watcher.health()
        unwatched = self._observer.unwatched.told()
        everywhere = [*health.everywhere, *self.scanner.reasons(), *([unwatched] if unwatched else ())]
        found = [Blind("", why) for why in everywhere]
        found += (Blind(folder, why) for folder, why in sorted(health.unwatched.items()))
        return found + [Blind(path, why) for path, why in self._unseen.items() if path not in health.unwatched]

    def reasons(self) -> list[str]:
        """Return why the journal may not match the tree; empty if it does."""
        found = [*self._watcher.health().reasons, *self.scanner.reasons()]
        if unwatched := self._observer.unwatched.told():
            found.append(unwatched)
        if self._unseen:
            first = next(iter(self._unseen.values()))
            found.append(f"{counted(len(self._unseen), 'path')} cannot be looked at; the first: {first}")
        return found

    def _now(self) -> float:
        return self._recorder.clock.mono_s()

    def stop(self) -> None:
        self._stopped = True
        self.scanner.stop()
        self._ahead.stop()
